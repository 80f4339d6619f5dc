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
) -> None:
    """Show every setting, defaults filled in, secrets masked."""
    from pipelines.cli.terminal import align
    from pipelines.project.secrets import mask_placeholders

    invocation = set_up(context, answer, verbose=False)
    loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    shown = without_nulls(mask_placeholders(loaded.resolved))
    if not origin:
        sys.stdout.write(to_json(shown) if answer is Format.json else to_yaml(shown))
        return
    rows = [
        (key, json.dumps(value, ensure_ascii=False), loaded.origins.get(key, "default"))
        for key, value in leaves(shown)
    ]
    if answer is Format.json:
        sys.stdout.write(
            to_json([dict(zip(("key", "value", "origin"), row, strict=True)) for row in rows])
        )
        return
    for line in align([(where, f"{key} = {value}") for key, value, where in rows], indent=""):
        invocation.terminal.say(line)


def freeze(
    context: typer.Context,
    *,
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
) -> None:
    """Write the whole project as one YAML file to stdout; secrets stay placeholders."""
    invocation = set_up(context, Format.text, verbose=False)
    loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    sys.stdout.write(f"# {loaded.name} ({loaded.env}), frozen; config {loaded.config_hash[:12]}\n")
    sys.stdout.write(to_yaml(without_nulls(loaded.resolved)))


def schema() -> None:
    """Print the project file's JSON Schema: every key, its meaning and its default."""
    from pipelines.project.json_schema import project_schema

    sys.stdout.write(to_json(project_schema()))


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


def to_json(value: Any) -> str:
    """Writes JSON for people: indented, one line feed at the end."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


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
