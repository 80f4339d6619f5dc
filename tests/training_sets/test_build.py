from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.errors import ConfigError, DataGateError
from pipelines.expressions import to_column
from pipelines.project.sources import Source
from pipelines.project.training import TrainingSet
from pipelines.training_sets import (
    SpineCounts,
    TrainingSetPlan,
    arrange_for_training,
    build_training_set,
)

pytestmark = pytest.mark.spark
Spec = Callable[..., TrainingSet]


@pytest.fixture
def build(
    sources: dict[str, Source], clean: Callable[[str], DataFrame]
) -> Callable[[TrainingSet], TrainingSetPlan]:
    return lambda spec: build_training_set("big", spec, sources, clean, "UTC", to_column)


def test_every_row_has_one_fate(build: Any, spec: Spec) -> None:
    plan = build(spec("split.test_until", "2020-01-12"))
    assert plan.counts == SpineCounts(
        train=3, validation=2, test=2, unlabelled=1, not_yet_known=0, embargo=1, outside=1
    )
    assert plan.counts.total == 10
    assert (plan.counts.training_rows, plan.counts.excluded) == (7, 3)


def test_rows_younger_than_the_wait_are_not_yet_known(build: Any, spec: Spec) -> None:
    assert build(spec("label.wait", "3d")).counts.not_yet_known == 1


def test_without_embargo_the_last_rows_of_a_part_stay(build: Any, spec: Spec) -> None:
    assert build(spec("split.embargo", "none")).counts.embargo == 0


def test_rows_have_what_was_known_then(build: Any, spec: Spec) -> None:
    plan = build(spec())
    assert plan.rows.dtypes == [
        ("id", "int"),
        ("predict_at", "timestamp"),
        ("day", "date"),
        ("is_big", "int"),
        ("split", "string"),
        ("sales__shop__amount__sum_2d", "double"),
        ("sales__shop__amount_ge_10__rate_2d", "double"),
        ("last__amount", "decimal(10,2)"),
        ("last__paid_ts_age_h", "double"),
        ("shop__town", "string"),
        ("shop__size", "int"),
        ("order__shop", "string"),
        ("placed__weekday", "int"),
    ]
    rows = {row["id"]: tuple(row)[2:] for row in plan.rows.collect()}
    nothing = (None, None, None, None)
    assert rows[1] == (date(2020, 1, 1), 0, "train", *nothing, "Ávila", 3, "a", 2)
    # the second order is not paid yet when the third is placed
    assert rows[3][3:5] == (None, None)
    assert rows[3][1:3] == (1, "train")
    assert float(rows[3][5]) == 5.0
    assert rows[3][6] == 49.0
    # 30 hours after the second: 20 + 12 + 9, of which two are big
    assert rows[6][3:5] == (41.0, pytest.approx(2 / 3))
    assert rows[7][3:] == (*nothing, None, None, None, 0)
    assert rows[8][3:] == (*nothing, None, None, "c", 2)
    assert [(one.name, one.kind, one.origin) for one in plan.features if one.kind != "numeric"] == [
        ("shop__town", "category", "training_sets.big.static.shop"),
        ("order__shop", "category", "training_sets.big.static.order"),
        ("placed__weekday", "category", "training_sets.big.static.placed"),
    ]
    assert [one.name for one in plan.features] == plan.rows.columns[5:]
    assert plan.key == ("id",)


def test_own_outcome_never_enters(
    build: Any, spec: Spec, sources: dict[str, Source], clean: Callable[[str], DataFrame]
) -> None:
    before = {row["id"]: tuple(row)[5:] for row in build(spec()).rows.collect()}
    doubled = clean("orders").selectExpr(
        "id", "shop", "placed_ts", "paid_ts", "note", "cast(amount * 2 as decimal(10, 2)) as amount"
    )
    for number in (1, 3, 8):
        others = clean("orders").drop("_row_hash").where(f"id != {number}")
        changed = others.unionByName(doubled.where(f"id = {number}"))
        tables = {"orders": changed, "shops": clean("shops")}
        plan = build_training_set("big", spec(), sources, tables.__getitem__, "UTC", to_column)
        after = {row["id"]: tuple(row)[5:] for row in plan.rows.collect()}
        assert after[number] == before[number]


