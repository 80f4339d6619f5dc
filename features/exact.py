"""Exact arithmetic on columns: values as whole millionths, and 128-bit integers in two halves.

Sums of doubles depend on the order of the rows; sums of integers do not. Squares of 64-bit
integers need 128 bits, kept here as a signed high and an unsigned low half.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from features.errors import FeatureError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
UNITS = 1_000_000
"""Units in one: a value counts to the millionth."""
LIMIT = float(2**62)
"""No sum of magnitudes, in units, may reach this; so no partial sum leaves 64 bits."""

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Wide(NamedTuple):
    """128-bit integers, element by element: `high * 2**64 + low`."""

    high: Ints
    low: NDArray[np.uint64]


def to_units(values: Floats, name: str) -> Ints:
    """Values as whole millionths, rounded half to even.

    Raises:
        FeatureError: A value is too large to be counted in millionths.
    """
    scaled = np.rint(values * UNITS)
    check_sums(np.abs(scaled).max(initial=0.0), 1, name)
    units: Ints = scaled.astype(np.int64)
    return units


def check_sums(largest: float, num_values: int, name: str) -> None:
    """Refuses sums that could leave 64 bits.

    Raises:
        FeatureError: `num_values` values of size `largest` (in units) could overflow.
    """
    if largest * num_values >= LIMIT:
        raise FeatureError(
            f"{name}: a sum over {num_values} values of up to {largest / UNITS:g} is too large; "
            f"allowed are sums below {LIMIT / UNITS:.3g}. Use a larger unit for the column"
        )


def multiply(left: NDArray[Any], right: NDArray[Any]) -> Wide:
    """Products of non-negative 64-bit integers, signed or not (schoolbook, on 32-bit digits)."""
    a, b = left.astype(np.uint64), right.astype(np.uint64)
    a_high, a_low, b_high, b_low = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    middle = a_high * b_low + ((a_low * b_low) >> _HALF)
    carried = a_low * b_high + (middle & _LOW)
    high = a_high * b_high + (middle >> _HALF) + (carried >> _HALF)
    return Wide(high.astype(np.int64), a * b)


def scale(items: Wide, factors: Ints) -> Wide:
    """Non-negative items times non-negative factors; the result must fit 127 bits."""
    low = multiply(items.low, factors)
    return Wide(items.high * factors + low.high, low.low)


def subtract(left: Wide, right: Wide) -> Wide:
    """Differences."""
    borrow = (left.low < right.low).astype(np.int64)
    return Wide(left.high - right.high - borrow, left.low - right.low)


def running_sums(items: Wide) -> Wide:
    """Sums of the first 0, 1, … n items (length n + 1)."""
    low = np.concatenate([np.zeros(1, np.uint64), np.cumsum(items.low, dtype=np.uint64)])
    carries = np.cumsum(low[1:] < items.low, dtype=np.int64)
    high = np.concatenate([np.zeros(1, np.int64), np.cumsum(items.high) + carries])
    return Wide(high, low)


def to_float(items: Wide) -> Floats:
    """The items as doubles, each half rounded once."""
    result: Floats = items.high.astype(np.float64) * 2.0**64 + items.low.astype(np.float64)
    return result
