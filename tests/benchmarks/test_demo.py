"""The demo's benchmark runs small and ends with one line of JSON in the shape that others read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.integration
def test_small_demo_benchmark_ends_with_its_figures() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "demo.py"],
        env={**os.environ, "QUICK": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    result = json.loads(done.stdout.splitlines()[-1])
    assert result.keys() == {"benchmark", "commit", "machine", "checks"}
    assert result["machine"].keys() == {"cpu", "cores", "load"}
    found = {check["name"]: check for check in result["checks"]}
    assert found.keys() == {"wall_s", "peak_rss_mb", "second_run_s", "help_s"}
    for check in found.values():
        assert check.keys() == {"name", "value", "min", "max", "unit", "target", "ok"}
        assert 0 < check["min"] <= check["value"] <= check["max"]
