"""What a person sees of a command: one aligned line a step, tables, errors with their remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TextIO

from pipelines.errors import CauceError, ConfigErrors

if TYPE_CHECKING:
    from rich.status import Status

WIDTH = 82
SECONDS_ONLY = 100  # up to here minutes would only be harder to read
MINUTES = 60
NAME_WIDTH = 10
_ADVICE = {
    2: "See cauce --help",
    65: "retrying will not help",
    66: "what this command needs is not there",
    75: "the same command may succeed later",
    78: "mend it and run the same command again",
}
_LABEL = re.compile(r"(Look|Fix):?\s+(.*)")


def format_seconds(seconds: float) -> str:
    """Writes a duration as people do: `4 s`, `2 min 50 s`, `1 h 3 min`."""
    whole = round(seconds)
    if whole < SECONDS_ONLY:
        return f"{whole} s"
    minutes, rest = divmod(whole, MINUTES)
    return (
        f"{minutes} min {rest} s"
        if minutes < MINUTES
        else f"{minutes // MINUTES} h {minutes % MINUTES} min"
    )


def make_inert(text: str) -> str:
    """Shows control characters as escapes, so that data cannot steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def align(rows: Sequence[Sequence[Any]], indent: str = "  ") -> list[str]:
    """Lays rows out in columns two spaces apart; the last column is not padded."""
    cells = [[make_inert(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    )
    return [f"{indent}{line}".rstrip() for line in padded]


@dataclass
class Terminal:
    """Prints a run's progress and a command's results.

    Args:
        out: Where results go.
        err: Where errors go, and in JSON mode everything for people.
        title: How the run is headed, such as `orders (dev)`.
        run_id: The run that was started, once it was.
        mask: Hides the project's secrets in a text.
    """

    out: TextIO
    err: TextIO
    title: str = ""
    run_id: str | None = None
    mask: Callable[[str], str] = str
    _status: Status | None = field(default=None, repr=False)

    def started(self, run_id: str) -> None:
        """Heads a run."""
        self.run_id = run_id
        self._print(f"{self.title} · run {run_id}")

    def begin(self, name: str) -> None:
        """Shows, on a terminal only, which step is at work."""
        self._stop_status()
        if self.out.isatty():
            from rich.console import Console

            self._status = Console(file=self.out).status(f"{make_inert(name)} …")
            self._status.start()

    def step(self, name: str, line: str, seconds: float, failed: bool = False) -> None:
        """Prints a step that ended: its name, what it did, how long it took."""
        text = f"{make_inert(name):<{NAME_WIDTH}} {'FAILED: ' if failed else ''}{make_inert(line)}"
        took = format_seconds(seconds)
        self._print(f"{text}  {took:>{max(len(took), WIDTH - len(text) - 2)}}")

    def detail(self, text: str) -> None:
        """Prints a line that belongs to the step above it."""
        self._print(f"  {make_inert(text)}")

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Prints rows in aligned columns."""
        for line in align([headers, *rows]):
            self._print(line)

    def finished(self, warnings: int, seconds: float) -> None:
        """Ends a good run."""
        noun = "warning" if warnings == 1 else "warnings"
        told = f" with {warnings} {noun}" if warnings else ""
        self._print(f"Done{told} in {format_seconds(seconds)}")

    def say(self, text: str) -> None:
        """Prints a result as it is."""
        self._print(text)

    def error(self, error: CauceError) -> None:
        """Prints what was found, where, what to do, and the exit code's meaning."""
        self.stop()
        for line in describe_error(error):
            self.err.write(f"{self.mask(line)}\n")
        self.err.flush()

    def stop(self) -> None:
        """Ends a progress display and flushes what was printed."""
        self._stop_status()
        self.out.flush()

    def _stop_status(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _print(self, text: str) -> None:
        self._stop_status()
        self.out.write(f"{self.mask(text)}\n")
        with suppress(OSError):
            self.out.flush()


def describe_error(error: CauceError) -> list[str]:
    """Returns the lines that tell a person about an error, the exit line last."""
    lines = [make_inert(line) for line in error.message.splitlines()]
    ending = f"Exit {error.exit_code} ({error.kind}): {_ADVICE.get(error.exit_code, 'a crash')}"
    if isinstance(error, ConfigErrors):
        lines += _mistakes(error)
        ending = "Exit 78 (configuration). Every value's origin: cauce config show --origin"
    elif error.where:
        lines.append(f"{'At':<6} {make_inert(error.where)}")
    for remedy in (error.remedy or "").splitlines():
        label, text = match.groups() if (match := _LABEL.match(remedy)) else ("Fix", remedy)
        lines.append(f"{label:<6} {make_inert(text)}")
    return [*lines, ending]


def _mistakes(errors: ConfigErrors) -> list[str]:
    """Two lines a mistake: its place and key in two columns, then what is wrong."""
    places = [(mistake.where or errors.project).partition("  ") for mistake in errors.mistakes]
    heads = align([(place, key) for place, _, key in places], indent="")
    lines = []
    for head, mistake in zip(heads, errors.mistakes, strict=True):
        lines += [head, f"  {make_inert(mistake.message)}"]
        lines += [f"  {make_inert(line)}" for line in (mistake.remedy or "").splitlines()]
    return lines
