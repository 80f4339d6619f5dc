"""The run report as one HTML file that makes no request and runs no script."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from pipelines.report import charts, view, words
from pipelines.report.extras import ReportExtras
from pipelines.report.model import RunReport, write_text_atomic


def render_report(report: RunReport, extras: ReportExtras) -> str:
    """The page of a run: what came in, what was learnt, how good it is, and what it cost.

    A section without evidence is absent. Every text of the report is escaped, and the page's own
    policy forbids scripts and requests.
    """
    template = _environment().get_template("report.html.j2")
    return template.render(page=view.build_page(report, extras))


def write_html(report: RunReport, extras: ReportExtras, path: Path) -> None:
    """Renders and writes the page, atomically."""
    write_text_atomic(path, render_report(report, extras))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pipelines.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in (
        "count",
        "share",
        "number",
        "duration",
        "size",
        "instant",
        "metric",
        "feature",
        "word",
    ):
        environment.filters[name] = getattr(words, name)
    environment.filters["outcome"] = view.outcome
    environment.globals["chart"] = charts
    return environment
