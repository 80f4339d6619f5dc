"""The session: settings from a file or from spark-submit, and Java's absence told at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.errors import ConfigError
from pipelines.session import build_session, private_conf, read_conf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_file_of_settings(tmp_path: Path) -> None:
    conf = tmp_path / "local.conf"
    conf.write_text("# comment\n\nspark.master   local[2]\n  spark.a.b  -Xmx1g -Dx=y \n")
    assert read_conf(conf) == {"spark.master": "local[2]", "spark.a.b": "-Xmx1g -Dx=y"}
    conf.write_text("spark.master local\nmaster local[2]\n")
    with pytest.raises(ConfigError, match=r"`master local\[2\]` is no Spark setting") as caught:
        read_conf(conf)
    assert caught.value.where == f"{conf}:2"
    conf.write_text("spark.master \n")
    with pytest.raises(ConfigError, match=r"needs `spark\.name value`"):
        read_conf(conf)


@pytest.mark.parametrize("home", [None, "/nowhere"])
def test_no_java(home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    if home is None:
        monkeypatch.delenv("JAVA_HOME", raising=False)
    else:
        monkeypatch.setenv("JAVA_HOME", home)
    with pytest.raises(ConfigError, match="Spark needs Java 17 or 21; none was found") as caught:
        build_session("x")
    assert (caught.value.exit_code, caught.value.where) == (78, home or "PATH")
    assert "openjdk-17-jre-headless" in (caught.value.remedy or "")


@pytest.mark.spark
def test_the_data_mean_the_same_everywhere(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


@pytest.mark.spark
def test_private_settings_stay_private(spark: SparkSession) -> None:
    with private_conf(spark, {"spark.sql.shuffle.partitions": "7"}) as session:
        assert session.conf.get("spark.sql.shuffle.partitions") == "7"
        assert session.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
