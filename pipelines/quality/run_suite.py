"""Runs a suite with stock Great Expectations on a Spark frame and turns its results into verdicts.

GX passes when it saw nothing and lets NaN through an open bound; here the first is *not evaluated*
and the second a violation. GX never sees an odd column name or SQL text: columns that aren't plain
words are renamed for it, row conditions become a column computed through `pipelines.expressions`.
"""

from __future__ import annotations

import logging
import math
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pipelines.expressions import quote, to_column
from pipelines.quality.suite import (
    COLUMN_KEYS,
    COLUMN_LIST_KEYS,
    SHAPE_TYPES,
    Expectation,
    columns_used,
    read_suite,
)
from pipelines.quality.verdict import (
    MAX_SAMPLES,
    GateContext,
    Severity,
    Verdict,
    cause,
    outcome,
    percent,
    sample,
    share_text,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipelines.project.sources import TableRule

_PLAIN = re.compile(r"^[a-z][a-z0-9_]*$")
_PAIRS = "expect_column_pair_values_"


def judge_suite(
    table: str, name: str, rule: TableRule, frame: DataFrame, context: GateContext
) -> list[Verdict]:
    """One verdict an expectation, in the suite's order; the frame is cached only while GX runs."""
    path = context.suite_folder / (rule.great_expectations or "")
    suite = read_suite(path)
    narrow, renamed = _prepare(suite, frame)
    kept = narrow.persist()
    try:
        found = _validate([_tame(item, i, renamed, frame) for i, item in enumerate(suite)], kept)
    finally:
        kept.unpersist(blocking=True)
    return [
        _verdict(table, name, rule, item, result, path.name)
        for item, result in zip(suite, found, strict=True)
    ]


def _prepare(suite: Sequence[Expectation], frame: DataFrame) -> tuple[DataFrame, dict[str, str]]:
    """The columns the suite reads, odd names replaced by plain ones, a column a row condition."""
    from pyspark.sql import functions as F

    used = {column for item in suite for column in columns_used(item)}
    if any(item.type in SHAPE_TYPES for item in suite):
        used = set(frame.columns)
    kept = [column for column in frame.columns if column in used] or frame.columns[:1]
    renamed = {c: c if _PLAIN.match(c) else f"column_{i}__" for i, c in enumerate(kept)}
    columns = [F.col(quote(column)).alias(renamed[column]) for column in kept]
    for i, item in enumerate(suite):
        if condition := item.kwargs.get("row_condition"):
            columns.append(to_column(condition, frame.columns).alias(_condition(i)))
    return frame.select(columns), renamed


def _condition(position: int) -> str:
    return f"condition_{position}__"


def _tame(
    item: Expectation, position: int, renamed: Mapping[str, str], frame: DataFrame
) -> dict[str, Any]:
    """The expectation as GX's own configuration, with what GX would get wrong put right."""
    kwargs = dict(item.kwargs)
    for key in COLUMN_KEYS:
        if key in kwargs:
            kwargs[key] = renamed.get(kwargs[key], kwargs[key])
    for key in COLUMN_LIST_KEYS:
        if kwargs.get(key):
            kwargs[key] = [renamed.get(column, column) for column in kwargs[key]]
    if kwargs.get("row_condition"):
        kwargs["row_condition"] = _condition(position)
    if item.type == "expect_column_values_to_be_between":
        types = dict(frame.dtypes)
        if types.get(item.kwargs["column"]) in ("double", "float"):
            # Spark sorts NaN above every number: without an upper bound it would pass.
            kwargs["max_value"] = kwargs.get("max_value", math.inf)
    if item.type.startswith(_PAIRS):
        # A pair with one null side would pass without being compared.
        kwargs.setdefault("ignore_row_if", "either_value_is_missing")
    return {"type": item.type, "kwargs": kwargs, "meta": {"position": position}}


def _validate(configurations: Sequence[dict[str, Any]], frame: DataFrame) -> list[Any]:
    """GX's result of each expectation, or the exception that kept it from one."""
    found: dict[int, Any] = {}
    with warnings.catch_warnings(), _batch(frame) as run:
        warnings.simplefilter("ignore", DeprecationWarning)
        for position, result in run(configurations):
            found[position] = result
        # An exception may come from a metric that several expectations share: each runs alone.
        for position, configuration in enumerate(configurations):
            if isinstance(found.get(position), Exception | None):
                found |= dict(run([configuration]))
    return [found[position] for position in range(len(configurations))]


@contextmanager
def _batch(frame: DataFrame) -> Iterator[Any]:
    """A function that validates expectations on `frame`, in a GX that reports to nobody."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    logging.getLogger("great_expectations").setLevel(logging.ERROR)
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    source = context.data_sources.add_spark("spark", persist=False)
    asset = source.add_dataframe_asset("table")
    definition = asset.add_batch_definition_whole_dataframe("whole")
    batch = definition.get_batch(batch_parameters={"dataframe": frame})

    def run(configurations: Sequence[dict[str, Any]]) -> Iterator[tuple[int, Any]]:
        usable: list[Any] = []
        for configuration in configurations:
            try:
                gx.ExpectationSuite(name="one", expectations=[configuration])
                usable.append(configuration)
            except Exception as error:
                yield configuration["meta"]["position"], error
        if not usable:
            return
        suite = gx.ExpectationSuite(name="suite", expectations=usable)
        form = {"result_format": "BASIC", "partial_unexpected_count": MAX_SAMPLES}
        for result in batch.validate(suite, result_format=form).results:
            done: Any = result.expectation_config
            position = done.meta["position"]
            raised = _raised(result.exception_info)
            yield position, RuntimeError(raised) if raised else result

    yield run


def _raised(info: Any) -> str | None:
    """The kind of exception in GX's `exception_info`, whose shape differs from case to case."""
    parts = [info] if "raised_exception" in (info or {}) else list((info or {}).values())
    for part in parts:
        if isinstance(part, dict) and part.get("raised_exception"):
            return str(part.get("exception_message") or "").split(":")[0][:80]
    return None


def _verdict(
    table: str, name: str, rule: TableRule, item: Expectation, result: Any, file: str
) -> Verdict:
    severity: Severity = item.severity or rule.severity  # type: ignore[assignment]
    rule_name, origin = f"{name}.{item.name}", f"{file}:{item.line}"
    if isinstance(result, Exception):
        return Verdict(table, rule_name, severity, "error", None, None, cause(result), "–", origin)
    numbers = dict(result.result)
    elements = numbers.get("element_count")
    evaluated = None if elements is None else elements - (numbers.get("missing_count") or 0)
    failed = numbers.get("unexpected_count") if evaluated else None
    if evaluated == 0 or (elements is None and _is_nothing(numbers.get("observed_value", ""))):
        observed = "no value" if elements is None else f"0 of {elements:,} non-null"
        return Verdict(
            table, rule_name, rule.not_evaluated, "not_evaluated", 0, 0, observed, "–", origin
        )
    passed = bool(result.success)
    return Verdict(
        table,
        rule_name,
        severity,
        outcome(passed, severity),
        evaluated,
        failed,
        _observed(evaluated, failed, numbers, passed),
        _allowed(item, evaluated is not None),
        origin,
        () if passed else _samples(item, numbers),
    )


def _is_nothing(observed: Any) -> bool:
    return observed is None or (isinstance(observed, float) and math.isnan(observed))


def _observed(
    evaluated: int | None, failed: int | None, numbers: Mapping[str, Any], passed: bool
) -> str:
    if evaluated is not None:
        return share_text(failed or 0, evaluated)
    value = numbers.get("observed_value", "as expected" if passed else "not as expected")
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)[:100]


def _allowed(item: Expectation, counted: bool) -> str:
    """The share that may fail where GX counts values or rows, else the interval of the figure."""
    if counted:
        return percent(1 - item.kwargs.get("mostly", 1))
    low, high = item.kwargs.get("min_value"), item.kwargs.get("max_value")
    if low is not None and high is not None:
        return f"{low:,} to {high:,}"
    if low is None and high is None:
        return "–"
    return f"at least {low:,}" if high is None else f"at most {high:,}"


def _samples(item: Expectation, numbers: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """At most three failing values, under the name the suite gives the column."""
    values = numbers.get("partial_unexpected_list") or []
    columns = [item.kwargs[key] for key in COLUMN_KEYS if key in item.kwargs]
    columns = columns or list(item.kwargs.get("column_list") or ())
    found = []
    for value in values[:MAX_SAMPLES]:
        parts = list(value.values()) if isinstance(value, dict) else value
        parts = list(parts) if isinstance(parts, list | tuple) else [parts]
        merged: dict[str, Any] = {}
        for column, part in zip(columns, parts, strict=False):
            merged |= sample(column, part)
        found.append(merged)
    return tuple(found)
