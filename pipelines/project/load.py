"""Loads a project: its layers, its secrets, its types, its checks, and all mistakes at once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.errors import ConfigError, ConfigErrors
from pipelines.project.find import find_project
from pipelines.project.messages import Mistake, unknown_key
from pipelines.project.origins import Layers
from pipelines.project.read import add_files, add_texts, shorten
from pipelines.project.schema import Project
from pipelines.project.secrets import MASK, fill_secrets, restore_placeholders, secret_values
from pipelines.project.validate import validate


@dataclass(frozen=True)
class LoadedProject:
    """A valid project and how it came to be.

    Attributes:
        project: The typed sections, secrets filled in; never print it.
        name: The project's name.
        env: The environment whose layer was merged.
        home: Folder that relative paths start at.
        folder: Folder of the project file and its quality suites.
        origins: Dotted key → where it was declared: `base.yaml:27`, `--set` or a variable's name.
        resolved: Every key, defaults filled in, as JSON-able values; secrets are placeholders.
        config_hash: SHA-256 of `resolved`.
        secrets: Values of the secrets, the longest first.
    """

    project: Project = field(repr=False)
    name: str
    env: str
    home: Path
    folder: Path
    origins: Mapping[str, str] = field(repr=False)
    resolved: dict[str, Any] = field(repr=False)
    config_hash: str
    secrets: tuple[str, ...] = field(repr=False)

    def origin(self, key: str) -> str:
        """Returns where a dotted key, or its nearest declared parent, was declared."""
        while key:
            if key in self.origins:
                return self.origins[key]
            key = key.rpartition(".")[0]
        return "default"

    def resolve(self, path: str) -> str:
        """Returns a path of the project file made absolute; a URI stays as it is."""
        return path if "://" in path else os.path.normpath(self.home / path)

    @property
    def lake(self) -> str:
        """Folder or URI of the tables."""
        return self.resolve(self.project.project.lake)

    @property
    def runs(self) -> Path:
        """Folder of the run reports."""
        return Path(self.resolve(self.project.project.runs))

    def mask(self, text: str) -> str:
        """Returns a text with the secrets of this project replaced by `***`."""
        return _mask(text, self.secrets)


def load_project(
    project: str,
    *,
    env: str = "dev",
    overrides: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
) -> LoadedProject:
    """Loads a project from `base.yaml` < `<env>.yaml` < `CAUCE__A__B` < `--set a.b=v`.

    Args:
        project: Name of a folder in the nearest `conf/`, or a path to a folder or YAML file.
        env: Environment; `dev` needs no file.
        overrides: Texts `a.b=v`; the value is YAML.
        environ: Environment variables, by default this process's.

    Raises:
        ConfigError: There is no such project.
        ConfigErrors: Every mistake, with its place, what is allowed and the nearest word.
    """
    environ = os.environ if environ is None else environ
    place = find_project(project, Path.cwd())
    layers = Layers()
    if broken := add_files(layers, place, env):
        raise ConfigErrors(place.name, broken)
    errors = add_texts(layers, overrides, environ)
    filled, placeholders, wrong = fill_secrets(layers.tree, environ)
    mistakes = [Mistake(path, message) for path, message in wrong]
    mistakes += [m for path in layers.deleted if (m := unknown_key(path, filled))]
    secrets = tuple(secret_values(placeholders, environ))
    typed, found = validate(filled, place.home, place.folder)
    mistakes += [mistake for mistake in found if mistake.path not in dict(wrong)]
    errors += _located(mistakes, layers, secrets)
    if errors or typed is None:
        raise ConfigErrors(place.name, errors)
    dumped = typed.model_dump(mode="json", by_alias=True)
    resolved = restore_placeholders(dumped, placeholders)
    return LoadedProject(
        project=typed,
        name=typed.project.name,
        env=env,
        home=place.home,
        folder=place.folder,
        origins={".".join(path): origin.short for path, origin in layers.origins.items() if path},
        resolved=resolved,
        config_hash=_hash(resolved),
        secrets=secrets,
    )


def locate_mistake(loaded: LoadedProject, key: str, message: str) -> ConfigError:
    """Builds the error of a check outside this package, such as one of expressions.

    Args:
        loaded: The project.
        key: Dotted key of the value.
        message: What is wrong with it.
    """
    origin = loaded.origin(key)
    if ":" in origin and loaded.folder.is_relative_to(loaded.home):
        origin = (loaded.folder.relative_to(loaded.home) / origin).as_posix()
    return ConfigError(loaded.mask(message), where=f"{origin}  {key}")


def _located(
    mistakes: Iterable[Mistake], layers: Layers, secrets: Sequence[str]
) -> list[ConfigError]:
    errors = []
    for mistake in mistakes:
        origin = layers.origin(mistake.path)
        where = f"{origin.full if origin else 'base.yaml'}  {'.'.join(mistake.path)}"
        if mistake.shows_value and (shown := _value_at(layers.tree, mistake.path)):
            where = f"{where} = {shown}"
        errors.append(ConfigError(_mask(mistake.message, secrets), where=_mask(where, secrets)))
    return errors


def _value_at(tree: Any, path: Iterable[str]) -> str:
    """Returns a scalar as it is shown behind its key; maps and lists are not shown."""
    for step in path:
        if isinstance(tree, list):
            tree = tree[int(step)]
        else:
            tree = tree.get(step) if isinstance(tree, dict) else None
    if tree is None or isinstance(tree, dict | list):
        return ""
    return shorten(tree if isinstance(tree, str) else json.dumps(tree))


def _mask(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


def _hash(resolved: Mapping[str, Any]) -> str:
    """Order counts: derived columns are computed in the order they are written in."""
    canonical = json.dumps(resolved, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
