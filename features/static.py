"""Columns of a table with one row a key, joined to rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from features.keys import as_key
from features.names import feature_name

_KEY = "__key_"


def add_static_features(
    rows: DataFrame,
    table: DataFrame,
    *,
    group: str,
    join: Mapping[str, str],
    columns: Sequence[str],
) -> DataFrame:
    """Adds columns of a small table by key.

    Args:
        rows: Any grain; no row is lost or doubled.
        table: One row a key (the caller vouches for it), small enough to be broadcast.
        group: Start of the features' names.
        join: Row column → the table's key column.
        columns: Columns to take.

    Returns:
        The rows with `<group>__<column>`, in the table's types; null where the key is null or
        unknown.

    Raises:
        FeatureError: A key column differs in type between rows and table, or is a float.
    """
    keys = {ours: _KEY + theirs for ours, theirs in join.items()}
    wanted = table.select(
        *[
            as_key(table, theirs, rows.schema[ours].dataType).alias(_KEY + theirs)
            for ours, theirs in join.items()
        ],
        *[F.col(column).alias(feature_name(group, column)) for column in columns],
    )
    condition = [rows[ours] == wanted[theirs] for ours, theirs in keys.items()]
    return rows.join(F.broadcast(wanted), condition, "left").drop(*keys.values())
