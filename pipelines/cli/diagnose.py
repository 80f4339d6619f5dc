"""`cauce doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

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


def doctor(
    context: typer.Context,
    *,
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
    answer: FormatOption = Format.text,
    verbose: VerboseOption = False,
) -> None:
    """Say what a run would miss on this machine."""
    from pipelines.doctor import diagnose
    from pipelines.errors import ConfigError
    from pipelines.project.find import project_names

    invocation = set_up(context, answer, verbose)
    loaded = None
    if project is not None or len(project_names(Path.cwd())) == 1:
        loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    checks = list(diagnose(loaded))
    if answer is Format.json:
        invocation.answer([asdict(check) for check in checks])
    for check in checks:
        invocation.terminal.say(f"{'ok' if check.ok else 'FAIL':<5} {check.name:<10} {check.found}")
        if not check.ok:
            remedy = check.remedy.removeprefix("Fix: ").removeprefix("Fix:")
            invocation.terminal.say(f"      {'Fix':<10} {remedy}")
    failed = [check.name for check in checks if not check.ok]
    if failed:
        raise ConfigError(f"{len(failed)} of {len(checks)} checks failed: {', '.join(failed)}")
