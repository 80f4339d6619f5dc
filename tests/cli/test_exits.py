"""What happened becomes an exit code and one clear message, in one place."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import ConfigError, DataGateError, InputMissingError, TemporaryError

Play = Callable[..., list[tuple[Any, Any]]]


def raising(error: BaseException) -> Callable[[Any, Any], int]:
    def script(_: Any, out: Any) -> int:
        out.started("20260101-000000-abcd")
        raise error

    return script


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (DataGateError("gate"), 65, "gate\nExit 65 (data): retrying will not help\n"),
        (InputMissingError("m", remedy="cauce ingest"), 66, "m\nFix    cauce ingest\nExit 66"),
        (TemporaryError("lock"), 75, "lock\nExit 75 (temporary)"),
        (ConfigError("no Java"), 78, "no Java\nExit 78 (configuration)"),
        (KeyboardInterrupt(), 130, "Exit 130 (interrupted)\n"),
        (ValueError("a\nb"), 1, "crash: ValueError: a b (-v shows the traceback)\n"),
    ],
)
def test_exit_codes(cauce: Any, play: Play, error: BaseException, code: int, message: str) -> None:
    play(raising(error))
    ended = cauce("run")
    assert ended.code == code
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_the_engines_own_code_is_kept(cauce: Any, play: Play) -> None:
    play(lambda *_: 75)
    assert cauce("run").code == 75


def test_success_returns_normally(play: Play) -> None:
    from pipelines.cli import main

    play(lambda *_: 0)
    assert main(["run"]) is None


def test_sigterm(cauce: Any, play: Play) -> None:
    def script(*_: Any) -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        return 0

    before = signal.getsignal(signal.SIGTERM)
    play(script)
    ended = cauce("run")
    assert (ended.code, ended.err) == (143, "Exit 143 (terminated)\n")
    assert signal.getsignal(signal.SIGTERM) is before


def test_verbose_shows_the_traceback(cauce: Any, play: Play) -> None:
    play(raising(ZeroDivisionError("x")))
    assert "Traceback" in cauce("run", "-v").err


def test_a_crash_does_not_show_a_secret(
    cauce: Any, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWNER", "s3cr3t-canary")

    def script(loaded: Any, _: Any) -> int:
        raise RuntimeError(f"cannot reach {loaded.project.project.owner}")

    play(script)
    ended = cauce("run", "-v", "--set", "project.owner=${env:OWNER}")
    assert "s3cr3t-canary" not in ended.out + ended.err
    assert "cannot reach ***" in ended.err


def test_an_error_does_not_show_a_secret(
    cauce: Any, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWNER", "s3cr3t-canary")
    play(
        raising(
            TemporaryError("s3cr3t-canary is away", where="s3cr3t-canary", remedy="s3cr3t-canary")
        )
    )
    ended = cauce("run", "--format", "json", "--set", "project.owner=${env:OWNER}")
    assert "s3cr3t-canary" not in ended.out + ended.err


def test_options_reach_the_engine(cauce: Any, play: Play) -> None:
    calls = play(lambda *_: 0)
    cauce("run", "--from", "clean", "--until", "train", "--force", "--set", "project.seed=5")
    cauce("score", "--explain", "--env", "dev")
    (loaded, first), (_, second) = calls
    assert loaded.project.project.seed == 5
    assert (first.from_step, first.until_step, first.force, first.explain) == (
        "clean",
        "train",
        True,
        False,
    )
    assert (second.from_step, second.until_step, second.force, second.explain) == (
        "score",
        "score",
        False,
        True,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--from", "trian"], "unknown step; allowed: ingest, clean"),
        (["run", "--from", "trian"], "Did you mean `train`?"),
        (["run", "--from", "train", "--until", "clean"], "--from train comes after --until clean"),
        (["run", "--explain", "--format", "json"], "--explain speaks to people"),
        (["run", "--nope"], "No such option"),
        (["nope"], "No such command 'nope'"),
        (["run", "--format", "xml"], "'xml' is not one of"),
        (["tables", "show", "clean"], "a table is named LAYER/NAME, such as clean/orders"),
        (["tables", "show"], "a table is named LAYER/NAME"),
    ],
)
def test_usage(cauce: Any, play: Play, words: list[str], message: str) -> None:
    calls = play(lambda *_: 0)
    ended = cauce(*words)
    assert ended.code == 2
    assert message in ended.err
    assert not calls


def test_an_expression_is_refused_before_anything_starts(cauce: Any, play: Play) -> None:
    calls = play(lambda *_: 0)
    ended = cauce("run", "--set", "sources.planes.derive.x=java_method('a', 'b')", "--set", "a=1")
    assert "unknown key" in ended.err
    ended = cauce("run", "--set", "sources.planes.derive.x=java_method('a', 'b')")
    assert ended.code == 78
    assert "flights: 1 error; nothing was started" in ended.err
    assert "--set  sources.planes.derive.x\n" in ended.err
    assert "java_method" in ended.err
    assert not calls


def test_json_gives_the_report(cauce: Any, play: Play, tmp_path: Path) -> None:
    report = tmp_path / "20260101-000000-abcd" / "run_report.json"
    report.parent.mkdir()
    report.write_text('{"status": "failed"}\n', encoding="utf-8")
    play(raising(DataGateError("gate")))
    ended = cauce("run", "--format", "json", "--set", f"project.runs={tmp_path}")
    assert json.loads(ended.out) == {"status": "failed"}
    assert "flights (dev) · run 20260101-000000-abcd" in ended.err
    assert "gate" in ended.err


def test_json_without_a_run_gives_the_mistakes(cauce: Any) -> None:
    ended = cauce("run", "--format", "json", "--set", "project.sed=1")
    told = json.loads(ended.out)
    assert told["exit_code"] == 78
    assert told["error"]["kind"] == "configuration"
    assert told["error"]["mistakes"][0]["where"] == "--set  project.sed"


def test_which_project(cauce: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = cauce("run")
    assert ended.code == 78
    assert "which project? there is no conf/ with a project here or above" in ended.err
    for name in ("a", "b"):
        (tmp_path / "conf" / name).mkdir(parents=True)
        (tmp_path / "conf" / name / "base.yaml").touch()
    ended = cauce("run")
    assert "which project? conf/ has a, b" in ended.err
    assert "Fix    add --project NAME" in ended.err


def test_the_verbs_are_the_engines_steps() -> None:
    from pipelines.cli.run import STEPS
    from pipelines.engine.graph import NAMES

    assert tuple(STEPS) == NAMES


@pytest.mark.parametrize(
    "words",
    [
        ["config", "show"],
        ["config", "freeze"],
        ["tables", "ls"],
        ["tables", "check"],
        ["runs", "show"],
        ["model", "ls", "--project", "flights"],
        ["doctor"],
    ],
)
def test_every_command_shows_its_crash_with_v(
    cauce: Any, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    def crash(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("canary")

    monkeypatch.setattr("pipelines.project.load_project", crash)
    ended = cauce(*words, "-v")
    assert ended.code == 1
    assert "Traceback" in ended.err
    assert "crash: ZeroDivisionError: canary" in ended.err
