import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.errors import InputMissingError, TemporaryError, UsageError
from pipelines.registry import ModelCard, ModelRegistry

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LATER = datetime(2026, 1, 3, tzinfo=UTC)


def card(version: int = 1, name: str = "trees", fingerprint: str = "f1") -> ModelCard:
    return ModelCard(
        name=name,
        kind="mllib.gbt",
        version=version,
        params={"trees": 3},
        training_set="late_arrival",
        training_set_version=4,
        label="is_late",
        encoder={"numeric": [{"name": "temp", "mean": 1.5, "std": 0.0}]},
        features=("temp", "carrier"),
        fingerprint=fingerprint,
        seed=7,
        run_id="r1",
        created_at=NOW,
    )


def write_weights(folder: str) -> None:
    (Path(folder) / "weights").write_text("1")


@pytest.fixture
def registry(tmp_path: Path) -> ModelRegistry:
    return ModelRegistry(str(tmp_path / "lake"), "late_arrival")


def test_a_version_is_its_files_and_then_its_card(registry: ModelRegistry, tmp_path: Path):
    registered = registry.register(card(), write_weights)

    folder = tmp_path / "lake/models/late_arrival/trees/v1"
    assert registered.folder == str(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "weights"]
    assert json.loads((folder / "model.json").read_text())["created_at"] == "2026-01-02T03:04:05Z"
    assert registry.load("trees") == registered
    assert registered.label == "trees v1"


def test_a_folder_without_a_card_is_no_version_and_is_overwritten(
    registry: ModelRegistry, tmp_path: Path
):
    def killed(folder: str) -> None:
        (Path(folder) / "half").write_text("1")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        registry.register(card(), killed)
    assert registry.versions("trees") == []
    assert registry.model_names() == []
    assert registry.next_version("trees") == 1

    registry.register(card(), write_weights)
    folder = tmp_path / "lake/models/late_arrival/trees/v1"
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "weights"]


def test_versions_count_as_numbers(registry: ModelRegistry):
    for version in range(1, 12):
        registry.register(card(version), write_weights)
    assert registry.versions("trees") == list(range(1, 12))
    assert registry.next_version("trees") == 12
    assert registry.load("trees").card.version == 11


def test_a_version_is_never_written_twice(registry: ModelRegistry):
    registry.register(card(), write_weights)
    with pytest.raises(TemporaryError, match="trees v1 exists already: another run registered it"):
        registry.register(card(), write_weights)


def test_the_newest_version_with_the_fingerprint_is_reused(registry: ModelRegistry):
    for version, fingerprint in enumerate(["f1", "f2", "f1", "f3"], start=1):
        registry.register(card(version, fingerprint=fingerprint), write_weights)
    found = registry.find_by_fingerprint("trees", "f1")
    assert found is not None
    assert found.card.version == 3
    assert registry.find_by_fingerprint("trees", "f9") is None
    assert registry.find_by_fingerprint("net", "f1") is None


def test_metrics_are_added_to_the_card(registry: ModelRegistry):
    registered = registry.register(card(), write_weights)
    metrics = {"validation": {"roc_auc": 0.75, "r2": None}}
    assert registry.record_metrics(registered, metrics).card.metrics == metrics
    assert registry.load("trees").card.metrics == metrics


def test_the_champion_changes_and_its_history_stays(registry: ModelRegistry):
    trees = registry.register(card(), write_weights)
    net = registry.register(card(name="net"), write_weights)

    registry.set_champion(trees, "r1", NOW)
    registry.set_champion(trees, "r2", LATER)
    registry.set_champion(net, "r3", LATER)

    assert registry.champion() == net
    terms = [(term.model, term.version, term.run_id) for term in registry.champion_history()]
    assert terms == [("trees", 1, "r1"), ("net", 1, "r3")]


def test_what_is_missing_is_named(registry: ModelRegistry):
    with pytest.raises(InputMissingError, match="no champion yet: no model has passed the gate"):
        registry.champion()
    assert registry.champion_history() == []
    with pytest.raises(InputMissingError, match="model trees has no version; found: none"):
        registry.load("trees")
    registry.register(card(), write_weights)
    with pytest.raises(InputMissingError, match="model trees has no version 3; found: v1"):
        registry.load("trees", 3)


def test_a_damaged_card_is_named(registry: ModelRegistry, tmp_path: Path):
    registry.register(card(), write_weights)
    path = tmp_path / "lake/models/late_arrival/trees/v1/model.json"
    path.write_text(path.read_text().replace('"seed": 7', '"seed": "x"'))
    with pytest.raises(InputMissingError, match=r"model\.json can't be read: seed: .*integer"):
        registry.load("trees")


@pytest.mark.parametrize("name", ["../x", "/etc", "%2e%2e", "Trees", "", "a/b", "trees\n"])
def test_a_name_cannot_leave_the_folder(registry: ModelRegistry, name: str):
    with pytest.raises(UsageError, match="is no name; allowed: a-z, 0-9 and _"):
        registry.load(name)
    with pytest.raises(UsageError, match=r"training set .* is no name"):
        ModelRegistry("/lake", name)


def test_a_lake_may_be_a_uri(tmp_path: Path):
    registry = ModelRegistry(tmp_path.as_uri(), "late_arrival")
    registered = registry.register(
        card(), lambda folder: write_weights(folder.removeprefix("file://"))
    )
    assert registered.folder == f"{tmp_path.as_uri()}/models/late_arrival/trees/v1"
    assert registry.load("trees") == registered
