"""`cauce model`, `cauce demo-data`, and what starting any command costs."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipelines.project.modeling import MODEL_KINDS
from pipelines.registry import ModelCard, ModelRegistry

HEAVY = ("pyspark", "torch", "pandas", "great_expectations", "horovod", "petastorm", "matplotlib")


def test_model_kinds_with_their_parameters(cauce: Any) -> None:
    rows = json.loads(cauce("model", "ls", "--format", "json").out)
    assert [row["kind"] for row in rows] == list(MODEL_KINDS)
    text = cauce("model", "ls").out
    assert "mllib.logistic_regression  reg: 0.001, elastic_net: 0.0, max_iter: 50\n" in text


def test_no_model_yet(cauce: Any, tmp_path: Path) -> None:
    ended = cauce("model", "ls", "--project", "flights", "--set", f"project.lake={tmp_path}")
    assert ended.out == "No model was trained yet: cauce train\n"


def test_trained_versions_and_the_champion(cauce: Any, tmp_path: Path) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    registry = ModelRegistry(str(tmp_path), "late_arrival")
    for version in (1, 2):
        card = ModelCard(
            name="trees",
            kind="mllib.gbt",
            version=version,
            params={},
            training_set="late_arrival",
            training_set_version=0,
            label="is_late",
            encoder={},
            features=(),
            fingerprint=str(version),
            seed=0,
            run_id="20260101-000000-aaaa",
            created_at=now,
        )
        model = registry.register(card, lambda _: None)
    registry.set_champion(model, "20260101-000000-aaaa", now)
    ended = cauce("model", "ls", "--project", "flights", "--set", f"project.lake={tmp_path}")
    lines = [line.split() for line in ended.out.splitlines()]
    assert lines[1][1:] == ["trees", "1", "mllib.gbt", "20260101-000000-aaaa"]
    assert lines[2][1:] == ["trees", "2", "mllib.gbt", "20260101-000000-aaaa", "champion"]


def test_demo_data_refuses_a_wrong_share(cauce: Any, tmp_path: Path) -> None:
    ended = cauce("demo-data", "--out", str(tmp_path / "data"), "--mess", "0.5")
    assert ended.code == 2
    assert "mess must be a share from 0 to 0.2" in ended.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["run", "--help"],
        ["config", "show"],
        ["config", "show", "--origin"],
        ["config", "schema"],
        ["model", "ls"],
        ["runs", "show"],
        ["doctor"],
        ["run", "--set", "a.b=1"],
    ],
)
def test_nothing_heavy_is_imported(words: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "pipelines.cli", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0] for line in ended.stderr.splitlines()
    }
    assert "pipelines" in imported
    assert imported.isdisjoint(HEAVY)


def test_python_m_and_main_end_alike() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", "run", "--set", "project.sed=1"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (ended.returncode, ended.stdout) == (78, "")
    assert "Traceback" not in ended.stderr


def test_a_closed_pipe_is_no_crash() -> None:
    ended = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m pipelines.cli config show --origin | head -1"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert ended.stdout.startswith("base.yaml:1")
    assert ended.stderr == ""
