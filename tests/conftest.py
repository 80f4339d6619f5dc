"""Fixtures that every test may use: one Spark session a run, small and in UTC."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """`local[2]`, 2 shuffle partitions, 1 GB, no UI; the only session of the test run."""
    from pipelines.session import build_session

    folder: Path = tmp_path_factory.mktemp("spark")
    conf = folder / "test.conf"
    conf.write_text(
        "spark.master local[2]\nspark.driver.memory 1g\nspark.ui.enabled false\n"
        "spark.ui.showConsoleProgress false\nspark.sql.shuffle.partitions 2\n"
        "spark.default.parallelism 2\nspark.databricks.delta.snapshotPartitions 1\n"
        f"spark.sql.warehouse.dir {folder / 'warehouse'}\n",
        encoding="utf-8",
    )
    session = build_session("cauce-tests", conf)
    yield session
    session.stop()
