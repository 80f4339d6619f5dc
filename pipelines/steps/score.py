"""score: the champion's predictions, appended once for each key, model version and instant."""

from __future__ import annotations

from pyspark.sql import functions as F

from pipelines.errors import InputMissingError
from pipelines.report.model import RowFlow
from pipelines.scoring import PredictionStamp, predictions_to_write, score_rows
from pipelines.steps.base import StepContext, StepResult, table_report
from pipelines.steps.evaluate import champion_of
from pipelines.tables import Transaction


def inputs(ctx: StepContext) -> dict[str, str]:
    """The champion and the rows it scores."""
    name = ctx.training_set()
    if name is None or name not in ctx.project.score:
        return {}
    try:
        champion = champion_of(ctx).label
    except InputMissingError:
        champion = "none"
    return {
        "champion": champion,
        f"training_sets/{name}": ctx.lake.identity("training_sets", name) or "missing",
    }


def run(ctx: StepContext) -> StepResult:
    """Scores the declared rows that this version has not scored yet."""
    name = ctx.training_set()
    if name is None or name not in ctx.project.score:
        return StepResult(line="nothing to score declared")
    section = ctx.project.score[name]
    champion = champion_of(ctx)
    facts = ctx.facts("featurize")
    key = tuple(facts["key"])
    rows = ctx.lake.read("training_sets", name, facts["version"])
    rows = rows.where(F.col("split") == F.lit(section.rows.split))
    wanted = facts["parts"].get(section.rows.split, 0)
    existing = ctx.lake.read("predictions", name) if ctx.lake.exists("predictions", name) else None
    stamp = PredictionStamp(
        key=key,
        as_of="predict_at",
        model=champion.card.name,
        model_version=champion.card.version,
        run_id=ctx.run_id,
    )
    scored = score_rows(rows, champion, keep=(*key, "predict_at"))
    app = f"score/{name}"
    number = (ctx.lake.committed("predictions", name, app) or 0) + 1
    written = ctx.lake.append(
        predictions_to_write(scored, stamp, section.decide, existing),
        "predictions",
        name,
        Transaction(app, number),
    )
    known = wanted - written.rows
    told = f", {known:,} known already" if known else ""
    return StepResult(
        line=f"{written.rows:,} predictions, {champion.label}{told}",
        flow=RowFlow(rows_in=wanted, rows_out=written.rows, rows_excluded=known),
        tables=[table_report(ctx.lake, "predictions", name)],
        facts={"model": champion.card.name, "version": champion.card.version},
    )


def outputs(ctx: StepContext) -> list[tuple[str, str]]:
    """Tables this step leaves."""
    return [("predictions", name) for name in ctx.project.score]
