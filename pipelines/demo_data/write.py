"""Writes the deliveries, their truth and the marker of a complete set, all of it or nothing."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.demo_data.deliver import name_deliveries, place_lines, render_deliveries, write_truth
from pipelines.demo_data.mess import plan_mess
from pipelines.demo_data.read import (
    WEATHER,
    find_source,
    hash_source,
    read_airports,
    read_flights,
    read_planes,
)
from pipelines.errors import UsageError

MARKER = "_demo.json"
TRUTH = "_truth.jsonl"
LAYOUT_VERSION = 1  # raised when the same seed no longer writes the same bytes
MAX_MESS = 0.2

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class DemoData:
    """One set of demo deliveries.

    Attributes:
        out: The folder that holds it.
        files: Every file, relative to `out`, the truth included, the marker not.
        num_flights: Flights of the source, which is the rows of a set without mess.
        counts: Lines a kind of mess (see `pipelines.demo_data.mess`).
        written: False if a complete, identical set was there already.
    """

    out: Path
    files: tuple[Path, ...]
    num_flights: int
    counts: dict[str, int]
    written: bool


def write_demo_data(
    out: Path, mess: float = 0.01, seed: int = 2013, source: Path | None = None
) -> DemoData:
    """Writes raw deliveries of flights, weather, planes and airports, with a documented mess.

    The set is built beside `out` and renamed into place, so a killed run leaves no half of it.

    Args:
        out: Folder to write; a set made earlier is replaced, anything else is left alone.
        mess: Share of the flights that is disturbed, from 0 (clean) to 0.2.
        seed: The same seed, mess and source give the same bytes.
        source: Folder with the package's tables, by default the installed package's.

    Raises:
        UsageError: `mess` is out of bounds, or `out` holds something else.
        ConfigError: The package is not installed.
        InputMissingError: The source lacks a table or has no flights.
    """
    if not 0 <= mess <= MAX_MESS:
        raise UsageError(f"mess must be a share from 0 to {MAX_MESS}; found {mess}")
    source, out = find_source(source), out.resolve()
    identity = {
        "version": LAYOUT_VERSION,
        "seed": seed,
        "mess": float(mess),
        "source_sha256": hash_source(source),
    }
    marker = _read_marker(out)
    if marker is not None and _is_complete(out, marker, identity):
        logger.info("%s already holds these deliveries; nothing was written", out)
        return _describe(out, marker, written=False)
    partial, replaced = (out.with_name(f".{out.name}.{end}") for end in ("partial", "replaced"))
    for leftover in (partial, replaced):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir(parents=True)
    marker = {**identity, **_write_set(partial, mess, seed, source)}
    (partial / MARKER).write_text(json.dumps(marker, indent=1) + "\n")
    if out.exists():
        out.rename(replaced)
    partial.rename(out)
    shutil.rmtree(replaced, ignore_errors=True)
    return _describe(out, marker, written=True)


def _read_marker(out: Path) -> dict[str, Any] | None:
    if not out.exists():
        return None
    if out.is_dir() and (out / MARKER).is_file():
        marker: dict[str, Any] = json.loads((out / MARKER).read_text())
        return marker
    if out.is_dir() and not any(out.iterdir()):
        return None
    raise UsageError(
        f"demo data need a new or empty folder, or one they were written to before (it has "
        f"{MARKER}); this is {'a folder with other files' if out.is_dir() else 'no folder'}",
        where=str(out),
        remedy="name another folder, or move this one away",
    )


def _is_complete(out: Path, marker: dict[str, Any], identity: dict[str, Any]) -> bool:
    return identity.items() <= marker.items() and all(
        (out / name).is_file() and _sha256(out / name) == digest
        for name, digest in marker["files"].items()
    )


def _describe(out: Path, marker: dict[str, Any], *, written: bool) -> DemoData:
    files = tuple(Path(name) for name in marker["files"])
    return DemoData(out, files, marker["num_flights"], marker["counts"], written)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write_set(out: Path, share: float, seed: int, source: Path) -> dict[str, Any]:
    flights = read_flights(source)
    month_of_row = flights["year"] + flights["month"].str.zfill(2)
    months = pd.Index(sorted(month_of_row.unique()))
    mess = plan_mess(flights, months, share, seed)
    lines = place_lines(flights, months.get_indexer(month_of_row), mess)
    names = name_deliveries(months, int(lines["delivery"].max()) + 1)

    (out / "flights").mkdir()
    for delivery, header, text in render_deliveries(flights, lines, mess, months, seed):
        body = "\n".join([header, *text]) + "\n"
        (out / "flights" / names[delivery]).write_text(body, encoding="utf-8")
    write_truth(out / TRUTH, flights, lines, names)
    (out / "weather").mkdir()
    shutil.copyfile(source / WEATHER, out / "weather" / f"weather_{months[0][:4]}.csv")
    read_planes(source).to_json(out / "planes.jsonl", orient="records", lines=True)
    airports = pa.Table.from_pandas(read_airports(source), preserve_index=False)
    pq.write_table(airports.replace_schema_metadata(None), out / "airports.parquet")

    paths = sorted(path for path in out.rglob("*") if path.is_file())
    return {
        "num_flights": len(flights),
        "counts": lines["kind"].value_counts().sort_index().to_dict(),
        "reordered_month": mess.reordered_month,
        "extra_column_month": mess.extra_column_month,
        "files": {path.relative_to(out).as_posix(): _sha256(path) for path in paths},
    }
