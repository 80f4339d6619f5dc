from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from pyspark.sql import DataFrame

from features.events import EventJoin, add_event_features
from features.latest import LatestFeatures
from tests.features.model import Event, assert_same, latest
from tests.features.test_windows import EVENTS, ROWS, bucket_of


@given(EVENTS, ROWS)
def test_newest_value_equals_the_plain_model(
    events: list[Event], rows: list[tuple[str | None, int]]
) -> None:
    finite = [event for event in events if event.value != float("inf")]
    newest = LatestFeatures("l", {"value": "known_ts"}, timedelta(seconds=5), "event_ts")
    found = newest.compute(bucket_of(finite, rows))
    expected = [latest(finite, key, at, 5) for key, at in rows]
    assert found["l__value"].to_pylist() == [value for value, _ in expected]
    assert_same(found["l__known_ts_age_h"].to_pylist(), [age for _, age in expected])


@pytest.mark.spark
def test_columns_keep_their_types_and_take_the_newest_of_their_own(
    table: Callable[..., DataFrame],
) -> None:
    events = table(
        "origin string, report_ts timestamp, temp double, sky string, gusts int",
        ("EWR", 0.0, 1.0, "clear", 1),
        ("EWR", 60.0, None, "fog", None),
        ("EWR", 60.0, None, "rain", None),
        ("EWR", 90.0, float("nan"), None, None),
        ("JFK", 0.0, 5.0, "snow", 7),
    )
    rows = table(
        "origin string, at_ts timestamp",
        ("EWR", -1.0),
        ("EWR", 100.0),
        ("EWR", 420.0),
        ("EWR", 421.0),
        ("LGA", 100.0),
        (None, 100.0),
    )
    newest = LatestFeatures(
        "weather", dict.fromkeys(("temp", "sky", "gusts"), "report_ts"), timedelta(hours=6)
    )
    found = add_event_features(rows, [EventJoin(events, ("origin",), (newest,))], at="at_ts")
    assert found.dtypes[2:] == [
        ("weather__temp", "double"),
        ("weather__sky", "string"),
        ("weather__gusts", "int"),
        ("weather__report_ts_age_h", "double"),
    ]
    values = {(row[0], row[1].day, row[1].hour, row[1].minute): row[2:] for row in found.collect()}
    assert values == {
        ("EWR", 31, 23, 59): (None, None, None, None),
        ("EWR", 1, 1, 40): (1.0, "rain", 1, pytest.approx(40 / 60)),
        ("EWR", 1, 7, 0): (None, "rain", None, 6.0),
        ("EWR", 1, 7, 1): (None, None, None, None),
        ("LGA", 1, 1, 40): (None, None, None, None),
        (None, 1, 1, 40): (None, None, None, None),
    }
