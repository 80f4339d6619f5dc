"""`cauce runs show`: what an earlier run did, by id or the latest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RUN = "20260101-000000-aaaa"
REPORT = {
    "run_id": RUN,
    "project": "flights",
    "env": "dev",
    "status": "failed",
    "exit_code": 65,
    "started_at": "2026-01-01T00:00:00Z",
    "warnings": ["temp drifts \x1b[31m"],
    "error": {"kind": "data", "message": "Not published", "where": None, "remedy": None},
    "steps": [
        {
            "name": "clean",
            "status": "done",
            "reason": None,
            "seconds": 3.2,
            "rows_in": 1_000,
            "rows_out": 990,
            "rows_duplicate": 10,
        },
        {"name": "train", "status": "not_run", "reason": "validate failed", "seconds": None},
    ],
}


@pytest.fixture
def runs(cauce: Any, tmp_path: Path) -> Any:
    """Runs `cauce runs show WORDS…` where one run has failed."""
    (tmp_path / RUN).mkdir()
    (tmp_path / RUN / "run_report.json").write_text(json.dumps(REPORT), encoding="utf-8")
    (tmp_path / "latest").write_text(f"{RUN}\n", encoding="utf-8")
    return lambda *words: cauce("runs", "show", *words, "--set", f"project.runs={tmp_path}")


@pytest.mark.parametrize("words", [(), ("latest",), (RUN,)])
def test_show(runs: Any, words: tuple[str, ...]) -> None:
    lines = runs(*words).out.splitlines()
    assert lines[:2] == [
        f"flights (dev) · run {RUN}",
        "failed, exit 65; started 2026-01-01T00:00:00Z",
    ]
    assert lines[2].startswith("clean      done; 1,000 rows in, 990 out, 10 duplicates   ")
    assert lines[2].endswith("   3 s")
    assert lines[3].startswith("train      not run: validate failed")
    assert lines[4:] == ["  warning: temp drifts \\x1b[31m", "  data: Not published"]


def test_show_as_json(runs: Any) -> None:
    assert json.loads(runs("--format", "json").out) == REPORT


@pytest.mark.parametrize("run", ["nope", "..", "../x", "a/b"])
def test_an_unknown_run_names_the_newest(runs: Any, run: str) -> None:
    ended = runs(run)
    assert ended.code == 66
    assert f"no run `{run}`; the newest are {RUN}" in ended.err


def test_no_run_yet(cauce: Any, tmp_path: Path) -> None:
    ended = cauce("runs", "show", "--set", f"project.runs={tmp_path}")
    assert (ended.code, ended.out) == (66, "")
    assert ended.err.startswith("no run `latest`; there is none yet\n")
    assert "Fix    cauce run\n" in ended.err
