"""Suites on Spark: stock GX, three values, NaN, odd names, isolation, nothing left cached."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.project.sources import TableRule
from pipelines.quality import GateContext, Verdict, check_suite, evaluate_table_rules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "id int, x double, code string, `a.b` int, `sp ace` string, `select` int, y double"


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [
            (1, 1.0, "AB1", 1, "k", 5, 1.0),
            (1, 2.0, "ab", 1, "k", 6, None),
            (2, math.nan, None, 2, "l", 7, 3.0),
            (3, None, "CD3", None, None, 8, 9.0),
        ],
        SCHEMA,
    )


def judge(
    folder: Path, frame: DataFrame, *expectations: dict[str, Any], **settings: Any
) -> dict[str, Verdict]:
    path = folder / "s.json"
    path.write_text(json.dumps({"name": "s", "expectations": [*expectations]}, indent=1), "utf-8")
    assert check_suite(path, frame.columns) == []
    rules = {"suite": TableRule.model_validate({"great_expectations": "s.json", **settings})}

    def no_reference(source: str) -> DataFrame:
        raise AssertionError(source)

    context = GateContext(1, 0, no_reference, folder, lambda key: "base.yaml:1")
    found = evaluate_table_rules("t", rules, frame, context)
    assert len(found) == len(expectations)
    return {v.rule.removeprefix("suite."): v for v in found}


def one(name: str, kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"type": f"expect_{kind}", "kwargs": kwargs, "meta": {"name": name}}


@pytest.mark.spark
def test_counts_severities_samples_and_odd_names(
    spark: SparkSession, rows: DataFrame, tmp_path: Path
) -> None:
    cached_before = set(spark.sparkContext._jsc.getPersistentRDDs())
    found = judge(
        tmp_path,
        rows,
        {
            **one("form", "column_values_to_match_regex", column="code", regex="^[A-Z]{2}[0-9]$"),
            "severity": "critical",
        },
        one("range", "column_values_to_be_between", column="x", min_value=0),
        one("dotted", "column_values_to_not_be_null", column="a.b", mostly=0.7),
        one("key", "compound_columns_to_be_unique", column_list=["a.b", "sp ace"]),
        one("keyword", "column_max_to_be_between", column="select", max_value=7),
        one("rows", "table_row_count_to_be_between", min_value=1, max_value=9),
        one("shape", "column_to_exist", column="nope"),
        one(
            "where",
            "column_values_to_not_be_null",
            column="code",
            row_condition="`a.b` = 1 and id < 9",
            condition_parser="spark",
        ),
        severity="warn",
    )
    assert found["form"] == Verdict(
        table="t",
        rule="suite.form",
        severity="fail",
        verdict="fail",
        evaluated=3,
        failed=1,
        observed="33.3 % (1/3)",
        allowed="0 %",
        origin="s.json:4",
        samples=({"code": "ab"},),
    )
    got = {name: (v.verdict, v.evaluated, v.failed) for name, v in found.items()}
    assert got == {
        "form": ("fail", 3, 1),
        "range": ("warn", 3, 1),  # NaN is a violation although only min_value is given
        "dotted": ("pass", 4, 1),
        "key": ("warn", 3, 2),  # the row without any key column is not counted
        "keyword": ("warn", None, None),
        "rows": ("pass", None, None),
        "shape": ("warn", None, None),
        "where": ("pass", 2, 0),
    }
    assert (found["keyword"].observed, found["keyword"].allowed) == ("8", "at most 7")
    assert found["rows"].allowed == "1 to 9"
    assert found["key"].samples == ({"a.b": 1, "sp ace": "k"}, {"a.b": 1, "sp ace": "k"})
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) <= cached_before


@pytest.mark.spark
def test_nothing_to_look_at_is_not_evaluated(rows: DataFrame, tmp_path: Path) -> None:
    suite = [
        one("range", "column_values_to_be_between", column="x", min_value=0, max_value=9),
        one("form", "column_values_to_match_regex", column="code", regex="^A"),
        one("unique", "column_values_to_be_unique", column="code"),
        one("mean", "column_mean_to_be_between", column="x", min_value=0, max_value=9),
        one("known", "column_values_to_not_be_null", column="x"),
        one("rows", "table_row_count_to_be_between", min_value=1),
    ]
    empty = judge(tmp_path, rows.limit(0), *suite, not_evaluated="fail")
    assert [v.verdict for v in empty.values()] == ["not_evaluated"] * 5 + ["fail"]
    assert [v.severity for v in empty.values()] == ["fail"] * 6
    nulls = judge(tmp_path, rows.selectExpr("double(null) x", "string(null) code"), *suite)
    assert [v.verdict for v in nulls.values()] == ["not_evaluated"] * 4 + ["fail", "pass"]
    assert nulls["range"].observed == "0 of 4 non-null"
    where = {"row_condition": "id > 99", "condition_parser": "spark"}
    none = judge(
        tmp_path,
        rows,
        one("range", "column_values_to_be_between", column="x", min_value=0, **where),
        one("mean", "column_mean_to_be_between", column="x", min_value=0, **where),
    )
    assert [v.verdict for v in none.values()] == ["not_evaluated"] * 2


@pytest.mark.spark
def test_pairs_with_a_null_side_are_not_counted(rows: DataFrame, tmp_path: Path) -> None:
    found = judge(
        tmp_path,
        rows,
        one("pair", "column_pair_values_a_to_be_greater_than_b", column_A="select", column_B="y"),
    )["pair"]
    assert (found.verdict, found.evaluated, found.failed) == ("fail", 3, 1)
    assert found.samples == ({"select": 8, "y": "9.0"},)


@pytest.mark.spark
def test_a_rule_that_raises_is_an_error_and_leaves_the_others(
    rows: DataFrame, tmp_path: Path
) -> None:
    found = judge(
        tmp_path,
        rows,
        one("typed", "column_values_to_be_in_set", column="id", value_set=["not a number"]),
        one("odd", "column_values_to_be_between", column="id", min_value={"a": 1}),
        one("known", "column_values_to_not_be_null", column="id"),
        one("range", "column_values_to_be_between", column="id", min_value=1, max_value=3),
    )
    got = [v.verdict for v in found.values()]
    assert got == ["error", "error", "pass", "pass"]


@pytest.mark.spark
def test_failing_rows_give_three_samples(spark: SparkSession, tmp_path: Path) -> None:
    found = judge(
        tmp_path,
        spark.range(5_000),
        one("low", "column_values_to_be_between", column="id", max_value=9),
    )["low"]
    assert (found.failed, len(found.samples)) == (4_990, 3)
    assert set(found.samples[0]) == {"id"}
