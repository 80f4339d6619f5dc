"""report: the run's evidence as one HTML file beside its JSON."""

from __future__ import annotations

from pathlib import Path

from pipelines.report.extras import ReportExtras
from pipelines.report.html import write_html
from pipelines.report.model import RunReport

HTML = "run_report.html"


def run(report: RunReport, folder: Path) -> Path:
    """Renders the report of a run that has all its steps; gives the file's path."""
    path = folder / HTML
    write_html(report, ReportExtras.load(folder / "evidence"), path)
    return path
