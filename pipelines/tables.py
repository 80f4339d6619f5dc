"""The only Delta reads and writes: a lake of named tables in fixed layers.

What is known from a table's log alone (versions, counts, identities) is read without Spark, so that
a run with nothing to do never starts a JVM.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pipelines.errors import ConfigError, InputMissingError
from pipelines.session import private_conf

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame, SparkSession

LAYERS = (
    "raw",
    "rejected",
    "stage",
    "clean",
    "quarantine",
    "duplicates",
    "training_sets",
    "predictions",
    "evaluations",
    "monitoring",
    "ops",
)
_NAME = re.compile(r"^[a-z][a-z0-9_]{0,126}$")
# Operations that rewrite or describe files and leave every row as it was.
_HISTORY = 200  # commits that are looked through for the last one that matters
_ROWS_UNCHANGED = ("OPTIMIZE", "VACUUM", "SET TBLPROPERTIES", "CHANGE COLUMN", "FSCK", "REORG")


@dataclass(frozen=True)
class Written:
    """What one commit did.

    Args:
        version: Version of the table after the commit.
        rows: Rows written by it; for a MERGE, rows inserted or updated.
    """

    version: int
    rows: int


@dataclass(frozen=True)
class Transaction:
    """What a commit stands for, noted in it; an append or MERGE of the same one is skipped.

    Args:
        app: Name of the writer, one for each table and meaning of its rows.
        number: Increasing number of the batch.
    """

    app: str
    number: int


@dataclass(frozen=True)
class Lake:
    """All tables of a project below one folder or URI.

    Args:
        root: Folder or URI.
        run_id: Written into every commit's `userMetadata`.
        spark: Gives the session when one is really needed.
    """

    root: str
    run_id: str
    spark: Callable[[], SparkSession]

    def path(self, layer: str, name: str) -> str:
        """Returns the table's folder.

        Raises:
            ConfigError: An unknown layer, or a name that could leave the lake.
        """
        if layer not in LAYERS:
            raise ConfigError(f"unknown layer `{layer}`; allowed: {', '.join(LAYERS)}")
        if not _NAME.match(name):
            raise ConfigError(f"`{name}` is no table name; needs a-z, 0-9 and _, a letter first")
        return f"{self.root}/{layer}/{name}"

    def exists(self, layer: str, name: str) -> bool:
        """Tells whether the table has a commit."""
        from deltalake import DeltaTable

        return bool(DeltaTable.is_deltatable(self.path(layer, name)))

    def log(self, layer: str, name: str, version: int | None = None) -> DeltaTable:
        """Returns the table's log, read without Spark.

        Raises:
            InputMissingError: There is no such table.
        """
        from deltalake import DeltaTable

        path = self.path(layer, name)
        if not DeltaTable.is_deltatable(path):
            raise InputMissingError(f"table {layer}/{name} does not exist", where=path)
        return DeltaTable(path, version=version)

    def version(self, layer: str, name: str) -> int | None:
        """Returns the newest version, or None where there is no table."""
        return self.log(layer, name).version() if self.exists(layer, name) else None

    def newest(self, layer: str, name: str) -> Transaction | None:
        """Returns the transaction of the newest commit that notes one, or None.

        Unlike `committed` it tells that another writer has replaced the table since.
        """
        if not self.exists(layer, name):
            return None
        for commit in self.log(layer, name).history(_HISTORY):
            noted = json.loads(commit.get("userMetadata") or "{}").get("transaction")
            if noted:
                return Transaction(noted["app"], noted["number"])
        return None

    def identity(self, layer: str, name: str) -> str | None:
        """Returns `table id@version` of the last commit that changed rows; None without a table."""
        if not self.exists(layer, name):
            return None
        log = self.log(layer, name)
        for commit in log.history(_HISTORY):
            if not str(commit["operation"]).startswith(_ROWS_UNCHANGED) and not _is_empty(commit):
                return f"{log.metadata().id}@{commit['version']}"
        return f"{log.metadata().id}@{log.version()}"

    def committed(self, layer: str, name: str, app: str) -> int | None:
        """Returns the number of the last transaction of `app` in the table, or None."""
        if not self.exists(layer, name):
            return None
        number = self.log(layer, name).transaction_version(app)
        return None if number is None else int(number)

    def num_rows(self, layer: str, name: str, by: str | None = None) -> dict[str, int]:
        """Counts rows from the log's statistics alone.

        Args:
            layer: Layer of the table.
            name: Name of the table.
            by: Partition column; without it the only key is the empty text.
        """
        if not self.exists(layer, name):
            return {}
        import pyarrow as pa

        adds = pa.table(self.log(layer, name).get_add_actions(flatten=True))
        keys = adds.column(f"partition.{by}").to_pylist() if by else [""] * adds.num_rows
        counts: dict[str, int] = {}
        for key, rows in zip(keys, adds.column("num_records").to_pylist(), strict=True):
            counts[str(key)] = counts.get(str(key), 0) + int(rows)
        return counts

    def num_bytes(self, layer: str, name: str) -> int:
        """Sums the sizes of the newest version's files."""
        import pyarrow as pa

        adds = pa.table(self.log(layer, name).get_add_actions(flatten=True))
        return int(sum(adds.column("size_bytes").to_pylist()))

    def small(self, layer: str, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Reads a small table (ledgers, decisions) without Spark."""
        return self.log(layer, name).to_pyarrow_table(columns=list(columns) if columns else None)

    def read(self, layer: str, name: str, version: int | None = None) -> DataFrame:
        """Reads one version, by default the newest.

        Raises:
            InputMissingError: There is no such table.
        """
        pinned = self.log(layer, name).version() if version is None else version
        reader = self.spark().read.format("delta").option("versionAsOf", pinned)
        return reader.load(self.path(layer, name))

    def append(self, frame: DataFrame, layer: str, name: str, batch: Transaction) -> Written:
        """Appends once: a replay of the same transaction writes nothing and gives 0 rows."""
        before = self.version(layer, name)
        self._writer(frame, "append", batch).option("txnAppId", batch.app).option(
            "txnVersion", batch.number
        ).save(self.path(layer, name))
        return self._written(layer, name, before)

    def replace(
        self,
        frame: DataFrame,
        layer: str,
        name: str,
        *,
        where: str | None = None,
        partition_by: Sequence[str] = (),
        batch: Transaction | None = None,
    ) -> Written:
        """Replaces the whole table with its schema, or just the rows that satisfy `where`.

        Args:
            frame: The new rows; with `where`, all of them satisfy it.
            layer: Layer of the table.
            name: Name of the table.
            where: Condition on the rows to replace; a table that does not exist yet is made.
            partition_by: Partition columns of a whole replacement.
            batch: Noted in the commit. It is never skipped: a second one gives the same rows, and
                a table may well return to what it once was.
        """
        before = self.version(layer, name)
        writer = self._writer(frame, "overwrite", batch)
        if where is not None and before is not None:
            writer = writer.option("replaceWhere", where)
        else:
            writer = writer.option("overwriteSchema", "true").partitionBy(*partition_by)
        writer.save(self.path(layer, name))
        return self._written(layer, name, before)

    def merge(
        self,
        source: Callable[[SparkSession], DataFrame],
        layer: str,
        name: str,
        key: Sequence[str],
        batch: Transaction,
    ) -> Written:
        """Inserts or replaces rows by key, nulls equal, once for each transaction.

        `source` gives the rows in the session it is handed, with a key at most once, from a fixed
        table: reading them twice gives the same rows. The session's conf is private, since Delta
        takes a MERGE's transaction from there.
        """
        before = self.version(layer, name)
        conf = {
            "spark.databricks.delta.write.txnAppId": batch.app,
            "spark.databricks.delta.write.txnVersion": str(batch.number),
            "spark.databricks.delta.commitInfo.userMetadata": self._metadata(batch),
        }
        on = " AND ".join(f"t.`{column}` <=> s.`{column}`" for column in key)
        with private_conf(self.spark(), conf) as session:
            from delta.tables import DeltaTable

            (
                DeltaTable.forPath(session, self.path(layer, name))
                .alias("t")
                .merge(source(session).alias("s"), on)
                .whenMatchedUpdateAll()
                .whenNotMatchedInsertAll()
                .execute()
            )
        return self._written(layer, name, before)

    def _writer(self, frame: DataFrame, mode: str, batch: Transaction | None) -> Any:
        writer = frame.write.format("delta").mode(mode)
        return writer.option("userMetadata", self._metadata(batch))

    def _metadata(self, batch: Transaction | None) -> str:
        return json.dumps({"run_id": self.run_id, "transaction": batch and asdict(batch)})

    def _written(self, layer: str, name: str, before: int | None) -> Written:
        log = self.log(layer, name)
        version = log.version()
        if version == before:
            return Written(version, 0)
        metrics: Mapping[str, Any] = log.history(1)[0].get("operationMetrics", {})
        inserted = metrics.get("numTargetRowsInserted")
        if inserted is not None:
            return Written(version, int(inserted) + int(metrics["numTargetRowsUpdated"]))
        return Written(version, int(metrics.get("numOutputRows", 0)))


def _is_empty(commit: Mapping[str, Any]) -> bool:
    """Tells whether a commit appended no row: it only carries a batch's number."""
    metrics = commit.get("operationMetrics", {})
    is_append: bool = commit.get("operationParameters", {}).get("mode") == "Append"
    return is_append and bool(metrics.get("numOutputRows") == "0")
