"""Runs the selected steps: skips what is current, records everything, ends with a report."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.engine.fingerprint import Fingerprint, build_fingerprint, explain
from pipelines.engine.graph import REPORT, STEPS, Step, selected
from pipelines.engine.lock import locked
from pipelines.engine.measure import Cost, count_jobs, measured
from pipelines.engine.record import Recorder, mark_lost, new_run_id
from pipelines.engine.slots import check_slots
from pipelines.engine.state import StateStore, StepState, same_outputs
from pipelines.errors import CauceError
from pipelines.project import LoadedProject
from pipelines.report.model import StepReport
from pipelines.steps.base import Facts, StepContext, StepResult
from pipelines.tables import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERRUPTED, _TERMINATED, _CRASH = 130, 143, 1


class Output(Protocol):
    """Where people read."""

    def started(self, run_id: str) -> None: ...  # noqa: D102
    def begin(self, name: str) -> None: ...  # noqa: D102
    def step(self, name: str, line: str, seconds: float, failed: bool = False) -> None: ...  # noqa: D102
    def detail(self, text: str) -> None: ...  # noqa: D102
    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None: ...  # noqa: D102
    def finished(self, warnings: int, seconds: float) -> None: ...  # noqa: D102


@dataclass(frozen=True)
class RunRequest:
    """What is asked of a run.

    Args:
        output: Where people read.
        from_step: First step; by default the first of all.
        until_step: Last step; by default the last of all.
        force: Run the selected steps although nothing changed.
        explain: Say what would run and why; run nothing.
    """

    output: Output
    from_step: str | None = None
    until_step: str | None = None
    force: bool = False
    explain: bool = False


def run_project(loaded: LoadedProject, request: RunRequest) -> int:
    """Runs a project and returns 0.

    Raises:
        CauceError: What ended the run; its report is written.
    """
    now = datetime.now(UTC)
    run_id = new_run_id(now)
    if request.explain:
        _Run(loaded, request, run_id, now).explain()
        return 0
    with locked(loaded.lake, run_id):
        lost = mark_lost(loaded.runs)
        _Run(loaded, request, run_id, now).execute(lost)
    return 0


@dataclass
class _Run:
    """One run in progress."""

    loaded: LoadedProject
    request: RunRequest
    run_id: str
    now: datetime
    _session: SparkSession | None = None
    _owns_session: bool = False
    _facts: dict[str, Facts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = StateStore(self.loaded.lake)
        self.steps = selected(self.request.from_step, self.request.until_step)
        self.context = StepContext(
            loaded=self.loaded,
            run_id=self.run_id,
            now=self.now,
            lake=Lake(self.loaded.lake, self.run_id, self.spark),
            facts_of=self.facts_of,
            scratch=self.scratch,
        )

    def spark(self) -> SparkSession:
        """The session, started when the first step needs it."""
        if self._session is None:
            from pyspark.sql import SparkSession

            from pipelines.session import build_session

            self._owns_session = SparkSession.getActiveSession() is None
            self._session = build_session(f"cauce {self.loaded.name}", self._conf_file())
        return self._session

    def _conf_file(self) -> Path | None:
        conf = self.loaded.home / "conf" / "spark" / "local.conf"
        return conf if conf.is_file() else None

    def facts_of(self, step: str) -> Facts | None:
        """Facts of a step, of this run or of its last good result."""
        if step not in self._facts:
            state = self.store.load(step)
            if state is None:
                return None
            self._facts[step] = state.facts
        return self._facts[step]

    def scratch(self, name: str) -> str:
        """A folder of this run."""
        path = self.loaded.runs / self.run_id / "scratch" / name
        path.mkdir(parents=True, exist_ok=True)
        return str(path)

    def explain(self) -> None:
        """Says for each selected step whether it would run, and why."""
        above: str | None = None
        for step in STEPS:
            if step.name not in self.steps:
                continue
            began = time.perf_counter()
            try:
                _, reason = self._why(step)
            except CauceError as error:
                reason = error.message
            if reason is None and above is not None:
                reason = f"if {above} changes its input"
                line = f"may run: {reason}"
            else:
                line = f"runs: {reason}" if reason else "current"
                above = step.name if reason else above
            self.request.output.step(step.name, line, time.perf_counter() - began)

    def execute(self, lost: list[str]) -> None:
        """Runs the steps and writes the report, whatever happens."""
        began = time.perf_counter()
        record = Recorder(self.loaded, self.run_id, self.now, sys.argv[1:])
        record.report.resumed_from = lost[-1] if lost else None
        self.request.output.started(self.run_id)
        error: BaseException | None = None
        ran = 0
        try:
            if "train" in self.steps:
                check_slots(self.loaded.project, self._conf_file(), self.store.load("train"))
            ran = self._run_steps(record)
        except BaseException as caught:
            error = caught
            raise
        finally:
            self._finish(record, error, ran)
            if self._session is not None and self._owns_session:
                with suppress(Exception):
                    self._session.stop()
        warnings = len(record.report.warnings)
        self.request.output.finished(warnings, time.perf_counter() - began)

    def _run_steps(self, record: Recorder) -> int:
        """Runs or skips each selected step; gives how many ran."""
        ran = 0
        current: list[str] = []
        origin = ""
        for step in STEPS:
            if step.name not in self.steps:
                continue
            try:
                fingerprint, reason = self._why(step)
            except Exception as error:
                record.failed(step.name, None, Cost(), error)
                raise
            state = self.store.load(step.name)
            if reason is None and state is not None:
                record.skipped(step.name, state, f"unchanged since run {state.run_id}")
                current.append(step.name)
                origin = state.run_id
                continue
            self._run_step(step, fingerprint, reason or "", record)
            ran += 1
        if current:
            told = ", ".join(current)
            self.request.output.step("unchanged", f"{told} (run {origin})", 0.0)
        return ran

    def _why(self, step: Step) -> tuple[Fingerprint, str | None]:
        """The fingerprint a step would have, and why it must run; None where it need not."""
        module = step.load()
        fingerprint = build_fingerprint(step, self.loaded.resolved, module.inputs(self.context))
        if self.request.force:
            return fingerprint, "--force"
        state = self.store.load(step.name)
        reason = explain(state.fingerprint if state else None, fingerprint)
        if reason is None and state is not None:
            changed = same_outputs(state, self._outputs(module))
            reason = f"output changed: {', '.join(changed)}" if changed else None
        return fingerprint, reason

    def _outputs(self, module: Any) -> dict[str, str | None]:
        return {
            f"{layer}/{name}": self.context.lake.identity(layer, name)
            for layer, name in module.outputs(self.context)
        }

    def _run_step(
        self, step: Step, fingerprint: Fingerprint, reason: str, record: Recorder
    ) -> None:
        module = step.load()
        self.request.output.begin(step.name)
        cost, result = Cost(), None
        try:
            with measured() as cost:
                # Before the step: expressions cannot be written without a session.
                self.spark().sparkContext.setJobGroup(step.name, f"cauce {step.name}")
                result = module.run(self.context)
            if result.failure is not None:
                raise result.failure
        except BaseException as error:
            record.failed(step.name, result, cost, error)
            if result is not None:
                self.request.output.step(step.name, result.line, cost.seconds, failed=True)
                if result.details:
                    self.request.output.table(*result.details)
            raise
        self._facts[step.name] = result.facts
        state = self._state(step, fingerprint, reason, result, cost)
        self.store.save(step.name, state)
        record.done(step.name, state)
        self.request.output.step(step.name, result.line, cost.seconds)

    def _state(
        self, step: Step, fingerprint: Fingerprint, reason: str, result: StepResult, cost: Cost
    ) -> StepState:
        outputs = self._outputs(step.load())
        report = StepReport(
            name=step.name,
            status="done",
            reason=reason,
            fingerprint=fingerprint.digest,
            seconds=cost.seconds,
            spark_jobs=count_jobs(self.spark(), step.name),
            peak_rss_mb=cost.peak_rss_mb,
            by_table=list(result.by_table),
            **result.flow.model_dump(),
        )
        return StepState(
            run_id=self.run_id,
            # What a step reads may be what it has just written; the next run looks at the same.
            fingerprint=build_fingerprint(
                step, self.loaded.resolved, step.load().inputs(self.context)
            ).to_dict(),
            outputs=outputs,
            line=result.line,
            facts=dict(result.facts),
            evidence=dict(result.evidence),
            step=report,
            tables=list(result.tables),
            data_quality=list(result.data_quality),
            leaderboard=list(result.leaderboard),
            gates=list(result.gates),
            warnings=list(result.warnings),
        )

    def _finish(self, record: Recorder, error: BaseException | None, ran: int) -> None:
        """Ends the report; the page is written where there is something new to show."""
        record.end(*_ending(error, bool(record.report.warnings)), error)
        wanted = error is not None or ran > 0 or self.request.from_step == REPORT
        try:
            if (REPORT in self.steps and wanted) or error is not None:
                self._write_page(record)
            elif REPORT in self.steps:
                record.set_step(StepReport(name=REPORT, status="skipped", reason="nothing new"))
        except BaseException as broken:
            record.failed(REPORT, None, Cost(), broken)
            if error is None:
                record.end(*_ending(broken, False), broken)
                raise
        finally:
            record.write()

    def _write_page(self, record: Recorder) -> None:
        from pipelines.steps import report

        self.request.output.begin(REPORT)
        with measured() as cost:
            record.write_evidence()
            record.set_step(StepReport(name=REPORT, status="done"))
            path: Path = report.run(record.report, record.folder)
        record.add_artifact("html", path, hashlib.sha256(path.read_bytes()).hexdigest())
        record.set_step(
            StepReport(
                name=REPORT, status="done", seconds=cost.seconds, peak_rss_mb=cost.peak_rss_mb
            )
        )
        shown = (
            path.relative_to(self.loaded.home) if path.is_relative_to(self.loaded.home) else path
        )
        self.request.output.step(REPORT, str(shown), cost.seconds)


def _ending(error: BaseException | None, warned: bool) -> tuple[str, int]:
    if error is None:
        return ("warned" if warned else "succeeded"), 0
    if isinstance(error, CauceError):
        return "failed", error.exit_code
    if isinstance(error, Exception):
        return "failed", _CRASH
    return "interrupted", _INTERRUPTED if isinstance(error, KeyboardInterrupt) else _TERMINATED
