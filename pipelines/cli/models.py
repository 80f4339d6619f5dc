"""`cauce model`: kinds of models, and the trained versions of a project."""

from __future__ import annotations

from typing import Any

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


def ls(
    context: typer.Context,
    *,
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
    answer: FormatOption = Format.text,
    verbose: VerboseOption = False,
) -> None:
    """List the kinds of models with their parameters; with --project, the trained versions."""
    invocation = set_up(context, answer, verbose)
    if project is None:
        rows = _kinds()
    else:
        loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
        rows = _versions(loaded.lake, list(loaded.project.training_sets))
    if answer is Format.json:
        invocation.answer(rows)
    elif rows:
        invocation.terminal.table(list(rows[0]), [list(row.values()) for row in rows])
    else:
        invocation.terminal.say("No model was trained yet: cauce train")


HELP = "List kinds of models and trained versions."
COMMANDS = {"ls": ls}


def _kinds() -> list[dict[str, Any]]:
    from pipelines.project.modeling import MODEL_KINDS

    return [
        {
            "kind": kind,
            "params": ", ".join(
                f"{name}: {field.default}" for name, field in section.model_fields.items()
            ),
        }
        for kind, section in MODEL_KINDS.items()
    ]


def _versions(lake: str, training_sets: list[str]) -> list[dict[str, Any]]:
    from pipelines.errors import InputMissingError
    from pipelines.registry import ModelRegistry

    rows = []
    for training_set in training_sets:
        registry = ModelRegistry(lake, training_set)
        try:
            champion = registry.champion().label
        except InputMissingError:
            champion = None
        for name in registry.model_names():
            for version in registry.versions(name):
                model = registry.load(name, version)
                rows.append(
                    {
                        "training_set": training_set,
                        "model": name,
                        "version": version,
                        "kind": model.card.kind,
                        "run": model.card.run_id,
                        "champion": "champion" if model.label == champion else "",
                    }
                )
    return rows
