"""Table rules: three values, mostly, foreign keys with nulls, isolation of a rule that raises."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.errors import InputMissingError
from pipelines.project.sources import TableRule
from pipelines.quality import GateContext, Verdict, evaluate_table_rules, gate_passed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "code string, x double, `a.b` int, `é` string"


def rule(**keys: Any) -> TableRule:
    return TableRule.model_validate(keys)


def context(reference: DataFrame | None = None, rows: int = 100, bad: int = 0) -> GateContext:
    def find(source: str) -> DataFrame:
        if reference is None:
            raise InputMissingError(f"the table clean/{source} is not there")
        return reference

    return GateContext(rows, bad, find, Path(), lambda key: f"base.yaml:{len(key)}")


def judge(frame: DataFrame, rules: dict[str, TableRule], **given: Any) -> dict[str, Verdict]:
    verdicts = evaluate_table_rules("flights", rules, frame, context(**given))
    assert [v.rule for v in verdicts] == list(rules)
    return {v.rule: v for v in verdicts}


@pytest.fixture(scope="module")
def airports(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([("EWR",), ("EWR",), ("LGA",), (None,)], "faa string")


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [("EWR", 1.0, 1, "ok"), ("LGA", math.nan, 2, None), ("ZZZ", 3.0, None, "no")]
        + [(None, None, 4, "ok")] * 2,
        SCHEMA,
    )


@pytest.mark.spark
def test_counts_words_and_samples(rows: DataFrame, airports: DataFrame) -> None:
    found = judge(
        rows,
        {
            "codes": rule(column="code", **{"in": ["EWR", "LGA"]}),
            "mostly": rule(column="code", **{"in": ["EWR", "LGA"]}, mostly=0.6),
            "known": rule(column="a.b", not_null=True, severity="warn"),
            "airport": rule(foreign_key={"code": "airports.faa"}, mostly=0.9, severity="warn"),
            "numbers": rule(column="x", **{"in": [1, 3]}),
            "accent": rule(column="é", **{"in": ["ok", "no"]}),
        },
        reference=airports,
    )
    assert found["codes"] == Verdict(
        table="flights",
        rule="codes",
        severity="fail",
        verdict="fail",
        evaluated=3,
        failed=1,
        observed="33.3 % (1/3)",
        allowed="0 %",
        origin="base.yaml:33",
        samples=({"code": "ZZZ"},),
    )
    assert (found["mostly"].verdict, found["mostly"].allowed) == ("pass", "40 %")
    assert found["mostly"].samples == ()
    assert (found["known"].verdict, found["known"].evaluated, found["known"].failed) == (
        "warn",
        5,
        1,
    )
    airport = found["airport"]
    assert (airport.verdict, airport.evaluated, airport.failed) == ("warn", 3, 1)
    assert airport.samples == ({"code": "ZZZ"},)
    assert (found["numbers"].verdict, found["numbers"].failed) == ("fail", 1)
    assert (found["accent"].verdict, found["accent"].evaluated) == ("pass", 4)


@pytest.mark.spark
def test_a_thousand_failing_values_give_two_samples(spark: SparkSession) -> None:
    frame = spark.range(1_000).repartition(3)
    found = judge(frame, {"r": rule(column="id", **{"in": [5]})})["r"]
    assert (found.failed, found.samples) == (999, ({"id": 0}, {"id": 999}))


@pytest.mark.spark
@pytest.mark.parametrize("setting", ["fail", "warn"])
def test_an_empty_table_is_not_evaluated(
    rows: DataFrame, airports: DataFrame, setting: str
) -> None:
    rules = {
        "codes": rule(column="code", not_evaluated=setting, **{"in": ["EWR"]}),
        "known": rule(column="code", not_null=True, not_evaluated=setting),
        "airport": rule(foreign_key={"code": "airports.faa"}, not_evaluated=setting),
        "budget": rule(max_quarantined="1%", not_evaluated=setting),
    }
    found = judge(rows.limit(0), rules, reference=airports, rows=0)
    assert {v.verdict for v in found.values()} == {"not_evaluated"}
    assert {v.severity for v in found.values()} == {setting}
    assert {v.evaluated for v in found.values()} == {0}
    assert gate_passed(found.values()) is (setting == "warn")


@pytest.mark.spark
def test_a_column_of_nulls_is_not_evaluated_but_by_not_null(
    rows: DataFrame, airports: DataFrame
) -> None:
    nulls = rows.where("code is null")
    found = judge(
        nulls,
        {
            "codes": rule(column="code", **{"in": ["EWR"]}),
            "known": rule(column="code", not_null=True),
            "airport": rule(foreign_key={"code": "airports.faa"}),
        },
        reference=airports,
    )
    assert [v.verdict for v in found.values()] == ["not_evaluated", "fail", "not_evaluated"]


@pytest.mark.spark
def test_a_reference_without_keys_or_without_table(rows: DataFrame, airports: DataFrame) -> None:
    rules = {"airport": rule(foreign_key={"code": "airports.faa"})}
    empty = judge(rows, rules, reference=airports.where("faa is null"))["airport"]
    assert (empty.verdict, empty.observed) == ("not_evaluated", "the other table has no keys")
    missing = judge(rows, rules)["airport"]
    assert missing.verdict == "not_evaluated"
    assert missing.observed == "the table clean/airports is not there"
    strangers = judge(rows.where("code = 'ZZZ'"), rules, reference=airports)["airport"]
    assert strangers.verdict == "fail"


@pytest.mark.spark
def test_a_rule_that_raises_is_an_error_and_leaves_the_others(
    rows: DataFrame, airports: DataFrame
) -> None:
    found = judge(
        rows,
        {
            "typed": rule(column="a.b", **{"in": ["not a number"]}),
            "gone": rule(column="nope", not_null=True, severity="warn"),
            "no_key": rule(foreign_key={"code": "airports.iata"}),
            "codes": rule(column="code", **{"in": ["EWR", "LGA", "ZZZ"]}),
        },
        reference=airports,
    )
    assert [v.verdict for v in found.values()] == ["error", "error", "error", "pass"]
    assert found["typed"].observed.endswith("CAST_INVALID_INPUT")
    assert "UNRESOLVED_COLUMN" in found["gone"].observed
    assert gate_passed([found["gone"], found["codes"]])
    assert not gate_passed([found["typed"]])


@pytest.mark.spark
def test_budget_of_the_quarantine(spark: SparkSession) -> None:
    rules = {"budget": rule(max_quarantined="1%")}
    frame = spark.range(1)
    at_limit = judge(frame, rules, rows=700, bad=7)["budget"]
    assert (at_limit.verdict, at_limit.observed) == ("pass", "1 % (7/700)")
    over = judge(frame, rules, rows=30_412, bad=1_034)["budget"]
    assert (over.verdict, over.observed, over.allowed) == ("fail", "3.4 % (1,034/30,412)", "1 %")
    assert judge(frame, rules, rows=0)["budget"].observed == "0 rows in the batch"


@pytest.mark.spark
def test_all_rules_on_columns_take_one_aggregation(
    spark: SparkSession, rows: DataFrame, airports: DataFrame
) -> None:
    spark.sparkContext.setJobGroup("quality-test", "counted")
    try:
        judge(
            rows.coalesce(1),
            {
                "codes": rule(column="code", **{"in": ["EWR", "LGA"]}),
                "known": rule(column="a.b", not_null=True),
                "airport": rule(foreign_key={"code": "airports.faa"}),
            },
            reference=airports,
        )
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("quality-test")
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert len(jobs) <= 5  # adaptive execution runs each shuffle as a job of its own
