"""Ctrl-C while Spark works: exit 130, one line, a report that says so, no process left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 120


def wait_for(line: str, out: Path) -> None:
    end = time.monotonic() + WAIT_S
    while line not in out.read_text(encoding="utf-8"):
        assert time.monotonic() < end, out.read_text(encoding="utf-8")
        time.sleep(0.1)


@pytest.fixture
def hears_interrupts() -> Iterator[None]:
    """What runs in the background is deaf to Ctrl-C, and so would be what it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.integration
@pytest.mark.usefixtures("hears_interrupts")
def test_interrupt_ends_the_run_with_130(tmp_path: Path) -> None:
    home = tmp_path / "a home [1]"
    shutil.copytree(ROOT / "tests" / "data" / "orders", home)
    shutil.copytree(ROOT / "conf" / "spark", home / "conf" / "spark")
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("w") as stdout, err.open("w") as stderr:
        run = subprocess.Popen(
            [sys.executable, "-m", "pipelines.cli", "run"],
            cwd=home,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        wait_for("ingest ", out)  # the session is up, and clean is at work
        children = psutil.Process(run.pid).children(recursive=True)
        os.killpg(run.pid, signal.SIGINT)
        assert run.wait(WAIT_S) == 130
    assert err.read_text(encoding="utf-8") == "Exit 130 (interrupted)\n"
    newest = (home / "runs" / "latest").read_text(encoding="utf-8").strip()
    report = json.loads((home / "runs" / newest / "run_report.json").read_text(encoding="utf-8"))
    assert (report["status"], report["exit_code"]) == ("interrupted", 130)
    assert report["steps"][0]["status"] == "done"
    _, alive = psutil.wait_procs(children, timeout=30)
    assert alive == []
