"""validate: table rules on what clean would become; only a pass of all sources is published."""

from __future__ import annotations

import hashlib
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.cleaning import candidate, publish
from pipelines.errors import DataGateError
from pipelines.quality import GateContext, Verdict, evaluate_table_rules, gate_passed
from pipelines.report.model import Gate, QualityRow, RowFlow, TableFlow, TableReport
from pipelines.steps.base import StepContext, StepResult, at_once, table_report
from pipelines.steps.clean import settings_of, staged_of

_HEADERS = ("rule", "verdict", "found", "allowed", "declared")


def inputs(ctx: StepContext) -> dict[str, str]:
    """Stages, and the suites' files."""
    found = {
        f"stage/{name}": ctx.lake.identity("stage", name) or "none" for name in ctx.project.sources
    }
    for source in ctx.project.sources.values():
        for rule in source.table_rules.values():
            if rule.great_expectations:
                content = (ctx.loaded.folder / rule.great_expectations).read_bytes()
                found[rule.great_expectations] = hashlib.sha256(content).hexdigest()
    return found


def run(ctx: StepContext) -> StepResult:
    """Judges every source's candidate, then publishes all of them or none."""
    facts = ctx.facts("clean")
    staged = {
        name: (settings_of(ctx, name), staged_of(facts, name)) for name in ctx.project.sources
    }

    def reference(name: str) -> DataFrame:
        return candidate(ctx.lake, *staged[name])

    verdicts: list[Verdict] = []
    for name, source in ctx.project.sources.items():
        if not source.table_rules:
            continue
        context = GateContext(
            batch_rows=staged[name][1].read,
            quarantined_rows=staged[name][1].quarantined,
            reference=reference,
            suite_folder=ctx.loaded.folder,
            origin=ctx.loaded.origin,
        )
        verdicts += evaluate_table_rules(name, source.table_rules, reference(name), context)
    passed = gate_passed(verdicts)
    flows, tables = [], []
    rows = (
        at_once(ctx, list(staged), lambda name: publish(ctx.lake, *staged[name])) if passed else {}
    )
    for name, (_, done) in staged.items():
        if not passed:
            tables.append(table_report(ctx.lake, "clean", name, published=False))
            continue
        flows.append(TableFlow(name=name, rows_in=done.clean, rows_out=rows[name]))
        tables.append(table_report(ctx.lake, "clean", name, published=True))
    line = _line(verdicts)
    return StepResult(
        line=f"published: {line}" if passed else line,
        flow=RowFlow(),
        by_table=flows,
        tables=tables,
        data_quality=[_quality_row(ctx, verdict) for verdict in verdicts],
        gates=[_gate(verdicts, passed)],
        warnings=[
            f"{v.table}.{v.rule}: {v.observed}, allowed {v.allowed}"
            for v in verdicts
            if v.verdict != "pass" and v.severity == "warn"
        ],
        failure=None if passed else _failure(ctx, verdicts, tables),
        details=None if passed else (_HEADERS, _rows(verdicts)),
    )


def outputs(ctx: StepContext) -> list[tuple[str, str]]:
    """Tables this step leaves."""
    return [("clean", name) for name in ctx.project.sources]


def _line(verdicts: list[Verdict]) -> str:
    counts = {word: sum(v.verdict == word for v in verdicts) for word in ("pass", "fail", "warn")}
    errors = sum(v.verdict == "error" for v in verdicts)
    unseen = sum(v.verdict == "not_evaluated" for v in verdicts)
    parts = [f"{counts['pass']} pass"]
    parts += [f"{counts[word]} {word}" for word in ("fail", "warn") if counts[word]]
    parts += [f"{errors} error"] if errors else []
    return ", ".join([*parts, f"{unseen} not evaluated"])


def _rows(verdicts: list[Verdict]) -> list[tuple[Any, ...]]:
    return [
        (f"{v.table}.{v.rule}", v.verdict.replace("_", " "), v.observed, v.allowed, v.origin)
        for v in verdicts
        if v.verdict != "pass" and v.severity == "fail"
    ]


def _quality_row(ctx: StepContext, verdict: Verdict) -> QualityRow:
    told = {"warn": "fail", "error": "not_evaluated"}.get(verdict.verdict, verdict.verdict)
    return QualityRow(
        table=verdict.table,
        version=ctx.lake.version("stage", verdict.table),
        rule=verdict.rule,
        severity=verdict.severity,
        verdict=told,  # type: ignore[arg-type]
        evaluated=verdict.evaluated,
        failed=verdict.failed,
        observed=verdict.observed,
        allowed=verdict.allowed,
        origin=verdict.origin,
    )


def _gate(verdicts: list[Verdict], passed: bool) -> Gate:
    reasons = [
        f"{v.table}.{v.rule} {v.verdict.replace('_', ' ')}: {v.observed}, allowed {v.allowed}"
        for v in verdicts
        if v.verdict != "pass"
    ]
    verdict = ("pass" if passed else "fail") if verdicts else "not_evaluated"
    return Gate(name="quality", verdict=verdict, reasons=reasons)  # type: ignore[arg-type]


def _failure(ctx: StepContext, verdicts: list[Verdict], tables: list[TableReport]) -> DataGateError:
    failed = [v for v in verdicts if v.verdict != "pass" and v.severity == "fail"]
    budgets = [
        v.table
        for v in failed
        if (rule := ctx.project.sources[v.table].table_rules.get(v.rule))
        and rule.max_quarantined is not None
    ]
    mostly = [f"{line}\n" for table in budgets if (line := _mostly(ctx, table))]
    kept = [
        f"{table.name} stays at version {table.version}"
        if table.version is not None
        else f"{table.name} is not created"
        for table in tables
    ]
    look = f"quarantine/{budgets[0]}" if budgets else f"stage/{failed[0].table}"
    return DataGateError(
        f"{''.join(mostly)}Not published: {', '.join(kept)}. Later steps not run.",
        remedy=f"Look   cauce tables show {look}\nFix    docs/runbooks/rule-failed.md",
    )


def _mostly(ctx: StepContext, table: str) -> str | None:
    """The rule and file that most of a batch's quarantined rows come from, with an example."""
    if not ctx.lake.exists("quarantine", table):
        return None
    batch = staged_of(ctx.facts("clean"), table).batch
    broken = ctx.lake.read("quarantine", table).where(F.col("_decided_in") == batch)
    top = (
        broken.select(F.element_at("_violations", 1).alias("rule"), "_file", "_record")
        .groupBy("rule", "_file")
        .agg(F.count(F.lit(1)).alias("rows"), F.min("_record").alias("record"))
        .orderBy(F.desc("rows"), "rule", "_file")
        .first()
    )
    if top is None:
        return None
    rows = f"{top['rows']:,} row{'' if top['rows'] == 1 else 's'}"
    return f"Mostly {top['rule']}: {rows} of {top['_file']}, e.g. record {top['record']}"
