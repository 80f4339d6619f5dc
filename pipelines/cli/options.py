"""The options that commands share, and the door through which every command loads its project."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.exits import Invocation

if TYPE_CHECKING:
    from pipelines.errors import ConfigError
    from pipelines.project import LoadedProject


class Format(StrEnum):
    """How a command answers."""

    text = "text"
    json = "json"


ProjectOption = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME|PATH",
        help="Folder of conf/, or a path to a project; by default the only one in conf/.",
    ),
]
EnvOption = Annotated[
    str,
    typer.Option(
        "--env",
        metavar="ENV",
        show_default=False,
        help="ENV.yaml goes over base.yaml; dev by default.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="A.B=V", help="Override one key; may be repeated."),
]
FormatOption = Annotated[
    Format,
    typer.Option(
        "--format", show_default=False, help="json: JSON on stdout, text for people on stderr."
    ),
]
VerboseOption = Annotated[
    bool, typer.Option("-v", "--verbose", help="Log to stderr; a crash shows its traceback.")
]


@dataclass(frozen=True)
class Common:
    """The options every project command has."""

    project: str | None
    env: str
    overrides: tuple[str, ...]


def set_up(context: typer.Context, answer: Format, verbose: bool) -> Invocation:
    """Applies --format and -v and returns the invocation they belong to."""
    invocation = context.find_object(Invocation) or Invocation()
    if answer is Format.json:
        invocation.speak_json()
    if verbose:
        invocation.verbose = True
        logging.basicConfig(
            stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s"
        )
        logging.getLogger("py4j").setLevel(logging.WARNING)
    return invocation


def open_project(invocation: Invocation, common: Common) -> LoadedProject:
    """Loads a project and checks it whole, its expressions included, before anything starts.

    Raises:
        ConfigErrors: Every mistake that was found.
    """
    from pipelines.errors import ConfigError, ConfigErrors
    from pipelines.expressions import check_expression
    from pipelines.project import iter_expressions, load_project, locate_mistake
    from pipelines.project.find import only_project

    name = common.project or only_project(Path.cwd())
    loaded = load_project(name, env=common.env, overrides=common.overrides)
    mistakes = []
    for key, text, columns in iter_expressions(loaded.project):
        try:
            check_expression(text, columns)
        except ConfigError as error:
            mistakes.append(locate_mistake(loaded, key, error.message))
    mistakes += _suite_mistakes(loaded)
    if mistakes:
        raise ConfigErrors(loaded.name, mistakes)
    invocation.runs = loaded.runs
    invocation.terminal.mask = loaded.mask
    invocation.terminal.title = f"{loaded.name} ({loaded.env})"
    return loaded


def _suite_mistakes(loaded: LoadedProject) -> list[ConfigError]:
    from pipelines.project.references import source_columns
    from pipelines.quality import check_suite

    return [
        mistake
        for source in loaded.project.sources.values()
        for rule in source.table_rules.values()
        if rule.great_expectations
        for mistake in check_suite(loaded.folder / rule.great_expectations, source_columns(source))
    ]
