from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from features.errors import FeatureError
from features.events import Bucket, EventJoin, add_event_features, number_keys
from features.windows import WindowFeatures, WindowValue, range_maxima
from tests.features.model import Event, assert_same, window

AGGREGATES = ("count", "sum", "mean", "min", "max", "std")
SPANS = (timedelta(seconds=2), timedelta(seconds=7))
KEYS = st.sampled_from(["a", "b", "ä", None])
VALUES = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, float("nan"), float("inf"), 1e6]),
    st.floats(-1e4, 1e4).map(lambda value: round(value, 3)),
)
EVENTS = st.lists(
    st.builds(Event, KEYS, st.one_of(st.none(), st.integers(0, 12)), st.integers(0, 12), VALUES),
    max_size=25,
)
ROWS = st.lists(st.tuples(KEYS, st.integers(0, 15)), min_size=1, max_size=12)


def bucket_of(events: list[Event], rows: list[tuple[str | None, int]]) -> Bucket:
    left = pa.table({"key": pa.array([key for key, _ in rows], pa.string())})
    right = pa.table(
        {
            "key": pa.array([event.key for event in events], pa.string()),
            "value": pa.array([event.value for event in events], pa.float64(), from_pandas=False),
            "known_ts": pa.array([event.known for event in events], pa.timestamp("s")),
            "event_ts": pa.array([event.happened for event in events], pa.timestamp("s")),
        }
    )
    for place, name in ((2, "known_ts"), (3, "event_ts")):
        right = right.set_column(place, name, right[name].cast(pa.timestamp("us")))
    row_keys, event_keys = number_keys(left, right, ["key"])
    return Bucket(row_keys, np.array([at * 10**6 for _, at in rows], np.int64), right, event_keys)


@given(EVENTS, ROWS)
def test_aggregates_equal_the_plain_model(
    events: list[Event], rows: list[tuple[str | None, int]]
) -> None:
    value = WindowValue("value", "value", "known_ts", AGGREGATES)
    found = WindowFeatures("w", (value,), SPANS).compute(bucket_of(events, rows))
    for seconds in (2, 7):
        for aggregate in AGGREGATES:
            expected = [window(events, key, at - seconds, at, aggregate) for key, at in rows]
            assert_same(found[f"w__value__{aggregate}_{seconds}s"].to_pylist(), expected)


@given(EVENTS, ROWS)
def test_windows_ahead_equal_the_plain_model(
    events: list[Event], rows: list[tuple[str | None, int]]
) -> None:
    value = WindowValue("value", "value", "event_ts", ("count", "sum"))
    found = WindowFeatures("w", (value,), SPANS[1:], ahead=True).compute(bucket_of(events, rows))
    scheduled = [Event(event.key, event.happened, 0, event.value) for event in events]
    for aggregate in ("count", "sum"):
        expected = [window(scheduled, key, at, at + 7, aggregate) for key, at in rows]
        assert_same(found[f"w__value__{aggregate}_next_7s"].to_pylist(), expected)


@given(st.lists(st.floats(-9, 9), min_size=1, max_size=40), st.data())
def test_range_maxima(values: list[float], data: Any) -> None:
    places = st.integers(0, len(values))
    pairs = data.draw(st.lists(st.tuples(places, places).map(sorted), min_size=1, max_size=20))
    first, end = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    expected = [max(values[low:high], default=-np.inf) for low, high in pairs]
    assert range_maxima(np.array(values), first, end).tolist() == expected


def flights(table: Callable[..., DataFrame]) -> DataFrame:
    return table(
        "tail string, sched_ts timestamp, arr_ts timestamp, delay double",
        ("N1", 0.0, 60.0, 10.0),
        ("N1", 100.0, 180.0, 30.0),
        ("N1", 200.0, 250.0, 20.0),
        ("N2", 10.0, None, None),
        (None, 10.0, 20.0, 99.0),
    )


DELAYS = WindowFeatures(
    "delays__tail",
    (
        WindowValue("delay", "delay", "arr_ts", ("count", "mean")),
        WindowValue("delay >= 15", "late", "arr_ts", ("rate",)),
    ),
    (timedelta(hours=3),),
)
SCHEDULE = WindowFeatures(
    "plan__tail", (WindowValue("*", None, "sched_ts", ("count",)),), (timedelta(hours=1),), True
)


@pytest.mark.spark
def test_a_row_sees_what_was_known_and_never_itself(table: Callable[..., DataFrame]) -> None:
    events = flights(table).selectExpr("*", "delay >= 15 as late")
    rows = flights(table).selectExpr("tail", "sched_ts", "delay")
    join = EventJoin(events, ("tail",), (DELAYS, SCHEDULE))
    found = add_event_features(rows, [join], at="sched_ts").orderBy("tail", "sched_ts")
    assert [tuple(row)[0:1] + tuple(row)[2:] for row in found.collect()] == [
        (None, 99.0, 0, None, None, 0),
        ("N1", 10.0, 0, None, None, 0),
        ("N1", 30.0, 1, 10.0, 0.0, 0),  # the landing at 60 is known at 100
        ("N1", 20.0, 2, 20.0, 0.5, 0),  # 60 and 180 lie in (20, 200]
        ("N2", None, 0, None, None, 0),
    ]
    assert found.columns[3:] == [
        "delays__tail__delay__count_3h",
        "delays__tail__delay__mean_3h",
        "delays__tail__delay_ge_15__rate_3h",
        "plan__tail__events__count_next_1h",
    ]


