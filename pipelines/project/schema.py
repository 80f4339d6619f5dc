"""The whole project file as one typed object, and the checks that span its sections."""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, field_validator, model_validator

from pipelines.project.modeling import Evaluate, Gates, Model, Monitor, Score
from pipelines.project.sources import Source
from pipelines.project.training import Static, TrainingSet
from pipelines.project.types import Name, Share, Strict


class ProjectSection(Strict):
    """Who owns the project and where it keeps its data."""

    name: Name
    """Name of the project."""
    owner: str = ""
    """Team that answers for it."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    """Seed of everything random."""
    lake: str = "./lake"
    """Folder or URI of the tables, relative to the project's home."""
    runs: str = "./runs"
    """Folder of run reports, relative to the project's home."""


class Defaults(Strict):
    """Defaults of all sources."""

    time_zone: str = "UTC"
    """Zone of timestamps without offset, of calendar parts and of split days."""
    nulls: tuple[str, ...] = ("",)
    """Texts that mean null."""
    max_rejected: Share = 0.0
    """Highest share of records of a source that may be unreadable."""
    extra_column: Literal["rescue", "fail"] = "fail"
    """What to do with undeclared columns: keep them in `_rescued`, or refuse the file."""

    @field_validator("time_zone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        if zone not in available_timezones():
            raise ValueError("unknown time zone; needs an IANA name such as America/New_York")
        return zone

    @property
    def zone(self) -> ZoneInfo:
        """The zone as an object."""
        return ZoneInfo(self.time_zone)


class Project(Strict):
    """A project: from raw files to models and scores."""

    project: ProjectSection
    """Identity and places."""
    defaults: Defaults = Defaults()
    """Defaults of all sources."""
    sources: Annotated[dict[Name, Source], Field(min_length=1)]
    """Raw data."""
    training_sets: Annotated[dict[Name, TrainingSet], Field(max_length=1)] = {}
    """Tables that models learn from."""
    models: dict[Name, Model] = {}
    """Candidates of the board."""
    evaluate: Evaluate = Evaluate()
    """How models are compared."""
    gates: Gates = Gates()
    """Gates that end a run with 65."""
    score: dict[Name, Score] = {}
    """Training set → how its champion scores."""
    monitor: Monitor = Monitor()
    """What is watched."""

    @model_validator(mode="after")
    def _names_exist(self) -> Project:
        for where, name in self._references():
            if name not in self.sources:
                allowed = ", ".join(self.sources)
                raise ValueError(f"{where} names the unknown source `{name}`; allowed: {allowed}")
        champion = self.gates.champion
        if champion and champion.baseline not in self.models:
            allowed = ", ".join(self.models)
            raise ValueError(
                f"gates.champion.baseline names the unknown model `{champion.baseline}`; allowed: {allowed}"
            )
        for name in self.score:
            if name not in self.training_sets:
                raise ValueError(f"score names the unknown training set `{name}`")
        if self.models and not self.training_sets:
            raise ValueError("models need a training set")
        return self

    def _references(self) -> list[tuple[str, str]]:
        """Pairs of (key, source it names)."""
        found = []
        for name, source in self.sources.items():
            for column, derived in source.derive.items():
                if not isinstance(derived, str) and derived.lookup:
                    found.append((f"sources.{name}.derive.{column}.lookup", derived.lookup))
            for rule_name, rule in source.table_rules.items():
                found += [
                    (f"sources.{name}.table_rules.{rule_name}", target.split(".")[0])
                    for target in (rule.foreign_key or {}).values()
                ]
        for name, training_set in self.training_sets.items():
            found.append((f"training_sets.{name}.rows", training_set.rows.source))
            for group in ("windows", "latest", "static"):
                for key, feature in getattr(training_set, group).items():
                    if group != "static" or isinstance(feature, Static):
                        found.append((f"training_sets.{name}.{group}.{key}", feature.from_))
        return found
