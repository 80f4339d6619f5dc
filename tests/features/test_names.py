from __future__ import annotations

from datetime import timedelta

import pytest

from features.names import feature_name, snake_case, span_name


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("arr_delay", "arr_delay"),
        ("arr_delay >= 15", "arr_delay_ge_15"),
        ("arr_delay>-1.5", "arr_delay_gt_minus_1_5"),
        ("a <=> b", "a_eq_b"),
        ("state != 'Ü x'", "state_ne_ü_x"),
        ("*", "events"),
    ],
)
def test_snake_case(text: str, word: str) -> None:
    assert snake_case(text) == word


def test_span_takes_the_largest_whole_unit() -> None:
    spans = [timedelta(hours=24), timedelta(minutes=90), timedelta(hours=3), timedelta(seconds=61)]
    assert [span_name(span) for span in spans] == ["1d", "90min", "3h", "61s"]


def test_prefix_with_its_separator_stays() -> None:
    assert feature_name("delays__tail", "*", "count_1h") == "delays__tail__events__count_1h"
