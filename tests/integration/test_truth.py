"""Ingest and clean against the truth about the demo's mess: every disturbed line has its reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from pipelines.cli import main
from pipelines.demo_data import write_demo_data
from pipelines.demo_data.read import FLIGHT_KEY, find_source
from pipelines.tables import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
ROOT = Path(__file__).resolve().parents[2]
MESS = 0.05  # of 2,400 flights: 24 of each of the five kinds
Place = tuple[str, int]


def write_source(folder: Path) -> Path:
    """A source of two months around the end of summer time, 1,200 flights each."""
    flights = pd.read_csv(find_source() / "flights.csv.zip", dtype=str, keep_default_na=False)
    small = flights[flights["month"].isin(["10", "11"])].groupby("month").head(1200)
    folder.mkdir()
    small.to_csv(folder / "flights.csv.zip", index=False)
    for name in ("weather.csv", "planes.csv", "airports.csv"):
        shutil.copy(find_source() / name, folder / name)
    return folder


def publish(home: Path, source: Path, mess: float, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """Runs the demo's project on a set of deliveries, up to the published tables."""
    shutil.copytree(ROOT / "conf" / "flights", home / "conf" / "flights")
    write_demo_data(home / "data", mess=mess, seed=1, source=source)
    budgets = [
        "defaults.max_rejected=20%",
        "sources.flights.table_rules.quarantine_budget.max_quarantined=20%",
    ]
    words = ["run", "--until", "validate", *[w for budget in budgets for w in ("--set", budget)]]
    monkeypatch.chdir(home)
    main(words)

    def no_session() -> SparkSession:
        raise AssertionError

    return Lake(str(home / "lake"), "", no_session)


def read_rows(lake: Lake, layer: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lake.small(layer, "flights").to_pylist()
    return rows


def place(row: dict[str, Any]) -> Place:
    return row["_file"].removeprefix("data/"), row["_record"]


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    at = pd.Timestamp(row["time_hour"])
    utc = at.tz_localize("UTC") if at.tzinfo is None else at.tz_convert("UTC")
    return (utc, *(row[name] for name in FLIGHT_KEY[1:]))


def content(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not name.startswith("_")}


def test_every_disturbed_line_is_where_the_truth_says(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_source(tmp_path / "source")
    tidy = publish(tmp_path / "tidy", source, 0, monkeypatch)
    messy = publish(tmp_path / "messy", source, MESS, monkeypatch)
    lines = (tmp_path / "messy" / "data" / "_truth.jsonl").read_text().splitlines()
    truth = [json.loads(line) for line in lines]
    assert len(truth) > 120

    def told(destination: str, *reasons: str) -> dict[Place, str]:
        return {
            (line["file"], line["record"]): line["reason"]
            for line in truth
            if line["expected"] == destination and (not reasons or line["reason"] in reasons)
        }

    rejected = {
        (row["file"].removeprefix("data/"), row["record"]): row["reason"]
        for row in read_rows(messy, "rejected")
    }
    assert rejected == told("rejected")
    quarantine = {place(row): row["_violations"] for row in read_rows(messy, "quarantine")}
    assert quarantine == {at: [reason] for at, reason in told("quarantine").items()}
    duplicates = read_rows(messy, "duplicates")
    superseded = {place(row) for row in duplicates if row["_rule"] == "superseded"}
    assert superseded == set(told("duplicates", "superseded"))
    # Of two equal lines either may stay.
    repeated = sorted(key(row) for row in duplicates if row["_rule"] == "duplicate")
    assert repeated == sorted(key(line) for line in truth if line["reason"] == "duplicate")
    clean = {key(row): row for row in read_rows(messy, "clean")}
    assert set(told("clean")) <= {place(row) for row in clean.values()}

    lost = {key(line) for line in truth if not line["ever_valid"]}
    expected = {key(row): content(row) for row in read_rows(tidy, "clean")}
    assert lost
    assert {at: content(row) for at, row in clean.items()} == {
        at: row for at, row in expected.items() if at not in lost
    }
    assert sum(tidy.num_rows("clean", "flights").values()) == 2400
