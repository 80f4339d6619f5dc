"""One training from the driver's side: snapshot, checks, ranks, bundle."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.deep.bundle import save_bundle
from pipelines.deep.inputs import NetworkInput
from pipelines.deep.launch import run_horovod_ranks, run_single_rank
from pipelines.deep.loader import read_snapshot
from pipelines.deep.rank import RankReport, model_params, pack_job
from pipelines.deep.spec import TrainResult, TrainSpec
from pipelines.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def train_network(spec: TrainSpec, spark: SparkSession | None) -> TrainResult:
    """Train a network on one version of a training set and write its bundle.

    Args:
        spec: What to train.
        spark: The session whose executors become ranks; not needed by the backend `single`.

    Raises:
        ConfigError: A missing column, no Horovod, too few task slots.
        InputMissingError: No such table, version, split or file.
        DataGateError: Labels that can't be learned from, or a loss that is no number.
        TemporaryError: A rank died or stalled; it is named.
    """
    begin, began_at = time.perf_counter(), time.time()
    snapshot = read_snapshot(spec.table, spec.version)
    inputs = NetworkInput(spec.encoder)
    snapshot.check_columns([*inputs.columns, spec.label])
    for split in (spec.train_split, spec.validation_split):
        snapshot.row_groups(split)
    job = pack_job(spec, snapshot)
    if spec.backend == "single":
        reports = run_single_rank(job)
    elif spark is None:
        raise ConfigError("the backend horovod needs a Spark session")
    else:
        reports = run_horovod_ranks(job, spec.workers, spec.timeout_s, spark)
    first = reports[0]
    save_bundle(Path(spec.output), _manifest(spec, inputs, first), first.weights)
    return TrainResult(
        bundle=Path(spec.output),
        epochs=first.epochs,
        best_epoch=first.best_epoch,
        seconds=time.perf_counter() - begin,
        launch_seconds=max(report.first_step_at for report in reports) - began_at,
        rows_per_s=sum(e.rows for e in first.epochs) / sum(e.seconds for e in first.epochs),
        workers=len(reports),
        backend=spec.backend,
        peak_rss_mb=tuple(report.peak_rss_mb for report in reports),
        data_digest=snapshot.digest,
    )


def _manifest(spec: TrainSpec, inputs: NetworkInput, report: RankReport) -> dict[str, object]:
    return {
        "kind": spec.kind,
        "params": model_params(spec, inputs),
        "encoder": spec.encoder,
        "task": spec.task,
        "label": spec.label,
        "label_scale": {"mean": report.scale.mean, "std": report.scale.std},
        "inputs": list(inputs.columns),
        "seed": spec.seed,
        "best_epoch": report.best_epoch,
    }
