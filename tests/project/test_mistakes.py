"""Every mistake at once, each with its place, what is allowed and the nearest word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.errors import ConfigErrors
from pipelines.project import LoadedProject

Mistakes = Callable[..., list[tuple[str, str]]]


@pytest.mark.parametrize(
    ("override", "shown", "message"),
    [
        (
            "training_sets.spend.windows.recent.lst=[1d]",
            "training_sets.spend.windows.recent.lst",
            "unknown key; allowed: from, by, last, next, values. Did you mean `last`?",
        ),
        (
            "models.trees.kind=mllib.gbdt",
            "models.trees.kind = mllib.gbdt",
            "unknown model; allowed: mllib.gbt, mllib.gbt_regression, … (cauce model ls)",
        ),
        ("models.trees.params.depth=two", "= two", "needs an integer from 1 to 15"),
        ("models.trees.params.depth=99", "= 99", "needs an integer from 1 to 15"),
        ('models.trees.params.depth="6"', "= 6", "needs an integer from 1 to 15"),
        ("models.trees.params.dept=3", "params.dept", "Did you mean `depth`?"),
        ("project.seed=true", "= true", "needs an integer of at least 0 and below 2147483648"),
        ("project.name=../x", "= ../x", "needs a name of lower-case letters, digits and _"),
        ("sources.Bad-Name.files.path=x", "sources.Bad-Name", "the key needs a name of lower"),
        ("sources.items.schema.weight=float", "= float", "needs string, boolean, int, long"),
        ("sources.items.files.format=xml", "= xml", "needs csv, json or parquet"),
        ("sources.items.files.separator=ab", "= ab", "needs text with exactly 1 character"),
        ("sources.items.files=null", "sources.items.files", "is missing; needs a map of path,"),
        ("sources.items.dedup.key=[]", "dedup.key", "needs a list with at least 1 entry"),
        ("sources.items.known_at.always=[1]", "known_at.always", "needs a list or *"),
        ("sources.items.known_at={always: [wight]}", "always.0 = wight", "Did you mean `weight`?"),
        ("sources.orders.derive.x={function: f}", "= f", "needs text that fits ^custom"),
        ("sources.orders.derive.x={functio: f}", "x.functio", "Did you mean `function`?"),
        ("sources.orders.derive.x=[1]", "derive.x", "needs text with at least 1"),
        ("sources.orders.row_rules.r={column: id}", "r", "exactly one of between, in, expression"),
        ("sources.orders.max_rejected=120%", "= 120%", "needs a share from 0% to 100%"),
        ("sources.orders.max_rejected=few", "= few", "needs a share such as 1% or 0.01"),
        ("training_sets.spend.label.wait=2 months", "= 2 months", "needs a duration such as"),
        ("training_sets.spend.split.train_until=x", "= x", "needs a date such as 2013-09-01"),
        ("training_sets.spend.split.train_until=2025-01-01", "split", "needs train_until <"),
        ("training_sets.spend.static.goods.colums=[x]", "goods.colums", "from, join, columns."),
        ("training_sets.spend.static.when.part=[x]", "when.part", "allowed: of, parts. Did"),
        ("evaluate.metrics=[foo]", "metrics.0 = foo", "needs roc_auc, pr_auc, log_loss, brier"),
        ("evaluate.interval.level=1", "= 1", "needs a number above 0.5 and below 1"),
        ("defaults.time_zone=Mars/Base", "= Mars/Base", "unknown time zone; needs an IANA name"),
        ("models.trees.train={workers: 2}", "models.trees", "only networks have train"),
        (
            "models.net={kind: torch.resnet, train: {workers: two}}",
            "models.net.train.workers = two",
            "needs an integer from 1 to 64",
        ),
        ("models.net.kind=torch.resnet", "models.net", "needs train: {backend, workers, …}"),
        ("monitr=null", "monitr", "Did you mean `monitor`?"),
        ("models.trees.parms=null", "models.trees.parms", "Did you mean `params`?"),
        ("score.spend.decide.cost_missed=0", "cost_missed = 0", "needs a number above 0"),
        (
            "sources.items.dedup.by=wight",
            "dedup.by = wight",
            "unknown column; allowed: delivered_at,",
        ),
        ("sources.items.dedup.key=[item, itm]", "dedup.key.1 = itm", "unknown column; allowed: "),
        ("sources.items.event_time=x", "event_time = x", "unknown column; allowed: delivered_at"),
    ],
)
def test_one_mistake(mistakes_of: Mistakes, override: str, shown: str, message: str) -> None:
    found = mistakes_of(override)
    assert [text for where, text in found if where.endswith(shown) and message in text], found


@pytest.mark.parametrize(
    ("override", "key", "message"),
    [
        ("training_sets.spend.rows.source=ordrs", "rows.source = ordrs", "`orders`?"),
        ("training_sets.spend.windows.recent.from=x", "from = x", "unknown source; allowed: ord"),
        ("training_sets.spend.static.goods.from=x", "from = x", "unknown source"),
        ("gates.champion.baseline=avrage", "baseline = avrage", "Did you mean `average`?"),
        ("score.spnd={}", "score.spnd", "unknown training set; allowed: spend. Did you mean"),
        ("training_sets=null", "models", "models need a training set"),
        (
            "sources.orders.table_rules.known={foreign_key: {item: itms.item}}",
            "foreign_key.item = itms.item",
            "unknown source; allowed: orders, items. Did you mean `items`?",
        ),
        (
            "sources.orders.derive.x={function: custom.a.b, lookup: itms}",
            "derive.x.lookup = itms",
            "Did you mean `items`?",
        ),
    ],
)
def test_names_across_sections(
    mistakes_of: Mistakes, override: str, key: str, message: str
) -> None:
    ((where, told),) = mistakes_of(override)
    assert where.endswith(key)
    assert message in told


def test_all_at_once_in_the_order_of_the_file(home: Path, mistakes_of: Mistakes) -> None:
    prod = "models:\n  trees: {kind: mllib.gbdt}\nproject: {sed: 1}\n"
    (home / "conf" / "shop" / "prod.yaml").write_text(prod, encoding="utf-8")
    found = mistakes_of(
        "no-equals-sign",
        "a..b=1",
        "evaluate.primary=[",
        env="prod",
        CAUCE__PROJECT__SEED="abc",
    )
    assert [where for where, _ in found] == [
        "--set  no-equals-sign",
        "--set  a..b",
        "--set  evaluate.primary = [",
        "CAUCE__PROJECT__SEED  project.seed = abc",
        "conf/shop/prod.yaml:3  project.sed",
        "conf/shop/prod.yaml:2  models.trees.kind = mllib.gbdt",
    ]
    assert [told for _, told in found][:3] == [
        "needs key=value",
        "needs a key such as models.trees.params.depth",
        "broken YAML: while parsing a flow node expected the node content, but found "
        "'<stream end>'",
    ]


def test_sections_are_compared_even_if_another_value_is_wrong(mistakes_of: Mistakes) -> None:
    found = mistakes_of(
        "project.seed=x",
        "sources.items.schema.weight=float",
        "sources.orders.derive.cents=[1]",
        "sources.orders.row_rules.cents_range={column: cents, between: [0, 9]}",
        "training_sets.spend.windows.recent.lst=[1d]",
        "training_sets.spend.static.goods.from=itms",
        "gates.champion.baseline=avrage",
    )
    assert [where.removeprefix("--set  ") for where, _ in found] == [
        "project.seed = x",
        "sources.orders.derive.cents",
        "sources.items.schema.weight = float",
        "training_sets.spend.windows.recent.lst",
        "training_sets.spend.static.goods.from = itms",
        "gates.champion.baseline = avrage",
    ]


def test_columns_are_looked_up_even_if_another_value_is_wrong(mistakes_of: Mistakes) -> None:
    found = mistakes_of("project.seed=x", "training_sets.spend.static.goods.columns=[wight]")
    assert [where.split(".")[-1] for where, _ in found] == ["seed = x", "columns"]


def test_the_error_counts_its_mistakes(load: Callable[..., LoadedProject]) -> None:
    with pytest.raises(ConfigErrors) as caught:
        load("project.seed=x", "project.sed=1")
    assert caught.value.message == "shop: 2 errors; nothing was started"
    assert caught.value.exit_code == 78


def test_long_values_are_cut(mistakes_of: Mistakes) -> None:
    ((where, _),) = mistakes_of(f"project.seed={'x' * 500}")
    assert len(where) < 100
    assert where.endswith("x…")


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        (b"project: {name: shop\n", "conf/shop/base.yaml:2", "broken YAML"),
        (b"a: 1\na: 2\n", "conf/shop/base.yaml:2", "the key `a` is given twice"),
        (b"a: !!python/object:x.y z\n", "conf/shop/base.yaml:1", "is not allowed"),
        (b"- a\n", "conf/shop/base.yaml:1", "needs a map of sections"),
        (b"a: 1\nb: \xff\n", "conf/shop/base.yaml:2", "is not UTF-8"),
        (b"#" * 1_000_001, "conf/shop/base.yaml", "is larger than 1,000,000 bytes"),
    ],
)
def test_files_that_cannot_be_read(
    home: Path, mistakes_of: Mistakes, content: bytes, place: str, message: str
) -> None:
    (home / "conf" / "shop" / "base.yaml").write_bytes(content)
    ((where, told),) = mistakes_of()
    assert where == place
    assert message in told


def test_an_empty_file_misses_its_sections(home: Path, mistakes_of: Mistakes) -> None:
    (home / "conf" / "shop" / "base.yaml").write_text("", encoding="utf-8")
    assert [where.split()[-1] for where, _ in mistakes_of()] == ["project", "sources"]


def test_a_file_without_permission(
    home: Path, mistakes_of: Mistakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert mistakes_of() == [("conf/shop/base.yaml", "cannot be read: Permission denied")]


def test_python_names_of_aliased_keys_are_unknown(mistakes_of: Mistakes) -> None:
    found = dict(mistakes_of("training_sets.spend.windows.recent.from_=orders"))
    assert "unknown key" in found["--set  training_sets.spend.windows.recent.from_"]
