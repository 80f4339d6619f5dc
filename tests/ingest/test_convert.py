"""Values of a source → declared types: what fits, what is named as a problem, what null means."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.ingest.convert import column_of, problem, typed
from pipelines.project.types import ColumnType, parse_column_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
BAD = "bad_value"


def convert(spark: SparkSession, declared: str, values: list[Any], kind: str = "string") -> Any:
    """The converted values, `bad_value` in place of one that does not fit."""
    column = ColumnType.model_validate(parse_column_type(declared))
    frame = spark.createDataFrame([(n, v) for n, v in enumerate(values)], f"n int, v {kind}")
    value = typed(column_of("v"), column, "America/New_York", frame.schema["v"].dataType)
    rows = frame.select(
        "n", value.alias("x"), problem("v", column_of("v"), value, column).alias("p")
    )
    found = [(row["x"], row["p"]) for row in rows.orderBy("n").collect()]
    return [p["reason"] if p else x for x, p in found]


def utc(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def test_whole_numbers(spark: SparkSession) -> None:
    values = ["7", " 7 ", "-7", "7.0", "2147483647", "2147483648", "abc", "7.5", "1e3", "", None]
    assert convert(spark, "int", values) == [7, 7, -7, 7, 2**31 - 1, *[BAD] * 5, None]
    big = ["9007199254740993", "9223372036854775807", "9223372036854775808"]
    assert convert(spark, "long", big) == [2**53 + 1, 2**63 - 1, BAD]


def test_text_stays_as_it_is(spark: SparkSession) -> None:
    values = ["00501", " x ", "NaN", "2147483648", "", None]
    assert convert(spark, "string", values) == values


def test_fractions_have_one_form(spark: SparkSession) -> None:
    found = convert(spark, "double", ["1.5", "-0.0", "NaN", "Infinity", "1,5", "1e400"])
    assert (found[0], math.copysign(1, found[1]), math.isnan(found[2])) == (1.5, 1.0, True)
    assert found[3:] == [math.inf, BAD, math.inf]
    assert math.copysign(1, convert(spark, "double", [-0.0], "double")[0]) == 1.0
    assert convert(spark, "decimal(5,2)", ["1.25", "1000"]) == [Decimal("1.25"), BAD]


def test_a_wall_time_is_one_instant_or_a_bad_value(spark: SparkSession) -> None:
    found = convert(
        spark,
        "timestamp",
        [
            "2013-01-01 05:00:00",
            "2013-07-01T05:00",
            "2013-03-10 01:59:59",
            "2013-03-10 02:30:00",  # the clocks skipped it
            "2013-03-10 03:00:00",
            "2013-11-03 01:30:00",  # there were two; the earlier counts
            "2013-07-01",
        ],
    )
    expected = ["2013-01-01 10:00", "2013-07-01 09:00", "2013-03-10 06:59:59"]
    expected += ["2013-03-10 07:00", "2013-11-03 05:30", "2013-07-01 04:00"]
    assert [x for x in found if x != BAD] == [utc(text) for text in expected]
    assert found[3] == BAD


def test_an_offset_decides_by_itself(spark: SparkSession) -> None:
    values = ["2013-03-10T02:30:00Z", "2013-03-10 02:30:00.250+01:00", "2013-03-10 02:30-0500"]
    expected = ["2013-03-10 02:30", "2013-03-10 01:30:00.250", "2013-03-10 07:30"]
    assert convert(spark, "timestamp", values) == [utc(text) for text in expected]


def test_what_spark_would_take_for_a_time(spark: SparkSession) -> None:
    # A time of day would become today's; a year, January; a named zone, another wall time.
    values = ["12:30", "T12:30", "2013", "2013-07", "2013-07-01 05:00 UTC", "2013-13-01", "noon"]
    assert convert(spark, "timestamp", values) == [BAD] * len(values)


def test_parquet_values_fit_without_loss_or_not_at_all(spark: SparkSession) -> None:
    assert convert(spark, "int", [7, 2**31], "bigint") == [7, BAD]
    assert convert(spark, "int", [7.0, 7.5], "double") == [7, BAD]
    assert convert(spark, "long", [2**31], "bigint") == [2**31]
    assert convert(spark, "double", [7], "int") == [7.0]
    assert convert(spark, "int", ["7", "abc"]) == [7, BAD]
    wall = [dt.datetime(2013, 7, 1, 5), dt.datetime(2013, 3, 10, 2, 30)]
    assert convert(spark, "timestamp", wall, "timestamp_ntz") == [utc("2013-07-01 09:00"), BAD]
    assert convert(spark, "timestamp", wall[:1], "timestamp") == [utc("2013-07-01 05:00")]


def test_a_missing_value_is_a_problem_where_it_is_required(spark: SparkSession) -> None:
    assert convert(spark, "int!", ["7", None, "x"]) == [7, "null_value", BAD]
    assert convert(spark, "string!", ["x", None]) == ["x", "null_value"]
