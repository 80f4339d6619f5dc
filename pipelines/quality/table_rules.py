"""Rules of the project file on a candidate table: budget, values, nulls, foreign keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.errors import InputMissingError
from pipelines.expressions import quote
from pipelines.quality.verdict import (
    GateContext,
    Verdict,
    cause,
    outcome,
    percent,
    sample,
    share_text,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pipelines.project.sources import TableRule

# Shares are floats: a table that is exactly at its limit passes.
_SLACK = 1e-9


@dataclass(frozen=True)
class _Check:
    """One rule as columns of a joined frame: which values it looks at, and which break it."""

    column: str
    looked_at: Column
    broken: Column
    joined: tuple[DataFrame, Column] | None = None


def judge_columns(
    table: str, rules: Mapping[str, TableRule], frame: DataFrame, context: GateContext
) -> dict[str, Verdict]:
    """Verdicts of all `in`, `not_null` and `foreign_key` rules, from one aggregation of the table.

    A null is nobody's value: only `not_null` looks at it. A foreign key into a table that is empty
    or missing is not evaluated. If the aggregation raises, each rule runs alone, so that the one
    that raises is named and the others keep their results.
    """
    checks, verdicts = {}, {}
    for position, (name, rule) in enumerate(rules.items()):
        try:
            checks[name] = _check(rule, position, context)
        except InputMissingError as error:
            verdicts[name] = _unseen(table, name, rule, context, error.message)
        except Exception as error:
            verdicts[name] = _error(table, name, rule, context, error)
    try:
        counts = _count(checks, frame)
    except Exception:
        counts = {}
        for name, check in checks.items():
            try:
                counts |= _count({name: check}, frame)
            except Exception as error:
                verdicts[name] = _error(table, name, rules[name], context, error)
    for name, (evaluated, failed, low, high) in counts.items():
        check = checks[name]
        if failed and failed == evaluated and check.joined and check.joined[0].isEmpty():
            verdicts[name] = _unseen(
                table, name, rules[name], context, "the other table has no keys"
            )
            continue
        found = tuple(sample(check.column, value) for value in dict.fromkeys((low, high)) if failed)
        if rules[name].not_null:
            found = ()
        verdicts[name] = _judge(table, name, rules[name], context, (evaluated, failed or 0, found))
    return verdicts


def judge_budget(table: str, name: str, rule: TableRule, context: GateContext) -> Verdict:
    """Verdict of `max_quarantined` on the batch; without a row it is not evaluated."""
    most = rule.max_quarantined or 0.0
    rows, failed = context.batch_rows, context.quarantined_rows
    origin = _origin(table, name, context)
    if rows == 0:
        return _unseen(table, name, rule, context, "0 rows in the batch")
    passed = failed <= most * rows + _SLACK
    return Verdict(
        table,
        name,
        rule.severity,
        outcome(passed, rule.severity),
        rows,
        failed,
        share_text(failed, rows),
        percent(most),
        origin,
    )


def _check(rule: TableRule, position: int, context: GateContext) -> _Check:
    from pyspark.sql import functions as F

    if rule.foreign_key is not None:
        (column, target), *_ = rule.foreign_key.items()
        source, _, key = target.partition(".")
        there = f"_reference_{position}"
        keys = (
            context.reference(source)
            .select(F.col(quote(key)).alias(there))
            .where(F.col(there).isNotNull())
            .distinct()
        )
        value = F.col(quote(column))
        joined = (keys, value == F.col(there))
        return _Check(column, value.isNotNull(), F.col(there).isNull(), joined)
    column = rule.column or ""
    value = F.col(quote(column))
    if rule.not_null:
        return _Check(column, F.lit(True), value.isNull())
    return _Check(column, value.isNotNull(), ~value.isin(list(rule.in_ or ())))


def _count(checks: Mapping[str, _Check], frame: DataFrame) -> dict[str, tuple[int, int, Any, Any]]:
    """By rule: rows looked at, rows that break it, its least and greatest breaking value."""
    from pyspark.sql import functions as F

    if not checks:
        return {}
    aggregates = []
    for check in checks.values():
        broken = check.looked_at & check.broken
        value = F.when(broken, F.col(quote(check.column)))
        if check.joined:
            frame = frame.join(*check.joined, "left")
        aggregates += [F.count_if(check.looked_at), F.count_if(broken), F.min(value), F.max(value)]
    row = frame.agg(*aggregates).first() or ()
    return {name: tuple(row[4 * i : 4 * i + 4]) for i, name in enumerate(checks)}


def _judge(
    table: str, name: str, rule: TableRule, context: GateContext, found: tuple[int, int, Any]
) -> Verdict:
    evaluated, failed, samples = found
    if evaluated == 0:
        return _unseen(table, name, rule, context, "0 values")
    passed = evaluated - failed >= rule.mostly * evaluated - _SLACK
    return Verdict(
        table,
        name,
        rule.severity,
        outcome(passed, rule.severity),
        evaluated,
        failed,
        share_text(failed, evaluated),
        percent(1 - rule.mostly),
        _origin(table, name, context),
        () if passed else samples,
    )


def _unseen(table: str, name: str, rule: TableRule, context: GateContext, observed: str) -> Verdict:
    origin = _origin(table, name, context)
    return Verdict(table, name, rule.not_evaluated, "not_evaluated", 0, 0, observed, "–", origin)


def _error(
    table: str, name: str, rule: TableRule, context: GateContext, error: Exception
) -> Verdict:
    origin = _origin(table, name, context)
    return Verdict(table, name, rule.severity, "error", None, None, cause(error), "–", origin)


def _origin(table: str, name: str, context: GateContext) -> str:
    return context.origin(f"sources.{table}.table_rules.{name}")
