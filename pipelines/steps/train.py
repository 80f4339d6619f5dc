"""train: every model of the project on the same rows, each once for one fingerprint."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

from features.encode import TableEncoder, fit_table_encoder
from pipelines.classical import fit, prepare
from pipelines.deep import TrainResult, TrainSpec, train_network
from pipelines.project.code import code_hash
from pipelines.project.modeling import Model
from pipelines.registry import ModelCard, ModelRegistry, RegisteredModel
from pipelines.report.model import RowFlow
from pipelines.scoring.network import NETWORK
from pipelines.steps.base import StepContext, StepResult, hash_of

Fit = Callable[[str, Model], tuple[Callable[[str], None], dict[str, Any]]]
_MEASURABLE_S = 0.1
_CODE = ("pipelines.classical", "pipelines.deep", "features.encode")


def inputs(ctx: StepContext) -> dict[str, str]:
    """The training set."""
    return {
        f"training_sets/{name}": ctx.lake.identity("training_sets", name) or "missing"
        for name in ctx.project.training_sets
    }


def run(ctx: StepContext) -> StepResult:
    """Fits each model that the registry does not hold yet."""
    name = ctx.training_set()
    if name is None or not ctx.project.models:
        return StepResult(line="no models declared", facts={"models": {}})
    facts = ctx.facts("featurize")
    spec = ctx.project.training_sets[name]
    train = ctx.lake.read("training_sets", name, facts["version"]).where(F.col("split") == "train")
    encoder = fit_table_encoder(
        train,
        facts["numeric"],
        facts["category"],
        scale=spec.encode.numeric.scale,
        min_count=spec.encode.category.min_count,
    )
    registry = ModelRegistry(ctx.lake.root, name)
    prints = {model: fingerprint(ctx, name, model, encoder) for model in ctx.project.models}
    found = {model: registry.find_by_fingerprint(model, prints[model]) for model in prints}
    missing = [model for model, version in found.items() if version is None]
    told = [f"{version.label} kept" for version in found.values() if version is not None]
    classical = [model for model in missing if not ctx.project.models[model].is_deep]
    if classical:
        with prepare(train, spec.label.name, encoder) as frame:

            def fit_mllib(model: str, section: Model) -> Any:
                fitted = fit(section.kind, section.settings(), frame, ctx.project.project.seed)
                return fitted.save, {"rows": fitted.num_rows, "importance": fitted.importance()}

            for model in classical:
                found[model] = _register(ctx, registry, (model, prints[model]), encoder, fit_mllib)
                told.append(_told(found[model]))
    for model in missing:
        if ctx.project.models[model].is_deep:
            fit_network = _network_fit(ctx, name, encoder)
            found[model] = _register(ctx, registry, (model, prints[model]), encoder, fit_network)
            told.append(_told(found[model]))
    cards = {model: version.card for model, version in found.items() if version is not None}
    return StepResult(
        line=" · ".join(told),
        flow=RowFlow(rows_in=facts["parts"].get("train", 0)),
        facts={
            "models": {model: card.version for model, card in cards.items()},
            "encoder": encoder.to_dict(),
        },
        evidence={
            "learning": {
                model: [
                    {
                        k: e[k]
                        for k in ("epoch", "train_loss", "validation_loss", "validation_metric")
                    }
                    for e in card.training["epochs"]
                ]
                for model, card in cards.items()
                if card.training.get("epochs")
            },
            "importance": {
                model: card.training["importance"]
                for model, card in cards.items()
                if card.training.get("importance")
            },
        },
    )


def outputs(ctx: StepContext) -> list[tuple[str, str]]:
    """Models are folders, no tables."""
    return []


def fingerprint(ctx: StepContext, training_set: str, model: str, encoder: TableEncoder) -> str:
    """Identity of a trained model: data, encoder, section, seed, code."""
    return hash_of(
        ctx.lake.identity("training_sets", training_set),
        encoder.to_dict(),
        ctx.loaded.resolved["models"][model],
        ctx.project.project.seed,
        code_hash(_CODE, _CODE),
    )


def _register(
    ctx: StepContext,
    registry: ModelRegistry,
    identity: tuple[str, str],
    encoder: TableEncoder,
    how: Fit,
) -> RegisteredModel:
    """Fits one model and commits it as a new version."""
    name, print_ = identity
    facts = ctx.facts("featurize")
    training_set = str(ctx.training_set())
    section = ctx.project.models[name]
    began = time.perf_counter()
    write, training = how(name, section)
    seconds = time.perf_counter() - began
    # A constant is no training: a rate of it would mean nothing.
    rate = training["rows"] / seconds if seconds >= _MEASURABLE_S else None
    training.setdefault("rows_per_s", rate)
    card = ModelCard(
        name=name,
        kind=section.kind,
        version=registry.next_version(name),
        params=section.settings().model_dump(),
        training_set=training_set,
        training_set_version=facts["version"],
        label=ctx.project.training_sets[training_set].label.name,
        encoder=encoder.to_dict(),
        features=(*facts["numeric"], *facts["category"]),
        fingerprint=print_,
        seed=ctx.project.project.seed,
        run_id=ctx.run_id,
        created_at=ctx.now,
        training={"seconds": seconds, **training},
    )
    return registry.register(card, write)


def _network_fit(ctx: StepContext, training_set: str, encoder: TableEncoder) -> Fit:
    """A fit that trains by ranks into a scratch folder, from which the registry copies."""

    def fit_network(name: str, section: Model) -> Any:
        spec = ctx.project.training_sets[training_set]
        train, stop = section.train, section.early_stopping
        if train is None:
            raise AssertionError(name)
        folder = ctx.scratch(name)
        result = train_network(
            TrainSpec(
                table=ctx.lake.path("training_sets", training_set),
                version=ctx.facts("featurize")["version"],
                label=spec.label.name,
                task=spec.label.task,
                encoder=encoder.to_dict(),
                output=folder,
                kind=section.kind,
                params=section.settings().model_dump(),
                backend=train.backend,
                workers=train.workers,
                global_batch_rows=train.global_batch_rows,
                epochs=train.epochs,
                lr=train.lr,
                weight_decay=train.weight_decay,
                metric=stop.metric if stop else "loss",
                patience=stop.patience if stop else train.epochs,
                seed=ctx.project.project.seed,
            ),
            ctx.lake.spark() if train.backend == "horovod" else None,
        )

        def write(target: str) -> None:
            shutil.copytree(folder, Path(target) / NETWORK)

        return write, _training(result)

    return fit_network


def _training(result: TrainResult) -> dict[str, Any]:
    return {
        "rows": sum(epoch.rows for epoch in result.epochs),
        "epochs": [asdict(epoch) for epoch in result.epochs],
        "best_epoch": result.best_epoch,
        "rows_per_s": result.rows_per_s,
        "backend": result.backend,
        "workers": result.workers,
        "launch_seconds": result.launch_seconds,
        "peak_rss_mb": list(result.peak_rss_mb),
        "data_digest": result.data_digest,
    }


def _told(model: RegisteredModel | None) -> str:
    if model is None:
        return ""
    training = model.card.training
    how = ""
    if training.get("backend"):
        noun = "worker" if training["workers"] == 1 else "workers"
        how = f" ({training['backend']}, {training['workers']} {noun})"
    return f"{model.card.name} {training['seconds']:.0f} s{how}"
