"""What a run does with its steps, and what its report says of every way to end."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pipelines.engine.runner import RunRequest, run_project
from pipelines.errors import DataGateError, InputMissingError, TemporaryError
from pipelines.project import LoadedProject
from pipelines.report.model import Gate, RowFlow, report_schema
from pipelines.steps import report as report_step
from pipelines.steps.base import StepContext, StepResult
from tests.engine.conftest import Ended, FakeSession, FakeStep, Lines

Run = Callable[..., Ended]
Steps = dict[str, FakeStep]
THREE = ("ingest", "clean", "validate")


def raising(error: BaseException) -> Callable[[StepContext], StepResult]:
    def act(_: StepContext) -> StepResult:
        raise error

    return act


def test_a_good_run(run: Run, steps: Steps) -> None:
    steps["ingest"].act = lambda _: StepResult(
        line="3 read", flow=RowFlow(rows_in=3, rows_out=3), warnings=["look at it"]
    )
    ended = run()
    jsonschema.validate(ended.report, report_schema())
    assert (ended.report["status"], ended.report["exit_code"]) == ("warned", 0)
    assert ended.report["warnings"] == ["look at it"]
    assert ended.statuses(*THREE, "report") == ["done"] * 4
    assert ended.step("ingest")["reason"] == "never ran"
    assert (ended.step("ingest")["rows_in"], ended.step("ingest")["rows_rejected"]) == (3, None)
    assert ended.lines.steps[0] == ("ingest", "3 read", False)
    assert ended.lines.warnings == 1
    assert (ended.folder / "run_report.html").is_file()
    assert (ended.folder.parent / "latest").read_text() == f"{ended.lines.run_id}\n"


def test_a_second_run_does_nothing_and_keeps_the_findings(run: Run, steps: Steps) -> None:
    steps["clean"].act = lambda _: StepResult(line="x", gates=[Gate(name="g", verdict="pass")])
    first = run()
    second = run()
    assert [fake.times for fake in steps.values()] == [1, 1, 1]
    assert second.statuses(*THREE, "report") == ["skipped"] * 4
    assert second.step("clean")["from_run"] == first.lines.run_id
    assert second.step("clean")["seconds"] is None
    assert second.report["gates"] == [{"name": "g", "verdict": "pass", "reasons": []}]
    assert second.lines.steps == [
        ("unchanged", f"ingest, clean, validate (run {first.lines.run_id})", False)
    ]


def test_a_session_is_there_before_the_step_and_only_then(
    run: Run, steps: Steps, sessions: list[FakeSession]
) -> None:
    run()
    assert len(sessions) == 1
    assert sessions[0].groups == [*THREE]
    assert sessions[0].is_stopped
    run()
    run(explain=True)
    assert len(sessions) == 1
    seen: list[int] = []

    def act(_: StepContext) -> StepResult:
        seen.append(len(sessions))
        return StepResult(line="x")

    steps["validate"].act = act
    ended = run(force=True, from_step="validate")
    assert seen == [2]
    assert ended.step("validate")["spark_jobs"] == 2


def test_a_changed_key_runs_its_step_alone(
    run: Run, steps: Steps, load: Callable[..., LoadedProject]
) -> None:
    run()
    ended = run(load("score.delivery_time.rows.split=validation"))
    assert [fake.times for fake in steps.values()] == [1, 2, 1]
    assert ended.step("clean")["reason"] == (
        "`score.delivery_time.rows.split` changed: test → validation"
    )


def test_a_changed_input_runs_its_step(run: Run, steps: Steps) -> None:
    run()
    steps["validate"].given = {"stage/orders": "b@2"}
    assert run().step("validate")["reason"] == "input changed: stage/orders"


def test_what_a_step_reads_may_be_what_it_writes(run: Run, steps: Steps) -> None:
    def act(_: StepContext) -> StepResult:
        steps["clean"].given = {"registry": "v1"}
        return StepResult(line="x")

    steps["clean"].act = act
    run()
    run()
    assert steps["clean"].times == 1


def test_what_a_step_reads_may_be_its_own_facts(
    run: Run, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps["clean"].act = lambda _: StepResult(line="x", facts={"mode": "rebuild"})
    monkeypatch.setattr(
        steps["clean"], "inputs", lambda ctx: {"own": str(ctx.facts_of("clean"))}, raising=False
    )
    run()
    run()
    assert steps["clean"].times == 1


def test_force_from_until(run: Run, steps: Steps) -> None:
    run()
    ended = run(force=True, from_step="clean", until_step="validate")
    assert [fake.times for fake in steps.values()] == [1, 2, 2]
    assert ended.statuses("ingest", "clean", "report") == ["not_run", "done", "not_run"]
    assert ended.step("clean")["reason"] == "--force"


def test_the_page_alone(run: Run, steps: Steps) -> None:
    run()
    ended = run(from_step="report")
    assert ended.statuses("validate", "report") == ["not_run", "done"]


def test_explain_runs_nothing(
    run: Run, steps: Steps, load: Callable[..., LoadedProject], home: Path
) -> None:
    run()
    ended = run(load("score.delivery_time.rows.split=validation"), explain=True)
    assert [fake.times for fake in steps.values()] == [1, 1, 1]
    assert ended.lines.steps == [
        ("ingest", "current", False),
        (
            "clean",
            "runs: `score.delivery_time.rows.split` changed: test → validation",
            False,
        ),
        ("validate", "may run: if clean changes its input", False),
    ]
    assert len(list((home / "runs").glob("2*"))) == 1


def test_explain_tells_what_is_missing(run: Run, steps: Steps, monkeypatch: Any) -> None:
    def inputs(_: StepContext) -> dict[str, str]:
        raise InputMissingError("no file matches")

    monkeypatch.setattr(steps["ingest"], "inputs", inputs, raising=False)
    assert run(explain=True).lines.steps[0] == ("ingest", "runs: no file matches", False)


def test_facts_reach_later_steps_and_later_runs(run: Run, steps: Steps) -> None:
    seen: list[Any] = []
    steps["ingest"].act = lambda _: StepResult(line="x", facts={"batch": 4})

    def act(ctx: StepContext) -> StepResult:
        seen.append(ctx.facts("ingest")["batch"])
        return StepResult(line="x")

    steps["clean"].act = act
    run()
    run(force=True, from_step="clean")
    assert seen == [4, 4]


def test_a_step_that_needs_one_that_never_ran(run: Run, steps: Steps) -> None:
    def act(ctx: StepContext) -> StepResult:
        return StepResult(line=str(ctx.facts("clean")))

    steps["validate"].act = act
    ended = run(from_step="validate")
    assert ended.report["exit_code"] == 66
    assert ended.report["error"]["message"] == "step clean has not run yet"
    assert ended.report["error"]["remedy"] == "Fix: cauce clean"


def test_a_failed_gate(run: Run, steps: Steps) -> None:
    steps["clean"].act = lambda _: StepResult(
        line="1 pass, 1 fail",
        gates=[Gate(name="quality", verdict="fail", reasons=["3 % bad, allowed 1 %"])],
        failure=DataGateError("Not published", where="base.yaml:20", remedy="Look   here"),
        details=(("rule", "verdict"), [("orders.shops", "fail")]),
    )
    ended = run()
    jsonschema.validate(ended.report, report_schema())
    assert isinstance(ended.error, DataGateError)
    assert (ended.report["status"], ended.report["exit_code"]) == ("failed", 65)
    assert ended.report["error"] == {
        "kind": "data",
        "message": "Not published",
        "where": "base.yaml:20",
        "remedy": "Look   here",
    }
    assert ended.report["gates"][0]["verdict"] == "fail"
    assert ended.statuses(*THREE, "report") == ["done", "failed", "not_run", "done"]
    assert ended.step("clean")["reason"] == "Not published"
    assert ended.lines.steps[1] == ("clean", "1 pass, 1 fail", True)
    assert ended.lines.tables == [(("rule", "verdict"), [("orders.shops", "fail")])]
    assert ended.lines.warnings is None
    assert (ended.folder / "run_report.html").is_file()
    # What failed is tried again; what went well is not.
    steps["clean"].act = lambda _: StepResult(line="x")
    assert run().statuses(*THREE) == ["skipped", "done", "done"]


@pytest.mark.parametrize(
    ("error", "status", "code", "kind"),
    [
        (TemporaryError("rank 1 died"), "failed", 75, "temporary"),
        (InputMissingError("gone"), "failed", 66, "input"),
        (ValueError("first line\nsecond"), "failed", 1, "error"),
        (KeyboardInterrupt(), "interrupted", 130, "error"),
        (SystemExit(), "interrupted", 143, "error"),
    ],
)
def test_every_way_to_end(
    run: Run, steps: Steps, error: BaseException, status: str, code: int, kind: str
) -> None:
    steps["clean"].act = raising(error)
    ended = run()
    assert ended.error is error
    jsonschema.validate(ended.report, report_schema())
    assert (ended.report["status"], ended.report["exit_code"]) == (status, code)
    assert ended.report["error"]["kind"] == kind
    assert "second" not in ended.report["error"]["message"]
    assert ended.statuses(*THREE) == ["done", "failed", "not_run"]
    assert ended.report["ended_at"] is not None


def test_inputs_that_cannot_be_read_fail_their_step(
    run: Run, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    def inputs(_: StepContext) -> dict[str, str]:
        raise InputMissingError("no file matches the source's path")

    monkeypatch.setattr(steps["ingest"], "inputs", inputs, raising=False)
    ended = run()
    assert ended.statuses(*THREE) == ["failed", "not_run", "not_run"]
    assert (ended.step("ingest")["reason"], ended.report["exit_code"]) == (
        "no file matches the source's path",
        66,
    )


def test_a_page_that_cannot_be_made_ends_the_run(
    run: Run, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Path:
        raise ValueError("no page")

    monkeypatch.setattr(report_step, "run", broken)
    ended = run()
    assert isinstance(ended.error, ValueError)
    assert (ended.report["status"], ended.report["exit_code"]) == ("failed", 1)
    assert ended.statuses("validate", "report") == ["done", "failed"]


def test_a_page_that_cannot_be_made_does_not_hide_the_error(
    run: Run, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_step, "run", lambda *_: 1 / 0)
    steps["clean"].act = raising(DataGateError("bad data"))
    ended = run()
    assert isinstance(ended.error, DataGateError)
    assert ended.report["exit_code"] == 65
    assert ended.statuses("clean", "report") == ["failed", "failed"]


def test_no_file_of_a_run_shows_a_secret(
    run: Run, steps: Steps, load: Callable[..., LoadedProject], monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "s3cr3t-canary"
    loaded = load("project.owner=${env:OWNER}", OWNER=canary)
    monkeypatch.setattr("sys.argv", ["cauce", "run", canary])
    steps["ingest"].act = lambda _: StepResult(line="x", warnings=[f"login of {canary} is old"])
    steps["clean"].act = raising(
        InputMissingError(f"{canary} in a message", where=f"at {canary}", remedy=f"use {canary}")
    )
    ended = run(loaded)
    assert ended.report["warnings"] == ["login of *** is old"]
    assert ended.report["error"]["where"] == "at ***"
    assert ended.step("clean")["reason"] == "*** in a message"
    for path in ended.folder.rglob("*"):
        assert path.is_dir() or canary not in path.read_text(), path


def test_while_it_runs_the_report_says_so(
    run: Run, steps: Steps, load: Callable[..., LoadedProject]
) -> None:
    loaded = load()

    def act(ctx: StepContext) -> StepResult:
        report = json.loads((loaded.runs / ctx.run_id / "run_report.json").read_text())
        jsonschema.validate(report, report_schema())
        assert (report["status"], report["exit_code"]) == ("running", None)
        assert [step["status"] for step in report["steps"][:3]] == ["done", "not_run", "not_run"]
        with pytest.raises(TemporaryError, match=f"in use by run {ctx.run_id}, process"):
            run_project(loaded, RunRequest(output=Lines()))
        return StepResult(line="x")

    steps["clean"].act = act
    assert run(loaded).report["status"] == "succeeded"


def test_a_run_that_vanished_is_lost_and_named(run: Run, steps: Steps) -> None:
    first = run()
    path = first.folder / "run_report.json"
    path.write_text(path.read_text().replace('"status": "succeeded"', '"status": "running"'))
    second = run()
    assert json.loads(path.read_text())["status"] == "lost"
    assert second.report["resumed_from"] == first.lines.run_id
    assert run().report["resumed_from"] is None
