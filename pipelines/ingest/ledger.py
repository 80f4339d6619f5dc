"""The file ledger `ops/files`: which content was loaded when, and what became of each file's records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from pipelines.tables import Lake, Transaction

LAYER, TABLE = "ops", "files"
SCHEMA = T.StructType(
    [
        T.StructField("source", T.StringType(), False, {"comment": "source of the project"}),
        T.StructField("path", T.StringType(), False, {"comment": "file, relative to the home"}),
        T.StructField("size", T.LongType(), False, {"comment": "bytes"}),
        T.StructField("mtime_ns", T.LongType(), False, {"comment": "only to notice a change"}),
        T.StructField("sha256", T.StringType(), False, {"comment": "hash of the bytes"}),
        T.StructField("delivered_at", T.TimestampType(), False, {"comment": "delivery, UTC"}),
        T.StructField("status", T.StringType(), False, {"comment": "loaded, set_aside, repeated"}),
        T.StructField("cause", T.StringType(), True, {"comment": "why it was not loaded"}),
        T.StructField("loaded", T.LongType(), False, {"comment": "records in raw"}),
        T.StructField("rejected", T.LongType(), False, {"comment": "records in rejected"}),
        T.StructField("batch", T.LongType(), False, {"comment": "number of the batch"}),
        T.StructField("definition", T.StringType(), False, {"comment": "how it was read"}),
    ]
)


@dataclass(frozen=True)
class LedgerRow:
    """One file of one batch; the fields are those of SCHEMA."""

    source: str
    path: str
    size: int
    mtime_ns: int
    sha256: str
    delivered_at: datetime
    status: str
    cause: str | None
    loaded: int
    rejected: int
    batch: int
    definition: str


def _app(source: str, definition: str) -> str:
    return f"ingest/{source}/{definition[:12]}"


def last_batch(lake: Lake, source: str, definition: str) -> int:
    """Number of the newest committed batch of a source so defined; 0 before the first."""
    return lake.committed(LAYER, TABLE, _app(source, definition)) or 0


def known_files(lake: Lake, source: str, definition: str) -> list[LedgerRow]:
    """The ledger's rows of a source so defined, in no order."""
    if not lake.exists(LAYER, TABLE):
        return []
    rows = lake.small(LAYER, TABLE).to_pylist()
    return [
        LedgerRow(**row)
        for row in rows
        if (row["source"], row["definition"]) == (source, definition)
    ]


def write_ledger(
    lake: Lake, rows: Sequence[LedgerRow], source: str, definition: str, batch: int
) -> None:
    """Appends a batch's files; this is the commit point of the batch."""
    spark: SparkSession = lake.spark()
    frame: DataFrame = spark.createDataFrame([tuple(asdict(row).values()) for row in rows], SCHEMA)
    commit = Transaction(_app(source, definition), batch)
    lake.append(frame.coalesce(1), LAYER, TABLE, commit)
