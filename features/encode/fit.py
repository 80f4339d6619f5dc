"""Fits a table's encoders on the training part, exactly, whatever the partitioning."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from features.encode.apply import quoted
from features.encode.table import CategoryColumn, NumericColumn, TableEncoder
from features.events import to_numpy
from features.exact import UNITS, Ints, to_units

_DIGIT_BITS = 21
_DIGIT = (1 << _DIGIT_BITS) - 1
_SUMS_SCHEMA = "place int, num_values bigint, num_missing bigint, total string, squares string"


def fit_table_encoder(
    train: DataFrame,
    numeric: Sequence[str],
    category: Sequence[str],
    *,
    scale: str,
    min_count: int,
) -> TableEncoder:
    """Fits the encoders of a training set: at most two Spark jobs, one for numbers, one for texts.

    Means and deviations come from whole millionths, so they are exact at any partitioning.

    Args:
        train: Rows of the training part, and no others.
        numeric: Numbers and booleans.
        category: Texts; other types are taken as text.
        scale: `standard`, or `none` to leave numbers as they are.
        min_count: Values of a text seen less often have code 0.
    """
    return TableEncoder(
        _fit_numbers(train, numeric, scale) if numeric else (),
        _fit_texts(train, category, min_count) if category else (),
    )


def _fit_numbers(train: DataFrame, names: Sequence[str], scale: str) -> tuple[NumericColumn, ...]:
    numbers = train.select(
        *[F.col(quoted(name)).cast("double").alias(str(at)) for at, name in enumerate(names)]
    )
    sums = numbers.mapInArrow(partial(_sum_batches, names=tuple(names)), _SUMS_SCHEMA).collect()
    columns = []
    for place, name in enumerate(names):
        mine = [row for row in sums if row["place"] == place]
        count = sum(row["num_values"] for row in mine)
        has_missing = any(row["num_missing"] for row in mine)
        mean, std = 0.0, 1.0
        if scale == "standard" and count:
            total = sum(int(row["total"]) for row in mine)
            squares = sum(int(row["squares"]) for row in mine)
            mean = float(Fraction(total, count * UNITS))
            variance = Fraction(count * squares - total**2, (count * UNITS) ** 2)
            std = math.sqrt(variance) or 1.0
        columns.append(NumericColumn(name, mean, std, has_missing))
    return tuple(columns)


def _sum_batches(
    batches: Iterable[pa.RecordBatch], *, names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Exact sums of a partition: one row a column, big integers as text."""
    counts, missing = [0] * len(names), [0] * len(names)
    totals, squares = [0] * len(names), [0] * len(names)
    for batch in batches:
        for place, name in enumerate(names):
            numbers, present = to_numpy(batch.column(place), np.float64)
            units = to_units(numbers[present & np.isfinite(numbers)], name)
            counts[place] += len(units)
            missing[place] += batch.num_rows - len(units)
            total, square = _exact_sums(units)
            totals[place] += total
            squares[place] += square
    yield pa.RecordBatch.from_arrays(
        [
            pa.array(range(len(names)), pa.int32()),
            pa.array(counts, pa.int64()),
            pa.array(missing, pa.int64()),
            pa.array([str(total) for total in totals]),
            pa.array([str(square) for square in squares]),
        ],
        names=["place", "num_values", "num_missing", "total", "squares"],
    )


def _exact_sums(units: Ints) -> tuple[int, int]:
    """Sum and sum of squares of up to 2**20 integers below 2**62, by digits of 21 bits."""
    size = np.abs(units)
    digits = [size & _DIGIT, (size >> _DIGIT_BITS) & _DIGIT, size >> (2 * _DIGIT_BITS)]
    sign = np.sign(units)
    total = sum(int((sign * digit).sum()) << (_DIGIT_BITS * at) for at, digit in enumerate(digits))
    squares = sum(
        int((one * other).sum()) << (_DIGIT_BITS * (at + by))
        for at, one in enumerate(digits)
        for by, other in enumerate(digits)
    )
    return total, squares


def _fit_texts(
    train: DataFrame, names: Sequence[str], min_count: int
) -> tuple[CategoryColumn, ...]:
    pairs = [
        F.struct(F.lit(place).alias("place"), F.col(quoted(name)).cast("string").alias("value"))
        for place, name in enumerate(names)
    ]
    found = (
        train.select(F.explode(F.array(*pairs)).alias("pair"))
        .select("pair.*")
        .where(F.col("value").isNotNull())
        .groupBy("place", "value")
        .count()
        .where(F.col("count") >= min_count)
        .collect()
    )
    ranked = sorted(found, key=lambda row: (-row["count"], row["value"]))
    return tuple(
        CategoryColumn(name, tuple(row["value"] for row in ranked if row["place"] == place))
        for place, name in enumerate(names)
    )
