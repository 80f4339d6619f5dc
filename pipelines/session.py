"""The only builder of a SparkSession: Delta on, instants in UTC, settings from outside."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.errors import ConfigError
from pipelines.jars import JAVA_REMEDY, jar_paths

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Meaning of the data, not tuning: the same on a laptop and on a cluster.
_SEMANTICS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.csv.parser.columnPruning.enabled": "false",
}


def build_session(app_name: str, conf_file: Path | None = None) -> SparkSession:
    """Returns the session of this process, starting a JVM if there is none.

    Under `spark-submit` master and tunables are the command's; elsewhere they are read from
    `conf_file` (Spark's properties format).

    Raises:
        ConfigError: No Java, missing jars, or an unreadable `conf_file`.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    settings = dict(_SEMANTICS)
    if not submitted:
        _check_java()
        settings |= read_conf(conf_file) if conf_file else {}
        settings["spark.jars"] = ",".join(str(path) for path in jar_paths())
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _quiet_start(), _own_interrupt():
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
    return spark


def read_conf(path: Path) -> dict[str, str]:
    """Reads a Spark properties file: a key, white space, a value; `#` starts a comment line.

    Raises:
        ConfigError: A line has no value or does not start with `spark.`.
    """
    settings = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, _, value = line.strip().partition(" ")
        if not key.startswith("spark.") or not value.strip():
            raise ConfigError(
                f"`{line.strip()}` is no Spark setting; needs `spark.name value`",
                where=f"{path}:{number}",
            )
        settings[key] = value.strip()
    return settings


def literal_path(path: str) -> str:
    """The path as Spark's readers take it by its letters: they would expand brackets and stars."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


@contextmanager
def private_conf(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Gives a session beside `spark`, in the same JVM, whose settings nobody else sees."""
    session = spark.newSession()
    for key in ("spark.sql.session.timeZone", "spark.sql.shuffle.partitions"):
        session.conf.set(key, spark.conf.get(key) or "")
    for key, value in settings.items():
        session.conf.set(key, value)
    yield session


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin" / "java" if home else None
    if (java and java.is_file()) or (not home and shutil.which("java")):
        return
    raise ConfigError(
        "Spark needs Java 17 or 21; none was found", where=home or "PATH", remedy=JAVA_REMEDY
    )


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keeps Ctrl-C what it was: Spark's handler calls the JVM in the middle of another call.

    What py4j then says of calls that were cut off is of no use to anybody.
    """
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_py4j)
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """Py4j logs some of what it says in nobody's name."""
    return "py4j" not in Path(record.pathname).parts


@contextmanager
def _quiet_start() -> Iterator[None]:
    """Keeps the JVM's start-up chatter off the terminal; its stderr stays open for real errors."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        yield
        return
    sys.stderr.flush()
    saved = os.dup(2)
    with Path(os.devnull).open("wb") as null:
        os.dup2(null.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
