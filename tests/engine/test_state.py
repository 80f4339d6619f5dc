"""What a step last did, written and read again."""

from __future__ import annotations

from pathlib import Path

from pipelines.engine.state import StateStore, StepState, same_outputs
from pipelines.report.model import Gate, StepReport

STATE = StepState(
    run_id="20261130-101502-7f3a",
    fingerprint={"config": {"a.b": [1, None]}, "code": "c", "libraries": {}, "inputs": {}},
    outputs={"clean/orders": "id@3", "clean/customers": None},
    line="1,2 ñ €",
    facts={"orders": {"mode": "merge", "batch": 2}},
    evidence={"set_aside": []},
    step=StepReport(name="clean", status="done", rows_in=3, seconds=1.5),
    tables=[],
    data_quality=[],
    leaderboard=[],
    gates=[Gate(name="quality", verdict="not_evaluated", reasons=["no row"])],
    warnings=["w"],
)


def test_round_trip(tmp_path: Path) -> None:
    store = StateStore(str(tmp_path))
    store.save("clean", STATE)
    assert StateStore(str(tmp_path)).load("clean") == STATE
    assert [path.name for path in (tmp_path / "ops" / "steps").iterdir()] == ["clean.json"]


def test_a_lake_that_is_not_there_has_no_state(tmp_path: Path) -> None:
    assert StateStore(str(tmp_path / "lake")).load("clean") is None


def test_a_damaged_file_is_no_state(tmp_path: Path) -> None:
    store = StateStore(str(tmp_path))
    store.save("clean", STATE)
    path = tmp_path / "ops" / "steps" / "clean.json"
    whole = path.read_text()
    damaged = (whole[:40], "", "[]", whole.replace('"line"', '"lines"'))
    for text in damaged:
        path.write_text(text)
        assert store.load("clean") is None


def test_same_outputs() -> None:
    assert same_outputs(STATE, {"clean/orders": "id@3", "clean/customers": None}) == []
    assert same_outputs(STATE, {"clean/orders": None, "clean/new": "x@1"}) == [
        "clean/orders",
        "clean/new",
    ]
