"""The data of `orders`: what the script makes is what is committed, and what it expects is so."""

from __future__ import annotations

import csv
import json
import runpy
from pathlib import Path
from typing import Any

from pipelines.project.load import load_project

HERE = Path(__file__).parent


def read_files(folder: Path) -> dict[str, bytes]:
    paths = [folder / "expected.json", *(p for p in (folder / "data").rglob("*") if p.is_file())]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def is_readable(order: dict[str, Any]) -> bool:
    return order["placed_at"][:4] == "2024" and "," not in order["amount"]


def is_good(order: dict[str, Any]) -> bool:
    return order["order_id"] != "" and not order["amount"].startswith("-")


def test_committed_data_are_what_the_script_makes(tmp_path: Path) -> None:
    runpy.run_path(str(HERE / "make.py"))["write"](tmp_path)
    assert read_files(tmp_path) == read_files(HERE)
    assert sum(map(len, read_files(HERE).values())) < 200_000


def test_expected_counts_of_orders() -> None:
    orders = []
    for path in sorted((HERE / "data" / "orders").iterdir()):
        with path.open(newline="", encoding="utf-8") as lines:
            orders += csv.DictReader(lines, strict=True)
    readable = [order for order in orders if is_readable(order)]
    good = [order for order in readable if is_good(order)]
    clean = len({order["order_id"] for order in good})
    assert json.loads((HERE / "expected.json").read_text())["orders"] == {
        "records": len(orders),
        "rejected": len(orders) - len(readable),
        "quarantined": len(readable) - len(good),
        "duplicates": len(good) - clean,
        "clean": clean,
    }


def test_expected_counts_of_customers() -> None:
    lines = (HERE / "data" / "customers.jsonl").read_text(encoding="utf-8").splitlines()
    ids = [json.loads(line)["customer_id"] for line in lines]
    found = json.loads((HERE / "expected.json").read_text())["customers"]
    assert (found["records"], found["clean"]) == (len(ids), len(set(ids))) == (61, 60)
    assert found["duplicates"] == 1


def test_project_file_is_valid() -> None:
    loaded = load_project(str(HERE / "conf" / "orders"))
    assert loaded.name == "orders"
    assert loaded.home == HERE
