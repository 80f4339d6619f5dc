"""The training loop: pure torch, the same for any number of ranks and any way they agree."""

from __future__ import annotations

import copy
import hashlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from pipelines.deep.metrics import Floats, rmse, roc_auc
from pipelines.deep.spec import Epoch, TrainSpec
from pipelines.deep.strategy import Strategy
from pipelines.deep.world import Progress, World
from pipelines.errors import DataGateError

_WARM_UP_SHARE = 0.05
_MAX_GRADIENT_NORM = 1.0
_AVERAGE_DECAY = 0.99


class Rows(NamedTuple):
    """This rank's rows of one global batch, possibly none.

    Attributes:
        numeric: [rows, columns], float32.
        codes: [rows, categories], int64.
        label: [rows], float32; standardised for regression.
    """

    numeric: Tensor
    codes: Tensor
    label: Tensor


@dataclass(frozen=True)
class LabelScale:
    """Mean and standard deviation of the training part's label."""

    mean: float
    std: float


@dataclass(frozen=True)
class Data:
    """Batches of this rank, every rank with the same number of them.

    Attributes:
        train: Batches of an epoch, in its own order.
        validation: Batches of the validation part, in the order of the table.
        steps: Training batches an epoch.
        scale: Scale of the label.
    """

    train: Callable[[int], Iterator[Rows]]
    validation: Callable[[], Iterator[Rows]]
    steps: int
    scale: LabelScale


@dataclass(frozen=True)
class Fit:
    """The best weights and how they were reached."""

    weights: dict[str, Tensor]
    epochs: tuple[Epoch, ...]
    best_epoch: int


def fit(
    spec: TrainSpec,
    model: nn.Module,
    data: Data,
    strategy: Strategy,
    world: World,
    progress: Progress,
) -> Fit:
    """Train until the validation part stops getting better, or the last epoch.

    Validated and kept is the moving average of the weights.
    Every rank sees the same validation figures, so all stop at the same epoch. With the same
    number of ranks a second run gives the same weights.

    Raises:
        DataGateError: The loss is no finite number; epoch and step are named.
    """
    strategy.broadcast(model)
    trainer = _Trainer(spec, model, data.steps, strategy, world)
    epochs: list[Epoch] = []
    best, best_epoch, weights = math.inf, 0, dict[str, Tensor]()
    for number in range(1, spec.epochs + 1):
        begin = time.perf_counter()
        loss_sum, num_rows = 0.0, 0.0
        for step, rows in enumerate(data.train(number - 1)):
            progress(f"epoch {number} step {step}")
            loss, count = trainer.step(rows, lambda: progress("waiting for the other ranks"))
            _check_finite(loss, number, step)
            loss_sum, num_rows = loss_sum + loss, num_rows + count
        progress(f"epoch {number} validation")
        predictions = _predict(trainer.average, data.validation())
        progress("waiting for the other ranks")
        epoch = Epoch(
            number,
            loss_sum / num_rows,
            *_validate(strategy.join_rows(predictions), spec, data.scale),
            time.perf_counter() - begin,
            int(num_rows),
        )
        epochs.append(epoch)
        value = _smaller_is_better(epoch, spec)
        if value < best:
            best, best_epoch = value, number
            weights = _copy(trainer.average)
        elif number - best_epoch >= spec.patience:
            break
    return Fit(weights or _copy(trainer.average), tuple(epochs), best_epoch or len(epochs))


