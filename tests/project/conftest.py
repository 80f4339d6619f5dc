"""A small valid project in a folder of its own, to be broken by the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.errors import ConfigErrors
from pipelines.project import LoadedProject, load_project

BASE = """\
project: {name: shop, seed: 7}
defaults: {time_zone: Europe/Madrid}
sources:
  orders:
    files: {path: data/orders/*.csv, format: csv, delivered_at: {from_name: "_(\\\\d{8})"}}
    schema: {id: int!, placed: timestamp!, item: string, price: double}
    derive:
      cents: price * 100
    known_at: {always: [id, placed, item]}
    row_rules:
      price_range: {column: price, between: [0, 1000]}
    dedup: {key: [id], by: placed}
  items:
    files: {path: data/items.jsonl, format: json}
    schema: {item: string!, weight: double}
    dedup: {key: [item], keep: most_complete}
training_sets:
  spend:
    rows: {source: orders, predict_at: placed}
    label: {name: total, expression: price, task: regression, wait: 2d}
    windows:
      recent: {from: orders, by: {item: [item]}, last: [1d, 7d], values: {price: [mean]}}
    static:
      goods: {from: items, join: {item: item}, columns: [weight]}
      when: {of: placed, parts: [hour]}
    split: {train_until: 2024-01-01, validation_until: 2024-02-01, test_until: 2024-03-01}
models:
  average: {kind: baseline.mean}
  trees:
    kind: mllib.gbt_regression
    params: {trees: 20, depth: 4}
evaluate: {primary: rmse, metrics: [rmse, mae]}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the project `shop`, which is the working directory too."""
    folder = tmp_path / "conf" / "shop"
    folder.mkdir(parents=True)
    (folder / "base.yaml").write_text(BASE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def load(home: Path) -> Callable[..., LoadedProject]:
    """Loads `shop` with overrides, an environment and variables; no variable of this machine."""

    def load_shop(*overrides: str, env: str = "dev", **environ: str) -> LoadedProject:
        return load_project("shop", env=env, overrides=overrides, environ=environ)

    return load_shop


@pytest.fixture
def mistakes_of(load: Callable[..., LoadedProject]) -> Callable[..., list[tuple[str, str]]]:
    """Loads `shop` as `load` does and returns (where, message) of every mistake."""

    def mistakes(*overrides: str, env: str = "dev", **environ: str) -> list[tuple[str, str]]:
        with pytest.raises(ConfigErrors) as caught:
            load(*overrides, env=env, **environ)
        return [(str(mistake.where), mistake.message) for mistake in caught.value.mistakes]

    return mistakes
