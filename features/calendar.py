"""Parts of an instant on the wall clock of a zone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as F

Part = Literal["hour", "weekday", "month", "day"]

_PARTS: dict[str, Callable[[Column], Column]] = {
    "hour": F.hour,
    "weekday": F.weekday,
    "month": F.month,
    "day": F.dayofmonth,
}


def calendar_columns(instant: Column, parts: Sequence[Part], zone: str) -> list[Column]:
    """Whole numbers off the wall clock: hour 0–23, weekday 0 (Monday) – 6, month 1–12, day 1–31.

    Args:
        instant: Timestamp column; the session's time zone must be UTC.
        parts: Parts to take, one column each in this order; null where the instant is null.
        zone: IANA name of the zone whose clock is read, its clock changes included.
    """
    wall = F.from_utc_timestamp(instant, zone)
    return [_PARTS[part](wall) for part in parts]


def local_date(instant: Column, zone: str) -> Column:
    """The date on the wall clock of a zone."""
    return F.to_date(F.from_utc_timestamp(instant, zone))
