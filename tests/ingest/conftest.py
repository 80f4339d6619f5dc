"""A source with its files in one folder and its lake in another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.ingest import Ingested, IngestSettings, ingest_source
from pipelines.project.schema import Defaults
from pipelines.project.sources import Source
from pipelines.tables import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Delivery:
    """Files below `home/data` and what ingestion makes of them.

    Args:
        home: The project's home.
        lake: Its tables.
        section: The source as the project file declares it.
        definition: Identity of that declaration.
    """

    home: Path
    lake: Lake
    section: dict[str, Any] = field(default_factory=dict)
    definition: str = "a" * 64

    def put(self, name: str, content: str | bytes) -> Path:
        """Delivers a file."""
        path = self.home / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def declare(self, **section: Any) -> Delivery:
        """The same files, declared otherwise."""
        return replace(self, section={**self.section, **section})

    def settings(self) -> IngestSettings:
        """What ingestion is told."""
        source = Source.model_validate(
            {
                "files": {"path": "data/*", "format": "csv"},
                "schema": {"id": "int!", "name": "string"},
                "dedup": {"key": ["id"]},
                **self.section,
            }
        )
        defaults = Defaults.model_validate(
            {"time_zone": "America/New_York", "nulls": ["", "NA"], "max_rejected": 0.9}
        )
        return IngestSettings("things", source, defaults, self.home, NOW, self.definition)

    def ingest(self) -> Ingested:
        """Loads what is new."""
        return ingest_source(self.lake, self.settings())

    def raw(self, *columns: str) -> list[tuple[Any, ...]]:
        """Rows of the raw table in order of batch, file and record."""
        rows = self.lake.read("raw", "things").orderBy("_batch", "_file", "_record").collect()
        return [tuple(row[c] for c in columns or ("id", "name")) for row in rows]

    def rejected(self, *columns: str) -> list[tuple[Any, ...]]:
        """Rejected records in order of file and record."""
        if not self.lake.exists("rejected", "things"):
            return []
        rows = self.lake.read("rejected", "things").orderBy("file", "record").collect()
        wanted = columns or ("file", "record", "reason", "column", "value")
        return [tuple(row[c] for c in wanted) for row in rows]


@pytest.fixture
def delivery(tmp_path: Path, spark: SparkSession) -> Delivery:
    """An empty delivery of the source `things`."""
    return Delivery(tmp_path / "home", Lake(str(tmp_path / "lake"), "run", lambda: spark))
