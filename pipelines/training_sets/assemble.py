"""Puts a training set together: its rows, and the features they had at their own instant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from features.calendar import calendar_columns
from features.errors import FeatureError
from features.events import EventJoin, add_event_features
from features.names import feature_name
from features.static import add_static_features
from pipelines.errors import ConfigError
from pipelines.project.sources import Source
from pipelines.project.training import Calendar, Static, TrainingSet
from pipelines.training_sets.joins import Expression, Inputs, build_event_joins
from pipelines.training_sets.known import check_always_known
from pipelines.training_sets.spine import AT, DAY, LABEL, SPLIT, SpineCounts, build_spine

Kind = Literal["numeric", "category"]


@dataclass(frozen=True)
class FeatureColumn:
    """One feature of a training set.

    Args:
        name: Column.
        kind: `numeric` or `category`; decides the encoder.
        origin: Key of the project file that declares it.
    """

    name: str
    kind: Kind
    origin: str


@dataclass(frozen=True)
class TrainingSetPlan:
    """A training set that is ready to be written.

    Args:
        rows: One row a thing to predict: key columns, `predict_at` (UTC), `day` (date in the
            project's zone), the label (`int` 0/1 or `double`), `split`, and the features, typed
            and raw: a null is a null.
        key: Key columns of the rows.
        features: Its features, in the order of their columns.
        counts: Where each row of the row source went.
    """

    rows: DataFrame
    key: tuple[str, ...]
    features: tuple[FeatureColumn, ...]
    counts: SpineCounts


def build_training_set(
    name: str,
    spec: TrainingSet,
    sources: Mapping[str, Source],
    clean: Callable[[str], DataFrame],
    zone: str,
    expression: Expression,
) -> TrainingSetPlan:
    """Assembles a training set; left-out rows get no features.

    Runs two small jobs on the row source, to count; the features wait for the write.

    Args:
        name: Name of the training set.
        spec: Its section of the project file.
        sources: Declared sources by name.
        clean: Gives a source's clean table; its columns that start with `_` are technical.
        zone: IANA name of the project's time zone.
        expression: Turns a text over some columns into a Spark column.

    Raises:
        ConfigError: A feature looks at what is not known by then, does not fit its column, or has
            the name of another.
        DataGateError: A part of the split has no rows.
    """
    where = f"training_sets.{name}"
    inputs = Inputs(sources, clean, expression, zone)
    source = inputs.sources[spec.rows.source]
    _check_statics(spec, sources, where)
    spine, counts = build_spine(spec, inputs, where)
    joins = build_event_joins(spec, inputs, where)
    rows = spine.select(*_needed(spec, source, joins), AT, DAY, LABEL, SPLIT)
    origins = dict.fromkeys(rows.columns, where)
    try:
        rows = add_event_features(rows, joins, at=AT) if joins else rows
        rows = _add_statics(rows, spec, inputs)
    except FeatureError as error:
        raise ConfigError(str(error), where=where) from error
    made = [column for column in rows.columns if column not in origins] + _own_names(spec)
    final = rows.select(
        *source.dedup.key,
        F.col(AT).alias("predict_at"),
        F.col(DAY).alias("day"),
        F.col(LABEL).alias(spec.label.name),
        F.col(SPLIT).alias("split"),
        *[column for column in rows.columns if column not in origins],
        *_own_columns(spec, inputs.zone),
    )
    _check_names(final.columns, where)
    features = tuple(_describe(final, column, spec, where) for column in made)
    return TrainingSetPlan(final, source.dedup.key, features, counts)


def arrange_for_training(rows: DataFrame, key: tuple[str, ...], files: int) -> DataFrame:
    """Rows in `files` partitions, each in the order of a hash of the key within its split.

    So a reader that takes files from front to back sees rows in an order that has nothing to do
    with time, and the same one at any partitioning.
    """
    shuffled = F.xxhash64(F.lit("order"), *key)
    return rows.repartition(files, *key).sortWithinPartitions("split", shuffled, *key)


def _needed(spec: TrainingSet, source: Source, joins: list[EventJoin]) -> list[str]:
    """Columns of the row source that outlive the spine."""
    columns = [*source.dedup.key, *[column for join in joins for column in join.by]]
    for one in spec.static.values():
        if isinstance(one, Calendar):
            columns.append(one.of)
        else:
            columns += list(one.join) if one.join else list(one.columns)
    return list(dict.fromkeys(columns))


def _check_statics(spec: TrainingSet, sources: Mapping[str, Source], where: str) -> None:
    rows = sources[spec.rows.source]
    for group, one in spec.static.items():
        place = f"{where}.static.{group}"
        if isinstance(one, Calendar):
            check_always_known(rows, [one.of], f"{place}.of")
            continue
        check_always_known(sources[one.from_], one.columns, f"{place}.columns")
        if one.join is None:
            if one.from_ != spec.rows.source:
                raise ConfigError(
                    f"{one.from_} is not the source of the rows, so it needs join",
                    where=place,
                    remedy="add join: {row column: key column}",
                )
            continue
        check_always_known(rows, list(one.join), f"{place}.join")
        key = sources[one.from_].dedup.key
        if not set(key) <= set(one.join.values()):
            raise ConfigError(
                f"join takes {', '.join(one.join.values())}, but a row of {one.from_} is named by "
                f"{', '.join(key)}; rows could double",
                where=f"{place}.join",
            )


def _add_statics(rows: DataFrame, spec: TrainingSet, inputs: Inputs) -> DataFrame:
    for group, one in spec.static.items():
        if isinstance(one, Static) and one.join:
            table = inputs.table(one.from_)
            rows = add_static_features(rows, table, group=group, join=one.join, columns=one.columns)
    return rows


def _own_columns(spec: TrainingSet, zone: str) -> list[Column]:
    """Features made of the row's own columns, in declared order."""
    columns: list[Column] = []
    for one in spec.static.values():
        if isinstance(one, Calendar):
            columns += calendar_columns(F.col(one.of), one.parts, zone)
        elif not one.join:
            columns += [F.col(column) for column in one.columns]
    return [column.alias(name) for column, name in zip(columns, _own_names(spec), strict=True)]


def _own_names(spec: TrainingSet) -> list[str]:
    return [
        feature_name(group, part)
        for group, one in spec.static.items()
        if isinstance(one, Calendar) or not one.join
        for part in (one.parts if isinstance(one, Calendar) else one.columns)
    ]


def _describe(rows: DataFrame, column: str, spec: TrainingSet, where: str) -> FeatureColumn:
    """Kind by type: texts and calendar parts are categories, numbers and booleans numeric."""
    groups = [
        (group, f"{where}.{section}.{group}", isinstance(one, Calendar))
        for section in ("windows", "latest", "static")
        for group, one in getattr(spec, section).items()
        if column.startswith(f"{group}__")
    ]
    _, origin, is_calendar = max(groups, key=lambda found: len(found[0]))
    kind = rows.schema[column].dataType
    if is_calendar or isinstance(kind, T.StringType):
        return FeatureColumn(column, "category", origin)
    if isinstance(kind, (T.NumericType, T.BooleanType)):
        return FeatureColumn(column, "numeric", origin)
    raise ConfigError(
        f"{column} is of type {kind.simpleString()}; features are numbers, texts or booleans",
        where=origin,
        remedy="take parts of an instant through static: {of: …, parts: […]}",
    )


def _check_names(columns: list[str], where: str) -> None:
    twice = [name for name, count in Counter(map(str.lower, columns)).items() if count > 1]
    if twice:
        raise ConfigError(
            f"two columns are called {', '.join(twice)}",
            where=where,
            remedy="rename the label or a feature group",
        )
