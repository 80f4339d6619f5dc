"""evaluate: all models on the same validation and test rows, the champion and its gate."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.errors import DataGateError, InputMissingError
from pipelines.evaluation.champion import check_champion_gate, choose_champion
from pipelines.evaluation.evaluate import Evaluation, evaluate_models
from pipelines.registry import ModelRegistry, RegisteredModel
from pipelines.report import words
from pipelines.report.model import BoardRow, Gate, MetricValue, RowFlow
from pipelines.scoring import score_rows
from pipelines.steps.base import StepContext, StepResult

_PARTS = ("validation", "test")
_PAST = {"pass": "passed", "fail": "failed", "not_evaluated": "not evaluated"}


def inputs(ctx: StepContext) -> dict[str, str]:
    """Models as the registry holds them."""
    models = (ctx.facts_of("train") or {}).get("models", {})
    found = {f"model {name}": f"v{version}" for name, version in models.items()}
    name = ctx.training_set()
    if name:
        found[f"training_sets/{name}"] = ctx.lake.identity("training_sets", name) or "missing"
    return found


def run(ctx: StepContext) -> StepResult:
    """Measures, chooses on validation, judges on test."""
    name = ctx.training_set()
    versions = ctx.facts("train")["models"]
    if name is None or not versions:
        return StepResult(line="no models declared")
    registry = ModelRegistry(ctx.lake.root, name)
    models = {model: registry.load(model, version) for model, version in versions.items()}
    spec = ctx.project.training_sets[name]
    settings = ctx.project.evaluate
    rows = ctx.lake.read("training_sets", name, ctx.facts("featurize")["version"])
    evaluation = evaluate_models(
        _predictions(rows.where(F.col("split").isin(*_PARTS)), models, spec.label.name),
        spec.label.task,
        settings.metrics,
        settings.interval,
        ctx.project.project.seed,
    )
    for model, version in models.items():
        registry.record_metrics(
            version,
            {
                part: {k: m.value for k, m in evaluation.of(model, part).metrics.items()}
                for part in _PARTS
            },
        )
    champion = choose_champion(evaluation, settings.primary)
    gate = _gate(ctx, evaluation, champion)
    failure = None
    if gate is not None and gate.verdict == "fail":
        failure = DataGateError(
            f"champion gate: {'; '.join(r for r in gate.reasons if r.startswith('fail'))}",
            where=ctx.loaded.origin("gates.champion"),
            remedy="Look   run_report.html, section board",
        )
    else:
        registry.set_champion(models[champion], ctx.run_id, ctx.now)
    best = evaluation.of(champion, "test")
    metric = best.metrics[settings.primary]
    verdict = "no champion gate" if gate is None else f"champion gate {_PAST[gate.verdict]}"
    return StepResult(
        line=f"{champion} {words.metric(settings.primary)} {_interval(metric)}; {verdict}",
        flow=RowFlow(rows_in=sum(r.rows for r in evaluation.results if r.model == champion)),
        leaderboard=_board(evaluation, models),
        gates=[] if gate is None else [gate],
        warnings=_warnings(gate),
        facts={"champion": {"model": champion, "version": versions[champion]}},
        evidence={
            "champion": {"model": champion, "metric": settings.primary},
            "curves": evaluation.curves_evidence(),
        },
        failure=failure,
    )


def outputs(ctx: StepContext) -> list[tuple[str, str]]:
    """The board stands in the report, the champion in the registry."""
    return []


def _predictions(rows: DataFrame, models: dict[str, RegisteredModel], label: str) -> DataFrame:
    """One row a model and row: `model`, `split`, `day`, `label`, `score`."""
    frames = [
        score_rows(rows, model, keep=("split", "day", label)).select(
            F.lit(name).alias("model"),
            "split",
            "day",
            F.col(label).cast("double").alias("label"),
            "score",
        )
        for name, model in models.items()
    ]
    return reduce(DataFrame.unionByName, frames)


def _gate(ctx: StepContext, evaluation: Evaluation, champion: str) -> Gate | None:
    section = ctx.project.gates.champion
    if section is None:
        return None
    result = check_champion_gate(evaluation, champion, ctx.project.evaluate.primary, section)
    return Gate(name=result.name, verdict=result.verdict, reasons=list(result.reasons))


def _warnings(gate: Gate | None) -> list[str]:
    if gate is None or gate.verdict != "not_evaluated":
        return []
    return [f"champion gate: {reason}" for reason in gate.reasons if not reason.startswith("pass")]


def _board(evaluation: Evaluation, models: dict[str, RegisteredModel]) -> list[BoardRow]:
    rows = []
    for result in evaluation.results:
        card = models[result.model].card
        rows.append(
            BoardRow(
                model=result.model,
                version=str(card.version),
                split=result.split,  # type: ignore[arg-type]
                metrics={
                    name: MetricValue(value=m.value, low=m.low, high=m.high)
                    for name, m in result.metrics.items()
                },
                seconds=card.training.get("seconds"),
                rows_per_s=card.training.get("rows_per_s"),
                backend=card.training.get("backend") or card.kind.partition(".")[0],
                workers=card.training.get("workers"),
            )
        )
    return rows


def _interval(metric: object) -> str:
    value, low, high = (getattr(metric, name) for name in ("value", "low", "high"))
    if value is None:
        return "not evaluated"
    return f"{value:.3f}" if low is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def champion_of(ctx: StepContext) -> RegisteredModel:
    """The champion of the project's training set.

    Raises:
        InputMissingError: No model passed the gate yet.
    """
    name = ctx.training_set()
    if name is None:
        raise InputMissingError("the project declares no training set", where="training_sets")
    return ModelRegistry(ctx.lake.root, name).champion()
