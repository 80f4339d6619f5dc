"""Reads the layers of a project: its files, the environment's variables, and the overrides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipelines.errors import ConfigError
from pipelines.project.find import Place
from pipelines.project.origins import Layers, Origin
from pipelines.project.yaml import MAX_BYTES, parse_yaml

PREFIX = "CAUCE__"
MAX_SHOWN = 60


def add_files(layers: Layers, place: Place, env: str) -> list[ConfigError]:
    """Merges the files; what cannot be read is returned, all of it."""
    broken: list[ConfigError] = []
    files = [place.base]
    try:
        files += [path for path in [place.overlay(env)] if path]
    except ConfigError as error:
        broken.append(error)
    for path in files:
        try:
            _add_file(layers, path, place)
        except ConfigError as error:
            broken.append(error)
    return broken


def add_texts(
    layers: Layers, overrides: Sequence[str], environ: Mapping[str, str]
) -> list[ConfigError]:
    """Merges variables, then overrides; what cannot be read is returned, all of it."""
    broken: list[ConfigError] = []
    texts = [
        (name, name[len(PREFIX) :].replace("__", "."), value)
        for name, value in sorted(environ.items())
        if name.upper().startswith(PREFIX)
    ]
    for override in overrides:
        key, equals, value = override.partition("=")
        if equals:
            texts.append(("--set", key.strip(), value))
        else:
            broken.append(ConfigError("needs key=value", where=f"--set  {override}"))
    for label, key, value in texts:
        try:
            _add_text(layers, label, key, value)
        except ConfigError as error:
            broken.append(error)
    return broken


def _add_file(layers: Layers, path: Path, place: Place) -> None:
    base = place.home if path.is_relative_to(place.home) else place.folder
    label = path.relative_to(base).as_posix()
    parsed = parse_yaml(_read_text(path, label), label)
    if parsed.value is None:
        return
    if not isinstance(parsed.value, dict):
        raise ConfigError("needs a map of sections", where=f"{label}:1")

    def origin_of(where: tuple[str, ...]) -> Origin:
        line = parsed.lines[where]
        return Origin(f"{path.name}:{line}", f"{label}:{line}")

    layers.add(parsed.value, origin_of)


def _read_text(path: Path, label: str) -> str:
    try:
        content = path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=label) from None
    if content is None:
        raise ConfigError(f"is larger than {MAX_BYTES:,} bytes", where=label)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError("is not UTF-8", where=f"{label}:{line}") from None


def _add_text(layers: Layers, label: str, key: str, text: str) -> None:
    """Adds one variable or one --set; a variable's key finds existing keys in any case."""
    steps = key.split(".")
    if not all(steps):
        raise ConfigError("needs a key such as models.trees.params.depth", where=f"{label}  {key}")
    if label != "--set":
        steps = _existing_case(steps, layers.tree)
    try:
        value = parse_yaml(text, label).value
    except ConfigError as error:
        raise ConfigError(
            error.message, where=f"{label}  {'.'.join(steps)} = {shorten(text)}"
        ) from None
    layer: Any = value
    for step in reversed(steps):
        layer = {step: layer}
    layers.add(layer, lambda _: Origin(label, label))


def _existing_case(steps: Iterable[str], tree: Any) -> list[str]:
    found = []
    for step in steps:
        names = {name.lower(): name for name in tree} if isinstance(tree, dict) else {}
        name = names.get(step.lower(), step.lower())
        tree = tree.get(name) if isinstance(tree, dict) else None
        found.append(name)
    return found


def shorten(text: str) -> str:
    """Returns a value on one line, cut to the width of a message."""
    text = " ".join(text.split())
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
