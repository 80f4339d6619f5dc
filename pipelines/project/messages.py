"""Turns a validator's findings into mistakes with a place, what is allowed and the nearest word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from pipelines.project.shape import (
    allowed_keys,
    branching_place,
    describe,
    key_type_at,
    section_at,
    type_at,
)
from pipelines.project.types import unknown_word

Path = tuple[str, ...]


@dataclass(frozen=True)
class Mistake:
    """One thing to mend in a project.

    Attributes:
        path: Where it stands, from the top of the project.
        message: What was found and what is allowed.
        shows_value: True where the message is about the value that stands there.
    """

    path: Path
    message: str
    shows_value: bool = True


def read_findings(error: ValidationError, data: Any, only: str | None = None) -> list[Mistake]:
    """Returns what the schema found, one mistake a place.

    Args:
        error: The validator's error.
        data: The plain values it looked at.
        only: Findings of this type only.
    """
    mistakes: dict[Path, Mistake] = {}
    followers: set[Path] = set()
    for finding in error.errors(include_url=False):
        if only not in (None, finding["type"]):
            continue
        mistake = _read(finding["type"], finding["loc"], finding["msg"], data)
        if finding["type"] == "too_short":  # wrong elements are not counted by the validator
            followers |= {mistake.path} if any(m[:-1] == mistake.path for m in mistakes) else set()
        mistakes.setdefault(mistake.path, mistake)
    return [mistake for path, mistake in mistakes.items() if path not in followers]


def unknown_key(path: Path, data: Any) -> Mistake | None:
    """Returns the mistake of a key that its section does not know; None for a known or free one."""
    section = section_at(path[:-1], data)
    if section is None or path[-1] in allowed_keys(section):
        return None
    return Mistake(path, unknown_word("key", path[-1], allowed_keys(section)), shows_value=False)


def _read(kind: str, loc: Sequence[Any], message: str, data: Any) -> Mistake:
    if loc and loc[-1] == "[key]":
        needs = describe(key_type_at(loc[:-2], data))
        return Mistake(_as_path(loc[:-1], data), f"the key needs {needs}", shows_value=False)
    if kind == "mistake":
        return Mistake(_as_path(loc, data), message)
    loc = branching_place(loc, data)
    path = _as_path(loc, data)
    if kind == "extra_forbidden":
        return unknown_key(path, data) or Mistake(path, "unknown key", shows_value=False)
    if kind == "missing":
        needs = describe(type_at(loc, data))
        return Mistake((*path, str(loc[-1])), f"is missing; needs {needs}", shows_value=False)
    if kind == "value_error":
        return Mistake(path, message.removeprefix("Value error, "))
    return Mistake(path, f"needs {describe(type_at(loc, data))}")


def _as_path(loc: Sequence[Any], data: Any) -> Path:
    """The part of a finding's place that stands in the data; branch tags of unions do not."""
    path: list[str] = []
    for step in loc:
        is_index = isinstance(data, list) and isinstance(step, int) and step < len(data)
        if is_index or (isinstance(data, dict) and step in data):
            data = data[step]
            path.append(str(step))
    return tuple(path)
