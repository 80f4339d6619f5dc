"""Cleaning against a plain-Python model of itself, over batches that hypothesis makes up."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from conftest import Cleaning, Row

pytestmark = pytest.mark.spark

ROW = st.tuples(
    st.sampled_from(["a", "b", "c", "", "ñ", None]),
    st.one_of(st.none(), st.integers(0, 12)),
    st.sampled_from(["x", "y"]),
)
BATCHES = st.lists(st.lists(ROW, min_size=1, max_size=6), min_size=2, max_size=3)


def is_good(row: Row) -> bool:
    return row[0] is not None and (row[1] is None or row[1] <= 9)


def newest_contents(batches: list[list[Row]]) -> dict[str, set[Row]]:
    """Key → the contents of its newest delivery; the winner is one of them."""
    newest: dict[str, set[Row]] = {}
    for rows in batches:
        newest |= {
            key: {r for r in rows if is_good(r) and r[0] == key}
            for key, *_ in filter(is_good, rows)
        }
    return newest


@settings(
    max_examples=3,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(BATCHES)
def test_cleaning_is_what_the_model_says(things: Cleaning, batches: list[list[Row]]) -> None:
    shutil.rmtree(Path(things.lake.root), ignore_errors=True)
    things.batch = 0
    for rows in batches:
        things.deliver(*rows)
        things.clean()
        assert things.reconciles()
    cleaned = {row[0]: row for row in things.rows("clean", "k", "v", "w")}
    newest = newest_contents(batches)
    assert cleaned.keys() == newest.keys()
    assert len(cleaned) == things.count("clean")
    assert [key for key, row in cleaned.items() if row not in newest[key]] == []
    num_bad = sum(not is_good(row) for rows in batches for row in rows)
    assert things.count("quarantine") == num_bad
