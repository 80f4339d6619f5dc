"""Aggregates of what became known, or is scheduled, within spans of time around a row's instant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import types as T

from features.errors import FeatureError
from features.events import Bools, Bucket, Timeline, to_numpy
from features.exact import (
    UNITS,
    Floats,
    Ints,
    Wide,
    check_sums,
    multiply,
    running_sums,
    scale,
    subtract,
    to_float,
    to_units,
)
from features.names import feature_name, span_name

Aggregate = Literal["count", "sum", "mean", "min", "max", "std", "rate"]
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class WindowValue:
    """What is aggregated.

    Args:
        name: Word for it in the features' names.
        column: Number or boolean of the events; None counts the events themselves.
        known_at: Timestamp column of the events: the value counts from then on, never where null.
        aggregates: `count` of values, `sum`, `mean`, `min`, `max`, sample `std`, `rate` of true.
    """

    name: str
    column: str | None
    known_at: str
    aggregates: tuple[Aggregate, ...]


@dataclass(frozen=True)
class WindowFeatures:
    """Aggregates over spans back `(at - span, at]`, or ahead `(at, at + span]`.

    Nulls, NaN and infinities do not enter. Without a value, `count` is 0 and all else is null;
    `std` is null below two values. Sums are exact to the millionth, at any partitioning.

    Args:
        prefix: Start of the features' names: group and key.
        values: What is aggregated.
        spans: Lengths of the windows.
        ahead: True for windows after the row's instant, for what is known before it happens.
    """

    prefix: str
    values: tuple[WindowValue, ...]
    spans: tuple[timedelta, ...]
    ahead: bool = False

    @property
    def event_columns(self) -> Sequence[str]:
        """Values and their instants."""
        names = [name for value in self.values for name in (value.column, value.known_at)]
        return [name for name in names if name is not None]

    def fields(self, events: T.StructType) -> list[T.StructField]:
        """`int` counts, `double` for all else: span within aggregate within value.

        Raises:
            FeatureError: A value is no number, or an aggregate does not fit it.
        """
        for value in self.values:
            _check_value(value, events)
        return [
            T.StructField(
                self._name(value, aggregate, span),
                T.IntegerType() if aggregate == "count" else T.DoubleType(),
            )
            for value in self.values
            for aggregate in value.aggregates
            for span in self.spans
        ]

    def compute(self, bucket: Bucket) -> dict[str, pa.Array]:
        """The features of a bucket's rows, by name."""
        timelines: dict[str, tuple[Timeline, list[tuple[Ints, Ints]]]] = {}
        features: dict[str, pa.Array] = {}
        for value in self.values:
            if value.known_at not in timelines:
                timeline = Timeline(bucket.event_keys, *bucket.instants(value.known_at))
                windows = [self._bounds(timeline, bucket, span) for span in self.spans]
                timelines[value.known_at] = timeline, windows
            timeline, windows = timelines[value.known_at]
            series = _Series.of(value, bucket, timeline)
            for span, (first, end) in zip(self.spans, windows, strict=True):
                for aggregate, array in series.aggregate(value.aggregates, first, end):
                    features[self._name(value, aggregate, span)] = array
        return features

    def _name(self, value: WindowValue, aggregate: str, span: timedelta) -> str:
        ahead = "next_" if self.ahead else ""
        return feature_name(self.prefix, value.name, f"{aggregate}_{ahead}{span_name(span)}")

    def _bounds(self, timeline: Timeline, bucket: Bucket, span: timedelta) -> tuple[Ints, Ints]:
        """First place of each row's window, and the place behind its last."""
        length = span // _MICROSECOND
        here = timeline.until(bucket.row_keys, bucket.row_times)
        if self.ahead:
            return here, timeline.until(bucket.row_keys, bucket.row_times + length)
        return timeline.until(bucket.row_keys, bucket.row_times - length), here


