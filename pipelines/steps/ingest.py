"""ingest: new files of every source become raw rows or rejected records."""

from __future__ import annotations

from pipelines.errors import CauceError
from pipelines.ingest import FoundFile, Ingested, IngestSettings, find_files, ingest_source
from pipelines.ingest.files import inspect
from pipelines.ingest.ledger import known_files
from pipelines.report.model import TableFlow
from pipelines.steps.base import (
    StepContext,
    StepResult,
    add_flows,
    at_once,
    hash_of,
    source_definition,
    table_report,
)


def inputs(ctx: StepContext) -> dict[str, str]:
    """Content of each source's files; one that looks as in the ledger is not read again."""
    found = {}
    for name, source in ctx.project.sources.items():
        zone = ctx.project.defaults.zone
        files = find_files(source.files, ctx.loaded.home, zone, ctx.now)
        ledger = known_files(ctx.lake, name, source_definition(ctx.loaded, name))
        seen = {(row.path, row.size, row.mtime_ns): row.sha256 for row in ledger}

        def looks(one: FoundFile) -> tuple[str, int, int]:
            return one.path, one.size, one.mtime_ns

        hashes = {one.path: seen.get(looks(one), "") for one in files}
        changed = [one for one in files if not hashes[one.path]]
        hashes |= {one.path: one.sha256 for one in inspect(changed, source.files, ctx.loaded.home)}
        found[f"files of {name}"] = hash_of(hashes)
    return found


def run(ctx: StepContext) -> StepResult:
    """Loads each source's new files."""
    flows, warnings, set_aside, tables = [], [], [], []
    facts = {}

    def load(name: str) -> Ingested:
        return ingest_source(
            ctx.lake,
            IngestSettings(
                name=name,
                source=ctx.project.sources[name],
                defaults=ctx.project.defaults,
                home=ctx.loaded.home,
                now=ctx.now,
                definition=source_definition(ctx.loaded, name),
            ),
        )

    for name, done in at_once(ctx, list(ctx.project.sources), load).items():
        flows.append(
            TableFlow(name=name, rows_in=done.read, rows_out=done.raw, rows_rejected=done.rejected)
        )
        warnings += [
            f"{path} was set aside: {cause}" for path, cause in (done.set_aside or {}).items()
        ]
        set_aside += [
            {"table": name, "kind": "rejected", "reason": reason, "rows": rows}
            for reason, rows in sorted((done.reasons or {}).items())
        ]
        tables.append(table_report(ctx.lake, "raw", name))
        _check(name, done)
        facts[name] = {"batch": done.batch}
    total = add_flows(flows)
    return StepResult(
        line=f"{total.rows_in:,} read = {total.rows_out:,} raw + {total.rows_rejected:,} rejected",
        flow=total,
        by_table=flows,
        tables=tables,
        warnings=warnings,
        facts=facts,
        evidence={"set_aside": set_aside},
    )


def outputs(ctx: StepContext) -> list[tuple[str, str]]:
    """Tables this step leaves."""
    return [("ops", "files"), *(("raw", name) for name in ctx.project.sources)]


def _check(name: str, done: Ingested) -> None:
    if done.read != done.raw + done.rejected:
        raise CauceError(
            f"source {name}: {done.read:,} read is not {done.raw:,} raw + "
            f"{done.rejected:,} rejected"
        )
