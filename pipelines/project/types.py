"""The scalar types of a project file: names, durations, shares and SQL types, with the words a mistake is told in."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, StringConstraints

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
    """The declared type of a source column, written `double` or, where null is a mistake, `double!`."""

    sql: str
    """Spark SQL name of the type."""
    required: bool
    """True where a null value makes the row a bad one."""


def parse_duration(value: Any) -> timedelta:
    """Turns `90s`, `15min`, `3h`, `7d` or `2w` into a fixed span of time."""
    if isinstance(value, timedelta):
        return value
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("needs a duration such as 90s, 15min, 3h, 7d or 2w")
    return timedelta(seconds=int(match[1]) * _UNIT_S[match[2]])


def format_duration(value: timedelta) -> str:
    """The shortest way to write a duration in a project file and in a column name: `28d`, `90min`."""
    seconds = int(value.total_seconds())
    unit = next(u for u in ("d", "h", "min", "s") if seconds % _UNIT_S[u] == 0)
    return f"{seconds // _UNIT_S[unit]}{unit}"


def parse_share(value: Any) -> float:
    """Turns `1%` or 0.01 into a share between 0 and 1."""
    try:
        if isinstance(value, bool):
            raise TypeError
        share = float(value[:-1]) / 100 if isinstance(value, str) and value.endswith("%") else float(value)
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


Duration = Annotated[
    timedelta, BeforeValidator(parse_duration), PlainSerializer(format_duration, return_type=str)
]
Share = Annotated[float, BeforeValidator(parse_share)]
Column = Annotated[ColumnType, BeforeValidator(parse_column_type)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
Expression = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
