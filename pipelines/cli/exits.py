"""The one place where what happened becomes an exit code and a last word."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from pipelines.cli.terminal import Terminal, make_inert
from pipelines.errors import CauceError, ConfigErrors

CRASH, USAGE, INTERRUPTED, TERMINATED = 1, 2, 130, 143


class Terminated(BaseException):
    """SIGTERM arrived; like KeyboardInterrupt it passes `except Exception`."""


@dataclass
class Invocation:
    """What the options of a command say about how it speaks.

    Attributes:
        verbose: True where a crash shows its traceback.
        as_json: True where stdout carries JSON only and people read stderr.
        terminal: Where people read.
        runs: Folder of the run reports, once a project is loaded.
        has_answered: True once stdout has its one JSON document.
    """

    verbose: bool = False
    as_json: bool = False
    terminal: Terminal = field(default_factory=lambda: Terminal(sys.stdout, sys.stderr))
    runs: Path | None = None
    has_answered: bool = False

    def speak_json(self) -> None:
        """Gives stdout to JSON and what people read to stderr."""
        self.as_json = True
        self.terminal = Terminal(sys.stderr, sys.stderr)

    def answer(self, value: Any) -> None:
        """Writes the command's result as the one JSON document on stdout."""
        self.has_answered = True
        sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def run_guarded(action: Callable[[], int | None], invocation: Invocation) -> int:
    """Runs a command and returns its exit code; whatever it raises is told in one clear message."""
    error: CauceError | None = None
    with _terminable():
        try:
            code = action() or 0
            if code == INTERRUPTED:  # typer has caught Ctrl-C
                _say_last(invocation, "interrupted", code)
        except CauceError as caught:
            error, code = caught, caught.exit_code
            invocation.terminal.error(caught)
        except click.ClickException as caught:
            code = caught.exit_code
            caught.show()
        except (KeyboardInterrupt, click.Abort):
            code = _say_last(invocation, "interrupted", INTERRUPTED)
        except Terminated:
            code = _say_last(invocation, "terminated", TERMINATED)
        except BrokenPipeError:  # the reader of a pipe has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except Exception as caught:
            code = _say_crash(invocation, caught)
        if invocation.as_json and not invocation.has_answered:
            _print_json(invocation, error, code)
    invocation.terminal.stop()
    return code


def _say_last(invocation: Invocation, word: str, code: int) -> int:
    invocation.terminal.stop()
    invocation.terminal.err.write(f"Exit {code} ({word})\n")
    return code


def _say_crash(invocation: Invocation, error: Exception) -> int:
    invocation.terminal.stop()
    told = make_inert(invocation.terminal.mask(" ".join(str(error).split())))
    if invocation.verbose:
        text = "".join(traceback.format_exception(error))
        invocation.terminal.err.write(invocation.terminal.mask(text))
    invocation.terminal.err.write(
        f"crash: {type(error).__name__}: {told} (-v shows the traceback)\n"
    )
    return CRASH


def _print_json(invocation: Invocation, error: CauceError | None, code: int) -> None:
    """The run's report, or what stopped the command before there was a run."""
    run_id, runs = invocation.terminal.run_id, invocation.runs
    if run_id and runs and (runs / run_id / "run_report.json").is_file():
        invocation.answer(json.loads((runs / run_id / "run_report.json").read_text("utf-8")))
    else:
        told = _as_json(error, invocation.terminal.mask)
        invocation.answer({"exit_code": code, "error": told})


def _as_json(error: CauceError | None, mask: Callable[[str], str]) -> dict[str, Any] | None:
    if error is None:
        return None
    told: dict[str, Any] = {"kind": error.kind}
    for name in ("message", "where", "remedy"):
        value = getattr(error, name)
        told[name] = None if value is None else mask(value)
    if isinstance(error, ConfigErrors):
        told["mistakes"] = [
            {"where": mistake.where, "message": mistake.message} for mistake in error.mistakes
        ]
    return told


@contextmanager
def _terminable() -> Iterator[None]:
    """Lets SIGTERM unwind the stack, so that locks and half-written files are cleaned up."""

    def terminate(*_: Any) -> None:
        raise Terminated

    try:
        before = signal.signal(signal.SIGTERM, terminate)
    except ValueError:  # not the main thread: a notebook's or a server's business
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
