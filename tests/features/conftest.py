"""Builders of small tables with literal instants."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="session")
def table(spark: SparkSession) -> Callable[..., DataFrame]:
    """`table(schema, *rows)`; an instant is written as minutes since 2020, in columns `*_ts`."""
    start = datetime(2020, 1, 1, tzinfo=UTC).timestamp()

    def build(schema: str, *rows: tuple[Any, ...]) -> DataFrame:
        names = [part.split()[0] for part in schema.split(", ")]
        plain = schema.replace(" timestamp", " double")
        frame = spark.createDataFrame(list(rows), plain)
        for name in names:
            if name.endswith("_ts"):
                minutes = f"timestamp_micros(cast(({start} + {name} * 60) * 1e6 as bigint))"
                frame = frame.selectExpr(
                    *[f"{minutes} as {name}" if column == name else column for column in names]
                )
        return frame

    return build
