"""A cluster on this machine that has every library but not the product: that comes as a zip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Runs last in the start of a Python process: takes the checkout and an editable install away.
HIDE_CHECKOUT = f"""
import sys
from pathlib import Path
sys.meta_path = [finder for finder in sys.meta_path if "__editable__" not in repr(finder)]
sys.path = [p for p in sys.path if not p or Path(p).resolve() != Path({str(ROOT)!r})]
"""


@dataclass(frozen=True)
class Submitted:
    """What a submitted job left: its exit code and what it wrote."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Cluster:
    """`spark-submit` to two executors of one core each, with their own processes.

    Args:
        zip_file: The product.
        folder: Scratch.
        python: Interpreter of driver and executors, which cannot import the checkout.
    """

    zip_file: Path
    folder: Path
    python: Path

    def submit(self, job: Path, *words: str, cwd: Path) -> Submitted:
        """Runs a job file to its end."""
        from pyspark.find_spark_home import _find_spark_home

        from pipelines.jars import jar_paths

        settings = {
            "spark.ui.enabled": "false",
            "spark.driver.memory": "1g",
            "spark.executor.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.executorEnv.OMP_NUM_THREADS": "1",
        }
        command = [
            str(Path(_find_spark_home()) / "bin" / "spark-submit"),
            "--master=local-cluster[2,1,2048]",
            f"--py-files={self.zip_file}",
            f"--jars={','.join(map(str, jar_paths()))}",
            *[f"--conf={key}={value}" for key, value in settings.items()],
            str(job),
            *words,
        ]
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {
            "PYSPARK_PYTHON": str(self.python),
            "PYSPARK_DRIVER_PYTHON": str(self.python),
            "SPARK_HOME": _find_spark_home(),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_WORKER_DIR": str(self.folder / "work"),
        }
        ended = subprocess.run(
            command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=570, check=False
        )
        return Submitted(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The product as one zip, and a Python that finds it nowhere else."""
    folder = tmp_path_factory.mktemp("cluster")
    zip_file = folder / "cauce.zip"
    with zipfile.ZipFile(zip_file, "w") as archive:
        for name in ("pipelines", "features"):
            for path in sorted((ROOT / name).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(ROOT))
    hidden = folder / "hide"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(HIDE_CHECKOUT, encoding="utf-8")
    python = folder / "python"
    python.write_text(
        f'#!/bin/sh\nPYTHONPATH="{hidden}:$PYTHONPATH" exec "{sys.executable}" "$@"\n',
        encoding="utf-8",
    )
    python.chmod(0o755)
    return Cluster(zip_file, folder, python)


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    """A copy of the project `orders`, in a folder of its own."""
    home = tmp_path / "orders"
    shutil.copytree(ROOT / "tests" / "data" / "orders", home)
    return home
