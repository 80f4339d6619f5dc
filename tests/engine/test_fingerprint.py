"""Why a step runs, part by part; the first difference is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pipelines.engine.fingerprint import Fingerprint, build_fingerprint, explain, flatten
from pipelines.engine.graph import NAMES, STEPS, selected
from pipelines.project import LoadedProject

NOW = Fingerprint(
    config={"models.trees.depth": 5, "seed": 7},
    code="c0de",
    libraries={"numpy": "1.26.4", "pyspark": "4.0.5"},
    inputs={"clean/a": "id@3", "clean/b": "id@1"},
)


def test_nothing_changed() -> None:
    assert explain(NOW.to_dict(), NOW) is None


def test_never_ran() -> None:
    assert explain(None, NOW) == "never ran"


def test_each_part_is_told() -> None:
    before = NOW.to_dict()
    changed = {
        "`models.trees.depth` changed: 5 → 8": {"config": {"models.trees.depth": 8, "seed": 7}},
        "`models.trees.depth` changed: 5 → none": {"config": {"seed": 7}},
        "`models.net` changed: none → x": {"config": {**NOW.config, "models.net": "x"}},
        "code changed": {"code": "other"},
        "numpy changed: 1.26.4 → 2.0.0": {"libraries": {**NOW.libraries, "numpy": "2.0.0"}},
        "pyspark changed: 4.0.5 → none": {"libraries": {"numpy": "1.26.4"}},
        "input changed: clean/a, clean/b": {"inputs": {"clean/a": "id@4"}},
    }
    for reason, parts in changed.items():
        now = replace(NOW, **parts)  # type: ignore[arg-type]
        assert explain(before, now) == reason
        assert now.digest != NOW.digest


def test_configuration_is_told_before_code_and_inputs() -> None:
    now = replace(NOW, config={"seed": 8}, code="other", inputs={})
    assert str(explain(NOW.to_dict(), now)).startswith("`models.trees.depth` changed")


def test_long_values_are_cut_and_lists_read_well() -> None:
    now = replace(NOW, config={**NOW.config, "seed": ["a", "b"]})
    assert explain(NOW.to_dict(), now) == "`seed` changed: 7 → a, b"
    now = replace(NOW, config={**NOW.config, "seed": "x" * 99})
    assert explain(NOW.to_dict(), now) == f"`seed` changed: 7 → {'x' * 59}…"


def test_order_of_keys_does_not_count() -> None:
    turned = replace(NOW, config=dict(reversed(NOW.config.items())))
    assert turned.digest == NOW.digest


def test_flatten() -> None:
    tree = {"a": {"b": [1, 2], "c": {}}, "d": None}
    assert dict(flatten(tree)) == {"a.b": [1, 2], "a.c": {}, "d": None}


def test_a_key_belongs_to_the_steps_that_depend_on_it(load: Callable[..., LoadedProject]) -> None:
    def steps_of(override: str) -> set[str]:
        before, now = load().resolved, load(override).resolved
        return {
            step.name
            for step in STEPS
            if build_fingerprint(step, before, {}).digest != build_fingerprint(step, now, {}).digest
        }

    assert steps_of("models.linear.params.reg=0.1") == {"train"}
    assert steps_of("sources.orders.max_rejected=3%") == {"ingest"}
    assert steps_of("sources.orders.row_rules.amount_range.nulls=fail") == {"clean"}
    assert steps_of("sources.orders.table_rules.shops.severity=warn") == {"validate"}
    assert steps_of("training_sets.delivery_time.label.wait=13d") == {"featurize"}
    assert steps_of("training_sets.delivery_time.encode.category.min_count=6") == {"train"}
    assert steps_of("gates.champion.min.r2=0.2") == {"evaluate"}
    assert steps_of("score.delivery_time.rows.split=validation") == {"score"}
    assert steps_of("monitor.drift.warn=0.11") == {"monitor"}
    assert steps_of("project.seed=8") == {"train", "evaluate"}
    assert steps_of("project.owner=other") == set()


def test_selected() -> None:
    assert selected(None, None) == NAMES
    assert selected("evaluate", "score") == ("evaluate", "score")
    assert selected("monitor", None) == ("monitor", "report")
    assert selected(None, "clean") == ("ingest", "clean")
