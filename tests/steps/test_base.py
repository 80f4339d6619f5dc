"""What makes a source's raw or clean rows other rows, and how flows add up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.errors import InputMissingError
from pipelines.project import LoadedProject, load_project
from pipelines.report.model import RowFlow
from pipelines.steps.base import (
    StepContext,
    add_flows,
    clean_definition,
    hash_of,
    source_definition,
)
from pipelines.tables import Lake

ORDERS = Path(__file__).parents[1] / "data" / "orders" / "conf" / "orders"


def load(*overrides: str) -> LoadedProject:
    return load_project(str(ORDERS), overrides=overrides, environ={})


def changed_by(override: str, identity: Callable[[LoadedProject, str], str]) -> set[str]:
    before, now = load(), load(override)
    return {
        name for name in ("orders", "customers") if identity(before, name) != identity(now, name)
    }


def cleaned(loaded: LoadedProject, name: str) -> str:
    return clean_definition(loaded, name, {})


@pytest.mark.parametrize(
    ("override", "raw", "clean"),
    [
        ("sources.orders.schema.note=string!", {"orders"}, {"orders"}),
        ("sources.customers.nulls=[NA]", {"customers"}, {"customers"}),
        ("defaults.time_zone=UTC", {"orders", "customers"}, {"orders", "customers"}),
        ("sources.orders.row_rules.amount_range.nulls=fail", set(), {"orders"}),
        ("sources.orders.dedup.keep=most_complete", set(), {"orders"}),
        ("sources.orders.max_rejected=3%", set(), set()),
        ("sources.orders.table_rules.shops.severity=warn", set(), set()),
        ("models.linear.params.reg=0.5", set(), set()),
    ],
)
def test_what_makes_rows_other_rows(override: str, raw: set[str], clean: set[str]) -> None:
    assert changed_by(override, source_definition) == raw
    assert changed_by(override, cleaned) == clean


def test_lookups_count() -> None:
    loaded = load()
    one, two = (clean_definition(loaded, "orders", {"customers": batch}) for batch in ("1", "2"))
    assert one != two


def test_hash_of_ignores_the_order_of_keys_alone() -> None:
    assert hash_of({"a": 1, "b": 2}) == hash_of({"b": 2, "a": 1})
    assert hash_of(["a", "b"]) != hash_of(["b", "a"])
    assert hash_of("ab", "c") != hash_of("a", "bc")


def test_flows_add_up_and_unknown_stays_unknown() -> None:
    total = add_flows([RowFlow(rows_in=3, rows_out=2, rows_rejected=1), RowFlow(rows_in=4)])
    assert total == RowFlow(rows_in=7, rows_out=2, rows_rejected=1)
    assert add_flows([]) == RowFlow()


def test_facts_of_a_step_that_never_ran(tmp_path: Path) -> None:
    ctx = StepContext(
        loaded=load(),
        run_id="r",
        now=datetime(2026, 1, 1, tzinfo=UTC),
        lake=Lake(str(tmp_path), "r", lambda: pytest.fail("no session is needed")),
        facts_of=lambda _: None,
        scratch=str,
    )
    with pytest.raises(InputMissingError, match="step train has not run yet") as told:
        ctx.facts("train")
    assert told.value.remedy == "Fix: cauce train"
    assert ctx.training_set() == "delivery_time"
