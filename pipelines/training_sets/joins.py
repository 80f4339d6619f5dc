"""Turns declared windows and newest values into joins of rows with events, one a source and key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame

from features.events import EventFeatures, EventJoin
from features.latest import LatestFeatures
from features.windows import WindowFeatures, WindowValue
from pipelines.errors import ConfigError
from pipelines.expressions import columns_of
from pipelines.project.sources import Source
from pipelines.project.training import Latest, TrainingSet, Windows
from pipelines.training_sets.known import add_known_at, check_always_known, instants_of

Expression = Callable[[str, Collection[str]], Column]
_VALUE = "__value_"


@dataclass(frozen=True)
class Inputs:
    """Where clean rows and their meaning come from.

    Args:
        sources: Declared sources by name.
        clean: Gives a source's clean table.
        expression: Turns text over some columns into a Spark column.
        zone: IANA name of the project's time zone.
    """

    sources: Mapping[str, Source]
    clean: Callable[[str], DataFrame]
    expression: Expression
    zone: str

    def table(self, name: str) -> DataFrame:
        """A clean table without its technical columns."""
        table = self.clean(name)
        return table.select(*[column for column in table.columns if not column.startswith("_")])


@dataclass
class _Events:
    """Events of a source, growing columns as features ask for them."""

    source: Source
    table: DataFrame
    features: dict[tuple[str, ...], list[EventFeatures]] = field(default_factory=dict)


def build_event_joins(spec: TrainingSet, inputs: Inputs, where: str) -> list[EventJoin]:
    """All joins of a training set; features that share source and key share a shuffle.

    Raises:
        ConfigError: A feature looks at what is not known by then.
    """
    events: dict[str, _Events] = {}
    rows = inputs.sources[spec.rows.source]

    def of(name: str) -> _Events:
        if name not in events:
            events[name] = _Events(inputs.sources[name], inputs.table(name))
        return events[name]

    for group, windows in spec.windows.items():
        place = f"{where}.windows.{group}"
        for key, by in windows.by.items():
            check_always_known(rows, by, f"{place}.by.{key}")
            one = of(windows.from_)
            found = _windows(one, windows, (f"{group}__{key}", by), inputs.expression, place)
            one.features.setdefault(by, []).append(found)
    for group, latest in spec.latest.items():
        place = f"{where}.latest.{group}"
        check_always_known(rows, latest.by, f"{place}.by")
        features = _latest(of(latest.from_), latest, group, place)
        of(latest.from_).features.setdefault(latest.by, []).append(features)
    return [
        EventJoin(one.table, by, tuple(features))
        for one in events.values()
        for by, features in one.features.items()
    ]


def _windows(
    events: _Events,
    windows: Windows,
    key: tuple[str, tuple[str, ...]],
    expression: Expression,
    where: str,
) -> WindowFeatures:
    prefix, by = key
    values = []
    for text, aggregates in windows.values.items():
        column, reads = _value_column(events, text, expression)
        known = {*reads, *by}
        if windows.next and (instants := instants_of(events.source, known, where)):
            raise ConfigError(
                f"next sees only what is known always, but `{text}` is known from "
                f"{', '.join(instants)} on",
                where=f"{where}.values",
                remedy="use last, or take only columns that the source's known_at calls always",
            )
        events.table, known_at = add_known_at(events.table, events.source, known, where)
        values.append(WindowValue(text, column, known_at, aggregates))
    spans = windows.next or windows.last
    return WindowFeatures(prefix, tuple(values), spans, ahead=bool(windows.next))


def _value_column(
    events: _Events, text: str, expression: Expression
) -> tuple[str | None, frozenset[str]]:
    """The events' column that holds a declared value, and the columns it reads."""
    if text == "*":
        return None, frozenset()
    declared = [column for column in events.table.columns if not column.startswith("_")]
    if text in declared:
        return text, frozenset([text])
    name = _VALUE + text
    if name not in events.table.columns:
        events.table = events.table.withColumn(name, expression(text, declared))
    return name, columns_of(text)


def _latest(events: _Events, latest: Latest, group: str, where: str) -> LatestFeatures:
    known = {}
    for column in latest.columns:
        reads = {column, *latest.by}
        events.table, known[column] = add_known_at(events.table, events.source, reads, where)
    return LatestFeatures(group, known, latest.max_age, events.source.event_time)
