"""The wheel, which is also the zip for `--py-files`: the whole product and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("pipelines", "features")


@pytest.mark.integration
def test_wheel_holds_every_file_of_the_packages(tmp_path: Path) -> None:
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    source = tmp_path / "source"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, source / name, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path]
    subprocess.run(command, cwd=source, check=True, capture_output=True)

    (wheel,) = tmp_path.glob("cauce-*.whl")
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    written = {
        str(path.relative_to(source))
        for name in PACKAGES
        for path in (source / name).rglob("*")
        if path.is_file()
    }
    assert shipped == written
