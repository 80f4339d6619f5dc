"""Checks beyond types: columns, patterns, paths, and the expressions handed to others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.project import LoadedProject, iter_expressions, load_project

Load = Callable[..., LoadedProject]
Mistakes = Callable[..., list[tuple[str, str]]]


def test_expressions_with_the_columns_they_may_use(load: Load) -> None:
    project = load(
        "sources.orders.derive.euros=cents / 100",
        "sources.orders.row_rules.cheap={expression: euros < 5}",
        'training_sets.spend.windows.recent.values={"*": [count], "price > 3": [rate]}',
    ).project
    orders = ("delivered_at", "id", "placed", "item", "price")
    whole = (*orders, "cents", "euros")
    assert list(iter_expressions(project)) == [
        ("sources.orders.derive.cents", "price * 100", orders),
        ("sources.orders.derive.euros", "cents / 100", (*orders, "cents")),
        ("sources.orders.row_rules.cheap.expression", "euros < 5", whole),
        ("training_sets.spend.rows.predict_at", "placed", whole),
        ("training_sets.spend.label.expression", "price", whole),
        ("training_sets.spend.windows.recent.values.price", "price", whole),
        ("training_sets.spend.windows.recent.values.price > 3", "price > 3", whole),
    ]


@pytest.mark.parametrize(
    ("override", "key", "message"),
    [
        (
            "training_sets.spend.static.goods.columns=[wight]",
            "training_sets.spend.static.goods.columns",
            "unknown column `wight` of items; allowed: delivered_at, item, weight. "
            "Did you mean `weight`?",
        ),
        ("training_sets.spend.static.goods.join={itm: item}", "goods.join", "`itm` of orders"),
        ("training_sets.spend.static.goods.join={item: itm}", "goods.join", "`itm` of items"),
        ("training_sets.spend.static.goods.join=null", "goods", "needs join, as its source is"),
        ("training_sets.spend.static.when.of=placd", "when.of", "`placd` of orders"),
        ("training_sets.spend.windows.recent.by={i: [itm]}", "recent.by.i", "`itm` of orders"),
        (
            "training_sets.spend.windows.recent={from: items, by: {i: [price]}}",
            "recent.by.i",
            "`price` of items",
        ),
        (
            "training_sets.spend.latest.w={from: items, by: [id], columns: [weight], max_age: 1d}",
            "latest.w.by",
            "unknown column `id` of items",
        ),
        (
            "training_sets.spend.latest.w={from: items, by: [item], columns: [x], max_age: 1d}",
            "latest.w.columns",
            "unknown column `x` of items",
        ),
        (
            "sources.orders.table_rules.fk={foreign_key: {itm: items.item}}",
            "table_rules.fk.foreign_key.itm",
            "unknown column `itm`",
        ),
        (
            "sources.orders.table_rules.fk={foreign_key: {item: items.itm}}",
            "foreign_key.item = items.itm",
            "unknown column of items; allowed: delivered_at, item, weight",
        ),
        ("sources.orders.files.delivered_at.from_name='('", "= (", "is no regular expression"),
        ("sources.orders.files.delivered_at.from_name=x", "= x", "needs a group around the date"),
        ("sources.orders.files.path=../*.csv", "= ../*.csv", "leaves the project's home"),
        ("sources.orders.files.path=data/../../x", "= data/../../x", "leaves the project's home"),
        ("project.lake=..", "= ..", "leaves the project's home"),
        ("project.runs=a/../../b", "= a/../../b", "needs a path below it or an absolute one"),
        (
            "sources.orders.table_rules.s={great_expectations: ../../x.json}",
            "= ../../x.json",
            "leaves the project's folder",
        ),
        (
            "sources.orders.table_rules.s={great_expectations: /etc/passwd}",
            "= /etc/passwd",
            "leaves the project's folder",
        ),
    ],
)
def test_one_mistake(mistakes_of: Mistakes, override: str, key: str, message: str) -> None:
    ((where, told),) = mistakes_of(override)
    assert where.endswith(key)
    assert message in told


def test_a_suite_has_to_be_there(home: Path, load: Load, mistakes_of: Mistakes) -> None:
    override = "sources.orders.table_rules.s={great_expectations: quality/suite.json}"
    ((where, told),) = mistakes_of(override)
    assert where.endswith("= quality/suite.json")
    assert told == f"no such file in {home / 'conf' / 'shop'}"
    (home / "conf" / "shop" / "quality").mkdir()
    (home / "conf" / "shop" / "quality" / "suite.json").write_text("{}", encoding="utf-8")
    assert load(override).project.sources["orders"].table_rules["s"].great_expectations


@pytest.mark.parametrize("path", ["/srv/x/*.csv", "s3://bucket/../x/*.csv", "a/../b/*.csv"])
def test_paths_that_are_fine(load: Load, path: str) -> None:
    assert load(f"sources.orders.files.path={path}").project.sources["orders"].files.path == path


def test_a_suite_behind_a_link_out_of_the_folder(home: Path, mistakes_of: Mistakes) -> None:
    (home / "outside.json").write_text("{}", encoding="utf-8")
    (home / "conf" / "shop" / "suite.json").symlink_to(home / "outside.json")
    override = "sources.orders.table_rules.s={great_expectations: suite.json}"
    assert "leaves the project's folder" in mistakes_of(override)[0][1]


@pytest.mark.parametrize("name", ["flights", "tests/data/orders/conf/orders"])
def test_the_projects_of_this_repository(name: str) -> None:
    loaded = load_project(name, environ={})
    assert loaded.name in ("flights", "orders")
    assert loaded.origin("project.name").startswith("base.yaml:")
