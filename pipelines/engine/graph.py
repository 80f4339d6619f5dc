"""The steps, their order, and which part of the project file each depends on."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

Tree = Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """One step of the graph.

    Args:
        name: Name, CLI verb and file in `pipelines/steps`.
        section: Resolved project → the part that this step's result depends on.
    """

    name: str
    section: Callable[[Tree], Tree]

    @property
    def module(self) -> str:
        """Dotted name of the step's module."""
        return f"pipelines.steps.{self.name}"

    def load(self) -> ModuleType:
        """The module; imported only when the step is needed."""
        return importlib.import_module(self.module)


def _sources(*keys: str) -> Callable[[Tree], Tree]:
    def pick(tree: Tree) -> Tree:
        sources = {
            name: {key: source[key] for key in keys} for name, source in tree["sources"].items()
        }
        return {"defaults": tree["defaults"], "sources": sources}

    return pick


def _training_sets(tree: Tree, *without: str) -> Tree:
    return {
        name: {key: value for key, value in section.items() if key not in without}
        for name, section in tree["training_sets"].items()
    }


def _featurize(tree: Tree) -> Tree:
    return {
        **_sources("event_time", "known_at")(tree),
        "training_sets": _training_sets(tree, "encode"),
    }


def _train(tree: Tree) -> Tree:
    encode = {name: {"encode": s["encode"]} for name, s in tree["training_sets"].items()}
    return {"models": tree["models"], "training_sets": encode, "seed": tree["project"]["seed"]}


def _evaluate(tree: Tree) -> Tree:
    return {
        "evaluate": tree["evaluate"],
        "gates": tree["gates"],
        "seed": tree["project"]["seed"],
    }


STEPS = (
    Step(
        "ingest",
        _sources("files", "schema", "time_zone", "nulls", "max_rejected", "extra_column"),
    ),
    Step("clean", _sources("schema", "derive", "row_rules", "dedup")),
    Step("validate", _sources("table_rules")),
    Step("featurize", _featurize),
    Step("train", _train),
    Step("evaluate", _evaluate),
    Step("score", lambda tree: {"score": tree["score"]}),
    Step("monitor", lambda tree: {"monitor": tree["monitor"]}),
)
REPORT = "report"
NAMES = (*(step.name for step in STEPS), REPORT)


def selected(first: str | None, last: str | None) -> tuple[str, ...]:
    """Names from `first` to `last`, both included."""
    start = NAMES.index(first) if first else 0
    end = NAMES.index(last) if last else len(NAMES) - 1
    return NAMES[start : end + 1]
