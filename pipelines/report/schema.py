"""Writes the shipped JSON Schema of the run report: `python -m pipelines.report.schema`."""

from __future__ import annotations

import json
from pathlib import Path

from pipelines.report.model import report_schema

SCHEMA_PATH = Path(__file__).with_name("run_report.schema.json")


def schema_text() -> str:
    """The schema as it is shipped."""
    return json.dumps(report_schema(), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA_PATH.write_text(schema_text(), encoding="utf-8")
