"""`cauce demo-data`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import Format, VerboseOption, set_up


def demo_data(
    context: typer.Context,
    *,
    out: Annotated[
        Path, typer.Option("--out", show_default=False, help="Folder to write; data by default.")
    ] = Path("data"),
    mess: Annotated[
        float,
        typer.Option(
            "--mess",
            show_default=False,
            help="Share of rows to disturb, 0 to 0.2; 0.01 by default.",
        ),
    ] = 0.01,
    seed: Annotated[
        int, typer.Option("--seed", show_default=False, help="The same seed gives the same bytes.")
    ] = 2013,
    verbose: VerboseOption = False,
) -> None:
    """Write the demo's raw files: real data, a seeded mess."""
    from pipelines.demo_data import write_demo_data

    terminal = set_up(context, Format.text, verbose).terminal
    made = write_demo_data(out, mess, seed)
    done = "wrote" if made.written else "found"
    terminal.say(f"{done} {len(made.files)} files in {out}")
    if made.counts:
        told = ", ".join(f"{count:,} {kind}" for kind, count in made.counts.items())
        terminal.say(f"mess {mess}: {told}")
