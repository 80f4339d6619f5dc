from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from features.errors import FeatureError
from features.exact import Wide, multiply, running_sums, scale, subtract, to_float, to_units

SIZES = st.lists(st.integers(0, 2**62), min_size=1, max_size=20)


def as_ints(items: Wide) -> list[int]:
    return [int(high) * 2**64 + int(low) for high, low in zip(*items, strict=True)]


@given(SIZES)
def test_products_and_running_sums_are_exact(sizes: list[int]) -> None:
    numbers = np.array(sizes, np.int64)
    squares = multiply(numbers, numbers[::-1])
    expected = [one * other for one, other in zip(sizes, sizes[::-1], strict=True)]
    assert as_ints(squares) == expected
    small = multiply(numbers >> 8, numbers >> 8)
    sums = running_sums(small)
    assert as_ints(sums) == [
        sum((size >> 8) ** 2 for size in sizes[:end]) for end in range(len(sizes) + 1)
    ]


@given(st.integers(0, 2**60), st.integers(0, 2**60), st.integers(0, 2**6))
def test_differences_and_factors_are_exact(one: int, other: int, factor: int) -> None:
    low, high = sorted([one, other])
    numbers = [np.array([number], np.int64) for number in (low, high, factor)]
    left, right = multiply(numbers[1], numbers[1]), multiply(numbers[0], numbers[0])
    assert as_ints(subtract(left, right)) == [high**2 - low**2]
    assert as_ints(scale(right, numbers[2])) == [low**2 * factor]
    assert to_float(left)[0] == pytest.approx(float(high**2), rel=1e-15)


def test_values_count_to_the_millionth() -> None:
    assert to_units(np.array([0.1, -2.5, 1e-7, -0.0]), "x").tolist() == [100000, -2500000, 0, 0]


def test_value_too_large_is_refused_by_name() -> None:
    with pytest.raises(FeatureError, match=r"price: a sum over 1 values of up to 1e\+13"):
        to_units(np.array([1e13]), "price")
