"""Whole trainings on small tables: worlds agree, runs repeat, failures have names."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from pipelines.deep import TrainResult, TrainSpec, train_network
from pipelines.deep.launch import horovod_barrier
from pipelines.deep.loop import Rows
from pipelines.errors import ConfigError, DataGateError, InputMissingError, TemporaryError


@pytest.fixture
def spec_of(orders: Path, encoder, tmp_path: Path):
    def build(**changes) -> TrainSpec:
        values = {
            "table": str(orders),
            "version": 0,
            "label": "late",
            "task": "binary",
            "encoder": encoder,
            "output": str(tmp_path / "net"),
            "params": {"width": 16, "blocks": 1, "dropout": 0.0},
            "global_batch_rows": 64,
            "epochs": 4,
            "lr": 0.01,
            "backend": "single",
            "workers": 1,
        }
        return TrainSpec(**{**values, **changes})

    return build


def weights(result: TrainResult) -> dict[str, torch.Tensor]:
    return load_file(result.bundle / "weights.safetensors")


def largest_difference(one: TrainResult, other: TrainResult) -> float:
    pairs = zip(weights(one).values(), weights(other).values(), strict=True)
    return max(float((a - b).abs().max()) for a, b in pairs)


def test_it_learns_and_a_second_run_gives_the_same_weights(spec_of, tmp_path: Path):
    params = {"width": 16, "blocks": 1, "dropout": 0.2}
    first = train_network(spec_of(params=params), None)
    again = train_network(spec_of(params=params, output=str(tmp_path / "again")), None)
    other = train_network(spec_of(params=params, seed=1, output=str(tmp_path / "other")), None)

    assert largest_difference(first, again) == 0.0
    assert largest_difference(first, other) > 0.01
    assert [epoch.rows for epoch in first.epochs] == [1300] * len(first.epochs)
    assert first.epochs[first.best_epoch - 1].validation_metric > 0.8
    assert first.epochs[-1].train_loss < first.epochs[0].train_loss
    assert len(first.peak_rss_mb) == first.workers == 1


def test_early_stopping_keeps_the_best_epoch(spec_of):
    result = train_network(spec_of(lr=0.3, epochs=30, patience=2, metric="loss"), None)

    losses = [epoch.validation_loss for epoch in result.epochs]
    assert result.best_epoch == losses.index(min(losses)) + 1
    assert len(losses) == result.best_epoch + 2 < 30


def test_regression_in_units_of_the_label(spec_of):
    result = train_network(
        spec_of(task="regression", label="total", metric="loss", epochs=12, patience=12), None
    )

    assert result.epochs[-1].validation_metric < 8.0  # the label's deviation is about 20


@pytest.mark.spark
def test_two_horovod_ranks_equal_one_and_the_session_trains_again(spec_of, spark, tmp_path: Path):
    ranks = {"backend": "horovod", "workers": 2}
    alone = train_network(spec_of(output=str(tmp_path / "alone")), None)
    first = train_network(spec_of(**ranks), spark)
    again = train_network(spec_of(**ranks, output=str(tmp_path / "again")), spark)

    assert first.workers == len(first.peak_rss_mb) == 2
    assert largest_difference(first, again) == 0.0
    assert largest_difference(first, alone) < 2e-5
    assert first.data_digest == alone.data_digest
    for one, other in zip(first.epochs, alone.epochs, strict=True):
        assert one.rows == other.rows == 1300
        assert one.validation_metric == pytest.approx(other.validation_metric, abs=1e-4)
        assert one.validation_loss == pytest.approx(other.validation_loss, abs=1e-5)
    assert spark.range(10).count() == 10


class Sabotage:
    """Makes rank 1 misbehave: ranks are other processes, so the change travels with the task."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, pid_file: Path):
        self._monkeypatch = monkeypatch
        self.pid_file = pid_file

    def rank_1_does(self, action: str) -> None:
        """Run `action` on rank 1 before its first step, after it has noted its process id."""
        pid_file = self.pid_file
        original = horovod_barrier._RankTask

        class Sabotaged(original):
            def __call__(self, rows: Iterator[int]):
                from pyspark import BarrierTaskContext

                from pipelines.deep import loop

                step = loop._Trainer.step

                def failing_step(trainer, batch: Rows, on_wait):
                    if BarrierTaskContext.get().partitionId() == 1:
                        pid_file.write_text(str(os.getpid()))
                        exec(action, {"os": os, "time": time, "batch": batch})  # noqa: S102
                    return step(trainer, batch, on_wait)

                loop._Trainer.step = failing_step
                try:
                    yield from super().__call__(rows)
                finally:
                    loop._Trainer.step = step

        self._monkeypatch.setattr(horovod_barrier, "_RankTask", Sabotaged)


