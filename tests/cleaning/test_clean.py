"""One row a key, every other row in its place, the same however often and in how many batches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.cleaning import lookup_order, publish, stage
from pipelines.cleaning.derive import add_derived, read_function
from pipelines.errors import ConfigError, InputMissingError
from pipelines.project.sources import DeriveFunction, Source

if TYPE_CHECKING:
    from conftest import Cleaning
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FIRST = [("a", 1, "x"), ("a", 1, "x"), ("b", 2, "y"), (None, 3, "z"), ("c", 99, "bad")]
SECOND = [("a", 1, "x"), ("b", 5, "y2"), ("d", 99, "bad"), ("c", 4, "mended"), (None, 99, None)]


def clean_rows(things: Cleaning) -> list[tuple[Any, ...]]:
    return things.rows("clean", "k", "v", "w")


def test_every_row_has_one_place_in_one_batch_or_two(things: Cleaning) -> None:
    things.deliver(*FIRST)
    first = things.clean()
    assert (first.mode, first.read, first.clean, first.duplicates) == ("rebuild", 5, 2, 1)
    assert clean_rows(things) == [("a", 1, "x"), ("b", 2, "y")]
    assert things.rows("duplicates", "k", "_rule", "_survivor_file", "_decided_in") == [
        ("a", "duplicate", "1.csv", 1)
    ]
    assert things.rows("quarantine", "k", "v", "_violations") == [
        ("c", 99, ["v_range"]),
        (None, 3, ["null_key"]),
    ]
    things.deliver(*SECOND)
    second = things.clean()
    assert (second.mode, second.read, second.clean, second.quarantined) == ("merge", 5, 3, 2)
    # The repeated `a` is the newer delivery: it stays, with the same content.
    assert clean_rows(things) == [("a", 1, "x"), ("b", 5, "y2"), ("c", 4, "mended")]
    assert things.rows("duplicates", "k", "v", "_file", "_rule", "_decided_in") == [
        ("a", 1, "1.csv", "duplicate", 1),
        ("a", 1, "1.csv", "duplicate", 2),
        ("b", 2, "1.csv", "superseded", 2),
    ]
    assert things.rows("quarantine", "_violations")[-1] == (["v_range"],)
    assert (["v_range", "null_key"],) in things.rows("quarantine", "_violations")
    assert things.reconciles()
    # All at once, by a definition that knows nothing of the batches: the same table.
    by_batches = things.rows("clean", "k", "v", "w", "_file", "_record", "_row_hash")
    again = things.declare("b")
    assert again.clean().mode == "rebuild"
    assert again.rows("clean", "k", "v", "w", "_file", "_record", "_row_hash") == by_batches
    assert again.reconciles()


def test_nothing_new_changes_nothing(things: Cleaning) -> None:
    things.deliver(*FIRST)
    things.clean()
    before = {layer: things.lake.version(layer, "things") for layer in ("stage", "clean")}
    assert things.clean().mode == "current"
    after = {layer: things.lake.version(layer, "things") for layer in ("stage", "clean")}
    assert after == before
    # A batch that changes nothing is done, and the table is what it was to those who read it.
    identity = things.lake.identity("clean", "things")
    things.deliver((None, 1, "x"), ("e", 99, "bad"))
    assert (things.clean().clean, things.clean().mode) == (0, "current")
    assert things.lake.identity("clean", "things") == identity
    assert things.reconciles()


def test_a_bad_row_never_wins_its_key(things: Cleaning) -> None:
    things.deliver(("a", 1, "good"))
    things.clean()
    things.deliver(("a", 99, "newer, bad"))
    things.clean()
    assert clean_rows(things) == [("a", 1, "good")]
    assert things.rows("quarantine", "w") == [("newer, bad",)]


def test_a_crash_before_publishing_is_made_good_by_the_next_run(things: Cleaning) -> None:
    things.deliver(*FIRST)
    things.stage()
    assert not things.lake.exists("clean", "things")
    things.clean()
    before = clean_rows(things)
    things.deliver(*SECOND)
    things.stage()
    assert clean_rows(things) == before
    things.deliver(("e", 1, "x"), ("e", 1, "x"))  # more arrives before the next run
    assert things.clean().read == len(SECOND) + 2
    assert things.reconciles()
    assert [row[0] for row in clean_rows(things)] == ["a", "b", "c", "e"]


def test_publishing_twice_is_publishing_once(things: Cleaning) -> None:
    things.deliver(*FIRST)
    things.clean()
    things.deliver(*SECOND)
    staged = things.stage()
    publish(things.lake, things.settings(), staged)
    rows, version = clean_rows(things), things.lake.version("clean", "things")
    assert publish(things.lake, things.settings(), staged) == len(rows)
    assert (clean_rows(things), things.lake.version("clean", "things")) == (rows, version)


def test_a_changed_rule_rebuilds_and_back(things: Cleaning) -> None:
    things.deliver(*FIRST)
    things.clean()
    strict = things.declare("b", row_rules={"v_one": {"column": "v", "between": [1, 1]}})
    assert strict.clean().mode == "rebuild"
    assert (clean_rows(strict), strict.count("quarantine")) == ([("a", 1, "x")], 3)
    assert strict.reconciles()
    back = things.declare("a")
    assert back.clean().mode == "rebuild"
    assert clean_rows(back) == [("a", 1, "x"), ("b", 2, "y")]
    assert back.reconciles()
    back.deliver(("b", 7, "new"))
    assert back.clean().mode == "merge"
    assert clean_rows(back) == [("a", 1, "x"), ("b", 7, "new")]
    assert back.reconciles()


def test_numbers_as_keys_have_one_form(things: Cleaning) -> None:
    numbers = replace(things, kind="double")
    nan = float("nan")
    numbers.deliver((0.0, 1, "x"), (-0.0, 1, "y"), (nan, 1, "x"), (nan, 2, "x"), (1.5, 1, "x"))
    assert numbers.clean().clean == 3
    numbers.deliver((-0.0, 3, "z"), (nan, 3, "z"))
    assert numbers.clean().superseded == 2
    assert sorted(v for (v,) in numbers.rows("clean", "v")) == [1, 3, 3]
    assert numbers.reconciles()


def test_the_winner_does_not_depend_on_partitions(things: Cleaning) -> None:
    rows = [("same", n % 10, f"{n}") for n in range(1000)]
    winners = set()
    for partitions in (1, 2, 7, 16):
        things.batch = 0
        things.deliver(*rows, partitions=partitions)
        one = things.declare(f"{partitions % 10}")
        one.clean()
        winners |= {tuple(one.rows("clean", "v", "w", "_record"))}
        assert (one.count("clean"), one.count("duplicates")) == (1, 999)
    assert len(winners) == 1


def test_the_most_complete_row_stays_whatever_its_age(things: Cleaning) -> None:
    whole = things.declare("a", dedup={"key": ["k"], "keep": "most_complete"})
    whole.deliver(("a", 1, "x"), ("a", None, None), ("b", None, "x"))
    whole.clean()
    whole.deliver(("a", 2, None), ("b", 2, "y"), ("c", None, None))
    assert whole.clean().superseded == 1
    assert clean_rows(whole) == [("a", 1, "x"), ("b", 2, "y"), ("c", None, None)]
    assert whole.reconciles()


def test_a_column_can_order_the_versions(things: Cleaning) -> None:
    by_v = things.declare("a", dedup={"key": ["k"], "by": "v"})
    by_v.deliver(("a", 5, "newest"), ("b", None, "undated"))
    by_v.clean()
    by_v.deliver(("a", 4, "late"), ("b", 0, "dated"))
    by_v.clean()
    assert clean_rows(by_v) == [("a", 5, "newest"), ("b", 0, "dated")]


def test_keys_of_two_columns_are_not_joined_texts(things: Cleaning) -> None:
    pair = things.declare("a", dedup={"key": ["k", "w"]})
    pair.deliver(("a", 1, "bc"), ("ab", 1, "c"), ("a", 1, None))
    assert (pair.clean().clean, pair.count("quarantine")) == (2, 1)


def test_messages(things: Cleaning, spark: SparkSession) -> None:
    with pytest.raises(InputMissingError, match="source things was never ingested"):
        things.stage()
    rows = spark.range(1)
    function = DeriveFunction(function="custom.flights.arrival_ts")
    with pytest.raises(ConfigError, match=r"`custom\.nothing\.here` does not exist"):
        read_function("custom.nothing.here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("features.custom.flights.arrival_ts", lambda rows: rows)
        with pytest.raises(ConfigError, match="did not add the column `x`"):
            add_derived(rows, {"x": function}, things.no_lookup)


def test_lookups_come_first() -> None:
    def source(lookup: str | None) -> Source:
        derive = {"x": {"function": "custom.a.b", "lookup": lookup}} if lookup else {}
        return Source.model_validate(
            {
                "files": {"path": "x", "format": "csv"},
                "schema": {"k": "int"},
                "dedup": {"key": ["k"]},
                "derive": derive,
            }
        )

    assert lookup_order({"a": source("b"), "b": source("c"), "c": source(None)}) == [
        ["c"],
        ["b"],
        ["a"],
    ]
    assert stage.lookups_of(source("b")) == {"b"}
    with pytest.raises(ConfigError, match="sources a, b look each other up in a circle"):
        lookup_order({"a": source("b"), "b": source("a")})
