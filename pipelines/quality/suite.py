"""Reads and checks a Great Expectations suite (JSON of GX 1.x) without importing the library.

`expectations.json` beside this file lists the core expectations of the pinned GX and their
arguments; a test compares it with the installed library.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pipelines.errors import ConfigError
from pipelines.expressions import check_expression, columns_of

SEVERITIES = {"critical": "fail", "warning": "warn", "info": "warn"}
COLUMN_KEYS = ("column", "column_A", "column_B")
COLUMN_LIST_KEYS = ("column_list", "column_set")
# Rules about the list of columns may name any: that is what they test.
SHAPE_TYPES = (
    "expect_column_to_exist",
    "expect_table_columns_to_match_ordered_list",
    "expect_table_columns_to_match_set",
    "expect_table_column_count_to_be_between",
    "expect_table_column_count_to_equal",
)

_SQL_TEXT = "runs SQL text; use a row rule with an expression"
_NO_SPARK = "does not run on Spark in GX; use expect_column_values_to_match_regex"
_REFUSED = {
    "unexpected_rows_expectation": _SQL_TEXT,
    "expect_query_results_to_match_comparison": _SQL_TEXT,
    "expect_table_row_count_to_equal_other_table": "needs a SQL table; it does not run on Spark",
    "expect_column_values_to_be_dateutil_parseable": _NO_SPARK,
    "expect_column_values_to_match_like_pattern": _NO_SPARK,
    "expect_column_values_to_match_like_pattern_list": _NO_SPARK,
    "expect_column_values_to_not_match_like_pattern": _NO_SPARK,
    "expect_column_values_to_not_match_like_pattern_list": _NO_SPARK,
}


@dataclass(frozen=True)
class Expectation:
    """One expectation of a suite.

    Attributes:
        name: `meta.name`, else the expectation's short type, with its column where it has one.
        type: GX's snake_case type.
        kwargs: Arguments as declared.
        severity: `fail` or `warn` by GX's severity; None where the suite says nothing.
        line: Line of the suite's file on which it starts.
    """

    name: str
    type: str
    kwargs: Mapping[str, Any]
    severity: str | None
    line: int


def check_suite(path: Path, columns: Collection[str] | None = None) -> list[ConfigError]:
    """All mistakes of a suite; an empty list is a good one. Needs neither Spark nor GX.

    Args:
        path: The suite.
        columns: Columns of the table it judges; None leaves names unchecked.
    """
    try:
        expectations = read_suite(path)
    except ConfigError as error:
        return [error]
    mistakes = []
    seen: set[str] = set()
    for item in expectations:
        where = f"{path}:{item.line}"
        texts = list(_mistakes(item, columns))
        if item.name in seen:
            texts.append(f"the name `{item.name}` is taken; give it another `meta.name`")
        seen.add(item.name)
        mistakes += [ConfigError(f"{item.name}: {text}", where=where) for text in texts]
    return mistakes


def read_suite(path: Path) -> list[Expectation]:
    """The expectations of a suite, in order.

    Raises:
        ConfigError: There is no such file, it is not JSON, or not a suite of GX 1.x.
    """
    try:
        text = path.read_text(encoding="utf-8")
        suite = json.loads(text, object_pairs_hook=_no_twins)
    except OSError as error:
        raise ConfigError(f"cannot read the suite: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise ConfigError("the suite is not UTF-8", where=str(path)) from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"not JSON: {error}", where=str(path)) from None
    items = suite.get("expectations") if isinstance(suite, dict) else None
    if not isinstance(items, list) or not items:
        raise ConfigError("needs a non-empty list `expectations`", where=str(path))
    lines = _lines(text)
    return [_read(item, line, path) for item, line in zip(items, lines, strict=True)]


@cache
def catalogue() -> Mapping[str, Mapping[str, list[str]]]:
    """Type of a core expectation → its `required` and `optional` arguments."""
    file = files("pipelines.quality") / "expectations.json"
    return json.loads(file.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def columns_used(item: Expectation) -> frozenset[str]:
    """Columns an expectation reads, its row condition included."""
    found = {item.kwargs[key] for key in COLUMN_KEYS if key in item.kwargs}
    for key in COLUMN_LIST_KEYS:
        found |= set(item.kwargs.get(key) or ())
    condition = item.kwargs.get("row_condition")
    return frozenset(found | (columns_of(condition) if condition else frozenset()))


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twin = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key `{twin}` stands twice")
    return found


def _lines(text: str) -> Iterator[int]:
    """Lines on which the items of the top-level list `expectations` start."""
    decoder = json.JSONDecoder()
    skip = re.compile(r"[\s,:]*")

    def at(position: int) -> int:
        return skip.match(text, position).end()  # type: ignore[union-attr]

    position = at(text.index("{") + 1)
    while text[position] != "}":
        key, position = decoder.raw_decode(text, position)
        position = at(position)
        if key != "expectations":
            position = at(decoder.raw_decode(text, position)[1])
            continue
        position = at(position + 1)
        while text[position] != "]":
            yield text.count("\n", 0, position) + 1
            position = at(decoder.raw_decode(text, position)[1])
        return


def _read(item: Any, line: int, path: Path) -> Expectation:
    where = f"{path}:{line}"
    if not isinstance(item, dict) or not isinstance(item.get("type"), str):
        raise ConfigError("an expectation needs a `type`, as GX 1.x writes it", where=where)
    kwargs, meta = item.get("kwargs", {}), item.get("meta") or {}
    if not isinstance(kwargs, dict) or not isinstance(meta, dict):
        raise ConfigError("`kwargs` and `meta` are maps", where=where)
    severity = item.get("severity")
    if severity is not None and severity not in SEVERITIES:
        allowed = ", ".join(SEVERITIES)
        raise ConfigError(f"unknown severity `{severity}`; allowed: {allowed}", where=where)
    short = re.sub(r"^expect_(column_values_to_|column_|table_)?", "", item["type"])
    name = meta.get("name") or "_".join([*map(str, filter(None, [kwargs.get("column")])), short])
    return Expectation(
        str(name), item["type"], kwargs, SEVERITIES[severity] if severity else None, line
    )


def _mistakes(item: Expectation, columns: Collection[str] | None) -> Iterator[str]:
    known = catalogue()
    if item.type not in known:
        yield f"GX has no core expectation `{item.type}`{_nearest(item.type, known)}"
        return
    if item.type in _REFUSED:
        yield f"`{item.type}` {_REFUSED[item.type]}"
        return
    arguments = [*known[item.type]["required"], *known[item.type]["optional"]]
    for key in item.kwargs:
        if key not in arguments:
            yield f"unknown argument `{key}`{_nearest(key, arguments)}"
    for key in known[item.type]["required"]:
        if key not in item.kwargs:
            yield f"needs the argument `{key}`"
    mostly = item.kwargs.get("mostly", 1)
    if isinstance(mostly, bool) or not isinstance(mostly, int | float) or not 0 <= mostly <= 1:
        yield f"mostly = {mostly}; needs a number from 0 to 1"
    yield from _bad_patterns(item)
    yield from _bad_columns(item, columns)


def _bad_patterns(item: Expectation) -> Iterator[str]:
    patterns = [item.kwargs.get("regex"), *(item.kwargs.get("regex_list") or ())]
    for pattern in patterns:
        if pattern is None:
            continue
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            yield f"`{pattern}` is not a regular expression: {error}"


def _bad_columns(item: Expectation, columns: Collection[str] | None) -> Iterator[str]:
    names = [item.kwargs[key] for key in COLUMN_KEYS if key in item.kwargs]
    for key in COLUMN_LIST_KEYS:
        names += item.kwargs.get(key) or []
    if not all(isinstance(name, str) for name in names):
        yield "columns are named by text"
        return
    condition = item.kwargs.get("row_condition")
    if condition is not None:
        if item.kwargs.get("condition_parser") != "spark" or not isinstance(condition, str):
            yield "row_condition needs an expression as text and condition_parser: spark"
        else:
            try:
                check_expression(condition, columns_of(condition) if columns is None else columns)
            except ConfigError as error:
                yield f"row_condition: {error.message}"
    for name in names:
        if columns is not None and name not in columns and item.type not in SHAPE_TYPES:
            yield f"the table has no column `{name}`{_nearest(name, columns)}"


def _nearest(word: str, allowed: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.6)
    return f". Did you mean `{close[0]}`?" if close else ""
