"""`cauce tables check` adds up what ingestion and cleaning committed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from pipelines.cli.reconcile import Sum, reconcile
from pipelines.project import LoadedProject, load_project
from pipelines.steps.base import clean_definition, source_definition
from pipelines.tables import Lake

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def planes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Lake, LoadedProject]:
    """Batch 1 of planes is clean, batch 2 is ingested only, batch 3 broke off."""
    monkeypatch.chdir(REPOSITORY)
    loaded = load_project("flights", overrides=[f"project.lake={tmp_path}"], environ={})
    definition = source_definition(loaded, "planes")
    ledger = [(1, 5, 1), (2, 2, 0)]
    rows = pa.table(
        {
            "source": ["planes"] * 2,
            "path": ["a", "b"],
            "size": [1, 1],
            "mtime_ns": [0, 0],
            "sha256": ["a", "b"],
            "delivered_at": [datetime(2026, 1, 1, tzinfo=UTC)] * 2,
            "status": ["loaded"] * 2,
            "cause": pa.array([None, None], pa.string()),
            "loaded": [loaded_ for _, loaded_, _ in ledger],
            "rejected": [rejected for _, _, rejected in ledger],
            "batch": [batch for batch, _, _ in ledger],
            "definition": [definition] * 2,
        }
    )
    write(tmp_path / "ops" / "files", rows)
    raw = pa.table({"_batch": [1, 1, 1, 1, 1, 2, 2, 3]})
    write(tmp_path / "raw" / "planes", raw, f"{definition}@1", 3)
    write(tmp_path / "rejected" / "planes", pa.table({"_batch": [1, 3]}))
    cleaned = clean_definition(loaded, "planes", {})
    write(
        tmp_path / "clean" / "planes", pa.table({"x": [1, 2, 3]}), f"clean/planes/{cleaned[:12]}", 1
    )
    write(tmp_path / "duplicates" / "planes", pa.table({"_decided_in": [1, 2]}))
    write(tmp_path / "quarantine" / "planes", pa.table({"_decided_in": [1]}))

    def no_session() -> Any:
        raise AssertionError

    return Lake(str(tmp_path), "", no_session), loaded


def write(path: Path, rows: pa.Table, app: str | None = None, batch: int = 0) -> None:
    noted = json.dumps({"transaction": {"app": app, "number": batch} if app else None})
    done = CommitProperties(custom_metadata={"userMetadata": noted})
    write_deltalake(path, rows, mode="append", commit_properties=done)


def of_planes(lake: Lake, loaded: LoadedProject) -> list[Sum]:
    return [one for one in reconcile(lake, loaded) if one.source == "planes"]


def test_committed_batches_add_up(planes: tuple[Lake, LoadedProject]) -> None:
    assert of_planes(*planes) == [
        Sum("planes", True, "8 read = 7 raw + 1 rejected"),
        Sum("planes", True, "5 raw = 3 clean + 1 duplicates + 1 quarantined"),
    ]


@pytest.mark.parametrize(
    ("layer", "row", "told"),
    [
        ("raw", {"_batch": [1]}, "8 read = 8 raw + 1 rejected"),
        ("rejected", {"_batch": [2]}, "8 read = 7 raw + 2 rejected"),
        ("clean", {"x": [9]}, "5 raw = 4 clean + 1 duplicates + 1 quarantined"),
        ("quarantine", {"_decided_in": [1]}, "5 raw = 3 clean + 1 duplicates + 2 quarantined"),
    ],
)
def test_a_row_too_many_is_found(
    planes: tuple[Lake, LoadedProject], layer: str, row: dict[str, list[int]], told: str
) -> None:
    lake, loaded = planes
    write(Path(lake.root) / layer / "planes", pa.table(row))
    assert Sum("planes", False, told) in of_planes(lake, loaded)


def test_what_was_not_made_yet_is_not_evaluated(planes: tuple[Lake, LoadedProject]) -> None:
    lake, loaded = planes
    sums = list(reconcile(lake, loaded))
    assert Sum("weather", None, "not ingested with these settings yet: cauce ingest") in sums


def test_the_command(cauce: Any, planes: tuple[Lake, LoadedProject]) -> None:
    lake, _ = planes
    place = ("--set", f"project.lake={lake.root}")
    ended = cauce("tables", "check", *place)
    assert (ended.code, ended.err) == (0, "")
    assert "ok    planes: 8 read = 7 raw + 1 rejected\n" in ended.out
    assert "–     weather: not ingested" in ended.out
    write(Path(lake.root) / "clean" / "planes", pa.table({"x": [9]}))
    ended = cauce("tables", "check", *place)
    assert ended.code == 65
    assert "FAIL  planes: 5 raw = 4 clean" in ended.out
    assert ended.err.startswith("rows of planes do not add up\n")
