"""The command line: `cauce`, the same as `python -m pipelines.cli`."""

from __future__ import annotations

from collections.abc import Sequence


def main(args: Sequence[str] | None = None) -> None:
    """Runs one command; returns on success, else ends the process with the command's exit code.

    Args:
        args: Words after `cauce`; by default the process's own.

    Raises:
        SystemExit: The command failed; the code is one of docs/cli.md.
    """
    import typer.main

    from pipelines.cli.app import build_app
    from pipelines.cli.exits import Invocation, run_guarded

    invocation = Invocation()
    command = typer.main.get_command(build_app())
    words = None if args is None else list(args)
    code = run_guarded(
        lambda: command.main(words, prog_name="cauce", standalone_mode=False, obj=invocation),
        invocation,
    )
    if code:
        raise SystemExit(code)
