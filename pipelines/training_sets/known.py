"""When a value becomes known: the rule that keeps a training set free of the future."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.errors import ConfigError
from pipelines.project.sources import Source

ALWAYS = "always"


def instants_of(source: Source, columns: Collection[str], where: str) -> tuple[str, ...]:
    """The instant columns after all of which every one of `columns` is known.

    Returns:
        Names in declared order; empty where all are known always.

    Raises:
        ConfigError: A column stands under no `known_at`, so it feeds nothing.
    """
    missing = set(columns)
    needed = []
    for instant, names in source.known_at.items():
        covered = set(columns) if names == "*" else set(columns) & set(names)
        missing -= covered
        if covered and instant != ALWAYS:
            needed.append(instant)
    if missing:
        raise ConfigError(
            f"{', '.join(sorted(missing))} stands under no known_at of its source, so it feeds "
            "nothing",
            where=where,
            remedy="name the instant from which it is known in the source's known_at",
        )
    return tuple(needed)


def check_always_known(source: Source, columns: Collection[str], where: str) -> None:
    """Refuses columns that are not known from the start.

    Raises:
        ConfigError: A column becomes known at an instant, or never.
    """
    instants = instants_of(source, columns, where)
    if instants:
        always = source.known_at.get(ALWAYS, ())
        late = sorted(column for column in columns if column not in always)
        raise ConfigError(
            f"{', '.join(late)} must be known always, but is known from {', '.join(instants)} on",
            where=where,
            remedy="take it through windows or latest, which look at what was known by then",
        )


def add_known_at(
    events: DataFrame, source: Source, columns: Collection[str], where: str
) -> tuple[DataFrame, str]:
    """Finds, or adds, the column that says when all of `columns` were known.

    Several instants give the last of them, null where one is null. What is known always counts from
    the event's own time.

    Returns:
        The events and the column's name.

    Raises:
        ConfigError: A column feeds nothing, or all are known always without an event_time.
    """
    instants = instants_of(source, columns, where)
    if not instants:
        if source.event_time is None:
            raise ConfigError(
                f"{', '.join(sorted(columns))} is known always, and its source has no event_time",
                where=where,
                remedy="give the source an event_time, or take the column through static",
            )
        return events, source.event_time
    if len(instants) == 1:
        return events, instants[0]
    name = "__known_" + "_".join(instants)
    if name in events.columns:
        return events, name
    return events.withColumn(name, _last_of([F.col(instant) for instant in instants])), name


def _last_of(instants: list[Column]) -> Column:
    """The greatest, null where one is null."""
    all_known = instants[0].isNotNull()
    for instant in instants[1:]:
        all_known = all_known & instant.isNotNull()
    return F.when(all_known, F.greatest(*instants))
