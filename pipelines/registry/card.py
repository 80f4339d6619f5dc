"""What is known about one version of a model: the content of its `model.json`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import AwareDatetime, Field

from pipelines.project.types import Name, Strict


class ModelCard(Strict):
    """One version of a model; written last, so that its presence is the commit."""

    name: Name
    """Name of the model in the project."""
    kind: str
    """Which estimator it is."""
    version: int = Field(ge=1)
    """Number of the version, counted per model from 1."""
    params: dict[str, Any]
    """Parameters with their defaults."""
    training_set: Name
    """Training set it learned from."""
    training_set_version: int = Field(ge=0)
    """Delta version of that table."""
    label: str
    """Column it predicts."""
    encoder: dict[str, Any]
    """Encoder parameters, fitted on the training part."""
    features: tuple[str, ...]
    """Feature columns it reads, in order."""
    fingerprint: str
    """Identity of everything that shaped it: inputs, parameters, code."""
    seed: int
    """Seed of everything random."""
    run_id: str
    """Run that trained it."""
    created_at: AwareDatetime
    """When it was trained, in UTC."""
    training: dict[str, Any] = Field(default_factory=dict)
    """What the training says about itself: seconds, rows, epochs, importance."""
    metrics: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    """Part (validation, test) → metric → value; filled when the model is evaluated."""


class ChampionTerm(Strict):
    """A version that is or was the champion."""

    model: Name
    """Name of the model."""
    version: int = Field(ge=1)
    """Its version."""
    run_id: str
    """Run that chose it."""
    since: AwareDatetime
    """When it was chosen, in UTC."""


class Champion(Strict):
    """Content of `champion.json`: the present champion and those before it."""

    current: ChampionTerm
    """The version that scores."""
    history: tuple[ChampionTerm, ...] = ()
    """Earlier champions, oldest first."""

    def succeeded_by(self, model: str, version: int, run_id: str, now: datetime) -> Champion:
        """The pointer after a choice; the same version again keeps its term."""
        if (self.current.model, self.current.version) == (model, version):
            return self
        term = ChampionTerm(model=model, version=version, run_id=run_id, since=now)
        return Champion(current=term, history=(*self.history, self.current))
