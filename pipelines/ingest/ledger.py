"""The file ledger `ops/files`: which content was loaded when, and what became of its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from threading import Lock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from pipelines.tables import Lake, Transaction

LAYER, TABLE = "ops", "files"
# Sources are loaded several at a time; Delta refuses two first writers of one table.
_ONE_WRITER = Lock()
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


def raw_transaction(definition: str, first: int, batch: int) -> Transaction:
    """What the raw table notes of itself: how its rows were read, and since which batch."""
    return Transaction(f"{definition}@{first}", batch)


def known_files(lake: Lake, source: str, definition: str) -> list[LedgerRow]:
    """The ledger's rows of the files that the raw table holds, in no order.

    Empty where the table was read by another definition: then all files must be loaded anew.
    """
    raw = lake.newest("raw", source)
    if raw is None or not lake.exists(LAYER, TABLE):
        return []
    held, _, first = raw.app.partition("@")
    if held != definition:
        return []
    return [
        row
        for row in _rows(lake, source)
        if row.definition == definition and row.batch >= int(first)
    ]


def last_batch(lake: Lake, source: str, definition: str) -> int:
    """Number of the newest committed batch that the raw table holds; 0 before the first."""
    return max((row.batch for row in known_files(lake, source, definition)), default=0)


def next_batch(lake: Lake, source: str) -> int:
    """Number of a source's next batch; numbers never come back, whatever the definition."""
    if not lake.exists(LAYER, TABLE):
        return 1
    return max((row.batch for row in _rows(lake, source)), default=0) + 1


def write_ledger(lake: Lake, rows: Sequence[LedgerRow]) -> None:
    """Appends the files of one batch of one source; this is the commit point of the batch."""
    first = rows[0]
    spark: SparkSession = lake.spark()
    frame: DataFrame = spark.createDataFrame([tuple(asdict(row).values()) for row in rows], SCHEMA)
    commit = Transaction(f"ingest/{first.source}", first.batch)
    with _ONE_WRITER:
        lake.append(frame.coalesce(1), LAYER, TABLE, commit)


def _rows(lake: Lake, source: str) -> list[LedgerRow]:
    rows = lake.small(LAYER, TABLE).to_pylist()
    return [LedgerRow(**row) for row in rows if row["source"] == source]
