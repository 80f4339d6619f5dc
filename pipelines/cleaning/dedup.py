"""One row a key by a total order, so that the winner never depends on partitioning or arrival."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.expressions import quote
from pipelines.project.sources import Dedup

TECHNICAL = ("_row_hash", "_file", "_record", "_delivered_at", "_batch")


def add_decision(rows: DataFrame, dedup: Dedup, content: list[str]) -> DataFrame:
    """Adds which row of each key survives.

    Args:
        rows: Good rows with the columns of TECHNICAL.
        dedup: Key and order.
        content: Columns whose nulls `most_complete` counts.

    Returns:
        The same rows with `_rank` (1 survives), the survivor's `_survivor_file` and
        `_survivor_record`, and `_rule`: `duplicate` where contents are equal, else `superseded`.
    """
    key = [F.col(quote(column)) for column in dedup.key]
    ordered = Window.partitionBy(*key).orderBy(*_order(dedup, content))
    return (
        rows.withColumn("_rank", F.row_number().over(ordered))
        .withColumn("_survivor_file", F.first("_file").over(ordered))
        .withColumn("_survivor_record", F.first("_record").over(ordered))
        .withColumn(
            "_rule",
            F.when(F.first("_row_hash").over(ordered) == F.col("_row_hash"), "duplicate").otherwise(
                "superseded"
            ),
        )
    )


def _order(dedup: Dedup, content: list[str]) -> list[Column]:
    """Best row first; the end of the order (hash, file, record) leaves no tie."""
    by = "_delivered_at" if dedup.by == "delivered_at" else dedup.by
    newest = [F.col(quote(by)).desc_nulls_last()]
    if by != "_delivered_at":
        newest.append(F.col("_delivered_at").desc())
    if dedup.keep == "most_complete":
        missing = sum((F.col(quote(c)).isNull().cast("int") for c in content), F.lit(0))
        newest.insert(0, missing.asc())
    return [*newest, F.col("_row_hash").desc(), F.col("_file").desc(), F.col("_record").desc()]
