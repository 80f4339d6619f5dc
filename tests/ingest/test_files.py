"""Files as a whole: which belong to a source, what they are, and why one is set aside."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.errors import ConfigError, InputMissingError
from pipelines.ingest import FoundFile, find_files
from pipelines.ingest.files import inspect
from pipelines.project.sources import Files

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ZONE = ZoneInfo("America/New_York")


def find(home: Path, path: str, **how: Any) -> list[FoundFile]:
    files = Files.model_validate({"path": path, "format": "csv", **how})
    return find_files(files, home, ZONE, NOW)


def look(home: Path, name: str, content: bytes, **how: Any) -> FoundFile:
    (home / name).write_bytes(content)
    files = Files.model_validate({"path": name, "format": "csv", **how})
    (found,) = inspect(find(home, name, **how), files, home)
    return found


def test_a_pattern_takes_the_files_of_its_folder_only(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "old/c.csv", "a.csv.bak", "sp ace é.csv"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_text("id\n1\n")
    assert [one.path for one in find(tmp_path, "in/*.csv")] == [
        "in/a.csv",
        "in/b.csv",
        "in/sp ace é.csv",
    ]
    assert [one.path for one in find(tmp_path, "in/*/c.csv")] == ["in/old/c.csv"]
    assert [one.path for one in find(tmp_path, str(tmp_path / "in/a.csv"))] == ["in/a.csv"]


@pytest.mark.parametrize("path", ["missing.csv", "nowhere/*.csv"])
def test_no_file_is_a_missing_input(tmp_path: Path, path: str) -> None:
    with pytest.raises(InputMissingError, match="no file matches the source's path") as caught:
        find(tmp_path, path)
    assert (caught.value.exit_code, caught.value.where) == (66, path)


def test_a_delivery_begins_on_the_day_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "x_20130310.csv").write_text("id\n")
    dated = {"delivered_at": {"from_name": r"_(\d{8})\.csv$"}}
    (found,) = find(tmp_path, "x_*.csv", **dated)
    assert found.delivered_at == datetime(2013, 3, 10, 5, tzinfo=UTC)
    assert find(tmp_path, "x_*.csv")[0].delivered_at == NOW
    (tmp_path / "x_20131399.csv").write_text("id\n")
    with pytest.raises(ConfigError, match=r"`x_20131399\.csv` has no date as delivered_at"):
        find(tmp_path, "x_*.csv", **dated)


@pytest.mark.parametrize(
    ("content", "encoding", "header"),
    [
        (b"id,name\n1,x\n", "UTF-8", ("id", "name")),
        (b"\xef\xbb\xbfid,name\n1,x\n", "UTF-8", ("id", "name")),
        (b'"id","a ""b"", c"\n', "UTF-8", ("id", 'a "b", c')),
        ("id,año\n1,x\n".encode("iso-8859-1"), "ISO-8859-1", ("id", "año")),
        ("id,año\n1,x\n".encode("utf-16"), "UTF-16", ("id", "año")),
        (b"PK,name\n1,x\n", "UTF-8", ("PK", "name")),  # a zip also begins so
    ],
)
def test_headers(tmp_path: Path, content: bytes, encoding: str, header: tuple[str, ...]) -> None:
    found = look(tmp_path, "a.csv", content, encoding=encoding)
    assert (found.cause, found.header) == (None, header)


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("a.csv", b"", "empty file"),
        ("a.csv", gzip.compress(b"id\n1\n"), "holds gzip data, not csv"),
        ("a.csv", b"PK\x03\x04rest", "holds zip data, not csv"),
        ("a.csv", b"PAR1rest", "holds Parquet data, not csv"),
        (
            "a.csv.gz",
            gzip.compress(b"id\n" + b"12345\n" * 9_999)[:-40],
            "cannot be read to its end",
        ),
        ("a.csv.gz", b"id\n1\n", "cannot be read to its end"),
    ],
)
def test_a_damaged_file_is_set_aside_whole(
    tmp_path: Path, name: str, content: bytes, cause: str
) -> None:
    found = look(tmp_path, name, content)
    assert found.cause is not None
    assert found.cause.startswith(cause)
    assert "\n" not in found.cause


def test_a_whole_gzip_file_and_its_content(tmp_path: Path) -> None:
    found = look(tmp_path, "a.csv.gz", gzip.compress(b"id,name\n1,x\n"))
    assert (found.cause, found.header) == (None, ("id", "name"))
    same = look(tmp_path, "b.csv.gz", (tmp_path / "a.csv.gz").read_bytes())
    assert same.sha256 == found.sha256 != ""


def test_other_formats(tmp_path: Path) -> None:
    assert look(tmp_path, "a.json", b'\xef\xbb\xbf {"id": 1}\n', format="json").cause is None
    told = look(tmp_path, "b.json", b"id,name\n", format="json").cause
    assert told == "does not start with a JSON object"
    pq.write_table(pa.table({"id": [1], "a.b": ["x"]}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    assert look(tmp_path, "c.parquet", whole, format="parquet").header == ("id", "a.b")
    cut = look(tmp_path, "d.parquet", whole[:-30], format="parquet").cause
    assert (cut or "").startswith("cannot be read to its end")
