"""`cauce tables`: list, look into and check the lake's tables, without a JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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
from pipelines.cli.runs import resolve_run

if TYPE_CHECKING:
    from pipelines.project import LoadedProject
    from pipelines.tables import Lake

MAX_CELL = 40


def ls(
    context: typer.Context,
    *,
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
    answer: FormatOption = Format.text,
    verbose: VerboseOption = False,
) -> None:
    """List the tables with their version, rows and bytes."""
    invocation = set_up(context, answer, verbose)
    loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    lake = _lake(loaded)
    rows = [
        {
            "table": f"{layer}/{name}",
            "version": lake.version(layer, name),
            "rows": sum(lake.num_rows(layer, name).values()),
            "bytes": lake.num_bytes(layer, name),
        }
        for layer, name in table_names(lake)
    ]
    if answer is Format.json:
        invocation.answer(rows)
    elif rows:
        shown = [(r["table"], r["version"], f"{r['rows']:,}", f"{r['bytes']:,}") for r in rows]
        invocation.terminal.table(list(rows[0]), shown)
    else:
        invocation.terminal.say(f"No table in {lake.root} yet: cauce run")


def show(
    context: typer.Context,
    *,
    table: Annotated[
        str,
        typer.Argument(metavar="LAYER/NAME", show_default=False, help="Such as quarantine/orders."),
    ] = "",
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="Rows that this run added; or latest."),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=10_000, show_default=False, help="Most rows.")
    ] = 20,
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
    answer: FormatOption = Format.text,
    verbose: VerboseOption = False,
) -> None:
    """Show rows of a table; control characters are escaped."""
    from pipelines.cli.peek import read_rows
    from pipelines.errors import UsageError

    invocation = set_up(context, answer, verbose)
    layer, slash, name = table.partition("/")
    if not slash:
        raise UsageError("a table is named LAYER/NAME, such as clean/orders", where=table)
    loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    run_id = None if run is None else resolve_run(loaded.runs, run)
    columns, rows = read_rows(_lake(loaded), layer, name, run_id=run_id, limit=limit)
    if answer is Format.json:
        invocation.answer([dict(zip(columns, map(_plain, row), strict=True)) for row in rows])
    elif rows:
        invocation.terminal.table(columns, [[_cell(value) for value in row] for row in rows])
    else:
        of_run = f" that run {run_id} added" if run_id else ""
        invocation.terminal.say(f"{table} has no rows{of_run}")


def check(
    context: typer.Context,
    *,
    project: ProjectOption = None,
    env: EnvOption = "dev",
    overrides: SetOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Check that every table's files are there and that its rows add up."""
    from pipelines.cli.peek import find_damage
    from pipelines.cli.reconcile import reconcile
    from pipelines.errors import DataGateError

    invocation = set_up(context, Format.text, verbose)
    loaded = open_project(invocation, Common(project, env, tuple(overrides or ())))
    lake = _lake(loaded)
    damaged = 0
    for layer, name in table_names(lake):
        damage = find_damage(lake, layer, name)
        damaged += bool(damage)
        invocation.terminal.say(f"{'FAIL' if damage else 'ok':<5} {layer}/{name}")
        for line in damage:
            invocation.terminal.detail(line)
    if damaged:
        raise DataGateError(
            f"{damaged} damaged {'table' if damaged == 1 else 'tables'}",
            where=lake.root,
            remedy="restore the files, or remove the table and run again",
        )
    sums = list(reconcile(lake, loaded))
    for one in sums:
        verdict = "–" if one.ok is None else "ok" if one.ok else "FAIL"
        invocation.terminal.say(f"{verdict:<5} {one.source}: {one.told}")
    wrong = sorted({one.source for one in sums if one.ok is False})
    if wrong:
        raise DataGateError(
            f"rows of {', '.join(wrong)} do not add up",
            where=lake.root,
            remedy="remove the source's tables and run again; raw files are never changed",
        )


HELP = "List, show and check the lake's tables."
COMMANDS = {"ls": ls, "show": show, "check": check}


def table_names(lake: Lake) -> list[tuple[str, str]]:
    """Returns (layer, name) of every table, layer by layer in the order of the flow."""
    from pipelines.registry.files import Folder
    from pipelines.tables import LAYERS

    root = Folder.at(lake.root)
    return [
        (layer, name)
        for layer in LAYERS
        for name in root.child(layer).child_names()
        if lake.exists(layer, name)
    ]


def _lake(loaded: LoadedProject) -> Lake:
    from pipelines.tables import Lake

    def no_session() -> Any:
        raise RuntimeError("this command reads without Spark")

    return Lake(root=loaded.lake, run_id="", spark=no_session)


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _cell(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"
