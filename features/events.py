"""Brings rows and the events of their keys together, once a key, for all features on it.

Rows and events are shuffled by a hash of the key into buckets; each bucket is one Arrow table a
side, worked on with numpy, so many small keys cost no more than one. Rows pass through the shuffles
instead of being joined back, their features so far packed into one binary column. A bucket must fit
into the memory of a Python worker; so must each key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema, to_arrow_type

from features.errors import FeatureError
from features.exact import Floats, Ints
from features.keys import as_key

Bools = NDArray[np.bool_]
NO_KEY = -1
"""Code of a row or event whose key has a null, or whose time is null: it matches nothing."""

PACKED = "__packed"
"""Binary column that holds a row's numeric features between two shuffles."""
_BUCKET = "__bucket"
_EVENT = "__event_"
_BUCKETS_PER_PARTITION = 4


@dataclass(frozen=True)
class Bucket:
    """Rows and events of some keys, all of each.

    Args:
        row_keys: Number of each row's key; -1 where it matches nothing.
        row_times: Instant of each row, in microseconds since 1970.
        events: The events' columns.
        event_keys: Number of each event's key; -1 where it matches nothing.
    """

    row_keys: Ints
    row_times: Ints
    events: pa.Table
    event_keys: Ints

    def instants(self, column: str) -> tuple[Ints, Bools]:
        """An instant column of the events, in microseconds, and where it has a value."""
        return to_numpy(self.events[column].cast(pa.int64()), np.int64)


class EventFeatures(Protocol):
    """Features that are computed from the events of a row's key."""

    @property
    def event_columns(self) -> Sequence[str]:
        """Columns of the events that `compute` reads."""

    def fields(self, events: T.StructType) -> list[T.StructField]:
        """Names and types of the features, given the events' columns."""

    def compute(self, bucket: Bucket) -> dict[str, pa.Array]:
        """The features of a bucket's rows by name; no NaN among them."""


@dataclass(frozen=True)
class EventJoin:
    """Events that rows look at by one key.

    Args:
        events: One row an event; instants in timestamp columns.
        by: Key columns, present on both sides; a null in one matches nothing.
        features: What to compute in this one shuffle.
    """

    events: DataFrame
    by: tuple[str, ...]
    features: tuple[EventFeatures, ...]

    @property
    def fields(self) -> list[T.StructField]:
        """Names and types of all features."""
        return [field for one in self.features for field in one.fields(self.events.schema)]


def add_event_features(rows: DataFrame, joins: Sequence[EventJoin], *, at: str) -> DataFrame:
    """Adds features of the events that share a row's key, as known at the row's instant.

    Args:
        rows: Any grain; passes through whole, in any order.
        joins: Events, keys and features; one shuffle each.
        at: Timestamp column of the rows; a null one knows nothing.

    Returns:
        The rows with the features' columns, the same at any partitioning.

    Raises:
        FeatureError: A key column differs in type between rows and events, or is a float;
            or a feature's name is already a column.
    """
    added = [field.name for join in joins for field in join.fields]
    _check_new(rows.columns, added)
    columns = rows.columns
    packed: tuple[T.StructField, ...] = ()
    for number, join in enumerate(joins, start=1):
        plain = [field for field in join.fields if not _fits(field)]
        gained = tuple(field for field in join.fields if _fits(field))
        carried = [field for field in rows.schema.fields if field.name != PACKED] + plain
        is_last = number == len(joins)
        tail = [*packed, *gained] if is_last else [T.StructField(PACKED, T.BinaryType(), False)]
        events = _keyed_events(rows.schema, join)
        work = _Work(
            join.by, at, join.features, to_arrow_schema(events.schema), packed, gained, is_last
        )
        num_buckets = F.lit(_BUCKETS_PER_PARTITION * _num_shuffle_partitions(rows))
        keys = [_EVENT + column for column in join.by]
        rows = (
            rows.select("*", F.pmod(F.xxhash64(*join.by), num_buckets).alias(_BUCKET))
            .groupBy(_BUCKET)
            .cogroup(
                events.select("*", F.pmod(F.xxhash64(*keys), num_buckets).alias(_BUCKET)).groupBy(
                    _BUCKET
                )
            )
            .applyInArrow(partial(_run, work=work), T.StructType([*carried, *tail]))
        )
        packed += gained
    return rows.select(*columns, *added)


@dataclass(frozen=True)
class _Work:
    """What a Python worker does with one bucket.

    Args:
        by: Key columns.
        at: Timestamp column of the rows.
        features: Features to compute.
        events_schema: Columns of the events; a bucket without any may come without columns.
        packed: Features of earlier joins, packed in the rows.
        gained: Features of this join that are packed too.
        is_last: True where all packed features become columns.
    """

    by: tuple[str, ...]
    at: str
    features: tuple[EventFeatures, ...]
    events_schema: pa.Schema
    packed: tuple[T.StructField, ...]
    gained: tuple[T.StructField, ...]
    is_last: bool

    def run(self, rows: pa.Table, events: pa.Table) -> pa.Table:
        """The bucket's rows with the columns that the join adds."""
        if not rows.num_rows:
            return pa.table({})
        if not events.num_rows:
            events = self.events_schema.empty_table()
        events = events.rename_columns([name.removeprefix(_EVENT) for name in events.column_names])
        row_times, has_time = to_numpy(rows[self.at].cast(pa.int64()), np.int64)
        row_keys, event_keys = number_keys(rows, events, self.by)
        bucket = Bucket(np.where(has_time, row_keys, NO_KEY), row_times, events, event_keys)
        computed = {
            name: array for one in self.features for name, array in one.compute(bucket).items()
        }
        gained = np.stack([pack(computed.pop(field.name)) for field in self.gained], axis=1)
        before = unpack(rows[PACKED]) if self.packed else gained[:, :0]
        matrix = np.concatenate([before, gained], axis=1)
        carried = rows.drop([name for name in (_BUCKET, PACKED) if name in rows.column_names])
        for name, array in computed.items():
            carried = carried.append_column(name, array)
        if not self.is_last:
            return carried.append_column(PACKED, pack_rows(matrix))
        for field, values in zip((*self.packed, *self.gained), matrix.T, strict=True):
            kind = to_arrow_type(field.dataType)
            array = pa.array(values, mask=np.isnan(values)).cast(kind)
            carried = carried.append_column(field.name, array)
        return carried


