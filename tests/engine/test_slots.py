"""Ranks that this machine could never run at once are refused before any step."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.engine import slots
from pipelines.engine.slots import check_slots, local_slots
from pipelines.errors import ConfigError
from pipelines.project import LoadedProject
from tests.engine.test_state import STATE

NET = "models.net={kind: torch.resnet, train: {workers: 64}, early_stopping: {metric: loss}}"


@pytest.fixture(autouse=True)
def own_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setattr(slots, "_has_session", lambda: False)


@pytest.fixture
def conf(tmp_path: Path) -> Callable[[str], Path]:
    def write(master: str) -> Path:
        path = tmp_path / "local.conf"
        path.write_text(f"spark.master {master}\n")
        return path

    return write


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        ("local", 1),
        ("local[4]", 4),
        ("local[2, 3]", 2),
        ("local[*]", len(os.sched_getaffinity(0))),
        ("local-cluster[2,1,1024]", None),
        ("yarn", None),
    ],
)
def test_slots_of_a_master(conf: Callable[[str], Path], master: str, expected: int | None) -> None:
    assert local_slots(conf(master)) == expected


def test_spark_submit_decides_itself(
    conf: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert local_slots(conf("local[4]")) is None


def test_too_many_workers(load: Callable[..., LoadedProject], conf: Callable[[str], Path]) -> None:
    project, path = load(NET).project, conf("local[4]")
    with pytest.raises(ConfigError) as told:
        check_slots(project, path, None)
    assert told.value.message == (
        "models.net.train.workers = 64, but this machine has 4 task slots"
    )
    assert told.value.where == f"{path}  spark.master"
    assert told.value.remedy == (
        "Fix: --set models.net.train.workers=4, or submit to a cluster with 64 slots"
    )


def test_enough_slots_no_network_or_a_running_session(
    load: Callable[..., LoadedProject],
    conf: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_slots(load(NET).project, conf("local[64]"), None)
    check_slots(load().project, conf("local[1]"), None)
    monkeypatch.setattr(slots, "_has_session", lambda: True)
    check_slots(load(NET).project, conf("local[1]"), None)


def test_a_network_trained_on_a_cluster_may_be_looked_at_here(
    load: Callable[..., LoadedProject], conf: Callable[[str], Path]
) -> None:
    config = {"models.net.train.workers": 64}
    trained = STATE.model_copy(update={"fingerprint": {"config": config}})
    check_slots(load(NET).project, conf("local[1]"), trained)
