"""Reads YAML 1.2 into plain values with their lines; refuses tags, repeated keys, alias bombs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from pipelines.errors import ConfigError

Path = tuple[str, ...]

MAX_BYTES = 1_000_000
MAX_REPEATED = 10_000
_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + kind for kind in ("null", "bool", "int", "float", "str", "timestamp")}


@dataclass(frozen=True)
class Parsed:
    """One YAML text as plain values.

    Attributes:
        value: Maps with text keys, lists, texts, numbers, booleans and None; dates stay texts.
        lines: Path of each key and list element → its line, counted from 1.
    """

    value: Any
    lines: dict[Path, int]


def parse_yaml(text: str, label: str) -> Parsed:
    """Reads one YAML document; an empty one is None.

    Args:
        text: The document.
        label: What a message calls it, such as `conf/orders/base.yaml`.

    Raises:
        ConfigError: The text is broken or holds something other than safe YAML 1.2.
    """
    if text.startswith("%YAML") and not text.startswith("%YAML 1.2"):
        raise ConfigError("is not YAML 1.2", where=f"{label}:1")
    try:
        return _Reader(label).read(text)
    except RecursionError:
        raise ConfigError("is nested too deeply", where=label) from None
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{label}:{mark.line + 1}" if mark else label
        what = " ".join(part for part in (error.context, error.problem) if part)
        raise ConfigError(f"broken YAML: {_one_line(what)}", where=where) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"broken YAML: the character U+{error.character:04X} is not allowed"
        raise ConfigError(message, where=f"{label}:{line}") from None
    except YAMLError as error:
        raise ConfigError(f"broken YAML: {_one_line(str(error))}", where=label) from None


class _Reader:
    """Turns nodes into plain values and remembers lines and aliases."""

    def __init__(self, label: str):
        self.label = label
        self.yaml = YAML(typ="safe", pure=True)
        self.lines: dict[Path, int] = {}
        self.seen: set[int] = set()
        self.num_repeated = 0

    def read(self, text: str) -> Parsed:
        root = self.yaml.compose(text)
        value = None if root is None else self._value(root, (), inside_alias=False)
        return Parsed(value, self.lines)

    def _value(self, node: Node, path: Path, *, inside_alias: bool) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if not isinstance(node, ScalarNode):
            inside_alias = self._enter(node, inside_alias)
        if isinstance(node, MappingNode):
            return self._map(node, path, inside_alias)
        if isinstance(node, SequenceNode):
            self._check_tag(node, {_TAG + "seq"})
            return [
                self._value(item, (*path, str(index)), inside_alias=inside_alias)
                for index, item in enumerate(node.value)
            ]
        self._check_tag(node, _SCALARS)
        return self._scalar(node)

    def _enter(self, node: Node, inside_alias: bool) -> bool:
        """Counts what aliases repeat; a few lines of them could otherwise fill the memory."""
        if id(node) not in self.seen:
            self.seen.add(id(node))
            return inside_alias
        self.num_repeated += 1 + len(node.value)
        if self.num_repeated > MAX_REPEATED:
            raise self._error(node, f"its aliases repeat more than {MAX_REPEATED:,} values")
        return True

    def _map(self, node: MappingNode, path: Path, inside_alias: bool) -> dict[str, Any]:
        self._check_tag(node, {_TAG + "map"})
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode) or key_node.tag == _TAG + "null":
                raise self._error(key_node, "a key must be a text")
            if key_node.tag == _TAG + "merge":
                raise self._error(key_node, "merge keys (<<) are not YAML 1.2; write the keys out")
            self._check_tag(key_node, _SCALARS)
            key = key_node.value
            place = (*path, key)
            if key in found:
                message = f"the key `{key}` is given twice, first in line {self.lines[place]}"
                raise self._error(key_node, message)
            if not inside_alias:
                self.lines[place] = key_node.start_mark.line + 1
            found[key] = self._value(value_node, place, inside_alias=inside_alias)
        return found

    def _scalar(self, node: Node) -> Any:
        if node.tag in (_TAG + "str", _TAG + "timestamp"):
            return node.value
        try:
            value = self.yaml.constructor.construct_object(node)
        except (ValueError, KeyError):
            raise self._error(node, f"`{node.value}` does not fit its tag") from None
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(node, f"{node.value} is not a finite number")
        return value

    def _check_tag(self, node: Node, allowed: set[str]) -> None:
        if node.tag not in allowed:
            shown = str(node.tag).replace(_TAG, "!!")
            raise self._error(node, f"the tag {shown} is not allowed; only plain values are")

    def _error(self, node: Node, message: str) -> ConfigError:
        return ConfigError(message, where=f"{self.label}:{node.start_mark.line + 1}")


def _one_line(text: str) -> str:
    return " ".join(text.split())
