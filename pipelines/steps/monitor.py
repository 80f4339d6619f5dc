"""monitor: drift of the inputs from the training part to the test part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pyspark.sql import functions as F

from features.encode import TableEncoder
from pipelines.monitoring.drift import drift_evidence, measure_drift
from pipelines.report.model import RowFlow
from pipelines.steps.base import StepContext, StepResult, table_report
from pipelines.tables import Transaction

_SCHEMA = (
    "feature string, kind string, psi double, reference_rows bigint, current_rows bigint, "
    "null_share_reference double, null_share_current double, level string, run_id string"
)


def inputs(ctx: StepContext) -> dict[str, str]:
    """The training set, whose encoder fixes the bins."""
    name = ctx.training_set()
    if name is None:
        return {}
    return {f"training_sets/{name}": ctx.lake.identity("training_sets", name) or "missing"}


def run(ctx: StepContext) -> StepResult:
    """Measures drift and appends it to monitoring."""
    name = ctx.training_set()
    if name is None or "encoder" not in ctx.facts("train"):
        return StepResult(line="no models declared")
    rows = ctx.lake.read("training_sets", name, ctx.facts("featurize")["version"])
    encoder = TableEncoder.from_dict(ctx.facts("train")["encoder"])
    section = ctx.project.monitor.drift
    parts = (section.reference, "test")
    reference, current = (rows.where(F.col("split") == part) for part in parts)
    measured = measure_drift(reference, current, encoder)
    evidence = drift_evidence(measured, section)
    table, app = f"{name}_drift", f"monitor/{name}"
    number = (ctx.lake.committed("monitoring", table, app) or 0) + 1
    told = [
        (*asdict(row).values(), item["level"], ctx.run_id)
        for row, item in zip(measured, evidence, strict=True)
    ]
    frame = ctx.lake.spark().createDataFrame(told, _SCHEMA).coalesce(1)
    ctx.lake.append(frame, "monitoring", table, Transaction(app, number))
    by_level = {
        level: [item for item in evidence if item["level"] == level]
        for level in ("alert", "warn", "not_evaluated")
    }
    top = evidence[0] if evidence else None
    most = (
        f": {top['feature']} PSI {top['psi']:.2f}"
        if top and top["level"] in ("alert", "warn")
        else ""
    )
    unseen = len(by_level["not_evaluated"])
    alerts = _plural(len(by_level["alert"]), "alert")
    more = f", {unseen} not evaluated" if unseen else ""
    return StepResult(
        line=f"{alerts}, {len(by_level['warn'])} of {len(evidence)} inputs drift{most}{more}",
        flow=RowFlow(rows_in=sum(ctx.facts("featurize")["parts"].get(p, 0) for p in parts)),
        tables=[table_report(ctx.lake, "monitoring", table)],
        warnings=_warnings(by_level, section.warn),
        evidence={"drift": evidence},
    )


def outputs(ctx: StepContext) -> list[tuple[str, str]]:
    """Tables this step leaves."""
    return [("monitoring", f"{name}_drift") for name in ctx.project.training_sets]


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _warnings(by_level: Mapping[str, Sequence[Any]], warn: float) -> list[str]:
    """A line for each alert, and one for all warnings together."""
    told = [f"drift alert: {item['feature']} PSI {item['psi']:.2f}" for item in by_level["alert"]]
    mild = by_level["warn"]
    if mild:
        some = "1 input" if len(mild) == 1 else f"{len(mild)} inputs"
        worst = f"{mild[0]['feature']} PSI {mild[0]['psi']:.2f}"
        told.append(f"drift of {some} at {warn:g} or more, most in {worst}")
    return told
