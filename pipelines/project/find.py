"""Finds a project's folder, its home and its files from a name or a path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import ConfigError
from pipelines.project.types import unknown_word

BASE = "base.yaml"
_ENV = re.compile(r"[a-z][a-z0-9_-]{0,62}")


@dataclass(frozen=True)
class Place:
    """Where a project lies.

    Attributes:
        name: The folder's name, or the stem of a project in one file.
        home: Where relative paths start: the folder that holds `conf/`, else the file's own.
        folder: Where its files lie.
        base: The first layer.
        is_one_file: True for a frozen project, which has no environments.
    """

    name: str
    home: Path
    folder: Path
    base: Path
    is_one_file: bool

    def overlay(self, env: str) -> Path | None:
        """Returns the environment's layer; only `dev` may do without one.

        Raises:
            ConfigError: There is no such environment.
        """
        if self.is_one_file:
            return None
        path = self.folder / f"{env}.yaml"
        if _ENV.fullmatch(env) and env != "base" and path.is_file():
            return path
        if env == "dev":
            return None
        found = sorted({"dev", *(p.stem for p in self.folder.glob("*.yaml") if p.name != BASE)})
        raise ConfigError(unknown_word("environment", env, found), where=f"--env {env}")


def find_project(project: str, start: Path) -> Place:
    """Finds a project by its name, or by the path of its folder or file.

    Args:
        project: `orders`, `conf/orders` or `orders.yaml`.
        start: Folder that names are searched from, upwards, and relative paths start at.

    Raises:
        ConfigError: There is no such project.
    """
    path = start / project
    if path.suffix in (".yaml", ".yml") and path.is_file():
        path = path.resolve()
        return Place(path.stem, _home_of(path.parent), path.parent, path, is_one_file=True)
    is_name = Path(project).name == project and project not in (".", "..", "")
    for top in (start, *start.resolve().parents) if is_name else ():
        if (top / "conf" / project / BASE).is_file():
            return _in_folder(top / "conf" / project)
    if (path / BASE).is_file():
        return _in_folder(path)
    names = project_names(start)
    raise ConfigError(
        f"no project `{project}`; {_listed(names)}",
        where=f"--project {project}",
        remedy="give a folder of conf/ by name, or the path of a folder with base.yaml",
    )


def only_project(start: Path) -> str:
    """Returns the name of the only project in the nearest `conf/`.

    Raises:
        ConfigError: There is none, or more than one.
    """
    names = project_names(start)
    if len(names) == 1:
        return names[0]
    raise ConfigError(
        f"which project? {_listed(names)}", where="--project", remedy="add --project NAME"
    )


def project_names(start: Path) -> list[str]:
    """Returns the names of the projects in the nearest `conf/`, from a folder upwards."""
    for top in (start, *start.resolve().parents):
        names = sorted(path.parent.name for path in (top / "conf").glob(f"*/{BASE}"))
        if names:
            return names
    return []


def _listed(names: list[str]) -> str:
    return (
        f"conf/ has {', '.join(names)}"
        if names
        else "there is no conf/ with a project here or above"
    )


def _in_folder(folder: Path) -> Place:
    folder = folder.resolve()
    return Place(folder.name, _home_of(folder), folder, folder / BASE, is_one_file=False)


def _home_of(folder: Path) -> Path:
    for parent in (folder, *folder.parents):
        if parent.name == "conf":
            return parent.parent
    return folder
