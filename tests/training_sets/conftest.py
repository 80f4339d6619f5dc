"""A tiny project of orders with a shop's answers, as the clean tables would hold it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.project.sources import Source
from pipelines.project.training import TrainingSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORDERS: dict[str, Any] = {
    "files": {"path": "orders.csv", "format": "csv"},
    "schema": {
        "id": "int!",
        "shop": "string",
        "placed_ts": "timestamp",
        "paid_ts": "timestamp",
        "amount": "decimal(10, 2)",
        "note": "string",
    },
    "event_time": "placed_ts",
    "known_at": {"always": ["id", "shop", "placed_ts"], "paid_ts": ["amount"]},
    "dedup": {"key": ["id"]},
}
SHOPS: dict[str, Any] = {
    "files": {"path": "shops.csv", "format": "csv"},
    "schema": {"shop": "string!", "town": "string", "size": "int", "opened": "date"},
    "known_at": {"always": "*"},
    "dedup": {"key": ["shop"]},
}
SPEC: dict[str, Any] = {
    "rows": {"source": "orders", "predict_at": "placed_ts"},
    "label": {"name": "is_big", "expression": "amount >= 10", "wait": "1d"},
    "windows": {
        "sales": {
            "from": "orders",
            "by": {"shop": ["shop"]},
            "last": ["2d"],
            "values": {"amount": ["sum"], "amount >= 10": ["rate"]},
        }
    },
    "latest": {"last": {"from": "orders", "by": ["shop"], "columns": ["amount"], "max_age": "7d"}},
    "static": {
        "order": {"from": "orders", "columns": ["shop"]},
        "shop": {"from": "shops", "join": {"shop": "shop"}, "columns": ["town", "size"]},
        "placed": {"of": "placed_ts", "parts": ["weekday"]},
    },
    "split": {
        "train_until": "2020-01-05",
        "validation_until": "2020-01-08",
        "test_until": "2020-01-11",
    },
}
# id, shop, day and hour placed, hours until paid (None = never), amount
PLACED = [
    (1, "a", "01T10", 1, 5),
    (2, "a", "02T10", 30, 20),  # paid on the 3rd at 16 h
    (3, "a", "03T12", 1, 12),
    (4, "a", "04T12", 1, 9),  # embargo: known on the 5th at 12 h
    (5, "b", "04T00", 1, None),  # unlabelled
    (6, "a", "05T00", 1, 30),
    (7, None, "06T00", 1, 3),
    (8, "c", "08T00", 1, 3),
    (9, "a", "09T18", 1, 3),  # known after the newest instant
    (10, "a", "12T00", None, None),  # outside; the newest instant would be its own
]


@pytest.fixture(scope="session")
def clean(spark: SparkSession) -> Callable[[str], DataFrame]:
    rows = []
    for number, shop, at, hours, amount in PLACED:
        rows.append((number, shop, f"2020-01-{at}:00:00Z", hours, amount))
    orders = spark.createDataFrame(rows, "id int, shop string, at string, hours int, amount int")
    orders = orders.selectExpr(
        "id",
        "shop",
        "cast(at as timestamp) as placed_ts",
        "timestampadd(HOUR, hours, cast(at as timestamp)) as paid_ts",
        "cast(amount as decimal(10, 2)) as amount",
        "'x' as note",
        "42 as _row_hash",
    )
    shops = spark.createDataFrame(
        [("a", "Ávila", 3, None), ("b", None, None, None)],
        "shop string, town string, size int, opened date",
    )
    tables = {"orders": orders, "shops": shops}
    return lambda name: tables[name]


@pytest.fixture
def sources() -> dict[str, Source]:
    return {"orders": Source.model_validate(ORDERS), "shops": Source.model_validate(SHOPS)}


def change(section: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a section with one value changed, or removed where it is None."""
    head, _, rest = path.partition(".")
    copy = dict(section)
    if rest:
        copy[head] = change(section.get(head, {}), rest, value)
    elif value is None:
        copy.pop(head, None)
    else:
        copy[head] = value
    return copy


@pytest.fixture
def spec() -> Callable[..., TrainingSet]:
    """`spec()`, or `spec("label.wait", "2d")` with one key changed."""

    def build(path: str | None = None, value: Any = None) -> TrainingSet:
        return TrainingSet.model_validate(change(SPEC, path, value) if path else SPEC)

    return build
