"""What the schema allows at a place of a project file, in words a person understands."""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import Discriminator, StringConstraints, Tag

from pipelines.project.modeling import MODEL_KINDS, Model
from pipelines.project.schema import Project
from pipelines.project.types import Name, Strict

Path = tuple[str, ...]

_NAME_PATTERN = next(m.pattern for m in get_args(Name) if isinstance(m, StringConstraints))
_PATTERNS = {
    _NAME_PATTERN: "a name of lower-case letters, digits and _, at most 63, a letter first"
}
_WORDS = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    date: "a date such as 2013-09-01",
    dict: "a map",
    tuple: "a list",
}


def type_at(path: Sequence[Any], data: Any) -> Any:
    """Returns the annotated type the schema declares at a path, or None where it declares none.

    Args:
        path: Keys and list indexes from the top of the project; a validator's branch tags may stand
            between them.
        data: The project's plain values, which choose the branch of a union.
    """
    here: Any = Project
    for step in path:
        bare, metadata = _unwrap(here)
        options = _options(bare)
        if len(options) > 1:
            here = _branch(options, metadata, data)
            if here is None:
                return bare
            if step == _tag(here):
                continue
            bare, _ = _unwrap(here)
        if bare is Model and step == "params":
            here = MODEL_KINDS.get(_child(data, "kind"), dict)
        elif bare is dict or get_origin(bare) is dict:
            here = (get_args(bare) or (str, Any))[1]
        elif get_origin(bare) is tuple:
            here = get_args(bare)[0]
        elif is_section(bare):
            here = _field(bare, step)
        else:
            return None
        if here is None:
            return None
        data = _child(data, step)
    return here


def key_type_at(path: Sequence[Any], data: Any) -> Any:
    """Returns the type of the keys of a map of free names."""
    bare, _ = _unwrap(type_at(path, data))
    return get_args(bare)[0]


def branching_place(path: Sequence[Any], data: Any) -> Sequence[Any]:
    """Cuts a place at the first union whose branches only the validator can tell apart."""
    for length in range(len(path)):
        bare, metadata = _unwrap(type_at(path[:length], data))
        if len(_options(bare)) > 1 and not any(isinstance(m, Discriminator) for m in metadata):
            return path[:length]
    return path


def is_section(annotation: Any) -> bool:
    """True for a section of the project file, whose keys are declared."""
    return isinstance(annotation, type) and issubclass(annotation, Strict)


def allowed_keys(section: type[Strict]) -> list[str]:
    """Returns the keys of a section as they are written."""
    return [field.alias or name for name, field in section.model_fields.items()]


def section_at(path: Sequence[Any], data: Any) -> type[Strict] | None:
    """Returns the section at a path, or None if a map of free names or a value stands there."""
    here = type_at(path, data)
    bare, metadata = _unwrap(here)
    options = _options(bare)
    if len(options) > 1:
        for step in path:
            data = _child(data, step)
        bare, _ = _unwrap(_branch(options, metadata, data))
    return bare if is_section(bare) else None


def describe(annotation: Any) -> str:
    """Says what a type needs: `an integer from 1 to 64`."""
    bare, metadata = _unwrap(annotation)
    options = _options(bare)
    if len(options) > 1:
        return " or ".join(dict.fromkeys(describe(option) for option in options))
    if get_origin(bare) is Literal:
        return join_words(get_args(bare), "or")
    patterns = [m.pattern for m in metadata if getattr(m, "pattern", None)]
    if patterns:
        return _PATTERNS.get(patterns[0], f"text that fits {patterns[0]}")
    if is_section(bare):
        return f"a map of {', '.join(allowed_keys(bare))}"
    kind = get_origin(bare) or bare
    if kind is tuple and get_args(bare)[-1] is not Ellipsis:
        return f"a list of {len(get_args(bare))} values"
    return f"{_WORDS.get(kind, 'another kind of value')}{_bounds(kind, metadata)}"


def join_words(words: Iterable[Any], conjunction: str) -> str:
    """Joins words as a sentence does: `a, b or c`."""
    *head, last = [str(word) for word in words]
    return f"{', '.join(head)} {conjunction} {last}" if head else last


def _unwrap(annotation: Any) -> tuple[Any, list[Any]]:
    metadata: list[Any] = []
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        metadata += more
    options = _options(annotation)
    if len(options) == 1 and options[0] is not annotation:  # `X | None` is X for those who write it
        inner, more = _unwrap(options[0])
        return inner, metadata + more
    return annotation, metadata


def _options(annotation: Any) -> list[Any]:
    if get_origin(annotation) not in (Union, types.UnionType):
        return [annotation]
    return [option for option in get_args(annotation) if option is not type(None)]


def _branch(options: list[Any], metadata: list[Any], data: Any) -> Any:
    chosen = next((m for m in metadata if isinstance(m, Discriminator)), None)
    if chosen is None or not callable(chosen.discriminator):
        return None
    tag = chosen.discriminator(data)
    return next((option for option in options if _tag(option) == tag), None)


def _tag(option: Any) -> str | None:
    return next((m.tag for m in get_args(option)[1:] if isinstance(m, Tag)), None)


def _child(data: Any, step: Any) -> Any:
    if isinstance(data, dict):
        return data.get(step)
    if isinstance(data, list) and str(step).isdigit() and int(step) < len(data):
        return data[int(step)]
    return None


def _field(section: type[Strict], key: Any) -> Any:
    for name, field in section.model_fields.items():
        if key == (field.alias or name):
            return (
                Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
            )
    return None


def _bounds(kind: Any, metadata: list[Any]) -> str:
    """The interval of a number, the size of a list, map or text."""
    least, most = _limit(metadata, "min_length"), _limit(metadata, "max_length")
    if least is not None or most is not None:
        one, many = ("character", "characters") if kind is str else ("entry", "entries")
        count = _interval(least, most, "at least", "at most")
        return f" with {count} {one if count.endswith(' 1') else many}"
    low, high = _limit(metadata, "ge"), _limit(metadata, "le")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    limits = {
        "of at least": low,
        "above": _limit(metadata, "gt"),
        "of at most": high,
        "below": _limit(metadata, "lt"),
    }
    words = [f"{word} {limit}" for word, limit in limits.items() if limit is not None]
    return f" {' and '.join(words)}" if words else ""


def _interval(low: Any, high: Any, from_word: str, to_word: str) -> str:
    if low is not None and low == high:
        return f"exactly {low}"
    words = [f"{from_word} {low}"] if low is not None else []
    return " and ".join(words + ([f"{to_word} {high}"] if high is not None else []))


def _limit(metadata: list[Any], name: str) -> Any:
    return next((getattr(m, name) for m in metadata if getattr(m, name, None) is not None), None)
