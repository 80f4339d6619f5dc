"""Arrow columns to the network's tensors: the one encoding of training, validation and scoring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from features.encode import TableEncoder, encode_arrow
from pipelines.deep.loader.reader import Block
from pipelines.errors import ConfigError, DataGateError


class NetworkInput:
    """Turns typed raw features into numbers and codes with an encoder's frozen parameters.

    Args:
        encoder: `TableEncoder.to_dict()`.

    Attributes:
        columns: Columns that the encoder reads.
        d_in: Number of numeric columns it makes.
        cardinalities: Number of codes of each categorical column.
    """

    def __init__(self, encoder: Mapping[str, Any]):
        self._encoder = TableEncoder.from_dict(dict(encoder))
        self.columns: tuple[str, ...] = tuple(self._encoder.columns)
        self.d_in: int = self._encoder.num_numeric
        self.cardinalities: tuple[int, ...] = tuple(self._encoder.cardinalities)

    def encode(self, rows: pa.Table | pa.RecordBatch) -> tuple[Tensor, Tensor]:
        """Encode rows: numeric [columns, rows] float32 and codes [categories, rows] int64.

        Raises:
            ConfigError: A column is missing.
        """
        missing = [name for name in self.columns if name not in rows.schema.names]
        if missing:
            raise ConfigError(f"the rows lack the column {', '.join(map(repr, missing))}")
        encoded = encode_arrow(self._encoder, rows)
        return _column_major(encoded.numeric), _column_major(encoded.codes)


def decode_label(rows: pa.Table, label: str) -> Tensor:
    """The label, [1, rows] float64.

    Raises:
        DataGateError: A null or NaN label.
    """
    values = rows.column(label).cast(pa.float64()).combine_chunks()
    if isinstance(values, pa.ChunkedArray):  # a table without rows has no chunk to take
        values = pa.array([], pa.float64())
    numbers = values.to_numpy(zero_copy_only=False)
    num_missing = int(np.isnan(numbers).sum())
    if num_missing:
        raise DataGateError(
            f"the label {label!r} is null or NaN in {num_missing} rows of a row group",
            remedy="keep unlabelled rows out of the training set: `cauce featurize --force`",
        )
    return torch.from_numpy(np.array(numbers)).unsqueeze(0)


def decode_row_group(rows: pa.Table, inputs: NetworkInput, label: str) -> Block:
    """One row group as a block: numeric, codes, label."""
    return (*inputs.encode(rows), decode_label(rows, label))


def _column_major(matrix: np.ndarray[Any, Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(matrix.T))
