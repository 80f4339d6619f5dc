"""`cauce config`: a project's settings, where each came from, as one file, as a schema."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
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


def show(
    context: typer.Context,
    *,
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="One line a key, with where its value was declared.")
    ] = False,
    answer: FormatOption = Format.text,
    verbose: VerboseOption = False,
) -> None:
    """Show every setting, defaults filled in, secrets masked."""
    from pipelines.cli.terminal import align
    from pipelines.project.secrets import mask_placeholders

    invocation = set_up(context, answer, verbose)
    loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    shown = without_nulls(mask_placeholders(loaded.resolved))
    if not origin and answer is Format.json:
        invocation.answer(shown)
    elif not origin:
        sys.stdout.write(to_yaml(shown))
    else:
        rows = [(k, value, loaded.origins.get(k, "default")) for k, value in leaves(shown)]
        if answer is Format.json:
            invocation.answer([{"key": k, "value": v, "origin": where} for k, v, where in rows])
        else:
            told = [(where, f"{k} = {json.dumps(v, ensure_ascii=False)}") for k, v, where in rows]
            for line in align(told, indent=""):
                invocation.terminal.say(line)


def freeze(
    context: typer.Context,
    *,
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Write the whole project as one YAML file to stdout."""
    invocation = set_up(context, Format.text, verbose)
    loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    sys.stdout.write(f"# {loaded.name} ({loaded.env}), frozen; config {loaded.config_hash[:12]}\n")
    sys.stdout.write(to_yaml(without_nulls(loaded.resolved)))


def schema(context: typer.Context, *, verbose: VerboseOption = False) -> None:
    """Print the project file's JSON Schema: each key's meaning and default."""
    from pipelines.project.json_schema import project_schema

    set_up(context, Format.json, verbose).answer(project_schema())


HELP = "Show a project's settings, freeze them, describe them."
COMMANDS = {"show": show, "freeze": freeze, "schema": schema}


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields (dotted key, value) of each scalar, list and empty map."""
    if not isinstance(tree, dict) or not tree:
        yield path, tree
        return
    for key, value in tree.items():
        yield from leaves(value, f"{path}.{key}" if path else key)


def without_nulls(tree: Any) -> Any:
    """Drops keys without a value, which a project file cannot hold."""
    if isinstance(tree, dict):
        return {key: without_nulls(value) for key, value in tree.items() if value is not None}
    return [without_nulls(value) for value in tree] if isinstance(tree, list) else tree


def to_yaml(value: Any) -> str:
    """Writes YAML 1.2, keys in their order, innermost lists and maps on one line."""
    from ruamel.yaml import YAML

    yaml: Any = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None
    yaml.sort_base_mapping_type_on_output = False
    yaml.width = 100
    yaml.allow_unicode = True
    text = io.StringIO()
    yaml.dump(value, text)
    return text.getvalue()
