"""Encodes rows with fitted parameters: as Spark columns or as numpy arrays, equal to float32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as F

from features.encode.table import CategoryColumn, NumericColumn, TableEncoder


@dataclass(frozen=True)
class EncodedBatch:
    """Rows as a model's input.

    Args:
        numeric: Scaled numbers, then masks (1 = missing); float32, (row, number).
        codes: Codes of the texts; int64, (row, text).
    """

    numeric: NDArray[np.float32]
    codes: NDArray[np.int64]


def encode_arrow(encoder: TableEncoder, rows: pa.RecordBatch | pa.Table) -> EncodedBatch:
    """Encodes rows that have the encoder's columns, in any order and among others."""
    numeric = np.zeros((rows.num_rows, encoder.num_numeric), np.float32)
    codes = np.zeros((rows.num_rows, len(encoder.category)), np.int64)
    mask_at = len(encoder.numeric)
    for place, column in enumerate(encoder.numeric):
        numbers = pc.fill_null(rows[column.name].cast(pa.float64()), np.nan)
        values = np.asarray(numbers, np.float64)
        present = np.isfinite(values)
        scaled = (np.where(present, values, column.mean) - column.mean) / column.std
        numeric[:, place] = scaled
        if column.has_missing:
            numeric[:, mask_at] = ~present
            mask_at += 1
    for place, category in enumerate(encoder.category):
        texts = rows[category.name].cast(pa.string())
        found = pc.index_in(texts, value_set=pa.array(category.values, pa.string()))
        codes[:, place] = np.asarray(pc.fill_null(found, -1), np.int64) + 1
    return EncodedBatch(numeric, codes)


def encoded_columns(encoder: TableEncoder) -> list[Column]:
    """Scaled numbers and masks (double), then codes (int): `num_numeric` and then one a text.

    Columns are called like their feature; a mask `<feature>__is_missing`.
    """
    scaled = [
        F.when(_is_present(column), (_number(column) - column.mean) / column.std)
        .otherwise(0.0)
        .alias(column.name)
        for column in encoder.numeric
    ]
    masks = [
        F.when(_is_present(column), 0.0).otherwise(1.0).alias(f"{column.name}__is_missing")
        for column in encoder.numeric
        if column.has_missing
    ]
    return [*scaled, *masks, *[_code(column) for column in encoder.category]]


def _number(column: NumericColumn) -> Column:
    return F.col(quoted(column.name)).cast("double")


def _is_present(column: NumericColumn) -> Column:
    number = _number(column)
    return number.isNotNull() & ~F.isnan(number) & (F.abs(number) != F.lit(float("inf")))


def _code(column: CategoryColumn) -> Column:
    values: Any = F.array(*[F.lit(value) for value in column.values]).cast("array<string>")
    place = F.array_position(values, F.col(quoted(column.name)).cast("string"))
    return F.coalesce(place, F.lit(0)).cast("int").alias(column.name)


def quoted(name: str) -> str:
    """A column's name, taken literally."""
    return "`" + name.replace("`", "``") + "`"
