"""The tree of commands; what a command needs is imported when it runs: --help stays fast."""

from __future__ import annotations

import typer

from pipelines.cli import config, demo, diagnose, models, run, runs, tables


def build_app() -> typer.Typer:
    """Returns the commands of `cauce`."""
    app = _group("Raw files to trusted tables, trained models, scored rows and one report.")
    app.command("run")(run.run)
    for step in run.STEPS:
        app.command(step)(run.verb(step))
    for name, module in (("config", config), ("runs", runs), ("tables", tables), ("model", models)):
        group = _group(module.HELP)
        for command, function in module.COMMANDS.items():
            group.command(command)(function)
        app.add_typer(group, name=name)
    app.command("demo-data")(demo.demo_data)
    app.command("doctor")(diagnose.doctor)
    return app


def _group(help_text: str) -> typer.Typer:
    return typer.Typer(
        help=help_text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
