"""clean: every new raw row gets its fate in the stage; nothing is published yet."""

from __future__ import annotations

from dataclasses import asdict

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from pipelines.cleaning import CleanSettings, Staged, candidate, lookup_order, stage_source
from pipelines.cleaning.stage import committed_batch, lookups_of
from pipelines.errors import CauceError
from pipelines.ingest.ledger import last_batch
from pipelines.report.model import TableFlow
from pipelines.steps.base import (
    Facts,
    StepContext,
    StepResult,
    add_flows,
    at_once,
    clean_definition,
    source_definition,
    table_report,
)


def inputs(ctx: StepContext) -> dict[str, str]:
    """Raw tables as ingestion committed them; clean tables that a stage of new rows lacks."""
    found = {
        f"raw/{name}": ctx.lake.identity("raw", name) or "missing" for name in ctx.project.sources
    }
    staged = ctx.facts_of("clean") or {}
    for name in ctx.project.sources:
        holds_all_rows = name not in staged or staged[name]["mode"] == "rebuild"
        if not holds_all_rows and committed_batch(ctx.lake, settings_of(ctx, name)) is None:
            found[f"clean/{name}"] = "missing"
    return found


def run(ctx: StepContext) -> StepResult:
    """Stages each source, lookups first."""
    flows: dict[str, TableFlow] = {}
    set_aside, facts = [], {}
    staged: dict[str, tuple[CleanSettings, Staged]] = {}

    def lookup(name: str) -> DataFrame:
        return candidate(ctx.lake, *staged[name])

    def stage(name: str) -> tuple[CleanSettings, Staged]:
        settings = settings_of(ctx, name)
        return settings, stage_source(ctx.lake, settings, lookup)

    for names in lookup_order(ctx.project.sources):
        staged |= at_once(ctx, names, stage)
    for name in ctx.project.sources:
        done = staged[name][1]
        facts[name] = asdict(done)
        flows[name] = _flow(name, done)
        set_aside += _reasons(ctx, name, done)
    ordered = [flows[name] for name in ctx.project.sources]
    total = add_flows(ordered)
    return StepResult(
        line=(
            f"{total.rows_in:,} = {total.rows_out:,} clean + {total.rows_duplicate:,} duplicates "
            f"+ {total.rows_quarantined:,} quarantined"
        ),
        flow=total,
        by_table=ordered,
        tables=[table_report(ctx.lake, "stage", name) for name in ctx.project.sources],
        facts=facts,
        evidence={"set_aside": set_aside},
    )


def outputs(ctx: StepContext) -> list[tuple[str, str]]:
    """Tables this step leaves; the stage is replaced by every batch."""
    return [("stage", name) for name in ctx.project.sources]


def settings_of(ctx: StepContext, name: str) -> CleanSettings:
    """How a source is cleaned, and up to which batch."""
    source = ctx.project.sources[name]
    lookups = {
        other: f"{source_definition(ctx.loaded, other)}@{_last_batch(ctx, other)}"
        for other in sorted(lookups_of(source))
    }
    return CleanSettings(
        name=name,
        source=source,
        definition=clean_definition(ctx.loaded, name, lookups),
        last_batch=_last_batch(ctx, name),
    )


def staged_of(facts: Facts, name: str) -> Staged:
    """A source's stage as this step's facts describe it."""
    return Staged(**facts[name])


def _last_batch(ctx: StepContext, name: str) -> int:
    return last_batch(ctx.lake, name, source_definition(ctx.loaded, name))


def _flow(name: str, done: Staged) -> TableFlow:
    new_duplicates = done.duplicates - done.superseded
    if done.read != done.clean + new_duplicates + done.quarantined:
        raise CauceError(
            f"source {name}: {done.read:,} raw is not {done.clean:,} clean + {new_duplicates:,} "
            f"duplicates + {done.quarantined:,} quarantined"
        )
    return TableFlow(
        name=name,
        rows_in=done.read,
        rows_out=done.clean,
        rows_duplicate=new_duplicates,
        rows_quarantined=done.quarantined,
    )


def _reasons(ctx: StepContext, name: str, done: Staged) -> list[dict[str, object]]:
    """Rows set aside by reason; only where there are some."""
    groups: list[tuple[str, Row]] = []
    this_batch = F.col("_decided_in") == done.batch
    if done.quarantined:
        rules = ctx.lake.read("quarantine", name).where(this_batch)
        counted = rules.groupBy(F.element_at("_violations", 1).alias("reason")).count()
        groups += [("quarantined", row) for row in counted.collect()]
    if done.duplicates:
        duplicates = ctx.lake.read("duplicates", name).where(this_batch)
        counted = duplicates.groupBy(F.col("_rule").alias("reason")).count()
        groups += [("duplicate", row) for row in counted.collect()]
    return [
        {"table": name, "kind": kind, "reason": row["reason"], "rows": row["count"]}
        for kind, row in sorted(groups, key=lambda group: (group[0], group[1]["reason"]))
    ]
