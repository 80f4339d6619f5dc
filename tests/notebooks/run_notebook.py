"""Runs a notebook in Databricks source format without a notebook server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_HEADER = "# Databricks notebook source"
_CUT = "# COMMAND ----------"
_MAGIC = "# MAGIC"


def read_cells(path: Path) -> list[tuple[int, str]]:
    """Code cells with the line each of them starts at; text cells (`%md`) are left out.

    Raises:
        ValueError: The file is no notebook, or a cell has a magic that only Databricks runs.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0] != _HEADER:
        raise ValueError(f"{path.name}: the first line must be `{_HEADER}`")
    cells: list[tuple[int, list[str]]] = [(2, [])]
    for number, line in enumerate(lines[1:], start=2):
        if line == _CUT:
            cells.append((number + 1, []))
        else:
            cells[-1][1].append(line)
    code = []
    for start, cell in cells:
        magic = [line for line in cell if line.startswith(_MAGIC)]
        if magic and not magic[0].startswith(f"{_MAGIC} %md"):
            raise ValueError(f"{path.name}:{start}: `{magic[0]}` runs on Databricks only")
        if not magic:
            code.append((start, "\n".join(cell)))
    return code


def run_notebook(path: Path, **names: Any) -> list[Any]:
    """Runs the code cells in order, in one namespace, and returns what they displayed.

    Args:
        path: The notebook.
        names: What the notebook's runtime gives: `spark`.
    """
    displayed: list[Any] = []
    scope: dict[str, Any] = {"__name__": "__main__", "display": displayed.append, **names}
    for start, cell in read_cells(path):
        # Line breaks in front keep the file's own line numbers in tracebacks.
        exec(compile("\n" * (start - 1) + cell, str(path), "exec"), scope)  # noqa: S102
    return displayed