class _Trainer:
    """One optimiser step at a time, on gradients that lie in one buffer.

    The buffer ends in two more numbers, the sum of losses and the number of rows, so that a step
    costs one collective and a mean over ranks is exact however rows are spread.

    Attributes:
        average: The network to keep: an exponential moving average over some hundred steps
            (Polyak and Juditsky 1992), which is steadier from epoch to epoch than the last step.
    """

    def __init__(
        self, spec: TrainSpec, model: nn.Module, steps: int, strategy: Strategy, world: World
    ):
        self._spec = spec
        self._model = model.train()
        self._strategy = strategy
        self._rank = world.rank
        self._total = spec.epochs * steps
        self._done = 0
        parameters = list(model.parameters())
        self._buffer = torch.zeros(sum(p.numel() for p in parameters) + 2)
        self._gradient = self._buffer[:-2]
        offset = 0
        for parameter in parameters:
            end = offset + parameter.numel()
            parameter.grad = self._buffer[offset:end].view_as(parameter)
            offset = end
        groups: list[dict[str, Any]] = [
            {"params": [p for p in parameters if p.dim() > 1], "weight_decay": spec.weight_decay},
            {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
        ]
        self.average = copy.deepcopy(model).eval().requires_grad_(False)
        self._averaged: list[Tensor] = list(self.average.parameters())
        self._weights = [parameter.detach() for parameter in parameters]
        self._optimizer = torch.optim.AdamW(groups, lr=spec.lr, fused=True)

    def step(self, rows: Rows, on_wait: Callable[[], None]) -> tuple[float, float]:
        """Learn from one global batch; returns its sum of losses and its rows."""
        torch.manual_seed(_seed(self._spec.seed, self._done, self._rank))
        self._buffer.zero_()
        loss = _loss_sum(self._model(rows.numeric, rows.codes), rows.label, self._spec)
        loss.backward()
        self._buffer[-2] = loss.detach()
        self._buffer[-1] = len(rows.label)
        on_wait()
        self._strategy.add_up(self._buffer)
        loss_sum, num_rows = self._buffer[-2:].tolist()
        self._gradient /= num_rows
        norm = float(torch.linalg.vector_norm(self._gradient))
        if norm > _MAX_GRADIENT_NORM:
            self._gradient *= _MAX_GRADIENT_NORM / norm
        for group in self._optimizer.param_groups:
            group["lr"] = self._spec.lr * learning_rate_share(self._done, self._total)
        self._optimizer.step()
        self._done += 1
        keep = min(_AVERAGE_DECAY, self._done / (self._done + 9))
        torch._foreach_lerp_(self._averaged, self._weights, 1 - keep)
        return loss_sum, num_rows


def learning_rate_share(step: int, total: int) -> float:
    """Share of the highest learning rate: linear warm-up over 5 % of all steps, then a cosine.

    >>> [round(learning_rate_share(step, 100), 2) for step in (0, 4, 5, 52, 99)]
    [0.2, 1.0, 1.0, 0.51, 0.0]
    """
    warm_up = max(1, math.ceil(total * _WARM_UP_SHARE))
    if step < warm_up:
        return (step + 1) / warm_up
    return 0.5 * (1 + math.cos(math.pi * (step - warm_up) / max(1, total - warm_up)))


def _check_finite(loss: float, epoch: int, step: int) -> None:
    if not math.isfinite(loss):
        raise DataGateError(
            f"the training loss is {loss} in epoch {epoch}, step {step}",
            remedy="lower `models.<name>.train.lr`, or look for extreme values in the features",
        )


def _loss_sum(output: Tensor, label: Tensor, spec: TrainSpec) -> Tensor:
    if spec.task == "binary":
        return nn.functional.binary_cross_entropy_with_logits(output, label, reduction="sum")
    return nn.functional.mse_loss(output, label, reduction="sum")


def _predict(model: nn.Module, batches: Iterator[Rows]) -> Floats:
    """Label and output of this rank's validation rows, [rows, 2]."""
    parts = [np.empty((0, 2))]
    with torch.inference_mode():
        for rows in batches:
            output = model(rows.numeric, rows.codes)
            parts.append(torch.stack([rows.label, output], dim=1).double().numpy())
    return np.concatenate(parts)


def _copy(model: nn.Module) -> dict[str, Tensor]:
    return {name: values.clone() for name, values in model.state_dict().items()}


def _validate(pairs: Floats, spec: TrainSpec, scale: LabelScale) -> tuple[float, float | None]:
    label, output = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    loss = float(_loss_sum(torch.from_numpy(output), torch.from_numpy(label), spec)) / len(label)
    if spec.task == "binary":
        return loss, roc_auc(label, output)
    return loss, rmse(label * scale.std, output * scale.std)


def _smaller_is_better(epoch: Epoch, spec: TrainSpec) -> float:
    if spec.metric == "loss":
        return epoch.validation_loss
    return math.inf if epoch.validation_metric is None else -epoch.validation_metric


def _seed(*key: int) -> int:
    digest = hashlib.sha256(repr(key).encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)
