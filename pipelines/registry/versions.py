"""The models of one training set: folders `<lake>/models/<training set>/<model>/v<k>`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from pipelines.errors import InputMissingError, TemporaryError, UsageError
from pipelines.registry.card import Champion, ChampionTerm, ModelCard
from pipelines.registry.files import Folder

_CARD = "model.json"
_CHAMPION = "champion.json"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_VERSION = re.compile(r"v([1-9][0-9]*)")
_Content = TypeVar("_Content", bound=BaseModel)


@dataclass(frozen=True)
class RegisteredModel:
    """A committed version: its card and the folder that holds its files.

    Args:
        card: Content of `model.json`.
        folder: Path or URI of the version's folder, for Spark and for the network's bundle.
    """

    card: ModelCard
    folder: str

    @property
    def label(self) -> str:
        """How people name it: `trees v3`."""
        return f"{self.card.name} v{self.card.version}"


class ModelRegistry:
    """Registers, finds and loads the models of one training set.

    A version is a folder with a `model.json`, which is written last and at once: a folder without
    it is what an interrupted run left, is no version, and is overwritten by the next registration.
    One run writes at a time (the lake's lock); readers need none.

    Args:
        lake: Absolute path or URI of the lake.
        training_set: Name of the training set.
    """

    def __init__(self, lake: str, training_set: str):
        self._root = Folder.at(lake).child("models").child(_checked("training set", training_set))

    def model_names(self) -> list[str]:
        """Names of the models that have a version, in order."""
        return [name for name in self._root.child_names() if self.versions(name)]

    def versions(self, model: str) -> list[int]:
        """Committed versions of a model, oldest first."""
        folder = self._root.child(_checked("model", model))
        matches = (_VERSION.fullmatch(name) for name in folder.child_names())
        numbers = sorted(int(match[1]) for match in matches if match)
        return [number for number in numbers if folder.child(f"v{number}").has(_CARD)]

    def next_version(self, model: str) -> int:
        """The number that the next registration of a model takes."""
        return max(self.versions(model), default=0) + 1

    def find_by_fingerprint(self, model: str, fingerprint: str) -> RegisteredModel | None:
        """The newest version with this fingerprint: a re-run uses it instead of training again."""
        for version in reversed(self.versions(model)):
            found = self.load(model, version)
            if found.card.fingerprint == fingerprint:
                return found
        return None

    def register(self, card: ModelCard, write: Callable[[str], None]) -> RegisteredModel:
        """Writes a new version: first its files, then its card, which commits it.

        Args:
            card: The version's card; `version` is what `next_version` gave.
            write: Writes the model's files into the folder it is given.

        Raises:
            TemporaryError: Another run registered this version in the meantime.
        """
        folder = self._folder(card.name, card.version)
        if folder.has(_CARD):
            raise TemporaryError(
                f"{card.name} v{card.version} exists already: another run registered it",
                where=folder.uri,
                remedy="run the command again; it takes the next version",
            )
        folder.clear()
        write(folder.uri)
        folder.replace_text(_CARD, _to_json(card))
        return RegisteredModel(card, folder.uri)

    def load(self, model: str, version: int | None = None) -> RegisteredModel:
        """A committed version of a model; the newest without a number.

        Raises:
            InputMissingError: There is no such version, or its card can't be read.
        """
        if version is None:
            version = max(self.versions(model), default=None)
        folder = self._folder(model, version or 0)
        if version is None or not folder.has(_CARD):
            raise InputMissingError(
                f"model {model} has no version{f' {version}' if version else ''}; "
                f"found: {', '.join(f'v{v}' for v in self.versions(model)) or 'none'}",
                where=self._root.child(model).uri,
                remedy="cauce train",
            )
        return RegisteredModel(_read(folder, _CARD, ModelCard), folder.uri)

    def record_metrics(
        self, model: RegisteredModel, metrics: Mapping[str, Mapping[str, float | None]]
    ) -> RegisteredModel:
        """Replaces the metrics on a version's card: part → metric → value."""
        card = model.card.model_copy(update={"metrics": {k: dict(v) for k, v in metrics.items()}})
        self._folder(card.name, card.version).replace_text(_CARD, _to_json(card))
        return RegisteredModel(card, model.folder)

    def champion(self) -> RegisteredModel:
        """The version that scores.

        Raises:
            InputMissingError: No model has passed the gate yet, or the pointer can't be read.
        """
        pointer = self._pointer()
        if pointer is None:
            raise InputMissingError(
                "no champion yet: no model has passed the gate",
                where=f"{self._root.uri}/{_CHAMPION}",
                remedy="cauce evaluate",
            )
        return self.load(pointer.current.model, pointer.current.version)

    def champion_history(self) -> list[ChampionTerm]:
        """All champions, oldest first, the present one last."""
        pointer = self._pointer()
        return [*pointer.history, pointer.current] if pointer else []

    def set_champion(self, model: RegisteredModel, run_id: str, now: datetime) -> None:
        """Points to a new champion and keeps the earlier ones; the same version changes nothing."""
        name, version = model.card.name, model.card.version
        before = self._pointer()
        if before is None:
            term = ChampionTerm(model=name, version=version, run_id=run_id, since=now)
            after = Champion(current=term)
        else:
            after = before.succeeded_by(name, version, run_id, now)
        if after != before:
            self._root.replace_text(_CHAMPION, after.model_dump_json(indent=2) + "\n")

    def _folder(self, model: str, version: int) -> Folder:
        return self._root.child(_checked("model", model)).child(f"v{version}")

    def _pointer(self) -> Champion | None:
        if not self._root.has(_CHAMPION):
            return None
        return _read(self._root, _CHAMPION, Champion)


def _checked(what: str, name: str) -> str:
    """A name that can't leave its folder.

    Raises:
        UsageError: The name has other characters than a project's names.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{what} {name!r} is no name; allowed: a-z, 0-9 and _, starting with a letter"
        )
    return name


def _to_json(card: ModelCard) -> str:
    return card.model_dump_json(indent=2) + "\n"


def _read(folder: Folder, name: str, content: type[_Content]) -> _Content:
    """A file of the registry as its type.

    Raises:
        InputMissingError: The file is damaged.
    """
    try:
        return content.model_validate_json(folder.read_text(name))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputMissingError(
            f"{name} can't be read: {key}: {first['msg']}",
            where=f"{folder.uri}/{name}",
            remedy="remove the file, then cauce run",
        ) from error
