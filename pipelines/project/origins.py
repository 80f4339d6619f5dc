"""Merges the layers of a project file and remembers where each value came from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Path = tuple[str, ...]


@dataclass(frozen=True)
class Origin:
    """Where a value was declared.

    Attributes:
        short: As reports name it, such as `base.yaml:27`.
        full: As messages name it, such as `conf/orders/base.yaml:27`, `--set`, a variable.
    """

    short: str
    full: str


@dataclass
class Layers:
    """A tree of plain values merged layer by layer: maps merge, lists replace, null deletes.

    Attributes:
        tree: The merged values.
        origins: Path of each key and list element → where it was declared.
        deleted: Path of each null → where it was declared; such a key may be needed, or misspelt.
    """

    tree: dict[str, Any] = field(default_factory=dict)
    origins: dict[Path, Origin] = field(default_factory=dict)
    deleted: dict[Path, Origin] = field(default_factory=dict)

    def add(self, layer: dict[str, Any], origin_of: Callable[[Path], Origin]) -> None:
        """Merges a layer over what is there.

        Args:
            layer: Plain values.
            origin_of: Path of a value in this layer → its origin.
        """
        self.origins.setdefault((), origin_of(()))
        self._merge(self.tree, layer, (), origin_of)

    def origin(self, path: Path) -> Origin | None:
        """Returns the origin of a value or null, or of the nearest parent that was declared."""
        if path in self.deleted and path not in self.origins:
            return self.deleted[path]
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins.get(path)

    def _merge(
        self,
        base: dict[str, Any],
        over: dict[str, Any],
        path: Path,
        origin_of: Callable[[Path], Origin],
    ) -> None:
        for key, value in over.items():
            place = (*path, key)
            if value is None:
                base.pop(key, None)
                self._forget(place)
                self.deleted[place] = origin_of(place)
            elif isinstance(value, dict):
                if not isinstance(base.get(key), dict):
                    self._forget(place)
                    base[key] = {}
                    self.origins[place] = origin_of(place)
                self._merge(base[key], value, place, origin_of)
            else:
                self._forget(place)
                base[key] = value
                self._remember(value, place, origin_of)

    def _remember(self, value: Any, path: Path, origin_of: Callable[[Path], Origin]) -> None:
        self.origins[path] = origin_of(path)
        children = value.items() if isinstance(value, dict) else ()
        for key, child in enumerate(value) if isinstance(value, list) else children:
            self._remember(child, (*path, str(key)), origin_of)

    def _forget(self, path: Path) -> None:
        for known in [known for known in self.origins if known[: len(path)] == path]:
            del self.origins[known]
