"""What the set-up says about a machine that lacks something, and that it stays quiet otherwise."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The PATH of the tests holds these and nothing else: no Java, no compiler, no apt-get.
UTILITIES = ["bash", "cat", "cksum", "dirname", "env", "flock", "grep", "id", "mkdir", "rm", "tail"]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the set-up reads, beside a folder `bin` that is the whole PATH."""
    copy = tmp_path / "checkout"
    shutil.copytree(ROOT / "tools", copy / "tools")
    (copy / "pipelines").mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "pipelines/jars.lock"):
        shutil.copy(ROOT / name, copy / name)
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name in UTILITIES:
        (bin_dir / name).symlink_to(shutil.which(name) or name)
    return copy


def set_up(checkout: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    base_python = Path(sys.base_prefix) / "bin" / "python3.11"
    env = {"PATH": str(checkout.parent / "bin"), "HOME": str(checkout), "PYTHON": str(base_python)}
    script = str(checkout / "tools" / "setup.sh")
    return subprocess.run(
        [shutil.which("bash") or "bash", script],
        env={**env, **environ},
        cwd=checkout.parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def add_java(checkout: Path, version: str) -> None:
    java = checkout.parent / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)


def test_missing_java_is_named_with_the_line_that_installs_it(checkout: Path) -> None:
    done = set_up(checkout)
    assert done.returncode == 78
    assert "Java 17 or 21 is missing.\nFix: apt-get install openjdk-17-jre-headless" in done.stderr
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_392", "25", "170.1"])
def test_java_of_another_version_does_not_count(checkout: Path, version: str) -> None:
    add_java(checkout, version)
    done = set_up(checkout)
    assert done.returncode == 78
    assert "Java 17 or 21 is missing" in done.stderr


@pytest.mark.parametrize("version", ["17.0.15", "21.0.1", "21"])
def test_missing_compiler_is_named(checkout: Path, version: str) -> None:
    add_java(checkout, version)
    done = set_up(checkout)
    assert done.returncode == 78
    assert "A C++ compiler is missing.\nFix: apt-get install g++" in done.stderr


def test_root_on_debian_gets_what_is_missing_installed(checkout: Path) -> None:
    bin_dir = checkout.parent / "bin"
    (bin_dir / "id").unlink()
    java = bin_dir / "java"
    # This apt-get has a Java to give and no compiler.
    fakes = {
        "id": "echo 0",
        "apt-get": f"""echo apt-get "$@" >>{checkout}/calls
            case "$*" in *openjdk*) {shutil.which("mv")} {java}.deb {java} ;; esac""",
        "java.deb": "echo 'version \"17.0.1\"' >&2",
    }
    for name, body in fakes.items():
        (bin_dir / name).write_text(f"#!/bin/sh\n{body}\n")
        (bin_dir / name).chmod(0o755)
    done = set_up(checkout)
    assert (checkout / "calls").read_text().splitlines() == [
        "apt-get update -qq",
        "apt-get install -y -qq openjdk-17-jre-headless",
        "apt-get update -qq",
        "apt-get install -y -qq g++",
    ]
    assert done.returncode == 78
    assert "A C++ compiler is missing.\nFix: apt-get install g++" in done.stderr


def test_python_of_another_version_does_not_count(checkout: Path) -> None:
    other = checkout.parent / "bin" / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    script = checkout / "tools" / "setup.sh"
    # Debian's own interpreter lies outside the PATH.
    script.write_text(script.read_text().replace(" /usr/bin/python3.11;", ";"))
    done = set_up(checkout, PYTHON=str(other))
    assert done.returncode == 78
    assert "Python 3.11 (with venv and headers) is missing.\nFix: apt-get install" in done.stderr
    assert "python3.11 python3.11-venv python3.11-dev" in done.stderr


def test_failed_stage_shows_the_log_and_its_code(checkout: Path) -> None:
    script = "LOG=set-up.log; . tools/lib.sh; stage 'a stage' bash -c 'echo why; exit 7'; echo on"
    done = subprocess.run(
        ["bash", "-c", script], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert done.returncode == 7
    assert done.stdout == ""
    assert "a stage" in done.stderr
    assert "FAILED\nwhy\nThe whole log:" in done.stderr


def test_done_set_up_says_nothing(checkout: Path) -> None:
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n[ \"$*\" = '-m pipelines.jars' ]\n")
    python.chmod(0o755)
    inputs = "pyproject.toml constraints.txt pipelines/jars.lock tools/*.sh"
    key = subprocess.run(
        ["bash", "-c", f"cat {inputs} | cksum"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (checkout / ".venv" / "set-up").write_text(f"{key} {os.path.realpath(checkout)}")
    done = set_up(checkout)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
