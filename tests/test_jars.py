"""The jars' lock, its check, and what a person reads when a jar or the way to it is missing."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

from pipelines import jars
from pipelines.errors import ConfigError, TemporaryError


@pytest.fixture
def locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one intact jar, and a lock that names just that jar."""
    lock = tmp_path / "jars.lock"
    sha256 = hashlib.sha256(b"classes").hexdigest()
    lock.write_text(f"# a comment\n{sha256}  org.example:river_2.13:1.2.3\n")
    monkeypatch.setattr(jars, "LOCK", lock)
    folder = tmp_path / "jars"
    folder.mkdir()
    (folder / "org.example_river_2.13-1.2.3.jar").write_bytes(b"classes")
    return folder


def test_lock_names_delta_for_the_pinned_spark() -> None:
    assert [jar.file_name for jar in jars.read_lock()] == [
        "io.delta_delta-spark_2.13-4.0.1.jar",
        "io.delta_delta-storage-4.0.1.jar",
    ]
    assert all(len(jar.sha256) == 64 for jar in jars.read_lock())


def test_environment_variable_wins_over_the_python_environment() -> None:
    assert jars.jars_dir({"CAUCE_JARS": "/elsewhere"}) == Path("/elsewhere")
    assert jars.jars_dir({}) == Path(sys.prefix) / "share" / "cauce" / "jars"


def test_intact_jars_are_returned(locked: Path) -> None:
    assert jars.jar_paths(locked) == [locked / "org.example_river_2.13-1.2.3.jar"]


def test_missing_jar_is_named_with_the_remedy(locked: Path) -> None:
    path = locked / "org.example_river_2.13-1.2.3.jar"
    path.unlink()
    with pytest.raises(ConfigError, match=r"jar org\.example:river_2\.13:1\.2\.3 is missing") as e:
        jars.jar_paths(locked)
    assert e.value.where == str(path)
    assert e.value.remedy == "Fix: run `make setup` or `python -m pipelines.jars`"


def test_damaged_jar_is_refused(locked: Path) -> None:
    (locked / "org.example_river_2.13-1.2.3.jar").write_bytes(b"class")
    with pytest.raises(ConfigError, match=r"has sha256 [0-9a-f]{64}, jars\.lock allows"):
        jars.jar_paths(locked)


def test_fetching_intact_jars_starts_nothing(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_resolve", lambda _: pytest.fail("asked Ivy"))
    assert len(jars.fetch_jars(locked)) == 1


def test_fetched_jar_replaces_a_damaged_one(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = locked / "org.example_river_2.13-1.2.3.jar"
    path.write_bytes(b"half")
    monkeypatch.setattr(jars, "_resolve", lambda scratch: _deliver(scratch, b"classes"))
    assert jars.fetch_jars(locked) == [path]
    assert path.read_bytes() == b"classes"
    assert [entry.name for entry in locked.parent.iterdir() if entry.is_dir()] == ["jars"]


def test_wrong_delivery_is_not_installed(locked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = locked / "org.example_river_2.13-1.2.3.jar"
    path.unlink()
    monkeypatch.setattr(jars, "_resolve", lambda scratch: _deliver(scratch, b"evil"))
    with pytest.raises(ConfigError, match="has sha256"):
        jars.fetch_jars(locked)
    assert not path.exists()


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        ("JAVA_HOME is not set", ConfigError, "Spark found no Java"),
        ("/x/bin/java: No such file or directory", ConfigError, "Spark found no Java"),
        (
            "Exception in thread main: [unresolved dependency: a#b;1: not found]",
            TemporaryError,
            r"could not fetch the jars:\n  Exception in thread main: \[unresolved",
        ),
    ],
)
def test_what_spark_submit_says_becomes_one_message(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    error: type[ConfigError] | type[TemporaryError],
    message: str,
) -> None:
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(error, match=message):
        jars._resolve(tmp_path)


def test_a_spark_submit_that_never_ends_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text("#!/bin/sh\nexec sleep 30\n")
    submit.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setattr(jars, "FETCH_TIMEOUT_S", 0.2)
    with pytest.raises(TemporaryError, match=r"did not end within 0\.2 s"):
        jars._resolve(tmp_path)


def test_the_command_prints_paths_or_the_remedy(
    locked: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CAUCE_JARS", str(locked))
    assert jars.main() == 0
    assert capsys.readouterr().out == f"{locked / 'org.example_river_2.13-1.2.3.jar'}\n"

    monkeypatch.setattr(jars, "_resolve", lambda scratch: _deliver(scratch, b"evil"))
    (locked / "org.example_river_2.13-1.2.3.jar").unlink()
    assert jars.main() == 78
    assert capsys.readouterr().err.endswith(
        "Fix: run `make setup` or `python -m pipelines.jars`\nExit 78\n"
    )


def _deliver(scratch: Path, content: bytes) -> None:
    folder = scratch / "ivy" / "jars"
    folder.mkdir(parents=True)
    (folder / "org.example_river_2.13-1.2.3.jar").write_bytes(content)
