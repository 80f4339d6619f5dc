"""Layers: files < environment < variables < --set; maps merge, lists replace, null deletes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.errors import ConfigError, ConfigErrors
from pipelines.project import LoadedProject, load_project, locate_mistake

Load = Callable[..., LoadedProject]


def overlay(home: Path, text: str, env: str = "prod") -> None:
    (home / "conf" / "shop" / f"{env}.yaml").write_text(text, encoding="utf-8")


def depth(loaded: LoadedProject) -> int:
    return int(loaded.project.models["trees"].params["depth"])


def test_every_layer_beats_the_one_below(home: Path, load: Load) -> None:
    assert depth(load()) == 4
    overlay(home, "models: {trees: {params: {depth: 5}}}\n")
    assert depth(load(env="prod")) == 5
    variable = {"CAUCE__MODELS__TREES__PARAMS__DEPTH": "6"}
    assert depth(load(env="prod", **variable)) == 6
    assert depth(load("models.trees.params.depth=7", env="prod", **variable)) == 7


def test_origins_name_the_layer_and_the_line(home: Path, load: Load) -> None:
    overlay(home, "\nmodels:\n  trees: {params: {depth: 5}}\n")
    loaded = load("project.seed=3", env="prod", CAUCE__EVALUATE__PRIMARY="mae")
    assert loaded.origin("models.trees.params.depth") == "prod.yaml:3"
    assert loaded.origin("models.trees.params.trees") == "base.yaml:31"
    assert loaded.origin("sources.orders.row_rules.price_range") == "base.yaml:11"
    assert loaded.origin("project.seed") == "--set"
    assert loaded.origin("evaluate.primary") == "CAUCE__EVALUATE__PRIMARY"
    assert loaded.origin("gates.champion") == "default"
    assert loaded.origins["training_sets.spend.windows.recent.last.1"] == "base.yaml:22"


def test_maps_merge(load: Load) -> None:
    loaded = load("models.trees.params={depth: 9}")
    assert loaded.project.models["trees"].params == {"trees": 20, "depth": 9}
    assert list(loaded.project.models) == ["average", "trees"]


def test_lists_replace_with_their_origins(load: Load) -> None:
    loaded = load("training_sets.spend.windows.recent.last=[3h]")
    assert [
        span.total_seconds()
        for span in loaded.project.training_sets["spend"].windows["recent"].last
    ] == [10_800]
    assert loaded.origin("training_sets.spend.windows.recent.last") == "--set"
    assert "training_sets.spend.windows.recent.last.1" not in loaded.origins


def test_null_deletes(home: Path, load: Load) -> None:
    assert list(load("models.trees=null").project.models) == ["average"]
    overlay(home, "models: {trees: {params: {depth: null}}}\n")
    loaded = load(env="prod")
    assert loaded.project.models["trees"].params == {"trees": 20}
    assert "models.trees.params.depth" not in loaded.origins


def test_an_empty_section_and_a_null_that_deletes_nothing_are_no_mistake(
    home: Path, load: Load
) -> None:
    overlay(home, "gates:\nscore: null\nmodels: {forest: null}\n")
    assert load(env="prod").project.gates.champion is None


def test_variables_find_keys_in_any_case(home: Path, load: Load) -> None:
    text = (home / "conf" / "shop" / "base.yaml").read_text(encoding="utf-8")
    changed = text.replace("weight: double", "Weight_KG: double").replace("[weight]", "[Weight_KG]")
    (home / "conf" / "shop" / "base.yaml").write_text(changed, encoding="utf-8")
    loaded = load(CAUCE__SOURCES__ITEMS__SCHEMA__WEIGHT_KG="int")
    assert loaded.project.sources["items"].columns["Weight_KG"].sql == "int"


def test_other_variables_do_not_count(load: Load) -> None:
    assert load(CAUCE_JARS="/x", CAUCE_="y").config_hash == load().config_hash


def test_dev_needs_no_file_but_uses_one(home: Path, load: Load) -> None:
    overlay(home, "project: {seed: 99}\n", env="dev")
    assert load().project.project.seed == 99


@pytest.mark.parametrize("env", ["prd", "../shop/prod", "base", "", "Prod"])
def test_an_unknown_environment_names_those_there_are(home: Path, load: Load, env: str) -> None:
    overlay(home, "project: {seed: 1}\n")
    with pytest.raises(ConfigErrors) as caught:
        load(env=env)
    (mistake,) = caught.value.mistakes
    assert mistake.where == f"--env {env}"
    assert "unknown environment; allowed: dev, prod" in mistake.message


def test_the_hash_follows_the_values_not_the_layer(load: Load) -> None:
    assert load("models.trees.params.depth=4").config_hash == load().config_hash
    assert load("models.trees.params.depth=5").config_hash != load().config_hash
    assert load("project.seed=7").resolved == load().resolved


def test_resolved_has_defaults_and_forms_that_load_again(load: Load) -> None:
    resolved = load().resolved
    assert resolved["evaluate"]["interval"]["bootstrap"] == 1_000
    assert resolved["training_sets"]["spend"]["windows"]["recent"]["last"] == ["1d", "7d"]
    assert resolved["sources"]["orders"]["schema"]["id"] == "int!"
    assert resolved["training_sets"]["spend"]["split"]["train_until"] == "2024-01-01"


def test_home_and_places(home: Path, load: Load) -> None:
    loaded = load("project.runs=/var/runs")
    assert (loaded.name, loaded.env) == ("shop", "dev")
    assert (loaded.home, loaded.folder) == (home, home / "conf" / "shop")
    assert loaded.lake == f"{home}/lake"
    assert loaded.runs == Path("/var/runs")
    assert loaded.resolve("s3://bucket/lake") == "s3://bucket/lake"


def test_found_by_name_from_below_and_by_path(
    home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    below = home / "notebooks" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert load_project("shop", environ={}).home == home
    monkeypatch.chdir("/")
    assert load_project(str(home / "conf" / "shop"), environ={}).home == home
    alone = tmp_path / "elsewhere"
    alone.mkdir()
    (alone / "frozen.yaml").write_bytes((home / "conf" / "shop" / "base.yaml").read_bytes())
    loaded = load_project(str(alone / "frozen.yaml"), env="prod", environ={})
    assert (loaded.home, loaded.folder, loaded.name) == (alone, alone, "shop")


def test_a_missing_project_names_those_there_are(home: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_project("shp", environ={})
    assert caught.value.message == "no project `shp`; conf/ has shop"
    assert caught.value.where == "--project shp"
    assert "folder of conf/" in str(caught.value.remedy)


def test_a_missing_project_without_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="there is no conf/ with a project here or above"):
        load_project("../shop", environ={})


def test_a_mistake_found_elsewhere_gets_its_place(load: Load) -> None:
    key = "sources.orders.derive.cents"
    error = locate_mistake(load(), key, "unknown function `foo`")
    assert error.where == "conf/shop/base.yaml:8  sources.orders.derive.cents"
    assert locate_mistake(load(f"{key}=foo()"), key, "x").where == f"--set  {key}"
