"""The command line in this process, with an engine that only plays back what it is told."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.cli import main

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class RunRequest:
    """The engine's request, as the command line fills it in."""

    from_step: str | None
    until_step: str | None
    force: bool
    explain: bool
    output: Any


@pytest.fixture
def cauce(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ended]:
    """Runs `cauce WORDS…` in this process, from the repository unless the test went elsewhere."""
    monkeypatch.chdir(REPOSITORY)

    def run(*words: str) -> Ended:
        code = 0
        try:
            main(words)
        except SystemExit as ending:
            code = int(str(ending.code))
        written = capsys.readouterr()
        return Ended(code, written.out, written.err)

    return run


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[tuple[Any, Any]]]:
    """Puts a function in the engine's place; returns the (project, request) pairs it was given."""

    def install(script: Callable[[Any, Any], int]) -> list[tuple[Any, Any]]:
        calls: list[tuple[Any, Any]] = []

        def run_project(loaded: Any, request: Any) -> int:
            calls.append((loaded, request))
            return script(loaded, request.output)

        engine = types.ModuleType("pipelines.engine.runner")
        engine.__dict__.update(run_project=run_project, RunRequest=RunRequest)
        monkeypatch.setitem(sys.modules, "pipelines.engine.runner", engine)
        return calls

    return install
