"""The scalar types of a project file, and the words in which a mistake with them is told."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Annotated, Any, NoReturn

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    ValidationError,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

_DURATION = re.compile(r"^\s*(\d+)\s*(s|min|h|d|w)\s*$")
_UNIT_S = {"s": 1, "min": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_COLUMN = re.compile(
    r"^(string|boolean|int|long|double|date|timestamp|decimal\(\d{1,2},\s*\d{1,2}\))(!?)$"
)


class Strict(BaseModel):
    """A section of the project file: unknown keys are errors, values never change after loading."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, populate_by_name=True
    )


class ColumnType(Strict):
    """The type of a source column, written `double` or, where null is a mistake, `double!`."""

    sql: str
    """Spark SQL name of the type."""
    required: bool
    """True where a null value makes the row a bad one."""


def unknown_word(noun: str, word: str, allowed: Iterable[str], most: int = 20) -> str:
    """Says that a word is unknown, what is allowed instead, and which allowed word is nearest.

    Of more than `most` allowed words the nearest are named, the very nearest first.
    """
    words = list(allowed)
    if len(words) > most:
        nearest = difflib.get_close_matches(word, words, n=most, cutoff=0.0)
        return f"unknown {noun}; allowed: {', '.join(nearest)}, …"
    near = difflib.get_close_matches(word, words, n=1)
    hint = f". Did you mean `{near[0]}`?" if near else ""
    return f"unknown {noun}; allowed: {', '.join(words) or 'none'}{hint}"


def raise_findings(title: str, findings: Sequence[tuple[tuple[str | int, ...], str]]) -> NoReturn:
    """Raises a check's findings from inside a validator, each at its own place.

    Args:
        title: Name of the section.
        findings: Pairs of (place from the section down, message).

    Raises:
        ValidationError: Always.
    """
    details = [
        InitErrorDetails(
            type=PydanticCustomError("mistake", "{it}", {"it": message}), loc=place, input=None
        )
        for place, message in findings
    ]
    raise ValidationError.from_exception_data(title, details)


def parse_duration(value: Any) -> timedelta:
    """Turns `90s`, `15min`, `3h`, `7d` or `2w` into a fixed span of time."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("needs a duration such as 90s, 15min, 3h, 7d or 2w")
    return timedelta(seconds=int(match[1]) * _UNIT_S[match[2]])


def format_duration(value: timedelta) -> str:
    """The shortest way to write a duration in a file and in a column name: `28d`, `90min`."""
    seconds = int(value.total_seconds())
    unit = next(u for u in ("d", "h", "min", "s") if seconds % _UNIT_S[u] == 0)
    return f"{seconds // _UNIT_S[unit]}{unit}"


def parse_share(value: Any) -> float:
    """Turns `1%` or 0.01 into a share between 0 and 1."""
    try:
        if isinstance(value, bool):
            raise TypeError
        share = (
            float(value[:-1]) / 100
            if isinstance(value, str) and value.endswith("%")
            else float(value)
        )
    except (TypeError, ValueError):
        raise ValueError("needs a share such as 1% or 0.01") from None
    if not 0 <= share <= 1:
        raise ValueError("needs a share from 0% to 100%")
    return share


def parse_column_type(value: Any) -> Any:
    """Turns `int!` into a ColumnType; the trailing `!` says that null is a mistake."""
    if not isinstance(value, str):
        return value
    match = _COLUMN.match(value.strip())
    if match is None:
        raise ValueError(
            "needs string, boolean, int, long, double, date, timestamp or decimal(p,s), "
            "with ! where null is not allowed"
        )
    sql = {"long": "bigint"}.get(match[1], match[1].replace(" ", ""))
    return {"sql": sql, "required": bool(match[2])}


def format_column_type(column: ColumnType) -> str:
    """The way a column's type is written in a project file: `double!`."""
    sql = "long" if column.sql == "bigint" else column.sql
    return f"{sql}{'!' if column.required else ''}"


Duration = Annotated[
    timedelta,
    BeforeValidator(
        parse_duration, json_schema_input_type=Annotated[str, Field(pattern=_DURATION.pattern)]
    ),
    PlainSerializer(format_duration, return_type=str),
]
Share = Annotated[
    float,
    BeforeValidator(
        parse_share, json_schema_input_type=float | Annotated[str, Field(pattern=r"^[0-9.]+%$")]
    ),
]
Column = Annotated[
    ColumnType,
    BeforeValidator(
        parse_column_type, json_schema_input_type=Annotated[str, Field(pattern=_COLUMN.pattern)]
    ),
    PlainSerializer(format_column_type, return_type=str),
]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Expression = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
