"""Checks of a project beyond its types: expressions, columns, regular expressions and paths."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from pipelines.project.messages import Mistake
from pipelines.project.schema import Project
from pipelines.project.sources import Source
from pipelines.project.training import Calendar, Static, TrainingSet
from pipelines.project.types import unknown_word

Columns = tuple[str, ...]


def iter_expressions(project: Project) -> Iterator[tuple[str, str, Columns]]:
    """Yields (dotted key, expression, columns it may use) of each SQL text of a project.

    The key of an expression that is itself a key, as in `windows.delays.values`, ends in its text.
    """
    for name, source in project.sources.items():
        known = ["delivered_at", *source.columns]
        for column, derived in source.derive.items():
            if isinstance(derived, str):
                yield f"sources.{name}.derive.{column}", derived, tuple(known)
            known.append(column)
        for rule_name, rule in source.row_rules.items():
            if rule.expression is not None:
                key = f"sources.{name}.row_rules.{rule_name}.expression"
                yield key, rule.expression, tuple(known)
    for name, training_set in project.training_sets.items():
        rows = source_columns(project.sources[training_set.rows.source])
        yield f"training_sets.{name}.rows.predict_at", training_set.rows.predict_at, rows
        yield f"training_sets.{name}.label.expression", training_set.label.expression, rows
        for key, windows in training_set.windows.items():
            columns = source_columns(project.sources[windows.from_])
            for text in windows.values:
                if text != "*":
                    yield f"training_sets.{name}.windows.{key}.values.{text}", text, columns


def source_columns(source: Source) -> Columns:
    """Returns the columns of a source's clean table, `delivered_at` included."""
    return ("delivered_at", *source.columns, *source.derive)


def find_mistakes(project: Project, home: Path, folder: Path) -> Iterator[Mistake]:
    """Yields what is wrong with columns, regular expressions and paths of a valid project.

    Args:
        project: The project.
        home: Folder that its relative paths start at.
        folder: Folder of its project file, where its quality suites lie.
    """
    for key in ("lake", "runs"):
        yield from _leaves(("project", key), getattr(project.project, key), home)
    for name, source in project.sources.items():
        top: tuple[str, ...] = ("sources", name)
        yield from _leaves((*top, "files", "path"), source.files.path, home)
        if source.files.delivered_at:
            place = (*top, "files", "delivered_at", "from_name")
            yield from _is_bad_pattern(place, source.files.delivered_at.from_name)
        yield from _table_rules(top, project, source, folder)
    for name, training_set in project.training_sets.items():
        rows = training_set.rows.source
        for key, static in training_set.static.items():
            if isinstance(static, Static) and not static.join and static.from_ != rows:
                message = f"needs join, as its source is not {rows}, which the rows come from"
                yield Mistake(("training_sets", name, "static", key), message)
        for place, column, source_name in _columns(training_set):
            columns = source_columns(project.sources[source_name])
            if column not in columns:
                message = unknown_word(f"column `{column}` of {source_name}", column, columns)
                yield Mistake(("training_sets", name, *place), message, shows_value=False)


def _table_rules(
    top: tuple[str, ...], project: Project, source: Source, folder: Path
) -> Iterator[Mistake]:
    for rule_name, rule in source.table_rules.items():
        place = (*top, "table_rules", rule_name)
        if rule.great_expectations is not None:
            yield from _is_no_suite((*place, "great_expectations"), rule.great_expectations, folder)
        for column, target in (rule.foreign_key or {}).items():
            other, _, other_column = target.partition(".")
            here = (*place, "foreign_key", column)
            if column not in source_columns(source):
                message = unknown_word(f"column `{column}`", column, source_columns(source))
                yield Mistake(here, message, shows_value=False)
            columns = source_columns(project.sources[other])
            if other_column not in columns:
                yield Mistake(here, unknown_word(f"column of {other}", other_column, columns))


def _columns(training_set: TrainingSet) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yields (place, column, its source) of each column a training set names."""
    rows = training_set.rows.source
    for key, windows in training_set.windows.items():
        for by, columns in windows.by.items():
            for column in columns:
                yield ("windows", key, "by", by), column, rows
                if windows.from_ != rows:
                    yield ("windows", key, "by", by), column, windows.from_
    for key, latest in training_set.latest.items():
        for column in latest.by:
            yield ("latest", key, "by"), column, rows
        for column in dict.fromkeys((*latest.by, *latest.columns)):
            group = "columns" if column in latest.columns else "by"
            if group == "columns" or latest.from_ != rows:
                yield ("latest", key, group), column, latest.from_
    for key, static in training_set.static.items():
        if isinstance(static, Calendar):
            yield ("static", key, "of"), static.of, rows
            continue
        for column in static.columns:
            yield ("static", key, "columns"), column, static.from_
        for column, other in (static.join or {}).items():
            yield ("static", key, "join"), column, rows
            yield ("static", key, "join"), other, static.from_


def _climbs(path: str) -> bool:
    return Path(os.path.normpath(path)).parts[:1] == ("..",)


def _leaves(place: tuple[str, ...], path: str, home: Path) -> Iterator[Mistake]:
    """A relative path stays inside the project's home; an absolute one or a URI was meant."""
    if "://" in path or Path(path).is_absolute():
        return
    if _climbs(path):
        message = f"leaves the project's home {home}; needs a path below it or an absolute one"
        yield Mistake(place, message)


def _is_bad_pattern(place: tuple[str, ...], pattern: str) -> Iterator[Mistake]:
    try:
        num_groups = re.compile(pattern).groups
    except re.error as error:
        yield Mistake(place, f"is no regular expression: {error}")
        return
    if num_groups < 1:
        yield Mistake(place, "needs a group around the date, as in _(\\d{8})\\.csv$")


def _is_no_suite(place: tuple[str, ...], name: str, folder: Path) -> Iterator[Mistake]:
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        yield Mistake(place, f"leaves the project's folder {folder}")
    elif not (folder / name).is_file():
        yield Mistake(place, f"no such file in {folder}")
