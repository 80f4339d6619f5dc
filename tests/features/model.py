"""Windows and newest values in plain Python: what the engine must give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Event:
    """One event; `known` and `happened` in seconds, `known` None = never."""

    key: str | None
    known: int | None
    happened: int
    value: float | None


def usable(event: Event) -> bool:
    """Whether an event's value ever counts."""
    return event.known is not None and event.value is not None and math.isfinite(event.value)


def window(
    events: list[Event], key: str | None, low: int, high: int, aggregate: str
) -> float | None:
    """An aggregate over the values known in (low, high]."""
    values = [
        Fraction(round(Fraction(event.value) * 10**6), 10**6)
        for event in events
        if key is not None and event.key == key and usable(event) and low < event.known <= high
    ]
    raw = [
        event.value
        for event in events
        if key is not None and event.key == key and usable(event) and low < event.known <= high
    ]
    if aggregate == "count":
        return len(values)
    if len(values) < (2 if aggregate == "std" else 1):
        return None
    mean = sum(values) / len(values)
    if aggregate == "std":
        return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    found = {"sum": sum(values), "mean": mean, "min": min(raw), "max": max(raw)}
    return float(found[aggregate])


def latest(
    events: list[Event], key: str | None, at: int, max_age: int
) -> tuple[float | None, float | None]:
    """The newest value and its age in hours."""
    known = [
        (event.known, event.happened, event.value)
        for event in events
        if key is not None and event.key == key and usable(event) and event.known <= at
    ]
    if not known or at - max(known)[0] > max_age:
        return None, None
    newest = max(known)
    return newest[2], (at - newest[0]) / 3_600


def assert_same(found: list[float | None], expected: list[float | None]) -> None:
    """The same nulls, and numbers that differ by no more than their rounding."""
    assert [value is None for value in found] == [value is None for value in expected]
    for value, wanted in zip(found, expected, strict=True):
        if value is not None and wanted is not None:
            assert math.isclose(value, wanted, rel_tol=1e-12, abs_tol=1e-9)
