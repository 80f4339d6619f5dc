"""What one rank does from its first line to its last: data, network, loop, report."""

from __future__ import annotations

import json
import math
import resource
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from pipelines.deep.inputs import NetworkInput, decode_label, decode_row_group
from pipelines.deep.loader import Snapshot, Source, build_plan, read_batches
from pipelines.deep.loop import Data, LabelScale, Rows, fit
from pipelines.deep.models import ResNet
from pipelines.deep.spec import LANES, Epoch, TrainSpec
from pipelines.deep.strategy import Strategy
from pipelines.deep.world import Progress, World
from pipelines.errors import DataGateError

_LABEL_PASS_ROWS = 1 << 18


@dataclass(frozen=True)
class RankReport:
    """What a rank hands back to the driver.

    Attributes:
        rank: Number of the rank.
        epochs: The learning curve, the same on every rank.
        best_epoch: Epoch of the best weights.
        scale: Scale of the label.
        first_step_at: Unix time at which the first epoch began.
        peak_rss_mb: Largest resident memory of the process, MiB.
        weights: The best weights as safetensors, from rank 0; elsewhere empty.
    """

    rank: int
    epochs: tuple[Epoch, ...]
    best_epoch: int
    scale: LabelScale
    first_step_at: float
    peak_rss_mb: float
    weights: bytes


def pack_job(spec: TrainSpec, snapshot: Snapshot) -> str:
    """Everything a rank has to know, as JSON text."""
    return json.dumps({"spec": asdict(spec), "snapshot": snapshot.to_dict()})


def main(job: str, world: World, strategy: Strategy, progress: Progress) -> RankReport:
    """Train as one of `world.world_size` ranks.

    Args:
        job: Text of `pack_job`.
        world: This rank's place.
        strategy: Its collectives, ready to use.
        progress: Told about every step.

    Raises:
        DataGateError: Labels that can't be learned from, or a loss that is no number.
        InputMissingError: A file of the training set is gone or has changed.
    """
    values = json.loads(job)
    spec, snapshot = TrainSpec(**values["spec"]), Snapshot.from_dict(values["snapshot"])
    threads = torch.get_num_threads()
    torch.set_num_threads(world.threads)
    try:
        return _train(spec, snapshot, world, strategy, progress)
    finally:
        torch.set_num_threads(threads)  # Spark uses the process again, maybe to score


def model_params(spec: TrainSpec, inputs: NetworkInput) -> dict[str, Any]:
    """All arguments of the network's constructor."""
    return {"d_in": inputs.d_in, "cardinalities": list(inputs.cardinalities), **spec.params}


def _train(
    spec: TrainSpec, snapshot: Snapshot, world: World, strategy: Strategy, progress: Progress
) -> RankReport:
    progress("reading labels")
    scale = _label_scale(spec, snapshot, world, strategy)
    inputs = NetworkInput(spec.encoder)
    model = _build_model(spec, inputs, scale)
    data = _data(spec, snapshot, inputs, scale, world)
    first_step_at = time.time()
    best = fit(spec, model, data, strategy, world, progress)
    return RankReport(
        rank=world.rank,
        epochs=best.epochs,
        best_epoch=best.best_epoch,
        scale=scale,
        first_step_at=first_step_at,
        peak_rss_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        weights=save(best.weights) if world.rank == 0 else b"",
    )


def _build_model(spec: TrainSpec, inputs: NetworkInput, scale: LabelScale) -> nn.Module:
    torch.manual_seed(spec.seed)
    model = ResNet(**model_params(spec, inputs))
    if spec.task == "binary":  # start from the base rate instead of from one half
        nn.init.constant_(model.head.bias, math.log(scale.mean / (1 - scale.mean)))
    return model


def _data(
    spec: TrainSpec, snapshot: Snapshot, inputs: NetworkInput, scale: LabelScale, world: World
) -> Data:
    decode = partial(decode_row_group, inputs=inputs, label=spec.label)
    columns = (*inputs.columns, spec.label)
    train = Source(snapshot.row_groups(spec.train_split), columns, decode)
    validation = Source(snapshot.row_groups(spec.validation_split), columns, decode)
    train_rows = [group.rows for group in train.groups]

    def train_batches(epoch: int) -> Iterator[Rows]:
        plan = build_plan(train_rows, spec.global_batch_rows, LANES, spec.seed, epoch)
        for batch in read_batches(train, plan, world.rank, world.world_size):
            yield _rows(batch.tensors, spec, scale)

    def validation_batches() -> Iterator[Rows]:
        return _in_order(validation, spec, scale, world)

    steps = build_plan(train_rows, spec.global_batch_rows, LANES, spec.seed).steps
    return Data(train_batches, validation_batches, steps, scale)


def _in_order(source: Source, spec: TrainSpec, scale: LabelScale, world: World) -> Iterator[Rows]:
    """A rank's contiguous share, so that joined shares are the table in its own order."""
    plan = build_plan(
        [group.rows for group in source.groups],
        batch_rows=4 * spec.global_batch_rows,
        lanes=world.world_size,
        shuffle=False,
    )
    for batch in read_batches(source, plan, world.rank, world.world_size):
        yield _rows(batch.tensors, spec, scale)


def _rows(tensors: tuple[Tensor, ...], spec: TrainSpec, scale: LabelScale) -> Rows:
    numeric, codes, label = tensors
    target = label[0]
    if spec.task == "regression":
        target = (target - scale.mean) / scale.std
    return Rows(numeric.T, codes.T, target.float())


def _label_scale(
    spec: TrainSpec, snapshot: Snapshot, world: World, strategy: Strategy
) -> LabelScale:
    """Mean and deviation of the training label, to six digits: the same for any number of ranks."""
    source = Source(
        snapshot.row_groups(spec.train_split),
        (spec.label,),
        lambda rows: (decode_label(rows, spec.label),),
    )
    plan = build_plan(
        [group.rows for group in source.groups],
        batch_rows=_LABEL_PASS_ROWS,
        lanes=world.world_size,
        shuffle=False,
    )
    totals = torch.zeros(4, dtype=torch.float64)  # rows, sum, sum of squares, not 0 or 1
    for batch in read_batches(source, plan, world.rank, world.world_size):
        label = batch.tensors[0]
        other = ((label != 0) & (label != 1)).sum()
        totals += torch.stack([torch.tensor(label.numel()), label.sum(), (label**2).sum(), other])
    strategy.add_up(totals)
    num_rows, total, squares, other_than_0_or_1 = totals.tolist()
    mean = _six_digits(total / num_rows)
    deviation = _six_digits(math.sqrt(max(0.0, squares / num_rows - (total / num_rows) ** 2)))
    where = f"{spec.table}@{spec.version}, {spec.label}"
    if spec.task == "binary" and other_than_0_or_1:
        raise DataGateError(
            f"a binary label is 0 or 1; {int(other_than_0_or_1)} rows hold something else",
            where=where,
        )
    if not math.isfinite(deviation) or deviation == 0:
        raise DataGateError(
            f"the label of the split {spec.train_split!r} is {mean} in every row", where=where
        )
    return LabelScale(mean, deviation)


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")
