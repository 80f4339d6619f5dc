"""Arrivals: the clock at the destination becomes the instant, on hard cases and on all of 2013."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from features.custom.flights import arrival_ts
from pipelines.demo_data.read import find_source

pytestmark = pytest.mark.spark

AIRPORTS = [
    ("JFK", "America/New_York"),
    ("BOS", "America/New_York"),
    ("LAX", "America/Los_Angeles"),
    ("PHX", "America/Phoenix"),
    ("HNL", "Pacific/Honolulu"),
    ("EEN", None),
    ("XXX", "Mars/Phobos"),
]
CASES = [  # departure (UTC), destination, clock at arrival, arrival (UTC) or None
    pytest.param("2013-01-01T10:17", "BOS", 633, "2013-01-01T11:33", id="same zone, same day"),
    pytest.param("2013-07-01T16:00", "LAX", 1512, "2013-07-01T22:12", id="summer in the west"),
    pytest.param("2013-07-01T16:00", "PHX", 1412, "2013-07-01T21:12", id="no summer time"),
    pytest.param("2013-01-02T04:50", "BOS", 45, "2013-01-02T05:45", id="after midnight"),
    pytest.param("2013-01-02T04:50", "BOS", 0, "2013-01-02T05:00", id="0 is midnight"),
    pytest.param("2013-01-02T03:50", "BOS", 2400, "2013-01-02T05:00", id="2400 ends the day"),
    pytest.param("2013-01-02T05:10", "BOS", 2400, "2013-01-03T05:00", id="2400 of the next night"),
    pytest.param("2013-12-31T23:30", "BOS", 2, "2014-01-01T05:02", id="next year"),
    pytest.param("2013-01-02T06:20", "LAX", 2215, "2013-01-03T06:15", id="just short of a day"),
    pytest.param("2013-01-02T06:15", "LAX", 2215, "2013-01-03T06:15", id="clock as it left"),
    pytest.param("2013-01-01T15:00", "HNL", 1530, "2013-01-02T01:30", id="ten hours and a half"),
    pytest.param("2013-03-10T06:20", "BOS", 301, "2013-03-10T07:01", id="clocks go forward"),
    pytest.param("2013-03-10T06:20", "BOS", 230, "2013-03-10T07:30", id="a time that is skipped"),
    pytest.param("2013-11-03T04:40", "BOS", 130, "2013-11-03T05:30", id="first of two half ones"),
    pytest.param("2013-11-03T05:50", "BOS", 130, "2013-11-03T06:30", id="second of two half ones"),
    pytest.param("2013-11-03T05:50", "BOS", 201, "2013-11-03T07:01", id="clocks went back"),
    pytest.param("2013-07-01T16:00", "SJU", 1540, "2013-07-01T19:40", id="airport without a row"),
    pytest.param("2013-07-01T16:00", "EEN", 1540, None, id="airport without a zone"),
    pytest.param("2013-07-01T16:00", "XXX", 1540, None, id="zone that does not exist"),
    pytest.param("2013-07-01T16:00", "ZZZ", 1540, None, id="unknown airport"),
    pytest.param("2013-07-01T16:00", None, 1540, None, id="no destination"),
    pytest.param("2013-07-01T16:00", "BOS", None, None, id="never arrived"),
    pytest.param(None, "BOS", 1540, None, id="never departed"),
    pytest.param("2013-07-01T16:00", "BOS", 1260, None, id="minute 60"),
    pytest.param("2013-07-01T16:00", "BOS", 2401, None, id="hour 24"),
    pytest.param("2013-07-01T16:00", "BOS", -5, None, id="negative"),
]


def instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


def seconds(when: datetime | None) -> int | None:
    return int(when.timestamp()) if when else None


@pytest.fixture(scope="module")
def arrivals(spark: SparkSession) -> dict[int, Row]:
    """All cases in one job: arrival by number of the case."""
    rows = [(number, case.values[1], instant(case.values[0]), case.values[2])
            for number, case in enumerate(CASES)]  # fmt: skip
    flights = spark.createDataFrame(rows, "id int, dest string, dep_ts timestamp, arr_time int")
    airports = spark.createDataFrame([*AIRPORTS, AIRPORTS[0]], "faa string, tzone string")
    result = arrival_ts(flights, airports)
    assert result.dtypes == [*flights.dtypes, ("arr_ts", "timestamp")]
    found = result.select("id", F.unix_timestamp("arr_ts").alias("arrived_s")).collect()
    assert len(found) == len(CASES)
    return {row.id: row for row in found}


@pytest.mark.parametrize(
    ("number", "expected"),
    [pytest.param(n, case.values[3], id=case.id) for n, case in enumerate(CASES)],
)
def test_arrival(arrivals: dict[int, Row], number: int, expected: str | None) -> None:
    assert arrivals[number].arrived_s == seconds(instant(expected))


def test_airport_given_twice_does_not_double_its_flights(spark: SparkSession) -> None:
    flights = spark.createDataFrame(
        [("JFK", datetime(2013, 7, 1, 16, tzinfo=UTC), 1540)],
        "dest string, dep_ts timestamp, arr_time int",
    )
    airports = spark.createDataFrame([AIRPORTS[0]] * 2, "faa string, tzone string")
    assert arrival_ts(flights, airports).count() == 1


def test_every_flight_of_2013_takes_5_to_235_minutes_more_than_in_the_air(
    spark: SparkSession, tmp_path: Path
) -> None:
    with zipfile.ZipFile(find_source() / "flights.csv.zip") as package:
        package.extract("flights.csv", tmp_path)
    read = spark.read.options(header=True, nullValue="NA")
    sched_dep_ts = "timestampadd(MINUTE, int(minute), timestamp(time_hour))"
    flights = read.csv(str(tmp_path / "flights.csv")).selectExpr(
        "dest",
        f"timestampadd(MINUTE, int(dep_delay), {sched_dep_ts}) AS dep_ts",
        "int(arr_time) AS arr_time",
        "int(air_time) AS air_time",
    )
    airports = read.csv(str(find_source() / "airports.csv"))
    elapsed_min = F.timestamp_diff("MINUTE", "dep_ts", "arr_ts")
    ground_min = elapsed_min - F.col("air_time")
    found = (
        arrival_ts(flights, airports)
        .agg(
            F.count("*").alias("flights"),
            F.count("arr_ts").alias("arrivals"),
            F.count(ground_min).alias("with_air_time"),
            F.min(ground_min).alias("least"),
            F.max(ground_min).alias("most"),
            F.max(elapsed_min).alias("longest"),
        )
        .first()
    )
    assert found == Row(
        flights=336_776, arrivals=328_063, with_air_time=327_346, least=5, most=235, longest=1225
    )
