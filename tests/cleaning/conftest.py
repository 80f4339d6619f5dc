"""Raw batches written as ingestion writes them, and what cleaning makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from pipelines.cleaning import CleanSettings, Staged, publish, stage_source
from pipelines.project.sources import Source
from pipelines.tables import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]
DAY = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Cleaning:
    """The source `things`: key `k`, values `v` and `w`, one file a batch.

    Args:
        lake: Its tables.
        section: What the project file declares beyond the schema.
        definition: Identity of that declaration.
        kind: Type of `k`.
        batch: Number of the newest batch.
    """

    lake: Lake
    section: dict[str, Any] = field(default_factory=dict)
    definition: str = "a"
    kind: str = "string"
    batch: int = 0

    def deliver(self, *rows: Row, partitions: int = 2) -> None:
        """Ingests rows (k, v, w) as the next batch, delivered a day after the one before."""
        self.batch += 1
        spark = self.lake.spark()
        facts = [
            (*row, f"{self.batch}.csv", number, DAY + timedelta(days=self.batch), self.batch)
            for number, row in enumerate(rows)
        ]
        schema = (
            f"k {self.kind}, v int, w string, _file string, _record bigint, "
            "_delivered_at timestamp, _batch bigint"
        )
        frame = spark.createDataFrame(facts, schema).repartition(partitions)
        frame = frame.withColumn("_rescued", F.lit(None).cast("map<string,string>"))
        frame = frame.withColumn("_row_hash", F.xxhash64(F.struct("k", "v", "w")))
        where = f"_batch >= {self.batch}" if self.batch > 1 else None
        self.lake.replace(frame, "raw", "things", where=where)

    def declare(self, definition: str, **section: Any) -> Cleaning:
        """The same tables, cleaned by another definition."""
        return replace(self, definition=definition, section={**self.section, **section})

    def settings(self) -> CleanSettings:
        """What cleaning is told."""
        source = Source.model_validate(
            {
                "files": {"path": "data/*", "format": "csv"},
                "schema": {"k": "string", "v": "int", "w": "string"},
                "row_rules": {"v_range": {"column": "v", "between": [0, 9], "nulls": "ignore"}},
                "dedup": {"key": ["k"]},
                **self.section,
            }
        )
        return CleanSettings("things", source, self.definition * 64, self.batch)

    def stage(self) -> Staged:
        """Decides about what is new."""
        return stage_source(self.lake, self.settings(), self.no_lookup)

    def clean(self) -> Staged:
        """Decides about what is new and publishes it."""
        staged = self.stage()
        publish(self.lake, self.settings(), staged)
        return staged

    def no_lookup(self, name: str) -> Any:
        """This source looks nothing up."""
        raise AssertionError(name)

    def rows(self, layer: str, *columns: str) -> list[Row]:
        """Rows of a table of this source, sorted."""
        if not self.lake.exists(layer, "things"):
            return []
        frame = self.lake.read(layer, "things").select(*columns)
        return sorted((tuple(row) for row in frame.collect()), key=repr)

    def count(self, layer: str) -> int:
        """Number of a table's rows."""
        return sum(self.lake.num_rows(layer, "things").values())

    def reconciles(self) -> bool:
        """Whether each raw row is in exactly one place."""
        places = sum(self.count(layer) for layer in ("clean", "duplicates", "quarantine"))
        return self.count("raw") == places


@pytest.fixture
def things(tmp_path: Path, spark: SparkSession) -> Cleaning:
    """The source without a batch."""
    return Cleaning(Lake(str(tmp_path), "run", lambda: spark))
