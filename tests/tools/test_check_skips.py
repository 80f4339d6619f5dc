"""The guard of CI against tests that quietly do not run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.check_skips import find_skips, main

TESTS = """
import pytest

def test_runs(): pass
"""
SKIPPED = """
@pytest.mark.skip(reason="no time")
def test_skips(): pass
"""
XFAILED = """
@pytest.mark.xfail(reason="known")
def test_fails(): assert False
"""
GPU = """
@pytest.mark.gpu
def test_on_gpu(): pytest.skip("no device")
"""


def run_pytest(folder: Path, text: str) -> Path:
    """Returns the report of a real pytest run over one file, with `make test`'s selection."""
    (folder / "test_made_up.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not gpu", "--junit-xml=junit.xml"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return folder / "junit.xml"


def test_a_run_without_skips_passes(tmp_path: Path) -> None:
    report = run_pytest(tmp_path, TESTS + GPU)
    assert find_skips(report) == []
    assert main(str(report)) == 0


def test_skips_and_expected_failures_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_pytest(tmp_path, TESTS + SKIPPED + XFAILED)
    assert main(str(report)) == 1
    assert capsys.readouterr().out == (
        "not run: test_made_up::test_skips pytest.skip: no time\n"
        "not run: test_made_up::test_fails pytest.xfail: known\n"
    )


def test_a_skipped_module_counts(tmp_path: Path) -> None:
    report = run_pytest(tmp_path, "import pytest\npytest.importorskip('no_such_library')\n")
    assert len(find_skips(report)) == 1


def test_no_test_at_all_fails(tmp_path: Path) -> None:
    report = run_pytest(tmp_path, "import pytest\n")
    assert find_skips(report) == [f"{report}: no test ran"]


def test_missing_report_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(tmp_path / "none.xml")) == 1
    assert "none.xml is missing: pytest did not get as far" in capsys.readouterr().out
