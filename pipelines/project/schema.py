"""The whole project file as one typed object, and the checks that span its sections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, available_timezones

from pydantic import Field, field_validator, model_validator

from pipelines.project.modeling import Evaluate, Gates, Model, Monitor, Score
from pipelines.project.sources import Source
from pipelines.project.training import Calendar, TrainingSet
from pipelines.project.types import Name, Share, Strict, raise_findings, unknown_word


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
    training_sets: Annotated[dict[Name, TrainingSet], Field(max_length=1)] = Field(default={})
    """Tables that models learn from."""
    models: dict[Name, Model] = Field(default={})
    """Candidates of the board."""
    evaluate: Evaluate = Evaluate()
    """How models are compared."""
    gates: Gates = Gates()
    """Gates that end a run with 65."""
    score: dict[Name, Score] = Field(default={})
    """Training set → how its champion scores."""
    monitor: Monitor = Monitor()
    """What is watched."""

    @model_validator(mode="after")
    def _names_exist(self) -> Project:
        known = {
            "source": list(self.sources),
            "model": list(self.models),
            "training set": list(self.training_sets),
        }
        findings = [
            (place, unknown_word(noun, name, known[noun]))
            for place, noun, name in self._references()
            if name not in known[noun]
        ]
        if self.models and not self.training_sets:
            findings.append((("models",), "models need a training set"))
        if findings:
            raise_findings("project", findings)
        return self

    def _references(self) -> Iterator[tuple[tuple[str, ...], str, str]]:
        """Yields (place, what is named there, its name)."""
        for name, source in self.sources.items():
            top = ("sources", name)
            for column, derived in source.derive.items():
                if not isinstance(derived, str) and derived.lookup:
                    yield (*top, "derive", column, "lookup"), "source", derived.lookup
            for rule_name, rule in source.table_rules.items():
                for column, target in (rule.foreign_key or {}).items():
                    place = (*top, "table_rules", rule_name, "foreign_key", column)
                    yield place, "source", target.split(".")[0]
        for name, training_set in self.training_sets.items():
            top = ("training_sets", name)
            yield (*top, "rows", "source"), "source", training_set.rows.source
            for group in ("windows", "latest", "static"):
                for key, feature in getattr(training_set, group).items():
                    if not isinstance(feature, Calendar):
                        yield (*top, group, key, "from"), "source", feature.from_
        if self.gates.champion:
            yield ("gates", "champion", "baseline"), "model", self.gates.champion.baseline
        for name in self.score:
            yield ("score", name), "training set", name
