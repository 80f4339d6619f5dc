"""`cauce doctor`: each thing a run would miss, found without a JVM."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pipelines import doctor
from pipelines.errors import ConfigError
from pipelines.project import load_project

REPOSITORY = Path(__file__).parents[2]


def java(home: Path, version: str | None, script: str = "exit 1") -> str:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (home / "bin" / "java").chmod(0o755)
    if version:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\n', encoding="utf-8")
    return str(home)


@pytest.mark.parametrize(
    ("version", "ok"), [("17.0.15", True), ("21", True), ("11.0.2", False), ("25.0.1", False)]
)
def test_java_by_its_release_file(tmp_path: Path, version: str, ok: bool) -> None:
    check = doctor.check_java(java(tmp_path / "jdk", version))
    assert (check.ok, check.found.split()[0]) == (ok, version)


def test_java_without_a_release_file_is_asked(tmp_path: Path) -> None:
    told = "echo 'openjdk version \"17.0.1\" 2021-10-19' >&2"
    assert doctor.check_java(java(tmp_path / "a", None, told)).ok
    assert doctor.check_java(java(tmp_path / "b", None)).found.startswith("unknown")


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = doctor.check_java(str(tmp_path))
    assert (check.ok, check.found) == (False, f"none in {tmp_path}")
    assert "apt-get install openjdk-17-jre-headless" in check.remedy
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.check_java().found == "none in PATH"


def test_jars(tmp_path: Path) -> None:
    def missing() -> list[Path]:
        raise ConfigError("jar x is missing", remedy="Fix: make setup")

    assert doctor.check_jars(missing) == doctor.Check(
        "jars", False, "jar x is missing", "Fix: make setup"
    )
    assert doctor.check_jars(lambda: [tmp_path / "a.jar"]).found == f"1 in {tmp_path}"


def test_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    pins = [
        ("pydantic", "0.0.1", ""),
        ("no-such-thing", "1", "spark"),
        ("also-not-there", "1", "horovod"),
        ("nor-this", "1", "dev"),
    ]
    monkeypatch.setattr(doctor, "_pins", lambda: iter(pins))
    found = doctor.check_packages(needs_horovod=False).found
    assert "(tested: 0.0.1), no-such-thing not installed (tested: 1)" in found
    assert "also-not-there" not in found
    assert "also-not-there not installed" in doctor.check_packages(needs_horovod=True).found


def test_the_pins_of_this_checkout_are_read() -> None:
    pins = {name: (version, extra) for name, version, extra in doctor._pins()}
    assert pins["pyspark"] == ("4.0.5", "spark")
    assert pins["horovod"] == ("0.28.1", "horovod")
    assert pins["pydantic"][1] == ""


def test_memory_and_disk(tmp_path: Path) -> None:
    assert doctor.check_memory(4_000_000_000).ok
    assert doctor.check_memory(3_000_000_000).found == "3.0 GB"
    assert not doctor.check_memory(3_000_000_000).ok
    assert not doctor.check_disk(tmp_path, 1_000_000_000).ok
    assert doctor.check_disk(tmp_path, 2_000_000_000).found == f"2.0 GB free at {tmp_path}"


def test_a_lake_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.check_writable("lake", tmp_path / "a" / "lake").ok
    assert list(tmp_path.iterdir()) == []

    def read_only(**_: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", read_only)
    check = doctor.check_writable("lake", tmp_path / "lake")
    assert (check.ok, check.found) == (False, f"{tmp_path}: Read-only file system")
    assert "set project.lake to another folder" in check.remedy


def test_too_many_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    loaded = load_project("flights", overrides=["models.net.train.workers=16"], environ={})
    check = doctor.check_workers(loaded, slots=4)
    assert not check.ok
    assert check.found == "models.net.train.workers = 16, but this machine has 4 slots"
    assert check.remedy.startswith("--set models.net.train.workers=4")
    assert doctor.check_workers(loaded, slots=16).ok
    none = load_project("flights", overrides=["models.net=null"], environ={})
    assert doctor.check_workers(none, slots=1).ok


def test_the_command(cauce: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    good = doctor.Check("Java", True, "17.0.1")
    bad = doctor.Check("jars", False, "none", "Fix: make setup")
    monkeypatch.setattr(doctor, "diagnose", lambda _: iter([good]))
    ended = cauce("doctor")
    assert (ended.code, ended.out, ended.err) == (0, "ok    Java       17.0.1\n", "")
    monkeypatch.setattr(doctor, "diagnose", lambda _: iter([good, bad]))
    ended = cauce("doctor")
    assert ended.code == 78
    assert ended.out.endswith("FAIL  jars       none\n      Fix        make setup\n")
    assert ended.err.startswith("1 of 2 checks failed: jars\nExit 78")
    ended = cauce("doctor", "--format", "json")
    assert json.loads(ended.out)[1]["name"] == "jars"


def test_it_runs_without_a_project(
    cauce: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [line.split()[1] for line in cauce("doctor").out.splitlines() if line[0] != " "]
    assert names == ["Python", "Java", "jars", "packages", "memory", "disk"]


def test_a_project_adds_its_own_checks(cauce: Any) -> None:
    names = [check.name for check in doctor.diagnose(load_project("flights", environ={}))]
    assert names[5:] == ["lake", "runs", "workers", "disk"]
    cloud = load_project("flights", overrides=["project.lake=s3://b/lake"], environ={})
    assert "not looked at" in next(c.found for c in doctor.diagnose(cloud) if c.name == "lake")
    assert os.sched_getaffinity(0)
