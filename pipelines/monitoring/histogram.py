"""Fixed bins of every feature, and the one pass that counts two tables into them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from features.encode import TableEncoder

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Deciles of the standard normal distribution: ten bins for (x - mean) / deviation.
_DECILES = (-1.2816, -0.8416, -0.5244, -0.2533, 0.0, 0.2533, 0.5244, 0.8416, 1.2816)
_SIDE = "_cauce_side"
_COUNTS = "side int, slot int, rows bigint"

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Bins:
    """The bins of one feature; the last one is for what is missing."""

    feature: str
    kind: str
    """`numeric` or `category`."""
    edges: tuple[float, ...] = ()
    """Inner edges of a number's bins."""
    values: tuple[str, ...] = ()
    """Values of a text's bins; the bin after them is for all others."""

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.edges) + 2 if self.kind == "numeric" else len(self.values) + 2

    def code(self, column: pa.Array) -> Counts:
        """The bin of each value, (row)."""
        if self.kind == "category":
            # A category may be a number, such as the hour of a day; the encoder names it as text.
            text = column.cast(pa.string())
            found = pc.index_in(text, value_set=pa.array(self.values, pa.string()))
            known = pc.fill_null(found, len(self.values)).to_numpy(zero_copy_only=False)
            nulls = pc.is_null(column).to_numpy(zero_copy_only=False)
            return np.where(nulls, self.size - 1, known).astype(np.int64)
        numbers = column.to_numpy(zero_copy_only=False).astype(np.float64)
        inside = np.searchsorted(self.edges, numbers, side="right")
        return np.where(np.isfinite(numbers), inside, self.size - 1).astype(np.int64)


def build_bins(encoder: TableEncoder) -> list[Bins]:
    """Bins of every feature: numbers at the deciles of a normal distribution, texts by value.

    As for the encoder, a number that is NaN or infinite is missing.
    """
    numbers = [
        Bins(
            column.name,
            "numeric",
            edges=tuple(column.mean + decile * column.std for decile in _DECILES),
        )
        for column in encoder.numeric
    ]
    texts = [
        Bins(column.name, "category", values=tuple(column.values)) for column in encoder.category
    ]
    return numbers + texts


def count_both(reference: DataFrame, current: DataFrame, bins: Sequence[Bins]) -> list[Counts]:
    """Rows of each bin in both tables, in one job: for each feature an array (2, bin)."""
    from pyspark.sql import functions as F

    columns = [_as_binned(item).alias(f"c{position}") for position, item in enumerate(bins)]
    both = reference.select(F.lit(0).alias(_SIDE), *columns).unionAll(
        current.select(F.lit(1).alias(_SIDE), *columns)
    )
    offsets = np.concatenate([[0], np.cumsum([item.size for item in bins])])
    num_slots = int(offsets[-1])

    def count(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        totals = np.zeros((2, num_slots), dtype=np.int64)
        for batch in batches:
            side = batch.column(0).to_numpy(zero_copy_only=False).astype(np.int64)
            for position, item in enumerate(bins):
                slots = offsets[position] + item.code(batch.column(position + 1))
                added = np.bincount(side * num_slots + slots, minlength=2 * num_slots)
                totals += added.reshape(2, num_slots)
        sides, slots = np.nonzero(totals)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(sides.astype(np.int32)),
                pa.array(slots.astype(np.int32)),
                pa.array(totals[sides, slots]),
            ],
            names=["side", "slot", "rows"],
        )

    rows = both.mapInArrow(count, _COUNTS).groupBy("side", "slot").agg(F.sum("rows").alias("rows"))
    table = rows.toArrow()
    totals = np.zeros((2, num_slots), dtype=np.int64)
    totals[table["side"].to_numpy(), table["slot"].to_numpy()] = table["rows"].to_numpy()
    return np.split(totals, offsets[1:-1], axis=1)


def _as_binned(item: Bins) -> Column:
    from pyspark.sql import functions as F

    column = F.col("`{}`".format(item.feature.replace("`", "``")))
    return column.cast("double" if item.kind == "numeric" else "string")
