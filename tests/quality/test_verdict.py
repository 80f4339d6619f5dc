"""The gate's arithmetic: which verdicts stop publishing, and the words of shares."""

from __future__ import annotations

import pytest

from pipelines.quality.verdict import Verdict, cause, gate_passed, percent, sample, share_text


@pytest.mark.parametrize(
    ("severity", "verdict", "passes"),
    [
        ("fail", "pass", True),
        ("warn", "pass", True),
        ("fail", "fail", False),
        ("warn", "warn", True),
        ("fail", "not_evaluated", False),
        ("warn", "not_evaluated", True),
        ("fail", "error", False),
        ("warn", "error", True),
    ],
)
def test_what_stops_publishing(severity, verdict, passes) -> None:
    good = Verdict("t", "good", "fail", "pass", 1, 0, "", "", "")
    judged = Verdict("t", "r", severity, verdict, 1, 1, "", "", "")
    assert gate_passed([good, judged]) is passes


def test_no_rules_pass() -> None:
    assert gate_passed([])


def test_words_of_shares() -> None:
    assert share_text(1_034, 30_412) == "3.4 % (1,034/30,412)"
    assert share_text(1, 3_000_000) == "0.0000333 % (1/3,000,000)"
    assert percent(1 - 0.97) == "3 %"
    assert percent(0) == "0 %"


def test_an_error_names_its_kind_and_never_the_data() -> None:
    assert cause(ValueError("could not read jane@example.org")) == "ValueError"


def test_samples_are_plain_and_short() -> None:
    assert sample("a", "x" * 500) == {"a": "x" * 100}
    assert sample("a", 1.5) == {"a": "1.5"}
    assert sample("a", None) == {"a": None}
