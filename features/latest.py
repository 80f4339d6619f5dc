"""The newest known value of each column for a row's key, and how old it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import types as T

from features.events import Bools, Bucket, Timeline, to_numpy
from features.exact import Floats, Ints
from features.names import feature_name

_MICROSECOND = timedelta(microseconds=1)
_HOUR = float(timedelta(hours=1) // _MICROSECOND)


@dataclass(frozen=True)
class LatestFeatures:
    """Per column, the newest value known at the row's instant and at most `max_age` old.

    Nulls and NaN are no values: the one before them is taken. Of values known from one instant,
    the later event's counts, then the larger one.

    Args:
        group: Start of the features' names.
        columns: Column of the events → timestamp column that says when its value became known.
        max_age: Longest time since then, included.
        event_time: Timestamp column that orders events known from one instant, if there is one.
    """

    group: str
    columns: dict[str, str]
    max_age: timedelta
    event_time: str | None = None

    @property
    def event_columns(self) -> Sequence[str]:
        """Values, their instants and the event time."""
        order = [self.event_time] if self.event_time else []
        return [*self.columns, *self.columns.values(), *order]

    def fields(self, events: T.StructType) -> list[T.StructField]:
        """The columns in their own types, then hours since the newest, by instant column."""
        values = [
            T.StructField(feature_name(self.group, column), events[column].dataType)
            for column in self.columns
        ]
        return values + [
            T.StructField(self._age_name(instant), T.DoubleType())
            for instant in dict.fromkeys(self.columns.values())
        ]

    def compute(self, bucket: Bucket) -> dict[str, pa.Array]:
        """The features of a bucket's rows, by name."""
        features: dict[str, pa.Array] = {}
        ages: dict[str, Floats] = {}
        for column, instant in self.columns.items():
            values = bucket.events[column].combine_chunks()
            newest, age = self._newest(bucket, values, instant)
            taken = values.take(pa.array(newest, mask=np.isnan(age)))
            features[feature_name(self.group, column)] = taken
            ages[instant] = np.fmin(ages.get(instant, np.full(len(age), np.nan)), age)
        for instant, age in ages.items():
            features[self._age_name(instant)] = pa.array(age, mask=np.isnan(age))
        return features

    def _age_name(self, instant: str) -> str:
        return feature_name(self.group, f"{instant}_age_h")

    def _newest(self, bucket: Bucket, values: Any, instant: str) -> tuple[Ints, Floats]:
        """Index of the newest event of each row and its age in hours, NaN where there is none."""
        times, known = bucket.instants(instant)
        ties: list[NDArray[Any]] = [_ranks(values)]
        if self.event_time:
            ties.append(bucket.instants(self.event_time)[0])
        timeline = Timeline(bucket.event_keys, times, known & _has_value(values), ties)
        last = timeline.until(bucket.row_keys, bucket.row_times) - 1
        if not len(timeline.order):
            return np.zeros(len(last), np.int64), np.full(len(last), np.nan)
        newest = timeline.order[np.maximum(last, 0)]
        age = bucket.row_times - times[newest]
        matches = (last >= 0) & (bucket.event_keys[newest] == bucket.row_keys)
        fresh = matches & (age <= self.max_age // _MICROSECOND)
        return newest, np.where(fresh, age / _HOUR, np.nan)


def _has_value(values: Any) -> Bools:
    """Where a value is neither null nor NaN."""
    usable: Bools = values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
    return ~usable


def _ranks(values: Any) -> NDArray[Any]:
    """Numbers that order as the values do."""
    if pa.types.is_floating(values.type):
        return to_numpy(values, np.float64)[0]
    ranks: NDArray[Any] = pc.rank(values, "ascending", tiebreaker="dense").to_numpy()
    return ranks
