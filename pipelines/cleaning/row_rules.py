"""Row rules of a source as one column: which rules a row breaks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pipelines.expressions import quote, to_column

if TYPE_CHECKING:
    from pyspark.sql import Column

    from pipelines.project.sources import RowRule

# Whole numbers up to here are exact as a double, so they may be compared as integers.
_EXACT = 2**53


def violations(rules: Mapping[str, RowRule], columns: Collection[str]) -> Column:
    """Names of the rules a row breaks, in declared order; empty for a good row, never null.

    A null breaks a rule (as does an expression that is null) unless the rule says `nulls: ignore`.
    NaN lies outside every `between`.

    Args:
        rules: Name of the rule → rule, as in `row_rules`.
        columns: Columns of the rows.

    Returns:
        A column of type array<string>.

    Raises:
        ConfigError: An expression is not allowed or reads an unknown column.
    """
    from pyspark.sql import functions as F

    broken = [
        F.when(~F.coalesce(_holds(rule, columns), F.lit(rule.nulls == "ignore")), F.lit(name))
        for name, rule in rules.items()
    ]
    return F.array_compact(F.array(*broken).cast("array<string>"))


def _holds(rule: RowRule, columns: Collection[str]) -> Column:
    """True where a row keeps the rule, null where a value is missing."""
    from pyspark.sql import functions as F

    if rule.expression is not None:
        return to_column(rule.expression, columns)
    value = F.col(quote(rule.column or ""))
    if rule.between is not None:
        # Spark sorts NaN above every number, infinity included: it is never inside.
        low, high = (_bound(bound) for bound in rule.between)
        return (value >= low) & (value <= high)
    return reduce(or_, (value == F.lit(allowed) for allowed in rule.in_ or ()), F.lit(False))


def _bound(bound: float) -> Column:
    from pyspark.sql import functions as F

    whole = bound.is_integer() and abs(bound) < _EXACT
    return F.lit(int(bound) if whole else bound)
