"""The contract of run_report.json: what it refuses, how it is written, its schema."""

import json
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import jsonschema
import pytest
from pydantic import ValidationError

from pipelines.errors import InputMissingError
from pipelines.report.model import (
    Artifact,
    BoardRow,
    MetricValue,
    ReportError,
    RunReport,
    StepReport,
    load_report,
    report_schema,
    write_report,
)
from pipelines.report.schema import SCHEMA_PATH, schema_text


def make_report(**changes) -> RunReport:
    fields = {
        "run_id": "20261130-101502-7f3a",
        "project": "flights",
        "env": "dev",
        "seed": 2013,
        "status": "running",
        "started_at": "2026-11-30T10:15:02Z",
    }
    return RunReport(**{**fields, **changes})


def test_the_fields_are_those_of_the_contract():
    names = (
        "schema_version run_id project env date seed status exit_code started_at ended_at args "
        "config_hash code_version packages resumed_from warnings gates error steps tables "
        "data_quality leaderboard artifacts"
    )
    assert list(json.loads(make_report().to_json())) == names.split()


def test_the_fields_of_a_step_are_those_of_the_contract():
    step = StepReport(name="ingest", status="done").model_dump()
    names = (
        "name status reason fingerprint from_run seconds spark_jobs peak_rss_mb rows_in rows_out "
        "rows_rejected rows_duplicate rows_quarantined rows_excluded by_table inputs outputs"
    )
    assert set(step) == set(names.split())


def test_shipped_schema_is_current():
    assert SCHEMA_PATH.read_text(encoding="utf-8") == schema_text(), (
        "run `python -m pipelines.report.schema`"
    )


def test_a_written_report_fits_the_schema_and_comes_back_equal(tmp_path: Path):
    report = make_report(
        status="failed",
        exit_code=65,
        error=ReportError(kind="data", message="déjà vu — 3,4 %", where="base.yaml:27"),
        steps=[StepReport(name="ingest", status="done", rows_in=3, seconds=0.5)],
        leaderboard=[BoardRow(model="trees", split="test", metrics={"brier": MetricValue()})],
        artifacts=[Artifact(kind="html", path="run_report.html", sha256="0" * 64)],
    )
    path = tmp_path / "runs" / "r" / "run_report.json"
    write_report(report, path)
    jsonschema.Draft202012Validator(report_schema()).validate(json.loads(path.read_text("utf-8")))
    assert load_report(path) == report
    assert [file.name for file in path.parent.iterdir()] == ["run_report.json"]


def test_json_is_stable(tmp_path: Path):
    assert make_report().to_json() == make_report().to_json()
    assert '"date": null' in make_report().to_json()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sead": 1}, "Extra inputs are not permitted"),
        ({"status": "fine"}, "'running', 'succeeded', 'warned', 'failed', 'interrupted' or 'lost'"),
        ({"started_at": "2026-11-30 10:15:02"}, "String should match pattern"),
        ({"started_at": "2026-11-30T10:15:02+01:00"}, "String should match pattern"),
        ({"started_at": datetime(2026, 11, 30)}, "needs a time zone"),
        ({"date": "30.11.2026"}, "String should match pattern"),
        ({"run_id": "../x"}, "String should match pattern"),
        ({"steps": [{"name": "a", "status": "done", "seconds": float("nan")}]}, "finite number"),
        ({"steps": [{"name": "a", "status": "done", "rows_in": -1}]}, "greater than or equal to 0"),
    ],
)
def test_what_is_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        make_report(**changes)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_metric_is_finite_or_null(value):
    with pytest.raises(ValidationError, match="finite number"):
        MetricValue(value=value)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "C:\\x", "C:/x", ""])
def test_an_artifact_lies_inside_the_run(path):
    with pytest.raises(ValidationError, match="relative to the run's folder"):
        Artifact(kind="html", path=path)


def test_instants_become_utc_text():
    paris = timezone(timedelta(hours=1))
    report = make_report(started_at=datetime(2026, 11, 30, 11, 15, 2, tzinfo=paris))
    assert report.started_at == "2026-11-30T10:15:02Z"
    report.ended_at = datetime(2026, 11, 30, 10, 16, tzinfo=UTC)
    assert report.ended_at == "2026-11-30T10:16:00Z"


def test_assigning_is_checked_and_so_is_what_was_appended(tmp_path: Path):
    report = make_report()
    with pytest.raises(ValidationError, match="'running', 'succeeded'"):
        report.status = "fine"
    report.warnings.append(3)
    with pytest.raises(ValidationError, match="valid string"):
        write_report(report, tmp_path / "run_report.json")
    assert list(tmp_path.iterdir()) == []


def test_results_of_libraries_are_taken_by_attribute():
    @dataclass(frozen=True)
    class Measured:
        value: float
        low: float
        high: float

    row = BoardRow(model="trees", split="test", metrics={"roc_auc": Measured(0.7, 0.6, 0.8)})
    assert row.metrics["roc_auc"] == MetricValue(value=0.7, low=0.6, high=0.8)


def test_a_failed_write_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "run_report.json"
    write_report(make_report(), path)
    before = path.read_bytes()

    def no_space(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pipelines.report.model.os.fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        write_report(make_report(status="succeeded"), path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_missing_and_a_broken_report_are_told_apart(tmp_path: Path):
    with pytest.raises(InputMissingError, match="no run report here"):
        load_report(tmp_path / "run_report.json")
    path = tmp_path / "broken.json"
    path.write_text('{"run_id": "x"}', encoding="utf-8")
    with pytest.raises(InputMissingError, match="not a run report of version 1: project: Field"):
        load_report(path)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InputMissingError, match="not a run report of version 1: the file: Invalid"):
        load_report(path)


def test_the_contract_needs_neither_spark_nor_plots():
    code = (
        "import sys, pipelines.report.model\n"
        "print([m for m in ('pyspark', 'matplotlib', 'numpy', 'jinja2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
