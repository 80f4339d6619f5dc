"""Names of features: made of config words, snake_case, and safe as Delta columns."""

from __future__ import annotations

import re
from datetime import timedelta

_WORDS = {">=": "ge", "<=": "le", "!=": "ne", "<>": "ne", "<=>": "eq", "==": "eq"}
_WORDS |= {">": "gt", "<": "lt", "=": "eq", "+": "plus", "*": "times", "/": "over", "%": "mod"}
_OPERATOR = re.compile(r"<=>|[<>!=]=|<>|[<>=+*/%]")
_NEGATIVE = re.compile(r"-(?=\s*[\d.])")
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def snake_case(text: str) -> str:
    """A column, condition or path as one word of a feature's name.

    >>> snake_case("price >= 15"), snake_case("temp < -1.5"), snake_case("*")
    ('price_ge_15', 'temp_lt_minus_1_5', 'events')
    """
    if text.strip() == "*":
        return "events"
    signed = _NEGATIVE.sub(" minus ", text)
    spoken = _OPERATOR.sub(lambda match: f" {_WORDS[match[0]]} ", signed)
    return "_".join(re.findall(r"[^\W_]+", spoken.lower()))


def span_name(span: timedelta) -> str:
    """The shortest way to write a span.

    >>> span_name(timedelta(days=28)), span_name(timedelta(minutes=90))
    ('28d', '90min')
    """
    seconds = int(span.total_seconds())
    unit, size = next((unit, size) for unit, size in _UNITS if seconds % size == 0)
    return f"{seconds // size}{unit}"


def feature_name(*parts: str) -> str:
    """Parts of a name, from group to aggregate.

    >>> feature_name("prices__shop", "price >= 15", "rate_3h")
    'prices__shop__price_ge_15__rate_3h'
    """
    return "__".join(part if "__" in part else snake_case(part) for part in parts)
