from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from features.calendar import calendar_columns, local_date
from features.errors import FeatureError
from features.split import TimeSplit
from features.static import add_static_features

ZONE = "America/New_York"


def instants(spark: SparkSession, *texts: str | None) -> DataFrame:
    frame = spark.createDataFrame([(text,) for text in texts], "text string")
    return frame.select(F.col("text").cast("timestamp").alias("at"))


@pytest.mark.spark
def test_calendar_follows_the_clock_changes(spark: SparkSession) -> None:
    rows = instants(
        spark,
        "2013-03-10T06:59:00Z",  # 01:59 EST, Sunday
        "2013-03-10T07:00:00Z",  # 03:00 EDT
        "2013-11-03T05:30:00Z",  # 01:30 EDT
        "2013-11-03T06:30:00Z",  # 01:30 EST
        "2014-01-01T04:59:00Z",  # 31 December, Tuesday
        None,
    )
    parts = calendar_columns(F.col("at"), ["hour", "weekday", "month", "day"], ZONE)
    assert [tuple(row) for row in rows.select(*parts).collect()] == [
        (1, 6, 3, 10),
        (3, 6, 3, 10),
        (1, 6, 11, 3),
        (1, 6, 11, 3),
        (23, 1, 12, 31),
        (None, None, None, None),
    ]
    assert rows.select(local_date(F.col("at"), ZONE)).collect()[4][0] == date(2013, 12, 31)


@pytest.mark.spark
@pytest.mark.parametrize("embargo", [timedelta(hours=2), timedelta(0)])
def test_borders_are_local_midnights_with_an_embargo_before(
    spark: SparkSession, embargo: timedelta
) -> None:
    days = date(2013, 9, 1), date(2013, 11, 1), date(2014, 1, 1)
    rows = instants(
        spark,
        "2013-09-01T02:00:00Z",  # two hours before midnight in New York: known at the border
        "2013-09-01T02:00:01Z",
        "2013-09-01T03:59:59Z",
        "2013-09-01T04:00:00Z",
        "2013-11-01T03:00:00Z",
        "2014-01-01T04:59:59Z",
        "2014-01-01T05:00:00Z",
        None,
    )
    found = rows.select(TimeSplit(*days, ZONE, embargo).column(F.col("at"))).collect()
    late = "embargo" if embargo else "train"
    assert [row[0] for row in found] == [
        "train",
        late,
        late,
        "validation",
        "embargo" if embargo else "validation",
        "test",
        "outside",
        "outside",
    ]


@pytest.mark.spark
def test_static_columns_keep_every_row(table: Callable[..., DataFrame]) -> None:
    planes = table("tailnum string, seats int", ("N1", 50), ("N2", None))
    rows = table("id int, tail string", (1, "N1"), (2, "N2"), (3, "N9"), (4, None))
    found = add_static_features(
        rows, planes, group="plane", join={"tail": "tailnum"}, columns=["tailnum", "seats"]
    )
    assert sorted(tuple(row) for row in found.collect()) == [
        (1, "N1", "N1", 50),
        (2, "N2", "N2", None),
        (3, "N9", None, None),
        (4, None, None, None),
    ]
    assert found.columns == ["id", "tail", "plane__tailnum", "plane__seats"]


@pytest.mark.spark
def test_static_key_of_another_type_is_refused(table: Callable[..., DataFrame]) -> None:
    planes = table("tailnum string, seats int", ("N1", 50))
    rows = table("tail int", (1,))
    with pytest.raises(FeatureError, match="key column tailnum is string, but int in the rows"):
        add_static_features(rows, planes, group="p", join={"tail": "tailnum"}, columns=["seats"])
