"""Fills in `${env:NAME}` secrets when a project is loaded, and masks them wherever it is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str, ...]

MASK = "***"
_SECRET = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


def fill_secrets(
    tree: Any, environ: Mapping[str, str]
) -> tuple[Any, dict[Path, str], list[tuple[Path, str]]]:
    """Replaces each secret by its variable's value.

    Args:
        tree: Plain values of a project.
        environ: The variables.

    Returns:
        A filled copy; path of each secret → its placeholder; (path, message) of each mistake.
    """
    found: dict[Path, str] = {}
    mistakes: list[tuple[Path, str]] = []

    def fill(value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            return {key: fill(child, (*path, key)) for key, child in value.items()}
        if isinstance(value, list):
            return [fill(child, (*path, str(index))) for index, child in enumerate(value)]
        if not isinstance(value, str) or "${" not in value:
            return value
        match = _SECRET.fullmatch(value)
        if match is None:
            mistakes.append((path, "a secret is written ${env:NAME} and is the whole value"))
            return value
        found[path] = value
        if not environ.get(match[1]):
            mistakes.append((path, f"the environment variable {match[1]} is not set"))
            return value
        return environ[match[1]]

    return fill(tree, ()), found, mistakes


def restore_placeholders(tree: Any, secrets: Mapping[Path, str]) -> Any:
    """Returns a copy of a dumped project with each secret's placeholder back in its place."""

    def restore(value: Any, path: Path) -> Any:
        if path in secrets:
            return secrets[path]
        if isinstance(value, dict):
            return {key: restore(child, (*path, key)) for key, child in value.items()}
        if isinstance(value, list):
            return [restore(child, (*path, str(index))) for index, child in enumerate(value)]
        return value

    return restore(tree, ())


def mask_placeholders(tree: Any) -> Any:
    """Returns a copy whose placeholders are `***`, to be shown."""
    if isinstance(tree, dict):
        return {key: mask_placeholders(child) for key, child in tree.items()}
    if isinstance(tree, list):
        return [mask_placeholders(child) for child in tree]
    return MASK if isinstance(tree, str) and _SECRET.fullmatch(tree) else tree


def secret_values(secrets: Mapping[Path, str], environ: Mapping[str, str]) -> Iterator[str]:
    """Yields the values of the secrets a project uses, the longest first, for masking texts."""
    names = {match[1] for match in map(_SECRET.fullmatch, secrets.values()) if match}
    yield from sorted({environ[name] for name in names if environ.get(name)}, key=len, reverse=True)
