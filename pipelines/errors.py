"""The one tree of errors a user can meet, and the exit code each of them ends with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


class CauceError(Exception):
    """Something a person can act on: what was found, where, and what to do about it.

    Args:
        message: What was found and what is allowed, in one sentence.
        where: File and line, key, table or path the message is about.
        remedy: The command or edit that mends it.
    """

    exit_code: ClassVar[int] = 1
    kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, where: str | None = None, remedy: str | None = None):
        super().__init__(message)
        self.message = message
        self.where = where
        self.remedy = remedy


class UsageError(CauceError):
    """The command line asks for something that does not exist."""

    exit_code = 2
    kind = "usage"


class DataGateError(CauceError):
    """A data, audit or model gate failed; trying again will not help."""

    exit_code = 65
    kind = "data"


class InputMissingError(CauceError):
    """A file, table or earlier step that this command needs is not there."""

    exit_code = 66
    kind = "input"


class TemporaryError(CauceError):
    """The same command may succeed later: a lock, a lost worker, a stalled rank."""

    exit_code = 75
    kind = "temporary"


class ConfigError(CauceError):
    """The project file, the command's overrides or the environment are wrong."""

    exit_code = 78
    kind = "configuration"


class ConfigErrors(ConfigError):
    """Every mistake of a project at once, so that one look is enough to mend them all."""

    def __init__(self, project: str, mistakes: Sequence[ConfigError]):
        noun = "error" if len(mistakes) == 1 else "errors"
        super().__init__(f"{project}: {len(mistakes)} {noun}; nothing was started")
        self.project = project
        self.mistakes = tuple(mistakes)
