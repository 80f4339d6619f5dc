"""The run report as it grows: written at the start, after each step and at the end."""

from __future__ import annotations

import platform
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipelines import __version__
from pipelines.engine.fingerprint import library_versions
from pipelines.engine.graph import NAMES
from pipelines.engine.measure import Cost
from pipelines.engine.state import StepState
from pipelines.errors import CauceError, ConfigError
from pipelines.project import LoadedProject
from pipelines.report.extras import write_evidence
from pipelines.report.model import (
    Artifact,
    ReportError,
    RunReport,
    StepReport,
    format_utc,
    load_report,
    write_report,
    write_text_atomic,
)
from pipelines.steps.base import StepResult

JSON = "run_report.json"


def new_run_id(now: datetime) -> str:
    """An id that sorts by time and never repeats."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def mark_lost(runs: Path) -> list[str]:
    """Marks reports that say `running` as `lost`; called under the lake's lock, so none is."""
    lost = []
    for path in sorted(runs.glob(f"*/{JSON}")):
        if '"status": "running"' not in path.read_text(encoding="utf-8"):
            continue
        report = load_report(path)
        report.status = "lost"
        write_report(report, path)
        lost.append(report.run_id)
    return lost


class Recorder:
    """Owns the report of one run and the files beside it.

    Raises:
        ConfigError: The folder of the reports cannot be written to.
    """

    def __init__(self, loaded: LoadedProject, run_id: str, now: datetime, args: Sequence[str]):
        self.folder = loaded.runs / run_id
        self._evidence: dict[str, Any] = {}
        self._mask = loaded.mask
        self.report = RunReport(
            run_id=run_id,
            project=loaded.name,
            env=loaded.env,
            seed=loaded.project.project.seed,
            status="running",
            started_at=format_utc(now),
            args=[loaded.mask(word) for word in args],
            config_hash=loaded.config_hash,
            code_version=f"cauce {__version__}",
            packages={"python": platform.python_version(), **library_versions()},
            steps=[StepReport(name=name, status="not_run") for name in NAMES],
        )
        try:
            self.write()
            write_text_atomic(loaded.runs / "latest", f"{run_id}\n")
        except OSError as error:
            raise ConfigError(
                f"run reports cannot be written: {error.strerror}",
                where=str(loaded.runs),
                remedy="Fix: set project.runs to another folder, or let this user write there",
            ) from None

    def write(self) -> None:
        """Replaces the report on disk."""
        write_report(self.report, self.folder / JSON)

    def skipped(self, name: str, state: StepState, reason: str) -> None:
        """A step whose result is current; what it found still holds."""
        step = state.step.model_copy(
            update={
                "status": "skipped",
                "reason": reason,
                "from_run": state.run_id,
                "seconds": None,
                "spark_jobs": None,
                "peak_rss_mb": None,
            }
        )
        self._set(step)
        self._add_findings(state)

    def done(self, name: str, state: StepState) -> None:
        """A step that ended well."""
        self._set(state.step)
        self._add_findings(state)
        self.write()

    def failed(
        self, name: str, result: StepResult | None, cost: Cost, error: BaseException
    ) -> None:
        """A step that ended the run; what it found is kept."""
        reason = error.message if isinstance(error, CauceError) else type(error).__name__
        reason = self._mask(reason)
        flow = result.flow.model_dump() if result else {}
        self._set(
            StepReport(
                name=name,
                status="failed",
                reason=reason,
                seconds=cost.seconds,
                peak_rss_mb=cost.peak_rss_mb,
                by_table=list(result.by_table) if result else [],
                **flow,
            )
        )
        if result is not None:
            self._add_findings(result)

    def write_evidence(self) -> None:
        """Writes all evidence for the report's page."""
        for kind, value in self._evidence.items():
            write_evidence(self.folder / "evidence", kind, value)

    def end(self, status: str, exit_code: int, error: BaseException | None) -> None:
        """Sets how the run ended; the report is not written yet."""
        self.report.status = status  # type: ignore[assignment]
        self.report.exit_code = exit_code
        self.report.ended_at = format_utc(datetime.now(UTC))
        if isinstance(error, CauceError):
            self.report.error = ReportError(
                kind=error.kind,
                message=self._mask(error.message),
                where=self._mask(error.where or "") or None,
                remedy=self._mask(error.remedy or "") or None,
            )
        elif error is not None:
            told = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            self.report.error = ReportError(kind="error", message=self._mask(told))

    def add_artifact(self, kind: str, path: Path, sha256: str) -> None:
        """Names a file of this run."""
        relative = path.relative_to(self.folder).as_posix()
        self.report.artifacts = [
            *self.report.artifacts,
            Artifact(kind=kind, path=relative, sha256=sha256),
        ]

    def set_step(self, step: StepReport) -> None:
        """Replaces a step's entry."""
        self._set(step)

    def _set(self, step: StepReport) -> None:
        self.report.steps = [step if s.name == step.name else s for s in self.report.steps]

    def _add_findings(self, found: StepState | StepResult) -> None:
        report = self.report
        tables = {table.name: table for table in (*report.tables, *found.tables)}
        report.tables = list(tables.values())
        report.data_quality = [*report.data_quality, *found.data_quality]
        report.leaderboard = [*report.leaderboard, *found.leaderboard]
        report.gates = [*report.gates, *found.gates]
        report.warnings = [*report.warnings, *map(self._mask, found.warnings)]
        for kind, value in found.evidence.items():
            known = self._evidence.get(kind)
            both = isinstance(known, list) and isinstance(value, list)
            self._evidence[kind] = [*known, *value] if both else value  # type: ignore[misc]
