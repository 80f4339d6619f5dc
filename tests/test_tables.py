"""The lake: names that cannot leave it, commits that count once, facts from the log alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.errors import ConfigError, InputMissingError
from pipelines.tables import Lake, Transaction, Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = list[tuple[int | None, str]]


def no_session() -> SparkSession:
    raise AssertionError("no session is needed")


@pytest.fixture
def lake(tmp_path: Path, spark: SparkSession) -> Lake:
    return Lake(str(tmp_path), "run-1", lambda: spark)


def frame(spark: SparkSession, rows: Rows) -> DataFrame:
    return spark.createDataFrame(rows, "k int, part string").coalesce(1)


def content(lake: Lake) -> Rows:
    return sorted((tuple(row) for row in lake.read("clean", "t").collect()), key=repr)


@pytest.mark.parametrize("name", ["", "../t", "/etc", "a/b", "%2e", "A", "1a", "a b", "a" * 128])
def test_a_name_cannot_leave_the_lake(name: str) -> None:
    with pytest.raises(ConfigError, match="is no table name; needs a-z, 0-9 and _"):
        Lake("/lake", "", no_session).path("clean", name)


def test_only_known_layers() -> None:
    with pytest.raises(ConfigError, match="unknown layer `golden`; allowed: raw, rejected, stage"):
        Lake("/lake", "", no_session).path("golden", "t")
    assert Lake("/lake", "", no_session).path("clean", "t_1") == "/lake/clean/t_1"


def test_what_is_not_there_needs_no_session(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "", no_session)
    with pytest.raises(InputMissingError, match="table clean/t does not exist") as caught:
        lake.read("clean", "t")
    assert caught.value.where == f"{tmp_path}/clean/t"
    assert not lake.exists("clean", "t")
    assert (lake.version("clean", "t"), lake.identity("clean", "t")) == (None, None)
    assert (lake.committed("clean", "t", "a"), lake.newest("clean", "t")) == (None, None)
    assert lake.num_rows("clean", "t") == {}


@pytest.mark.spark
def test_an_append_counts_once(lake: Lake, spark: SparkSession) -> None:
    rows = frame(spark, [(1, "a")])
    assert lake.append(rows, "clean", "t", Transaction("x", 1)) == Written(0, 1)
    assert lake.append(rows, "clean", "t", Transaction("x", 1)) == Written(0, 0)
    assert lake.append(rows, "clean", "t", Transaction("y", 1)) == Written(1, 1)
    assert lake.append(rows, "clean", "t", Transaction("x", 2)) == Written(2, 1)
    assert (lake.committed("clean", "t", "x"), lake.committed("clean", "t", "z")) == (2, None)
    assert lake.newest("clean", "t") == Transaction("x", 2)


@pytest.mark.spark
def test_a_merge_counts_once_and_takes_nulls_for_equal(lake: Lake, spark: SparkSession) -> None:
    lake.replace(frame(spark, [(1, "old"), (None, "old"), (3, "old")]), "clean", "t")

    def source(session: SparkSession) -> DataFrame:
        return frame(session, [(1, "new"), (None, "new"), (4, "new")])

    batch = Transaction("x", 7)
    assert lake.merge(source, "clean", "t", ["k"], batch) == Written(1, 3)
    expected = [(1, "new"), (3, "old"), (4, "new"), (None, "new")]
    assert content(lake) == expected
    assert lake.merge(source, "clean", "t", ["k"], batch) == Written(1, 0)
    assert content(lake) == expected
    assert lake.newest("clean", "t") == batch
    # The transaction stays in the MERGE's own session.
    assert spark.conf.get("spark.databricks.delta.write.txnAppId", None) is None
    lake.replace(frame(spark, [(9, "z")]), "clean", "t")
    assert (content(lake), lake.newest("clean", "t")) == ([(9, "z")], batch)


@pytest.mark.spark
def test_a_replacement_may_come_back(lake: Lake, spark: SparkSession) -> None:
    for number, app in enumerate(["a", "b", "a"]):
        written = lake.replace(
            frame(spark, [(number, app)]), "clean", "t", batch=Transaction(app, 1)
        )
        assert written == Written(number, 1)
        assert (content(lake), lake.newest("clean", "t")) == ([(number, app)], Transaction(app, 1))
    lake.replace(frame(spark, [(8, "x"), (9, "x")]), "clean", "t", where="k > 1")
    assert content(lake) == [(8, "x"), (9, "x")]


@pytest.mark.spark
def test_counts_and_identity_come_from_the_log(lake: Lake, spark: SparkSession) -> None:
    rows = frame(spark, [(1, "a"), (2, "a"), (3, "b")])
    lake.replace(rows, "clean", "t", partition_by=["part"])
    lake.append(frame(spark, [(4, "b")]), "clean", "t", Transaction("x", 1))
    log_only = Lake(lake.root, "", no_session)
    assert log_only.num_rows("clean", "t") == {"": 4}
    assert log_only.num_rows("clean", "t", by="part") == {"a": 2, "b": 2}
    assert log_only.num_bytes("clean", "t") > 0
    identity = log_only.identity("clean", "t")
    assert (identity or "").endswith("@1")
    spark.sql(f"OPTIMIZE delta.`{lake.path('clean', 't')}`").collect()
    lake.append(lake.read("clean", "t").limit(0), "clean", "t", Transaction("x", 2))
    assert (log_only.version("clean", "t"), log_only.identity("clean", "t")) == (3, identity)
    assert log_only.newest("clean", "t") == Transaction("x", 2)
    assert lake.read("clean", "t", version=0).count() == 3
    lake.append(frame(spark, [(5, "c")]), "clean", "t", Transaction("x", 3))
    assert (log_only.identity("clean", "t") or "").endswith("@4")
