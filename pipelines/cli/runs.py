"""`cauce runs`: what earlier runs did."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli.options import (
    Common,
    EnvOption,
    Format,
    FormatOption,
    ProjectOption,
    SetOption,
    VerboseOption,
    open_project,
    set_up,
)

REPORT = "run_report.json"
_RUN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,62}")


def show(
    context: typer.Context,
    *,
    run: Annotated[
        str, typer.Argument(show_default=False, help="Id of a run; latest by default.")
    ] = "latest",
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
    answer: FormatOption = Format.text,
    verbose: VerboseOption = False,
) -> None:
    """Show what a run did: its steps, its warnings, its error."""
    invocation = set_up(context, answer, verbose)
    loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    path = loaded.runs / resolve_run(loaded.runs, run) / REPORT
    report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if answer is Format.json:
        invocation.answer(report)
        return
    terminal = invocation.terminal
    terminal.say(f"{report['project']} ({report['env']}) · run {report['run_id']}")
    terminal.say(f"{report['status']}, exit {report['exit_code']}; started {report['started_at']}")
    for step in report["steps"]:
        terminal.step(step["name"], _describe(step), step["seconds"] or 0)
    for warning in report["warnings"]:
        terminal.detail(f"warning: {warning}")
    if report["error"]:
        terminal.detail(f"{report['error']['kind']}: {report['error']['message']}")


HELP = "Show what earlier runs did."
COMMANDS = {"show": show}


def resolve_run(runs: Path, run: str) -> str:
    """Returns a run's id; `latest` is the newest.

    Raises:
        InputMissingError: There is no such run.
    """
    from pipelines.errors import InputMissingError

    pointer = runs / "latest"
    if run == "latest" and pointer.is_file():
        run = pointer.read_text(encoding="utf-8").strip()
    if _RUN_ID.fullmatch(run) and (runs / run / REPORT).is_file():
        return run
    known = sorted(path.parent.name for path in runs.glob(f"*/{REPORT}"))[-3:]
    told = f"the newest are {', '.join(known)}" if known else "there is none yet"
    raise InputMissingError(f"no run `{run}`; {told}", where=str(runs), remedy="cauce run")


def _describe(step: dict[str, Any]) -> str:
    told = step["status"].replace("_", " ")
    if step["reason"]:
        told += f": {step['reason']}"
    counts = [
        f"{step[key]:,} {word}"
        for key, word in (
            ("rows_in", "rows in"),
            ("rows_out", "out"),
            ("rows_rejected", "rejected"),
            ("rows_duplicate", "duplicates"),
            ("rows_quarantined", "quarantined"),
            ("rows_excluded", "excluded"),
        )
        if step.get(key) is not None
    ]
    return "; ".join([told, ", ".join(counts)]) if counts else told