@pytest.mark.spark
def test_known_at_the_very_instant_counts_and_a_span_ago_no_longer(
    table: Callable[..., DataFrame],
) -> None:
    events = flights(table).selectExpr("*", "delay >= 15 as late")
    rows = table("tail string, at_ts timestamp", ("N1", 60.0), ("N1", 240.0), ("N1", 239.0))
    found = add_event_features(rows, [EventJoin(events, ("tail",), (DELAYS,))], at="at_ts")
    counts = {row[1].minute + row[1].hour * 60: row[2] for row in found.collect()}
    assert counts == {60: 1, 240: 1, 239: 2}


@pytest.mark.spark
def test_same_bytes_at_any_partitioning(spark: SparkSession) -> None:
    numbers = spark.range(3000).selectExpr(
        "concat('k', pmod(id * 7919, 37)) as key",
        "cast(pmod(id, 3) as int) as part",
        "timestamp_seconds(pmod(id * 104729, 5000)) as known_ts",
        "timestamp_seconds(pmod(id * 31, 5000)) as at_ts",
        "pmod(id * 15485863, 1000) / 7.0 as value",
        "id",
    )
    value = WindowValue("value", "value", "known_ts", AGGREGATES)
    joins = [
        EventJoin(numbers, by, (WindowFeatures("_".join(by), (value,), (timedelta(minutes=5),)),))
        for by in (("key",), ("key", "part"), ("part",))
    ]
    rows = numbers.select("id", "key", "part", "at_ts")
    found = set()
    before = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        for partitions in (1, 2, 7, 16):
            spark.conf.set("spark.sql.shuffle.partitions", partitions)
            moved = [
                EventJoin(join.events.repartition(partitions, "value"), join.by, join.features)
                for join in joins
            ]
            features = add_event_features(rows.repartition(partitions), moved, at="at_ts")
            found.add(features.orderBy("id").toPandas().to_csv())
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    assert len(found) == 1


@pytest.mark.spark
def test_tables_without_rows_or_events(table: Callable[..., DataFrame]) -> None:
    events = flights(table).selectExpr("*", "delay >= 15 as late")
    rows = table("tail string, at_ts timestamp", ("N1", 60.0))
    nothing = EventJoin(events.where("false"), ("tail",), (DELAYS,))
    found = add_event_features(rows, [nothing], at="at_ts").collect()
    assert [tuple(row)[2:] for row in found] == [(0, None, None)]
    some = EventJoin(events, ("tail",), (DELAYS,))
    assert add_event_features(rows.where("false"), [some], at="at_ts").collect() == []


def features_of(table: Callable[..., DataFrame], value: WindowValue) -> None:
    one = WindowFeatures("w", (value,), (timedelta(hours=1),))
    events = flights(table).selectExpr("*", "delay > 0 as late")
    add_event_features(
        flights(table).select("tail", "sched_ts"),
        [EventJoin(events, ("tail",), (one,))],
        at="sched_ts",
    )


@pytest.mark.spark
def test_messages(table: Callable[..., DataFrame]) -> None:
    with pytest.raises(FeatureError, match=r"events themselves can only be counted, not mean"):
        features_of(table, WindowValue("*", None, "arr_ts", ("mean",)))
    with pytest.raises(FeatureError, match=r"tail is string; windows need numbers or conditions"):
        features_of(table, WindowValue("tail", "tail", "arr_ts", ("count",)))
    with pytest.raises(FeatureError, match=r"rate is the share of a condition"):
        features_of(table, WindowValue("delay", "delay", "arr_ts", ("rate",)))
    events = flights(table).selectExpr("*", "delay >= 15 as late")
    join = EventJoin(events, ("tail",), (DELAYS,))
    rows = flights(table)
    with pytest.raises(FeatureError, match="two columns are called delays__tail__delay__count_3h"):
        add_event_features(rows, [join, join], at="sched_ts")
    with pytest.raises(FeatureError, match="key column tail is string, but int in the rows"):
        add_event_features(rows.selectExpr("1 as tail", "sched_ts"), [join], at="sched_ts")
    with pytest.raises(FeatureError, match="key column delay is double; allowed are texts"):
        by_delay = EventJoin(events, ("delay",), (DELAYS,))
        add_event_features(rows, [by_delay], at="sched_ts")
    huge = EventJoin(
        events.selectExpr("tail", "arr_ts", "1e13 as delay", "late"), ("tail",), (DELAYS,)
    )
    with pytest.raises(PythonException, match="delay: a sum over 1 values of up to 1e"):
        add_event_features(rows, [huge], at="sched_ts").collect()
