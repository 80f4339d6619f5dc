"""Validates the plain values of a project, and finds as many mistakes as it can in one go."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipelines.project.messages import Mistake, read_findings
from pipelines.project.references import find_mistakes
from pipelines.project.schema import Project

# What stands in for a wrong declaration of a column, so that the column still exists.
_STAND_INS = {"schema": "string", "derive": "null"}
_DEPTH_OF_COLUMN = 4  # sources, name of the source, schema or derive, column


def validate(tree: Any, home: Path, folder: Path) -> tuple[Project | None, list[Mistake]]:
    """Returns the typed project if it has no mistake, and its mistakes.

    Checks that span sections need values of the right type; what has a wrong one is left out when
    they are made, so that one look at the messages is enough.

    Args:
        tree: Plain values, secrets filled in.
        home: Folder that relative paths start at.
        folder: Folder of the project file.
    """
    try:
        project = _typed(tree)
    except ValidationError as error:
        mistakes = read_findings(error, tree)
        return None, mistakes + _second_look(tree, mistakes, home, folder)
    mistakes = list(find_mistakes(project, home, folder))
    return (None if mistakes else project), mistakes


def _typed(tree: Any) -> Project:
    # Strict JSON: a list is a tuple and a text a date, but neither `"2"` nor `true` is a number.
    text = json.dumps(tree)
    return Project.model_validate_json(text, strict=True, by_alias=True, by_name=False)


def _second_look(tree: Any, mistakes: Iterable[Mistake], home: Path, folder: Path) -> list[Mistake]:
    wrong = [mistake.path for mistake in mistakes]
    rest = copy.deepcopy(tree)
    for path in wrong:
        _leave_out(rest, path)
    try:
        found = list(find_mistakes(_typed(rest), home, folder))
    except ValidationError as error:
        found = read_findings(error, rest, only="mistake")
    return [m for m in found if not any(m.path[: len(path)] == path for path in wrong)]


def _leave_out(tree: Any, path: tuple[str, ...]) -> None:
    *parents, last = path or ("",)
    for step in parents:
        tree = tree.get(step) if isinstance(tree, dict) else None
    if not isinstance(tree, dict) or last not in tree:
        return
    if len(path) == _DEPTH_OF_COLUMN and path[2] in _STAND_INS:
        tree[last] = _STAND_INS[path[2]]
    else:
        del tree[last]
