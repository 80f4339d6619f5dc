"""The engine with steps made of plain functions: no Spark, no tables."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines import session
from pipelines.engine import runner
from pipelines.engine.runner import RunRequest, run_project
from pipelines.errors import CauceError
from pipelines.project import LoadedProject, load_project
from pipelines.steps.base import StepContext, StepResult

ORDERS = Path(__file__).parents[1] / "data" / "orders"


@dataclass
class Lines:
    """An output that keeps what it is given."""

    run_id: str = ""
    steps: list[tuple[str, str, bool]] = field(default_factory=list)
    tables: list[tuple[Sequence[str], Sequence[Sequence[Any]]]] = field(default_factory=list)
    warnings: int | None = None

    def started(self, run_id: str) -> None:
        self.run_id = run_id

    def begin(self, name: str) -> None: ...

    def detail(self, text: str) -> None: ...

    def step(self, name: str, line: str, seconds: float, failed: bool = False) -> None:
        self.steps.append((name, line, failed))

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.tables.append((headers, rows))

    def finished(self, warnings: int, seconds: float) -> None:
        self.warnings = warnings


@dataclass
class FakeStep:
    """A step, and its module in one: what it returns or raises is the test's."""

    name: str
    keys: tuple[str, ...] = ()
    act: Callable[[StepContext], StepResult] = lambda _: StepResult(line="done it")
    given: dict[str, str] = field(default_factory=dict)
    times: int = 0
    module: str = "pipelines.errors"

    def section(self, tree: Any) -> Any:
        return {key: tree[key] for key in self.keys}

    def load(self) -> FakeStep:
        return self

    def inputs(self, _: StepContext) -> dict[str, str]:
        return dict(self.given)

    def outputs(self, _: StepContext) -> list[tuple[str, str]]:
        return []

    def run(self, ctx: StepContext) -> StepResult:
        self.times += 1
        return self.act(ctx)


@dataclass
class Ended:
    """What a run left."""

    report: dict[str, Any]
    folder: Path
    lines: Lines
    error: BaseException | None

    def statuses(self, *names: str) -> list[str]:
        by_name = {step["name"]: step for step in self.report["steps"]}
        return [by_name[name]["status"] for name in names]

    def step(self, name: str) -> dict[str, Any]:
        return next(step for step in self.report["steps"] if step["name"] == name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy of the project `orders`."""
    folder = tmp_path / "home"
    shutil.copytree(ORDERS, folder)
    return folder


@pytest.fixture
def load(home: Path) -> Callable[..., LoadedProject]:
    """Loads the copy, with overrides and variables."""

    def load_orders(*overrides: str, **environ: str) -> LoadedProject:
        return load_project(str(home / "conf" / "orders"), overrides=overrides, environ=environ)

    return load_orders


class FakeSession:
    """A session that keeps what it was asked for."""

    def __init__(self) -> None:
        self.groups: list[str] = []
        self.is_stopped = False
        self.sparkContext = self

    def setJobGroup(self, group: str, _: str) -> None:
        self.groups.append(group)

    def statusTracker(self) -> FakeSession:
        return self

    def getJobIdsForGroup(self, group: str) -> list[int]:
        return [1, 2] if group in self.groups else []

    def stop(self) -> None:
        self.is_stopped = True


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[FakeSession]:
    """The sessions that runs have started."""
    started: list[FakeSession] = []

    def build_session(*_: Any) -> FakeSession:
        started.append(FakeSession())
        return started[-1]

    monkeypatch.setattr(session, "build_session", build_session)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    return started


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch, sessions: list[FakeSession]) -> dict[str, FakeStep]:
    """Three steps in the graph's place, by name; their runs start no real session."""
    fakes = (FakeStep("ingest", ("sources",)), FakeStep("clean", ("score",)), FakeStep("validate"))
    monkeypatch.setattr(runner, "STEPS", fakes)
    return {fake.name: fake for fake in fakes}


@pytest.fixture
def run(load: Callable[..., LoadedProject]) -> Callable[..., Ended]:
    """Runs the project and reads its report; what a run raises is part of what it left."""

    def run_orders(loaded: LoadedProject | None = None, **request: Any) -> Ended:
        loaded = loaded or load()
        lines, error = Lines(), None
        try:
            assert run_project(loaded, RunRequest(output=lines, **request)) == 0
        except (CauceError, KeyboardInterrupt, SystemExit, ValueError) as caught:
            error = caught
        folder = loaded.runs / lines.run_id
        report = json.loads((folder / "run_report.json").read_text()) if lines.run_id else {}
        return Ended(report, folder, lines, error)

    return run_orders