@dataclass(frozen=True)
class _Series:
    """The values of a timeline, in its order."""

    name: str
    values: Floats
    valid: Bools

    @classmethod
    def of(cls, value: WindowValue, bucket: Bucket, timeline: Timeline) -> _Series:
        if value.column is None:
            valid = np.ones(len(timeline.order), np.bool_)
            return cls(value.name, valid.astype(np.float64), valid)
        numbers, present = to_numpy(bucket.events[value.column].cast(pa.float64()), np.float64)
        valid = (present & np.isfinite(numbers))[timeline.order]
        return cls(value.name, np.where(valid, numbers[timeline.order], 0.0) + 0.0, valid)

    def aggregate(
        self, aggregates: Sequence[Aggregate], first: Ints, end: Ints
    ) -> Iterator[tuple[str, pa.Array]]:
        """Each aggregate over the places [first, end) of each row."""
        num_before = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.valid)])
        counts = num_before[end] - num_before[first]
        if "count" in aggregates:
            yield "count", pa.array(counts.astype(np.int32))
        if {"sum", "mean", "rate"} & set(aggregates):
            sums = self._sums(first, end, counts)
            totals, means = sums / UNITS, sums / np.maximum(counts, 1) / UNITS
            for name, found in (("sum", totals), ("mean", means), ("rate", means)):
                if name in aggregates:
                    yield name, pa.array(found, mask=counts == 0)
        if "std" in aggregates:
            yield "std", pa.array(self._deviations(first, end, counts), mask=counts <= 1)
        if "max" in aggregates:
            values = np.where(self.valid, self.values, -np.inf)
            yield "max", pa.array(range_maxima(values, first, end), mask=counts == 0)
        if "min" in aggregates:
            values = np.where(self.valid, -self.values, -np.inf)
            yield "min", pa.array(0.0 - range_maxima(values, first, end), mask=counts == 0)

    def _sums(self, first: Ints, end: Ints, counts: Ints) -> Ints:
        units = to_units(self.values, self.name)
        check_sums(float(np.abs(units).max(initial=0)), int(counts.max(initial=0)), self.name)
        before: Ints = np.concatenate([np.zeros(1, np.int64), np.cumsum(units)])
        sums: Ints = before[end] - before[first]
        return sums

    def _deviations(self, first: Ints, end: Ints, counts: Ints) -> Floats:
        """Sample deviations: sqrt((n * sum(v**2) - sum(v)**2) / (n * (n - 1))), exact inside."""
        units = np.abs(to_units(self.values, self.name))
        before = running_sums(multiply(units, units))
        squares = subtract(
            Wide(before.high[end], before.low[end]), Wide(before.high[first], before.low[first])
        )
        sums = np.abs(self._sums(first, end, counts))
        numerator = to_float(subtract(scale(squares, counts), multiply(sums, sums)))
        pairs = counts.astype(np.float64) * np.maximum(counts - 1, 1)
        deviations: Floats = np.sqrt(numerator / np.maximum(pairs, 1.0)) / UNITS
        return deviations


def range_maxima(values: Floats, first: Ints, end: Ints) -> Floats:
    """Maximum of the places [first, end) for each pair; -inf where there are none.

    Two overlapping stretches of a power of two cover a range (Bender and Farach-Colton 2000,
    section 3); one level at a time is kept, so memory stays that of the values.
    """
    found = np.full(len(first), -np.inf)
    lengths = end - first
    level = values
    for power in range(int(lengths.max(initial=0)).bit_length()):
        width = 1 << power
        if power:
            half = width // 2
            level = np.maximum(level[:-half], level[half:])
        at = np.flatnonzero((lengths >= width) & (lengths < 2 * width))
        found[at] = np.maximum(level[first[at]], level[end[at] - width])
    return found


def _check_value(value: WindowValue, events: T.StructType) -> None:
    if value.column is None:
        if value.aggregates != ("count",):
            raise FeatureError(
                f"{value.name}: events themselves can only be counted, not "
                f"{', '.join(value.aggregates)}"
            )
        return
    kind = events[value.column].dataType
    if not isinstance(kind, (T.NumericType, T.BooleanType)):
        raise FeatureError(
            f"{value.name} is {kind.simpleString()}; windows need numbers or conditions"
        )
    if "rate" in value.aggregates and not isinstance(kind, T.BooleanType):
        raise FeatureError(
            f"{value.name} is {kind.simpleString()}; rate is the share of a condition, e.g. "
            f'"{value.name} >= 15": [rate]'
        )
