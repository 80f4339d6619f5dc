"""Why a step runs: its settings, code, libraries and inputs, compared part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from pipelines.engine.graph import Step, Tree
from pipelines.project.code import code_hash
from pipelines.steps.base import hash_of

_SHOWN = 60
_LIBRARIES = (
    "pyspark",
    "delta-spark",
    "pyarrow",
    "numpy",
    "pandas",
    "sqlglot",
    "great-expectations",
    "torch",
    "horovod",
    "petastorm",
)


@dataclass(frozen=True)
class Fingerprint:
    """The identity of a step's result, in parts that can be told apart.

    Args:
        config: Dotted key → value.
        code: Hash of the reachable code.
        libraries: Name → version.
        inputs: Input → identity.
    """

    config: Mapping[str, Any]
    code: str
    libraries: Mapping[str, str]
    inputs: Mapping[str, str]

    @property
    def digest(self) -> str:
        """One hash of all parts."""
        return hash_of(self.config, self.code, self.libraries, self.inputs)

    def to_dict(self) -> dict[str, Any]:
        """The parts as plain JSON values."""
        return {
            "config": dict(self.config),
            "code": self.code,
            "libraries": dict(self.libraries),
            "inputs": dict(self.inputs),
        }


def build_fingerprint(step: Step, resolved: Tree, inputs: Mapping[str, str]) -> Fingerprint:
    """The fingerprint a step would have if it ran now."""
    functions = {
        f"features.{how['function'].rpartition('.')[0]}"
        for source in resolved["sources"].values()
        for how in source["derive"].values()
        if isinstance(how, dict)
    }
    return Fingerprint(
        config=dict(flatten(step.section(resolved))),
        code=code_hash([step.module, *sorted(functions)]),
        libraries=library_versions(),
        inputs=dict(inputs),
    )


def library_versions() -> dict[str, str]:
    """Versions of the libraries that shape results; those that are not installed are left out."""
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def flatten(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Pairs of dotted key and scalar or list."""
    if isinstance(tree, Mapping) and tree:
        for key, value in tree.items():
            yield from flatten(value, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, tree


def explain(before: Mapping[str, Any] | None, now: Fingerprint) -> str | None:
    """What changed since a recorded fingerprint, for people; None where nothing did."""
    if before is None:
        return "never ran"
    for key in sorted({*before["config"], *now.config}):
        old, new = before["config"].get(key), now.config.get(key)
        if old != new:
            return f"`{key}` changed: {_word(old)} → {_word(new)}"
    if before["code"] != now.code:
        return "code changed"
    for name in sorted({*before["libraries"], *now.libraries}):
        old, new = before["libraries"].get(name), now.libraries.get(name)
        if old != new:
            return f"{name} changed: {_word(old)} → {_word(new)}"
    changed = [
        name
        for name in sorted({*before["inputs"], *now.inputs})
        if before["inputs"].get(name) != now.inputs.get(name)
    ]
    return f"input changed: {', '.join(changed)}" if changed else None


def _word(value: Any) -> str:
    if value is None:
        return "none"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
