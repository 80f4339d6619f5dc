"""Lines, durations, alignment, and text that cannot steer a terminal."""

from __future__ import annotations

import io

import pytest

from pipelines.cli.terminal import Terminal, align, describe_error, format_seconds, make_inert
from pipelines.errors import (
    CauceError,
    ConfigError,
    DataGateError,
    InputMissingError,
    TemporaryError,
    UsageError,
)


class FakeTty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (12.5, "12 s"),
        (99.4, "99 s"),
        (99.6, "1 min 40 s"),
        (170, "2 min 50 s"),
        (3_599.4, "59 min 59 s"),
        (3_780, "1 h 3 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


def test_control_characters_are_shown() -> None:
    assert make_inert("a\x1b[31mb\r\n\t\x9b") == "a\\x1b[31mb\\r\\n\\t\\x9b"
    assert make_inert("é · ñ – 漢") == "é · ñ – 漢"
    assert make_inert("a\u202eb\u200b") == "a\\u202eb\\u200b"


def test_columns_are_aligned() -> None:
    assert align([["a", 1], ["long", None]]) == ["  a     1", "  long  None"]


def test_a_long_step_keeps_its_seconds() -> None:
    out = io.StringIO()
    Terminal(out, out).step("train", "x" * 90, 7)
    assert out.getvalue() == f"train      {'x' * 90}  7 s\n"


@pytest.mark.parametrize(
    ("warnings", "text"), [(0, "Done in 3 s"), (1, "Done with 1 warning in 3 s")]
)
def test_the_last_line(warnings: int, text: str) -> None:
    out = io.StringIO()
    Terminal(out, out).finished(warnings, 3)
    assert out.getvalue() == f"{text}\n"


def test_progress_shows_on_a_terminal_only() -> None:
    plain, tty = io.StringIO(), FakeTty()
    Terminal(plain, plain).begin("ingest")
    assert plain.getvalue() == ""
    terminal = Terminal(tty, tty)
    terminal.begin("ingest")
    terminal.step("ingest", "done", 1)
    assert "ingest …" in tty.getvalue()
    assert tty.getvalue().endswith("1 s\n")


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (UsageError("x"), "Exit 2 (usage): See cauce --help"),
        (DataGateError("x"), "Exit 65 (data): retrying will not help"),
        (InputMissingError("x"), "Exit 66 (input): what this command needs is not there"),
        (TemporaryError("x"), "Exit 75 (temporary): the same command may succeed later"),
        (ConfigError("x"), "Exit 78 (configuration): mend it and run the same command again"),
        (CauceError("x"), "Exit 1 (error): a crash"),
    ],
)
def test_every_kind_of_error_ends_with_its_code(error: CauceError, ending: str) -> None:
    assert describe_error(error) == ["x", ending]


def test_where_and_remedies() -> None:
    error = ConfigError("no Java", where="PATH", remedy="Fix: install Java 17\nLook: docs/x.md")
    assert describe_error(error)[1:-1] == [
        "At     PATH",
        "Fix    install Java 17",
        "Look   docs/x.md",
    ]


def test_an_error_cannot_steer_the_terminal() -> None:
    lines = describe_error(ConfigError("a\x1b[2Jb", where="\x07", remedy="\x1b]0;t"))
    assert not any("\x1b" in line or "\x07" in line for line in lines)
