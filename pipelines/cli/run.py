"""`cauce run`, and a verb for each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

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

STEPS = {
    "ingest": "Read new files into raw; set bad records aside.",
    "clean": "Type, canonical keys, row rules, one row a key.",
    "validate": "Check the table rules; publish clean if they pass.",
    "featurize": "Build the training set from what was known at prediction time.",
    "train": "Fit every model on the same rows.",
    "evaluate": "Compare the models; choose the champion; apply its gate.",
    "score": "Let the champion predict.",
    "monitor": "Compare what is scored with what was trained on.",
    "report": "Write the run's report as one HTML file.",
}


def run(
    context: typer.Context,
    *,
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
    from_step: Annotated[
        str | None, typer.Option("--from", metavar="STEP", help="First step to run.")
    ] = None,
    until_step: Annotated[
        str | None, typer.Option("--until", metavar="STEP", help="Last step to run.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Run the steps even if nothing changed.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which steps would run, and why; run nothing.")
    ] = False,
    answer: FormatOption = Format.text,
    verbose: VerboseOption = False,
) -> int:
    """Run the steps whose inputs, settings or code changed."""
    from pipelines.errors import UsageError
    from pipelines.project.types import unknown_word

    invocation = set_up(context, answer, verbose)
    for option, step in (("--from", from_step), ("--until", until_step)):
        if step is not None and step not in STEPS:
            raise UsageError(unknown_word("step", step, STEPS), where=f"{option} {step}")
    order = list(STEPS)
    if from_step and until_step and order.index(from_step) > order.index(until_step):
        raise UsageError(f"--from {from_step} comes after --until {until_step}")
    if explain and answer is Format.json:
        raise UsageError("--explain speaks to people; leave out --format json")
    loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    from pipelines.engine.runner import RunRequest, run_project

    request = RunRequest(
        from_step=from_step,
        until_step=until_step,
        force=force,
        explain=explain,
        output=invocation.terminal,
    )
    code: int = run_project(loaded, request)
    return code


def verb(step: str) -> Callable[..., int]:
    """Returns the command that runs one step alone."""

    def run_step(
        context: typer.Context,
        *,
        project: ProjectOption = None,
        env: EnvOption = "dev",
        overrides: SetOption = None,
        force: Annotated[
            bool, typer.Option("--force", help="Run the step even if nothing changed.")
        ] = False,
        explain: Annotated[
            bool, typer.Option("--explain", help="Say whether it would run, and why.")
        ] = False,
        answer: FormatOption = Format.text,
        verbose: VerboseOption = False,
    ) -> int:
        return run(
            context,
            project=project,
            env=env,
            overrides=overrides,
            from_step=step,
            until_step=step,
            force=force,
            explain=explain,
            answer=answer,
            verbose=verbose,
        )

    run_step.__doc__ = STEPS[step]
    return run_step
