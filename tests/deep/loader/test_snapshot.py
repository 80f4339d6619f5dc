"""What a snapshot holds, and which tables it refuses by name."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.deep.loader import RowGroup, Snapshot, read_snapshot
from pipelines.errors import ConfigError, InputMissingError


def write(folder: Path, values: list[int], mode: str = "append") -> None:
    table = pa.table({"x": values, "split": ["train"] * len(values)})
    write_deltalake(folder, table, partition_by=["split"], mode=mode)


def test_rows_and_splits_of_one_version(orders: Path):
    snapshot = read_snapshot(str(orders), 0)

    train, validation = snapshot.row_groups("train"), snapshot.row_groups("validation")
    assert [group.rows for group in train] == [128] * 10 + [20]
    assert [group.rows for group in validation] == [128, 128, 45]
    assert all(isinstance(group, RowGroup) and "split=train" in group.path for group in train)
    assert snapshot.columns["amount"] == "double"
    assert Snapshot.from_dict(json.loads(json.dumps(snapshot.to_dict()))) == snapshot


def test_only_live_files_of_the_version(tmp_path: Path):
    write(tmp_path / "t", [1, 2, 3])
    write(tmp_path / "t", [4])
    write(tmp_path / "t", [5, 6], mode="overwrite")

    snapshots = [read_snapshot(str(tmp_path / "t"), version) for version in (0, 1, 2)]

    rows = [[group.rows for group in s.row_groups("train")] for s in snapshots]
    assert [sum(version) for version in rows] == [3, 4, 2]
    assert len({s.digest for s in snapshots}) == 3
    assert read_snapshot((tmp_path / "t").as_uri(), 2).digest == snapshots[2].digest


def test_missing_things_are_named(tmp_path: Path, orders: Path):
    with pytest.raises(InputMissingError, match="no Delta table of version 0"):
        read_snapshot(str(tmp_path / "none"), 0)
    with pytest.raises(InputMissingError, match="no Delta table of version 9"):
        read_snapshot(str(orders), 9)
    with pytest.raises(InputMissingError, match=r"'test' has no rows; .*: train, validation"):
        read_snapshot(str(orders), 0).row_groups("test")
    with pytest.raises(ConfigError, match="no column 'colour', 'split'; it has 7 columns"):
        read_snapshot(str(orders), 0).check_columns(["amount", "split", "colour"])
    with pytest.raises(ConfigError, match="local paths and file: URIs, not s3:"):
        read_snapshot("s3://lake/t", 0)


def test_a_lost_file_and_a_wrong_count(tmp_path: Path):
    write(tmp_path / "lost", [1, 2])
    file = next((tmp_path / "lost").rglob("*.parquet"))
    table = pq.read_table(file, partitioning=None)
    pq.write_table(table.slice(0, 1), file)
    with pytest.raises(ConfigError, match="holds 1 rows, the Delta log says 2"):
        read_snapshot(str(tmp_path / "lost"), 0)
    file.unlink()
    with pytest.raises(InputMissingError, match="in the Delta log but not on disk"):
        read_snapshot(str(tmp_path / "lost"), 0)


@pytest.mark.spark
def test_deletion_vectors_are_refused_by_name(spark, tmp_path: Path):
    from delta.tables import DeltaTable as SparkDeltaTable

    path = str(tmp_path / "t")
    spark.range(40).selectExpr("id", "'train' AS split").coalesce(1).write.format("delta").option(
        "delta.enableDeletionVectors", "true"
    ).partitionBy("split").save(path)
    assert read_snapshot(path, 0).row_groups("train")[0].rows == 40

    SparkDeltaTable.forPath(spark, path).delete("id < 3")

    with pytest.raises(ConfigError, match="can't read a table with deletion vectors"):
        read_snapshot(path, 1)


@pytest.mark.spark
def test_column_mapping_is_refused_by_name(spark, tmp_path: Path):
    spark.range(4).selectExpr("id", "'train' AS split").write.format("delta").option(
        "delta.columnMapping.mode", "name"
    ).partitionBy("split").save(str(tmp_path / "t"))

    with pytest.raises(ConfigError, match="can't read a table with column mapping"):
        read_snapshot(str(tmp_path / "t"), 0)


def test_partitions_must_be_splits(tmp_path: Path):
    write_deltalake(tmp_path / "t", pa.table({"x": [1]}))
    with pytest.raises(ConfigError, match=r"partitioned by 'split' alone, this table by \[\]"):
        read_snapshot(str(tmp_path / "t"), 0)
    assert DeltaTable(tmp_path / "t").version() == 0
