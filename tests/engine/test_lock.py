"""One run at a time; the operating system takes the lock back from the dead."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.engine.lock import locked
from pipelines.errors import ConfigError, TemporaryError

HOLD = """
import sys
from pipelines.engine.lock import locked
with locked(sys.argv[1], "20261130-101502-7f3a"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_told_who_holds_it(tmp_path: Path) -> None:
    with (
        locked(str(tmp_path), "one"),
        pytest.raises(TemporaryError, match=r"in use by run one, process \d+$") as told,
        locked(str(tmp_path), "two"),
    ):
        pass
    assert (told.value.exit_code, told.value.where) == (75, str(tmp_path))
    with locked(str(tmp_path), "three"):  # free again, after the refusal too
        pass


def test_it_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="x"), locked(str(tmp_path), "one"):
        raise ValueError("x")
    with locked(str(tmp_path), "two"):
        pass


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(TemporaryError, match=f"run 20261130-101502-7f3a, process {holder.pid}"),
            locked(str(tmp_path), "two"),
        ):
            pass
        holder.kill()
        holder.wait()
    assert (tmp_path / "ops" / "lock").read_text()  # its words are still there
    with locked(str(tmp_path), "two"):
        pass


def test_a_lake_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    lake = str(tmp_path / "file" / "lake")
    with (
        pytest.raises(ConfigError, match="the lake cannot be written to: Not a directory") as told,
        locked(lake, "one"),
    ):
        pass
    assert told.value.where == lake


def test_an_object_store_has_no_lock() -> None:
    with locked("s3://bucket/lake", "one"), locked("s3://bucket/lake", "two"):
        pass