def test_regression_label_is_a_double(build: Any, spec: Spec) -> None:
    label = {"name": "amount", "expression": "amount", "task": "regression", "wait": "1d"}
    rows = build(spec("label", label)).rows
    assert dict(rows.dtypes)["amount"] == "double"
    assert rows.where("id = 3").collect()[0]["amount"] == 12.0


def test_arranged_rows_do_not_depend_on_the_partitioning(spark: SparkSession) -> None:
    rows = spark.range(500).selectExpr("id", "if(id % 3 = 0, 'test', 'train') as split")
    found = {
        str(arrange_for_training(rows.repartition(count), ("id",), 2).collect())
        for count in (1, 7, 16)
    }
    assert len(found) == 1
    ids = [
        row["id"]
        for row in arrange_for_training(rows, ("id",), 1).where("split = 'test'").collect()
    ]
    assert len(ids) == 167
    assert ids != sorted(ids)


@pytest.mark.parametrize(
    ("path", "value", "message", "where"),
    [
        (
            "windows.sales.values",
            {"note": ["count"]},
            "note stands under no known_at of its source, so it feeds nothing",
            "training_sets.big.windows.sales",
        ),
        (
            "static.order.columns",
            ["amount"],
            "amount must be known always, but is known from paid_ts on",
            "training_sets.big.static.order.columns",
        ),
        (
            "rows.predict_at",
            "paid_ts",
            "paid_ts stands under no known_at of its source, so it feeds nothing",
            "training_sets.big.rows.predict_at",
        ),
        (
            "rows.predict_at",
            "id",
            "predict_at is of type integer; needs a timestamp",
            "training_sets.big.rows.predict_at",
        ),
        (
            "label.expression",
            "amount",
            "the label is of type decimal; a binary label needs a condition",
            "training_sets.big.label.expression",
        ),
        (
            "static.shop.join",
            {"shop": "town"},
            "join takes town, but a row of shops is named by shop; rows could double",
            "training_sets.big.static.shop.join",
        ),
        (
            "static.shop.join",
            None,
            "shops is not the source of the rows, so it needs join",
            "training_sets.big.static.shop",
        ),
        (
            "static.shop.columns",
            ["opened"],
            "shop__opened is of type date; features are numbers, texts or booleans",
            "training_sets.big.static.shop",
        ),
        (
            "latest.last.from",
            "shops",
            "size, shop is known always, and its source has no event_time",
            "training_sets.big.latest.last",
        ),
        ("label.name", "day", "two columns are called day", "training_sets.big"),
        (
            "windows.sales.values",
            {"shop": ["count"]},
            "shop is string; windows need numbers or conditions",
            "training_sets.big",
        ),
    ],
)
def test_messages(build: Any, spec: Spec, path: str, value: Any, message: str, where: str) -> None:
    asked = spec(path, value)
    if path == "latest.last.from":
        latest = {"from": "shops", "by": ["shop"], "columns": ["size"], "max_age": "7d"}
        asked = spec("latest.last", latest)
        message = "shop, size is known always, and its source has no event_time"
    with pytest.raises(ConfigError) as caught:
        build(asked)
    assert caught.value.message == message
    assert caught.value.where == where


def test_windows_ahead_see_the_schedule_only(build: Any, spec: Spec) -> None:
    ahead = {
        "from": "orders",
        "by": {"shop": ["shop"]},
        "next": ["1d"],
        "values": {"amount": ["mean"]},
    }
    with pytest.raises(ConfigError, match="next sees only what is known always, but `amount` is"):
        build(spec("windows.sales", ahead))


def test_empty_part_is_a_failed_gate(build: Any, spec: Spec) -> None:
    split = {
        "train_until": "2019-01-05",
        "validation_until": "2020-01-08",
        "test_until": "2020-01-11",
    }
    with pytest.raises(DataGateError, match="no rows for train: of 10 rows 1 are unlabelled"):
        build(spec("split", split))
