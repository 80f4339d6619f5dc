"""What each step last did, kept beside the tables it made: `<lake>/ops/steps/<step>.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pipelines.registry.files import Folder
from pipelines.report.model import (
    BoardRow,
    Gate,
    QualityRow,
    StepReport,
    TableReport,
)


class StepState(BaseModel):
    """The last good result of a step."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_id: str
    fingerprint: dict[str, Any]
    outputs: dict[str, str | None]
    line: str
    facts: dict[str, Any]
    evidence: dict[str, Any]
    step: StepReport
    tables: list[TableReport]
    data_quality: list[QualityRow]
    leaderboard: list[BoardRow]
    gates: list[Gate]
    warnings: list[str]


class StateStore:
    """Reads and replaces step states of one lake."""

    def __init__(self, lake: str):
        self._folder = Folder.at(lake).child("ops").child("steps")

    def load(self, step: str) -> StepState | None:
        """The last good result, or None where there is none that this version can read."""
        name = f"{step}.json"
        if not self._folder.has(name):
            return None
        try:
            return StepState.model_validate_json(self._folder.read_text(name))
        except ValidationError:
            return None

    def save(self, step: str, state: StepState) -> None:
        """Replaces a step's state as a whole."""
        self._folder.replace_text(f"{step}.json", state.model_dump_json(indent=1) + "\n")


def same_outputs(state: StepState, now: Mapping[str, str | None]) -> list[str]:
    """Outputs that are no longer what the state says."""
    return [name for name, identity in now.items() if state.outputs.get(name) != identity]
