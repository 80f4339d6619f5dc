"""`cauce tables`: rows from log and files alone, harmless on a terminal; damage is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from pipelines.cli.peek import read_rows
from pipelines.errors import ConfigError
from pipelines.tables import Lake

RUNS = ("20260101-000000-aaaa", "20260102-000000-bbbb")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """`quarantine/flights`, two runs, partitioned; `clean/planes`, one row."""
    root = tmp_path / "lake"
    for number, run_id in enumerate(RUNS):
        rows = pa.table(
            {
                "reason": ["range", "\x1b[31mred", None],
                "distance": [number, 10 + number, 20 + number],
                "month": ["a b", "c", "a b"],
            }
        )
        write(root / "quarantine" / "flights", rows, run_id, partition_by=["month"])
        (tmp_path / "runs" / run_id).mkdir(parents=True)
        (tmp_path / "runs" / run_id / "run_report.json").write_text("{}", encoding="utf-8")
    (tmp_path / "runs" / "latest").write_text(RUNS[1], encoding="utf-8")
    write(
        root / "clean" / "planes", pa.table({"<img src=x onerror=alert(1)>": ["=cmd()"]}), RUNS[0]
    )
    return root


def write(path: Path, rows: pa.Table, run_id: str, **options: Any) -> None:
    properties = CommitProperties(custom_metadata={"userMetadata": json.dumps({"run_id": run_id})})
    write_deltalake(path, rows, mode="append", commit_properties=properties, **options)


@pytest.fixture
def tables(cauce: Any, lake: Path) -> Any:
    """Runs `cauce tables WORDS…` on the small lake."""
    places = ("--set", f"project.lake={lake}", "--set", f"project.runs={lake.parent / 'runs'}")
    return lambda *words: cauce("tables", *words, *places)


def test_ls(tables: Any) -> None:
    lines = tables("ls").out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["table", "version", "rows"],
        ["clean/planes", "0", "1"],
        ["quarantine/flights", "1", "6"],
    ]
    assert json.loads(tables("ls", "--format", "json").out)[1]["rows"] == 6


def test_ls_of_nothing(cauce: Any, tmp_path: Path) -> None:
    ended = cauce("tables", "ls", "--set", f"project.lake={tmp_path / 'lake'}")
    assert (ended.code, ended.out) == (0, f"No table in {tmp_path / 'lake'} yet: cauce run\n")


def test_show_has_partition_columns_and_escapes_controls(tables: Any) -> None:
    ended = tables("show", "quarantine/flights")
    assert ended.code == 0
    assert ended.out.splitlines()[0].split() == ["reason", "distance", "month"]
    assert len(ended.out.splitlines()) == 7
    assert "\x1b" not in ended.out
    assert "\\x1b[31mred" in ended.out
    assert "null" in ended.out


def test_show_stops_at_the_limit(tables: Any) -> None:
    assert len(tables("show", "quarantine/flights", "--limit", "2").out.splitlines()) == 3


@pytest.mark.parametrize(("run", "found"), [("latest", [1, 11, 21]), (RUNS[0], [0, 10, 20])])
def test_show_the_rows_of_a_run(tables: Any, run: str, found: list[int]) -> None:
    ended = tables("show", "quarantine/flights", "--run", run, "--format", "json")
    rows = json.loads(ended.out)
    assert sorted(row["distance"] for row in rows) == found
    assert {row["month"] for row in rows} == {"a b", "c"}


def test_show_a_run_that_added_nothing(tables: Any) -> None:
    ended = tables("show", "clean/planes", "--run", RUNS[1])
    assert ended.out == f"clean/planes has no rows that run {RUNS[1]} added\n"


def test_markup_stays_text(tables: Any) -> None:
    assert "<img src=x onerror=alert(1)>" in tables("show", "clean/planes").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["clean/flights"], 66, "table clean/flights does not exist"),
        (["cleen/flights"], 78, "unknown layer `cleen`; allowed: raw, rejected"),
        (["clean/../../x"], 78, "`../../x` is no table name"),
        (["clean/%2e%2e"], 78, "is no table name"),
        (["clean/planes", "--run", "../../x"], 66, "no run `../../x`; the newest are"),
        (["clean/planes", "--limit", "0"], 2, "0 is not in the range"),
    ],
)
def test_show_refuses(tables: Any, words: list[str], code: int, message: str) -> None:
    ended = tables("show", *words)
    assert ended.code == code
    assert message in ended.err


def test_rows_behind_deletion_vectors_are_refused_by_name(lake: Path) -> None:
    log = lake / "clean" / "planes" / "_delta_log" / "00000000000000000001.json"
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    log.write_text(json.dumps({"protocol": protocol}) + "\n", encoding="utf-8")

    def no_session() -> Any:
        raise AssertionError

    with pytest.raises(ConfigError, match="clean/planes uses deletionVectors; its rows can only"):
        read_rows(Lake(str(lake), "", no_session), "clean", "planes", run_id=None, limit=1)


def test_check_finds_missing_and_changed_files(tables: Any, lake: Path) -> None:
    ended = tables("check")
    assert ended.code == 0
    assert ended.out.startswith("ok    clean/planes\nok    quarantine/flights\n")
    first, second = sorted((lake / "quarantine" / "flights").rglob("*.parquet"))[:2]
    first.unlink()
    second.write_bytes(b"")
    ended = tables("check")
    assert ended.code == 65
    assert "FAIL  quarantine/flights" in ended.out
    assert "is missing" in ended.out
    assert "has 0 bytes; the log says" in ended.out
    assert "1 damaged table" in ended.err
