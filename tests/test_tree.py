"""Rules about the tree itself that no linter knows: sizes, places, declared libraries."""

from __future__ import annotations

import ast
import re
import statistics
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = sorted(
    path for top in ("pipelines", "features", "jobs") for path in (ROOT / top).rglob("*.py")
)
MAX_LINES = 400
MAX_MEDIAN_LINES = 150

FLIGHT_WORDS = re.compile(
    r"flight|airline|airport|airplane|aircraft|carrier|tail_?num|\bdep_|\barr_|nycflights", re.I
)
FLIGHT_PLACES = (
    ROOT / "pipelines" / "demo_data",
    ROOT / "pipelines" / "cli" / "demo.py",
    ROOT / "features" / "custom",
)

# Import names that are not their distribution's, and libraries that one brings as its own API.
IMPORT_NAMES = {
    "click": "typer",
    "delta": "delta-spark",
    "great_expectations": "great-expectations",
    "ruamel": "ruamel.yaml",
    "markupsafe": "jinja2",
    "py4j": "pyspark",
    "pydantic_core": "pydantic",
}
PURE = {"numpy", "pandas", "pyarrow", "pyspark", "features"}


def test_no_product_file_is_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in PRODUCT}
    assert {p: n for p, n in lengths.items() if n > MAX_LINES} == {}
    assert statistics.median(lengths.values()) <= MAX_MEDIAN_LINES


def test_flights_stay_in_their_places() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _product_texts()
        if not any(path == place or place in path.parents for place in FLIGHT_PLACES)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if FLIGHT_WORDS.search(line)
    ]
    assert found == []


def test_every_module_says_what_it_owns() -> None:
    silent = [p for p in PRODUCT if not ast.get_docstring(ast.parse(p.read_text(encoding="utf-8")))]
    assert silent == []


def test_every_imported_library_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    pins = [*project["dependencies"], *extras["spark"], *extras["horovod"]]
    declared = {pin.split("==")[0].lower() for pin in pins}
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in PRODUCT
        if ROOT / "jobs" / "schedule" not in path.parents  # runs in Airflow's environment
        for name in _imported(path)
        if name not in sys.stdlib_module_names
        and name not in {"pipelines", "features"}
        and IMPORT_NAMES.get(name, name) not in declared
    }
    assert missing == set()


def test_declared_versions_are_those_of_the_constraints() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = chain(project["dependencies"], *project["optional-dependencies"].values())
    locked = {
        _canonical(line) for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    }
    assert {pin for pin in pins if _canonical(pin) not in locked} == set()


def test_features_are_pure() -> None:
    impure = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in PRODUCT
        if ROOT / "features" in path.parents
        for name in _imported(path)
        if name not in PURE and name not in sys.stdlib_module_names
    }
    assert impure == set()


def test_one_session_builder() -> None:
    session = ROOT / "pipelines" / "session.py"
    others = [p for p in PRODUCT if p != session and "SparkSession.builder" in p.read_text("utf-8")]
    assert others == []


@pytest.mark.parametrize(
    ("line", "is_about_flights"),
    [
        ("tailnum = 1", True),
        ("dep_delay", True),
        ("a dependency of dep", False),
        ("the barrier carries", False),
    ],
)
def test_the_search_for_flights_finds_words_not_syllables(
    line: str, is_about_flights: bool
) -> None:
    assert bool(FLIGHT_WORDS.search(line)) is is_about_flights


def _product_texts() -> Iterator[Path]:
    for top in ("pipelines", "features", "jobs"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.is_file() and path.suffix in {".py", ".html", ".jinja", ".j2", ".json", ".css"}:
                yield path


def _imported(path: Path) -> set[str]:
    """Returns the top-level names of all absolute imports, those inside functions included."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.split(".")[0])
    return names


def _canonical(pin: str) -> str:
    name, _, version = pin.partition("==")
    return f"{re.sub(r'[-_.]+', '-', name).lower()}=={version}"