def _run(rows: pa.Table, events: pa.Table, *, work: _Work) -> pa.Table:
    """A bucket's work as the function that Spark wants: its number of arguments has a meaning."""
    return work.run(rows, events)


def _keyed_events(rows: T.StructType, join: EventJoin) -> DataFrame:
    """The columns a join reads, under fresh names, without events that match nothing.

    Spark mixes up the columns of a cogroup's two sides where both come from one table.
    """
    needed = dict.fromkeys(column for one in join.features for column in one.event_columns)
    keys = [
        as_key(join.events, column, rows[column].dataType).alias(_EVENT + column)
        for column in join.by
    ]
    values = [F.col(column).alias(_EVENT + column) for column in needed if column not in join.by]
    return join.events.select(*keys, *values).dropna(subset=[_EVENT + name for name in join.by])


def number_keys(rows: pa.Table, events: pa.Table, by: Sequence[str]) -> tuple[Ints, Ints]:
    """Numbers the distinct keys of both sides together; -1 where a part of the key is null."""
    num_rows = rows.num_rows
    codes = np.zeros(num_rows + events.num_rows, np.int64)
    missing = np.zeros(len(codes), np.bool_)
    for column in by:
        both = pa.concat_arrays([_whole(rows[column]), _whole(events[column])]).dictionary_encode()
        part, present = to_numpy(both.indices, np.int64)
        missing |= ~present
        codes = np.unique(codes * (len(both.dictionary) + 1) + part, return_inverse=True)[1]
    codes = np.where(missing, NO_KEY, codes)
    return codes[:num_rows], codes[num_rows:]


class Timeline:
    """Usable events of a bucket in the order of key and instant.

    Args:
        keys: Number of each event's key.
        times: Instant from which each event counts.
        usable: Which events take part.
        ties: Further columns that order events of one key and instant, most significant last.

    Attributes:
        order: Index of the event at each place.
    """

    def __init__(
        self, keys: Ints, times: Ints, usable: Bools, ties: Sequence[NDArray[Any]] = ()
    ) -> None:
        kept = np.flatnonzero(usable & (keys != NO_KEY))
        sort_by = (*[tie[kept] for tie in ties], times[kept], keys[kept])
        self.order: Ints = kept[np.lexsort(sort_by)]
        self._instants = np.unique(times[kept])
        ordered = keys[self.order], times[self.order]
        self._places = self._place(*ordered)

    def _place(self, keys: Ints, times: Ints) -> Ints:
        """One integer that sorts as (key, instant) does."""
        ranks = np.searchsorted(self._instants, times, side="right")
        return keys * (len(self._instants) + 1) + ranks

    def until(self, keys: Ints, times: Ints) -> Ints:
        """Number of events placed at or before each (key, instant), with those of smaller keys."""
        return np.searchsorted(self._places, self._place(keys, times), side="right").astype(
            np.int64
        )


def to_numpy(column: Any, dtype: Any) -> tuple[NDArray[Any], Bools]:
    """An Arrow column as numpy values (0 where null) and where it has a value."""
    whole = _whole(column)
    present = whole.is_valid().to_numpy(zero_copy_only=False)
    values = whole.fill_null(False if pa.types.is_boolean(whole.type) else 0)
    return values.to_numpy(zero_copy_only=False).astype(dtype), present


def pack(array: pa.Array) -> Floats:
    """A feature as doubles, NaN where null."""
    values: Floats = pc.fill_null(array.cast(pa.float64()), np.nan).to_numpy(zero_copy_only=False)
    return values


def pack_rows(matrix: Floats) -> pa.Array:
    """A matrix as one binary value a row."""
    num_rows, num_columns = matrix.shape
    offsets = np.arange(num_rows + 1, dtype=np.int32) * np.int32(num_columns * 8)
    data = pa.py_buffer(np.ascontiguousarray(matrix, np.float64))
    return pa.Array.from_buffers(pa.binary(), num_rows, [None, pa.py_buffer(offsets), data])


def unpack(column: pa.ChunkedArray) -> Floats:
    """The matrix of a packed column."""
    chunks = []
    for chunk in column.chunks:
        offsets = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset :][: len(chunk) + 1]
        data = np.frombuffer(chunk.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
        chunks.append(data.view(np.float64).reshape(len(chunk), -1))
    return np.concatenate(chunks)


def _fits(field: T.StructField) -> bool:
    """Whether a double holds every value of a feature."""
    return isinstance(field.dataType, (T.DoubleType, T.IntegerType))


def _whole(column: Any) -> Any:
    """A column in one piece."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _num_shuffle_partitions(rows: DataFrame) -> int:
    return int(rows.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)


def _check_new(columns: Sequence[str], names: Sequence[str]) -> None:
    """Refuses a feature whose name is taken."""
    seen = {column.lower() for column in columns}
    for name in names:
        if name.lower() in seen:
            raise FeatureError(f"two columns are called {name}; rename a feature group or its key")
        seen.add(name.lower())
