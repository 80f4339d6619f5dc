"""When a flight arrived, as an instant: its arrival clock is local at the destination."""

from __future__ import annotations

from zoneinfo import available_timezones

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

# The airports table lacks these four; they keep UTC-4 the year round.
ZONE_OF_MISSING_AIRPORTS = "America/Puerto_Rico"
MISSING_AIRPORTS = ("BQN", "SJU", "PSE", "STT")
OVERLAP_MIN = 60  # clocks go back by an hour
MINUTES_A_DAY = 24 * 60
LAST_MINUTE_OF_HOUR = 59


def arrival_ts(rows: DataFrame, lookup: DataFrame) -> DataFrame:
    """Adds `arr_ts`, the instant of arrival, from the local clock at the destination.

    The day isn't told, so it is the first one that puts the arrival after the departure and at
    most 24 hours later. A time that a clock change makes happen twice is the earlier of the two
    that lies after the departure; one that it skips is taken by the offset from before, so an hour
    later on the clock. `2400` is midnight at the end of the day.

    Args:
        rows: One row a flight, with `dest` (airport code), `dep_ts` (instant of departure) and
            `arr_time` (local clock as the integer HHMM, 0 to 2400).
        lookup: Airports, with `faa` (code) and `tzone` (name of the time zone).

    Returns:
        The same rows and columns, and `arr_ts` (timestamp). It is null where `dep_ts` or `arr_time`
        is null, `arr_time` is no time of day, or the destination has no known zone. The session's
        time zone must be UTC.
    """
    known_zones = sorted(zone for zone in available_timezones() if "/" in zone)
    zones = (
        lookup.where(F.col("tzone").isin(known_zones))
        .groupBy(F.col("faa").alias("_faa"))  # a code twice must not double a flight
        .agg(F.min("tzone").alias("_zone"))
    )
    with_zone = rows.join(F.broadcast(zones), F.col("dest") == F.col("_faa"), "left")
    zone = F.coalesce(
        "_zone", F.when(F.col("dest").isin(*MISSING_AIRPORTS), F.lit(ZONE_OF_MISSING_AIRPORTS))
    )
    with_zone = with_zone.withColumn("_zone", zone)
    return with_zone.withColumn("arr_ts", _first_after_departure(F.col("_zone"))).drop(
        "_faa", "_zone"
    )


def _first_after_departure(zone: Column) -> Column:
    dep_ts = F.col("dep_ts")
    local_day = F.date_trunc("DAY", F.from_utc_timestamp(dep_ts, zone))
    minute_of_day = _minute_of_day(F.col("arr_time"))
    same_day = F.timestamp_add("MINUTE", minute_of_day, local_day)
    next_day = F.timestamp_add("MINUTE", minute_of_day + MINUTES_A_DAY, local_day)
    earlier = F.to_utc_timestamp(same_day, zone)
    later = F.timestamp_add("MINUTE", F.lit(OVERLAP_MIN), earlier)
    happens_twice = F.from_utc_timestamp(later, zone) == same_day
    return (
        F.when(earlier > dep_ts, earlier)
        .when(happens_twice & (later > dep_ts), later)
        .otherwise(F.to_utc_timestamp(next_day, zone))
    )


def _minute_of_day(clock: Column) -> Column:
    hour, minute = F.floor(clock / 100).cast("int"), F.pmod(clock, F.lit(100))
    is_clock = clock.between(0, 2400) & (minute <= LAST_MINUTE_OF_HOUR)
    return F.when(is_clock, hour * 60 + minute)
