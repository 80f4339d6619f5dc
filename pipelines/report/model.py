"""The contract of `run_report.json`: what a run says of itself, how it is written and read."""

from __future__ import annotations

import json
import os
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pipelines.errors import InputMissingError

SCHEMA_VERSION: Literal[1] = 1

Verdict = Literal["pass", "fail", "not_evaluated"]
RunStatus = Literal["running", "succeeded", "warned", "failed", "interrupted", "lost"]
StepStatus = Literal["done", "skipped", "failed", "not_run"]

_UTC_TEXT = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,6})?Z$"


def format_utc(value: Any) -> Any:
    """Turns an aware datetime into UTC text, `2026-11-30T10:15:02Z` (RFC 3339); text passes."""
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError("needs a time zone; a naive datetime is no instant")
    return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _check_relative(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or "\\" in path or path.startswith("/") or ".." in parts or re.match(r"\w:", path):
        raise ValueError("needs a path relative to the run's folder, with /, without ..")
    return path


Utc = Annotated[str, BeforeValidator(format_utc), Field(pattern=_UTC_TEXT)]
RelativePath = Annotated[str, AfterValidator(_check_relative)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0)]


class _Part(BaseModel):
    """A part of the report: unknown keys, NaN and infinity are errors.

    `model_validate` also takes any object with the same attributes, such as a library's result.
    """

    model_config = ConfigDict(
        extra="forbid",
        allow_inf_nan=False,
        validate_assignment=True,
        from_attributes=True,
        use_attribute_docstrings=True,
    )


class MetricValue(_Part):
    """A metric with its confidence interval; null means not evaluated."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class Gate(_Part):
    """The verdict of a gate, and each reason as what was found and what is allowed."""

    name: str
    verdict: Verdict
    reasons: list[str] = []


class ReportError(_Part):
    """Why the run ended before its end."""

    kind: str
    """`usage`, `data`, `input`, `temporary`, `configuration`, or `error` for a crash."""
    message: str
    where: str | None = None
    remedy: str | None = None


class DataRef(_Part):
    """A table at a version, or a file by its content, that a step read or wrote."""

    name: str
    version: Count | None = None
    sha256: Sha256 | None = None


class RowFlow(_Part):
    """Where records went; null means the step has no such outcome."""

    rows_in: Count | None = None
    rows_out: Count | None = None
    rows_rejected: Count | None = None
    rows_duplicate: Count | None = None
    rows_quarantined: Count | None = None
    rows_excluded: Count | None = None


class TableFlow(RowFlow):
    """Where the records of one source or table went in a step."""

    name: str


class StepReport(RowFlow):
    """One step of the run."""

    name: str
    status: StepStatus
    reason: str | None = None
    """Why it was skipped, failed or not run."""
    fingerprint: str | None = None
    from_run: str | None = None
    """The run that made the outputs, where the step was skipped."""
    seconds: Seconds | None = None
    spark_jobs: Count | None = None
    peak_rss_mb: Annotated[float, Field(ge=0)] | None = None
    by_table: list[TableFlow] = []
    inputs: list[DataRef] = []
    outputs: list[DataRef] = []


class TableReport(_Part):
    """A table as the run left it."""

    name: str
    version: Count | None = None
    published: bool | None = None
    """False where a gate kept the version from consumers."""
    rows: Count | None = None
    bytes: Count | None = None


class QualityRow(_Part):
    """The outcome of one rule on one table."""

    table: str
    version: Count | None = None
    rule: str
    severity: Literal["fail", "warn"]
    verdict: Verdict
    evaluated: Count | None = None
    """Values the rule looked at."""
    failed: Count | None = None
    """Values that broke it."""
    observed: str | None = None
    """What was found, as a person reads it."""
    allowed: str | None = None
    """What is allowed, as a person reads it."""
    origin: str | None = None
    """File and line that declare the rule."""


class BoardRow(_Part):
    """One model on one part of the data."""

    model: str
    version: str | None = None
    split: Literal["validation", "test"]
    metrics: dict[str, MetricValue] = {}
    seconds: Seconds | None = None
    """Training time."""
    rows_per_s: Annotated[float, Field(ge=0)] | None = None
    """Training rows a second, over all passes."""
    backend: str | None = None
    workers: Count | None = None


class Artifact(_Part):
    """A file the run made."""

    kind: str
    path: RelativePath
    sha256: Sha256 | None = None


class RunReport(_Part):
    """A run: what it was asked, what each step did, and how it ended. Null means not measured."""

    schema_version: Literal[1] = SCHEMA_VERSION
    run_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
    project: str
    env: str
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None
    """The day of `--date`; null for everything."""
    seed: int
    status: RunStatus
    exit_code: int | None = None
    """Null while the run is running or lost."""
    started_at: Utc
    ended_at: Utc | None = None
    args: list[str] = []
    config_hash: str | None = None
    code_version: str | None = None
    packages: dict[str, str] = {}
    resumed_from: str | None = None
    warnings: list[str] = []
    gates: list[Gate] = []
    error: ReportError | None = None
    steps: list[StepReport] = []
    tables: list[TableReport] = []
    data_quality: list[QualityRow] = []
    leaderboard: list[BoardRow] = []
    artifacts: list[Artifact] = []

    def to_json(self) -> str:
        """The report as text, keys in the order of the contract: two reports compare by line."""
        return (
            json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
            + "\n"
        )


def report_schema() -> dict[str, Any]:
    """The JSON Schema of a run report, as shipped in `run_report.schema.json`."""
    schema = RunReport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def write_report(report: RunReport, path: Path) -> None:
    """Writes a report atomically: a reader sees the old one or the new one, also after a power cut.

    Raises:
        pydantic.ValidationError: Where a list of the report holds what the contract forbids.
    """
    text = RunReport.model_validate(report.model_dump(warnings=False)).to_json()
    write_text_atomic(path, text)


def write_text_atomic(path: Path, text: str) -> None:
    """Replaces a file's content in one step; the folder is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(0o644)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def load_report(path: Path) -> RunReport:
    """Reads and checks a report.

    Raises:
        InputMissingError: Where there is no file, or it is no report of this version.
    """
    remedy = "cauce runs show lists the runs; cauce run makes a new one"
    try:
        return RunReport.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputMissingError("no run report here", where=str(path), remedy=remedy) from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputMissingError(
            f"not a run report of version {SCHEMA_VERSION}: {key}: {first['msg']}",
            where=str(path),
            remedy=remedy,
        ) from None