@pytest.fixture
def sabotage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Sabotage:
    return Sabotage(monkeypatch, tmp_path / "pid")


def assert_gone(pid_file: Path, spark) -> None:
    """The rank's process ends within seconds, and the session still works."""
    deadline = time.monotonic() + 10
    while psutil.pid_exists(int(pid_file.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert spark.range(10).count() == 10


@pytest.mark.spark
@pytest.mark.faults
@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        ("os._exit(9)", TemporaryError, r"rank 1 died \(last heard of: .*\); all ranks were ended"),
        ("time.sleep(60)", TemporaryError, r"rank 1 \(epoch 1 step 0\) made no progress for 3 s"),
        ("os.kill(os.getpid(), 19)", TemporaryError, r"rank 1 .*made no progress for 3 s"),
        ("batch.label[0] = float('nan')", DataGateError, "training loss is nan in epoch 1, step 0"),
    ],
)
def test_a_failing_rank_is_named_in_bounded_time(spec_of, spark, sabotage, action, error, message):
    sabotage.rank_1_does(action)
    begin = time.monotonic()

    with pytest.raises(error, match=message) as raised:
        train_network(spec_of(backend="horovod", workers=2, timeout_s=3.0), spark)

    assert time.monotonic() - begin < 30
    assert raised.value.remedy
    assert not Path(spec_of().output).exists()
    if error is TemporaryError:
        assert_gone(sabotage.pid_file, spark)


@pytest.mark.spark
def test_too_many_workers_are_refused_at_once(spec_of, spark):
    begin = time.monotonic()
    with pytest.raises(ConfigError, match="needs 3 task slots at once, the session has 2") as told:
        train_network(spec_of(backend="horovod", workers=3), spark)
    assert time.monotonic() - begin < 3
    assert "lower `models.<name>.train.workers`" in told.value.remedy


def test_no_horovod_is_an_error_not_a_fallback(spec_of, monkeypatch: pytest.MonkeyPatch):
    def find_spec(_name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(horovod_barrier, "find_spec", find_spec)
    with pytest.raises(ConfigError, match="Horovod, which is not installed") as told:
        train_network(spec_of(backend="horovod", workers=2), spark=object())
    assert told.value.remedy.startswith("run `make setup`")
    with pytest.raises(ConfigError, match="needs a Spark session"):
        train_network(spec_of(backend="horovod", workers=2), None)


def test_labels_that_cannot_be_learned(spec_of):
    with pytest.raises(DataGateError, match="a binary label is 0 or 1; 1300 rows"):
        train_network(spec_of(label="total"), None)
    with pytest.raises(DataGateError, match="'amount' is null or NaN in 12 rows"):
        train_network(spec_of(label="amount"), None)
    with pytest.raises(ConfigError, match="no column 'missing'"):
        train_network(spec_of(label="missing"), None)
    with pytest.raises(InputMissingError, match="the split 'later' has no rows"):
        train_network(spec_of(validation_split="later"), None)


def test_a_loss_that_is_no_number_names_the_step(spec_of):
    with pytest.raises(DataGateError, match="training loss is nan in epoch 1, step"):
        train_network(spec_of(lr=1e30), None)
