"""Looks at this machine and says what a run would miss, without starting Spark or a JVM."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import ConfigError
from pipelines.jars import JAVA_REMEDY, jar_paths

if TYPE_CHECKING:
    from pipelines.project import LoadedProject

JAVA_VERSIONS = ("17", "21")
MIN_FREE_GB = 2
MIN_MEMORY_GB = 4
_PIN = re.compile(r"^([A-Za-z0-9._-]+)\s*==\s*([^\s;]+)\s*(?:;\s*extra\s*==\s*['\"](\w+)['\"])?$")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What it is.
        ok: Whether a run can do with it.
        found: What is there.
        remedy: What to do if it is not ok.
    """

    name: str
    ok: bool
    found: str
    remedy: str = ""


def diagnose(loaded: LoadedProject | None) -> Iterator[Check]:
    """Yields the checks of this machine, and with a project those of its lake and its ranks."""
    yield check_python()
    yield check_java()
    yield check_jars()
    needs_horovod = loaded is not None and any(
        model.train is not None and model.train.backend == "horovod"
        for model in loaded.project.models.values()
    )
    yield check_packages(needs_horovod)
    yield check_memory()
    place = _existing(Path.cwd())
    if loaded is not None:
        if "://" in loaded.lake:
            yield Check("lake", True, f"{loaded.lake} (a URI; not looked at)")
        else:
            place = _existing(Path(loaded.lake))
            yield check_writable("lake", Path(loaded.lake))
        yield check_writable("runs", loaded.runs)
        yield check_workers(loaded)
    yield check_disk(place)


def check_python() -> Check:
    """Python is 3.11."""
    found = ".".join(map(str, sys.version_info[:3]))
    return Check("Python", found.startswith("3.11."), found, "install Python 3.11")


def check_java(java_home: str | None = None) -> Check:
    """Java is 17 or 21, as its own release file says."""
    home = java_home or os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).is_file():
        return Check("Java", False, f"none in {home or 'PATH'}", JAVA_REMEDY)
    version = _java_version(Path(java).resolve())
    return Check("Java", version.split(".")[0] in JAVA_VERSIONS, f"{version} ({java})", JAVA_REMEDY)


def check_jars(paths: Callable[[], list[Path]] = jar_paths) -> Check:
    """Delta's jars are there and are the locked ones."""
    try:
        found = paths()
    except ConfigError as error:
        return Check("jars", False, error.message, error.remedy or "")
    return Check("jars", True, f"{len(found)} in {found[0].parent}")


def check_packages(needs_horovod: bool) -> Check:
    """The installed packages are those this version was tested with."""
    wrong = []
    num_pins = 0
    for name, pinned, extra in _pins():
        if extra not in ("", "spark") and not (extra == "horovod" and needs_horovod):
            continue
        num_pins += 1
        try:
            found = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            found = "not installed"
        if found != pinned:
            wrong.append(f"{name} {found} (tested: {pinned})")
    told = ", ".join(wrong) or f"{num_pins} as tested"
    return Check("packages", not wrong, told, "run `make setup`, or pip install -c constraints.txt")


def check_memory(total_bytes: int | None = None) -> Check:
    """The machine has the memory that the smallest run needs."""
    if total_bytes is None:
        import psutil

        total_bytes = psutil.virtual_memory().total
    gigabytes = total_bytes / 1e9
    remedy = f"use a machine with {MIN_MEMORY_GB} GB, or submit to a cluster"
    return Check("memory", gigabytes >= MIN_MEMORY_GB, f"{gigabytes:.1f} GB", remedy)


def check_disk(place: Path, free_bytes: int | None = None) -> Check:
    """The disk has room."""
    free = (shutil.disk_usage(place).free if free_bytes is None else free_bytes) / 1e9
    found = f"{free:.1f} GB free at {place}"
    return Check("disk", free >= MIN_FREE_GB, found, f"free at least {MIN_FREE_GB} GB")


def check_writable(name: str, folder: Path) -> Check:
    """A file can be written in a folder, or in its nearest parent that exists; leaves nothing."""
    place = _existing(folder)
    remedy = f"make {place} writable, or set project.{name} to another folder"
    try:
        with tempfile.TemporaryFile(dir=place):
            return Check(name, True, f"{folder} is writable")
    except OSError as error:
        return Check(name, False, f"{place}: {error.strerror}", remedy)


def check_workers(loaded: LoadedProject, slots: int | None = None) -> Check:
    """Every network's ranks find a slot each; a barrier stage with fewer would wait for ever."""
    slots = slots or len(os.sched_getaffinity(0))
    asked = {
        name: model.train.workers
        for name, model in loaded.project.models.items()
        if model.train is not None
    }
    most = max(asked, key=lambda name: asked[name], default=None)
    if most is None or asked[most] <= slots:
        return Check("workers", True, f"{asked[most] if most else 0} of {slots} slots")
    key = f"models.{most}.train.workers"
    found = f"{key} = {asked[most]}, but this machine has {slots} slots"
    remedy = f"--set {key}={slots}, or submit to a cluster with {asked[most]} slots"
    return Check("workers", False, found, remedy)


def _java_version(java: Path) -> str:
    release = java.parent.parent / "release"
    if release.is_file():
        match = re.search(r'^JAVA_VERSION="([^"]+)"', release.read_text(encoding="utf-8"), re.M)
        if match:
            return match[1]
    try:
        told = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=10, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    match = re.search(r'version "([^"]+)"', told)
    return match[1] if match else "unknown"


def _pins() -> Iterator[tuple[str, str, str]]:
    """Yields (package, tested version, extra) as installed, else as the checkout declares."""
    try:
        lines = metadata.requires("cauce") or []
    except metadata.PackageNotFoundError:
        file = Path(__file__).parent.parent / "pyproject.toml"
        if not file.is_file():
            return
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        lines = list(project["dependencies"])
        for extra, pins in project["optional-dependencies"].items():
            lines += [f"{pin}; extra == '{extra}'" for pin in pins]
    for line in lines:
        if match := _PIN.match(line.strip()):
            yield match[1], match[2], match[3] or ""


def _existing(path: Path) -> Path:
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return path
