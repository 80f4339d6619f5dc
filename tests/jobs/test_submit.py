"""The files for spark-submit: thin, each a stretch of the same steps, exit codes untouched."""

from __future__ import annotations

import importlib.util
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.cli.run import STEPS

JOBS = Path(__file__).resolve().parents[2] / "jobs"
STRETCHES = {
    "run_project": list(STEPS),
    "ingest_sources": ["ingest", "clean", "validate"],
    "build_training_set": ["featurize"],
    "train_models": ["train", "evaluate"],
    "score_rows": ["score"],
    "monitor_models": ["monitor", "report"],
}


def steps_of(words: list[str]) -> list[str]:
    """The steps that `cauce WORDS` runs."""
    if words[0] in STEPS:
        return [words[0]]
    assert words[0] == "run"
    order, ends = list(STEPS), dict(zip(words[1::2], words[2::2], strict=True))
    first = order.index(ends.get("--from", order[0]))
    last = order.index(ends.get("--until", order[-1]))
    return order[first : last + 1]


def test_every_job_is_listed_here_and_named_like_no_package() -> None:
    names = [path.stem for path in JOBS.glob("*.py")]
    assert sorted(names) == sorted(STRETCHES)
    assert [name for name in names if importlib.util.find_spec(name)] == []


@pytest.mark.parametrize("name", STRETCHES)
def test_a_job_passes_its_stretch_and_the_words_given(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[list[str]] = []
    monkeypatch.setattr(cli, "main", given.append)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--project", "conf/orders", "--env", "prod"])
    runpy.run_path(str(JOBS / f"{name}.py"), run_name="__main__")
    (words,) = given
    assert words[-4:] == ["--project", "conf/orders", "--env", "prod"]
    assert steps_of(words[:-4]) == STRETCHES[name]
    assert len((JOBS / f"{name}.py").read_text().splitlines()) <= 60


@pytest.mark.integration
def test_a_job_ends_with_the_exit_code_of_the_command(tmp_path: Path) -> None:
    command = [sys.executable, JOBS / "score_rows.py", "--project", "nowhere"]
    environ = {"PYTHONPATH": str(JOBS.parent)}
    ended = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (78, "")
    assert "no project `nowhere`" in ended.stderr
    assert "Traceback" not in ended.stderr
