"""The rows that several models learn from: read once, in an order that only the rows decide."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from features.encode import TableEncoder
from pipelines.classical.design import LABEL
from pipelines.errors import DataGateError

# A partition's rows at 100 features are some 100 MB while a tree bins them.
_ROWS_PER_PARTITION = 131_072


@dataclass(frozen=True)
class LabelFacts:
    """What the baselines need, exact at any partitioning.

    Args:
        num_rows: Rows of the training part.
        mean: Mean of the label: the share of positives, or the mean value.
        low: Smallest label.
        high: Largest label.
    """

    num_rows: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class TrainingFrame:
    """The training part as several models use it.

    Args:
        rows: Features and the label as a double; cached while the frame is open.
        encoder: Encoder fitted on these rows.
        label: The label's facts.
    """

    rows: DataFrame
    encoder: TableEncoder
    label: LabelFacts


@contextmanager
def prepare(train: DataFrame, label: str, encoder: TableEncoder) -> Iterator[TrainingFrame]:
    """Opens the training part for models: one aggregate now, one read by the first model.

    The number of partitions, the partition of a row and its place there follow from the rows alone,
    never from how the table's files are cut. Rows that share a place are equal, so MLlib's
    sampling, which draws by place, is the same on every machine.

    Raises:
        DataGateError: There are no rows, or a label is null.
    """
    facts = _label_facts(train, label)
    features = (F.col(f"`{name}`") for name in encoder.columns)
    rows = train.select(*features, F.col(f"`{label}`").cast("double").alias(LABEL))
    num_partitions = math.ceil(facts.num_rows / _ROWS_PER_PARTITION)
    place = F.xxhash64(*(F.col(f"`{name}`") for name in rows.columns))
    ordered = (
        rows.withColumn("_place", place)
        .repartition(num_partitions, "_place")
        .sortWithinPartitions("_place")
        .drop("_place")
        .persist(StorageLevel.MEMORY_AND_DISK)
    )
    try:
        yield TrainingFrame(ordered, encoder, facts)
    finally:
        ordered.unpersist()


def _label_facts(train: DataFrame, label: str) -> LabelFacts:
    value = F.col(f"`{label}`").cast("double")
    row = train.agg(
        F.count(F.lit(1)).alias("num_rows"),
        F.count(value).alias("labelled"),
        # Decimal sums don't depend on the order of the rows.
        F.sum(value.cast("decimal(38,9)")).cast("double").alias("total"),
        F.min(value).alias("low"),
        F.max(value).alias("high"),
    ).first()
    if row is None or not row["num_rows"]:
        raise DataGateError(
            "the training part has no rows",
            where=f"label {label}",
            remedy="move training_sets.*.split.train_until, or check what featurize excluded",
        )
    if row["labelled"] < row["num_rows"]:
        raise DataGateError(
            f"{row['num_rows'] - row['labelled']} of {row['num_rows']} training rows have no "
            f"{label}; allowed: 0",
            where=f"label {label}",
            remedy="cauce featurize --force",
        )
    return LabelFacts(row["num_rows"], row["total"] / row["num_rows"], row["low"], row["high"])
