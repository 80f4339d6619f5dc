"""How typed raw features become numbers and codes: fitted once, the same in Spark and in Arrow."""

from __future__ import annotations

from features.encode.apply import EncodedBatch, encode_arrow, encoded_columns
from features.encode.fit import fit_table_encoder
from features.encode.table import CategoryColumn, NumericColumn, TableEncoder

__all__ = [
    "CategoryColumn",
    "EncodedBatch",
    "NumericColumn",
    "TableEncoder",
    "encode_arrow",
    "encoded_columns",
    "fit_table_encoder",
]
