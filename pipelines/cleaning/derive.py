"""Derived columns of a source: expressions, and functions of the project's own code."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from pipelines.errors import ConfigError
from pipelines.expressions import to_column
from pipelines.project.sources import DeriveFunction

Lookup = Callable[[str], DataFrame]


def add_derived(
    rows: DataFrame, derive: Mapping[str, str | DeriveFunction], lookup: Lookup
) -> DataFrame:
    """Adds each derived column in declared order; a later one may use an earlier one.

    Args:
        rows: Typed rows of the source.
        derive: Column → expression or function.
        lookup: Source name → the clean rows a function is given.

    Returns:
        The same rows, in the same grain, with the new columns.

    Raises:
        ConfigError: A function does not exist, or did not add its column.
    """
    for name, how in derive.items():
        if isinstance(how, str):
            rows = rows.withColumn(name, to_column(how, rows.columns))
            continue
        function = read_function(how.function)
        arguments = (lookup(how.lookup),) if how.lookup else ()
        rows = function(rows, *arguments)
        if name not in rows.columns:
            raise ConfigError(f"function {how.function} did not add the column `{name}`")
    return rows


def read_function(path: str) -> Callable[..., Any]:
    """Finds `custom.module.name` among the project's functions.

    Raises:
        ConfigError: There is no such module or function.
    """
    module_name, _, name = path.rpartition(".")
    try:
        found: Callable[..., Any] = getattr(
            importlib.import_module(f"features.{module_name}"), name
        )
    except (ImportError, AttributeError):
        raise ConfigError(
            f"function `{path}` does not exist; functions stand in features/custom/<module>.py",
            where=f"derive function {path}",
        ) from None
    return found
