"""What is to be trained and what came of it: plain values that travel as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from pipelines.errors import ConfigError

Task = Literal["binary", "regression"]

LANES = 16
"""Lanes of the loader's plan. Batches don't depend on the number of ranks up to this many."""

_ALLOWED = {
    "kind": ("torch.resnet",),
    "task": ("binary", "regression"),
    "backend": ("horovod", "single"),
    "metric": ("roc_auc", "loss"),
}


@dataclass(frozen=True)
class TrainSpec:
    """One training of one network.

    Attributes:
        table: Path of the training set's Delta table.
        version: Its Delta version.
        label: Column to predict; 0 and 1 for `binary`; never null.
        task: `binary` (log loss) or `regression` (squared error of the standardised label).
        encoder: `TableEncoder.to_dict()`, fitted on the training part.
        output: Folder that the bundle is written to.
        kind: The network.
        params: Its parameters: width, blocks, dropout.
        train_split: Value of the partition column `split` to learn from.
        validation_split: The one to stop early on.
        backend: `horovod` (ranks of a Spark barrier stage) or `single` (one rank in this process).
        workers: Number of ranks.
        global_batch_rows: Rows of a step over all ranks.
        epochs: Most passes over the training part.
        lr: Highest learning rate, for the global batch.
        weight_decay: Decoupled weight decay of AdamW.
        metric: What early stopping watches on the validation part.
        patience: Epochs without a better value before training ends.
        seed: Seed of weights, orders and dropout.
        timeout_s: Longest time a rank may make no progress.
    """

    table: str
    version: int
    label: str
    task: Task
    encoder: dict[str, Any]
    output: str
    kind: str = "torch.resnet"
    params: dict[str, Any] = field(
        default_factory=lambda: {"width": 128, "blocks": 2, "dropout": 0.5}
    )
    train_split: str = "train"
    validation_split: str = "validation"
    backend: Literal["horovod", "single"] = "horovod"
    workers: int = 2
    global_batch_rows: int = 2048
    epochs: int = 4
    lr: float = 0.002
    weight_decay: float = 0.1
    metric: Literal["roc_auc", "loss"] = "roc_auc"
    patience: int = 2
    seed: int = 0
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        """Refuse what can't be trained.

        Raises:
            ConfigError: A value that is not allowed, with the rule.
        """
        for name, allowed in _ALLOWED.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ConfigError(f"{name} is one of {', '.join(allowed)}, not {value!r}")
        if self.metric == "roc_auc" and self.task != "binary":
            raise ConfigError(
                f"early stopping on roc_auc needs a binary label, the task is {self.task}",
                remedy="set `early_stopping: {metric: loss}`",
            )
        if self.backend == "single" and self.workers != 1:
            raise ConfigError(f"backend single has one worker, not {self.workers}")
        if not 1 <= self.workers <= LANES:
            raise ConfigError(f"workers is between 1 and {LANES}, not {self.workers}")
        if self.global_batch_rows < LANES:
            raise ConfigError(f"global_batch_rows is {LANES} or more, not {self.global_batch_rows}")

    def to_json(self) -> str:
        """This spec as JSON text."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> TrainSpec:
        """The inverse of `to_json`."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Epoch:
    """One pass over the training part.

    Attributes:
        epoch: Number of the pass, from 1.
        train_loss: Mean loss over the pass, as the weights moved.
        validation_loss: Mean loss over the validation part after it.
        validation_metric: ROC AUC (binary; None with one class) or RMSE in units of the label.
        seconds: Wall time of training and validation.
        rows: Training rows seen.
    """

    epoch: int
    train_loss: float
    validation_loss: float
    validation_metric: float | None
    seconds: float
    rows: int


@dataclass(frozen=True)
class TrainResult:
    """What a training came to.

    Attributes:
        bundle: Folder of the network, ready for `load_bundle`.
        epochs: The learning curve.
        best_epoch: The epoch whose weights the bundle holds.
        seconds: Wall time from the call to the bundle on disk.
        launch_seconds: The part of it before the first step.
        rows_per_s: Training rows of all epochs per second of theirs, over all ranks.
        workers: Number of ranks.
        backend: How they were started.
        peak_rss_mb: Largest resident memory of each rank, MiB.
        data_digest: Identity of the rows and their files.
    """

    bundle: Path
    epochs: tuple[Epoch, ...]
    best_epoch: int
    seconds: float
    launch_seconds: float
    rows_per_s: float
    workers: int
    backend: str
    peak_rss_mb: tuple[float, ...]
    data_digest: str
