"""Row rules: nulls, NaN, bounds, three-valued expressions, odd names, declared order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from pipelines.cleaning.row_rules import violations
from pipelines.errors import ConfigError
from pipelines.project.sources import RowRule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = {
    "range": RowRule(column="x", between=(1, 6000)),
    "range_or_null": RowRule(column="x", between=(1, 6000), nulls="ignore"),
    "code": RowRule.model_validate({"column": "é", "in": ["A", "b'c"]}),
    "code_or_null": RowRule.model_validate({"column": "é", "in": ["A", "b'c"], "nulls": "ignore"}),
    "sum": RowRule(expression="x + `a.b` > 2"),
    "sum_or_null": RowRule(expression="x + `a.b` > 2", nulls="ignore"),
}


@pytest.mark.spark
def test_broken_rules_in_declared_order(spark: SparkSession) -> None:
    rows = spark.createDataFrame(
        [
            ("good", 5.0, 1, "A"),
            ("low bound", 1.0, 2, "b'c"),
            ("high bound", 6000.0, 2, "A"),
            ("outside", 0.5, 1, "B"),
            ("NaN", math.nan, 1, "A"),
            ("infinite", math.inf, 1, "A"),
            ("-0.0", -0.0, 9, "A"),
            ("null", None, None, None),
        ],
        "name string, x double, `a.b` int, `é` string",
    )
    found = rows.select("name", violations(RULES, rows.columns).alias("broken")).collect()
    assert {row["name"]: row["broken"] for row in found} == {
        "good": [],
        "low bound": [],
        "high bound": [],
        "outside": ["range", "range_or_null", "code", "code_or_null", "sum", "sum_or_null"],
        "NaN": ["range", "range_or_null"],
        "infinite": ["range", "range_or_null"],
        "-0.0": ["range", "range_or_null"],
        "null": ["range", "code", "sum"],
    }


@pytest.mark.spark
def test_nan_is_outside_even_without_an_upper_bound(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(math.nan,), (math.inf,), (-math.inf,)], "`ti``ck` double")
    rules = {"low": RowRule(column="ti`ck", between=(0, math.inf), nulls="ignore")}
    found = rows.select(violations(rules, rows.columns)).collect()
    assert [row[0] for row in found] == [["low"], [], ["low"]]


@pytest.mark.spark
def test_integers_above_two_to_the_53_are_compared_exactly(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(2**53 - 1,), (2**53 + 1,)], "k bigint")
    rules = {"k": RowRule(column="k", between=(0, 2**53 - 1))}
    assert [row[0] for row in rows.select(violations(rules, ["k"])).collect()] == [[], ["k"]]


@pytest.mark.spark
def test_no_rules_break_nothing(spark: SparkSession) -> None:
    row = spark.range(1).select(violations({}, ["id"]).alias("broken"))
    assert row.schema["broken"].dataType.simpleString() == "array<string>"
    assert row.first() == ([],)


@pytest.mark.spark
def test_an_expression_on_an_unknown_column_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ConfigError, match=r"unknown column `distnce`.*Did you mean"):
        violations({"r": RowRule(expression="distnce > 1")}, ["distance"])
