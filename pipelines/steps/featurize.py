"""featurize: the training set, from what was known at each prediction's instant."""

from __future__ import annotations

from pyspark.sql import Observation
from pyspark.sql import functions as F

from pipelines.errors import CauceError
from pipelines.expressions import quote, to_column
from pipelines.report.model import RowFlow
from pipelines.steps.base import StepContext, StepResult, table_report
from pipelines.training_sets import arrange_for_training, build_training_set

# Enough row groups for the loader's lanes, each of a size that a rank can hold.
_FILES = 8


def inputs(ctx: StepContext) -> dict[str, str]:
    """Clean tables."""
    return {
        f"clean/{name}": ctx.lake.identity("clean", name) or "missing"
        for name in ctx.project.sources
    }


def run(ctx: StepContext) -> StepResult:
    """Builds and writes the project's training set."""
    name = ctx.training_set()
    if name is None:
        return StepResult(line="no training set declared")
    plan = build_training_set(
        name,
        ctx.project.training_sets[name],
        sources=ctx.project.sources,
        clean=lambda source: ctx.lake.read("clean", source),
        zone=ctx.project.defaults.time_zone,
        expression=to_column,
    )
    seen = Observation()
    values = [F.count(quote(feature.name)).alias(feature.name) for feature in plan.features]
    rows = arrange_for_training(plan.rows, plan.key, _FILES)
    rows = rows.observe(seen, F.count(F.lit(1)).alias("__rows"), *values)
    written = ctx.lake.replace(rows, "training_sets", name, partition_by=["split"])
    found = ctx.lake.num_rows("training_sets", name, by="split")
    counts = plan.counts
    if (counts.train, counts.validation, counts.test) != tuple(
        found.get(part, 0) for part in ("train", "validation", "test")
    ):
        raise CauceError(f"training set {name} has {found}; its rows add up to {counts}")
    observed = seen.get
    coverage = [
        {
            "feature": feature.name,
            "kind": feature.kind,
            "share": observed[feature.name] / observed["__rows"] if observed["__rows"] else None,
        }
        for feature in plan.features
    ]
    left_out = {
        reason: getattr(counts, reason)
        for reason in ("unlabelled", "not_yet_known", "embargo", "outside")
    }
    told = [f"{counts.training_rows:,} labelled"]
    told += [f"{rows:,} {reason.replace('_', ' ')}" for reason, rows in left_out.items() if rows]
    source = ctx.project.training_sets[name].rows.source
    return StepResult(
        line=(f"{counts.total:,} {source} = {' + '.join(told)}; {len(plan.features)} features"),
        flow=RowFlow(
            rows_in=counts.total, rows_out=counts.training_rows, rows_excluded=counts.excluded
        ),
        tables=[table_report(ctx.lake, "training_sets", name)],
        facts={
            "version": written.version,
            "key": list(plan.key),
            "numeric": [f.name for f in plan.features if f.kind == "numeric"],
            "category": [f.name for f in plan.features if f.kind == "category"],
            "parts": found,
        },
        evidence={
            "coverage": coverage,
            "set_aside": [
                {"table": name, "kind": "excluded", "reason": reason, "rows": rows}
                for reason, rows in left_out.items()
                if rows
            ],
        },
    )


def outputs(ctx: StepContext) -> list[tuple[str, str]]:
    """Tables this step leaves."""
    return [("training_sets", name) for name in ctx.project.training_sets]
