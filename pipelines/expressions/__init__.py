"""Owns the way from text in a project file to a Spark column: parsed, allow-listed, built anew.

One expression is parsed (sqlglot, dialect spark) and the SQL that Spark sees is written from the
tree, node by node, out of the tables in `grammar`; the text itself never reaches Spark. What is not
in the tables is refused by name: subqueries, `java_method`, aggregates, windows, lambdas, clocks,
randomness.

What is built never stops a job on one bad value: casts, `+ - * / %` and `timestampadd` give null
where Spark's ANSI mode would raise (text in a number, an overflow, a division by zero). `abs`,
`round` and implicit casts from text (`code > 5`, `hour(text)`) keep Spark's own behaviour: cast.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from pipelines.expressions.rebuild import Rebuild, quote

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["check_expression", "columns_of", "quote", "to_column"]


def check_expression(text: str, columns: Collection[str]) -> None:
    """Refuses an expression that doesn't parse or uses more than is allowed; needs no Spark.

    Args:
        text: One expression as written in a project file.
        columns: Columns it may read, spelt exactly.

    Raises:
        ConfigError: Names what was found, its position, what is allowed and the nearest word.
    """
    Rebuild(text, columns).sql()


def to_column(text: str, columns: Collection[str]) -> Column:
    """The Spark column of an expression, built from its checked tree.

    Args:
        text: One expression as written in a project file.
        columns: Columns it may read, spelt exactly.

    Raises:
        ConfigError: As `check_expression`.
    """
    from pyspark.sql import functions as F

    return F.expr(Rebuild(text, columns).sql())


def columns_of(text: str) -> frozenset[str]:
    """Names of the columns an expression reads.

    Raises:
        ConfigError: As `check_expression`, but any column is allowed.

    Examples:
        >>> sorted(columns_of("timestampadd(MINUTE, minute, `a.b`)"))
        ['a.b', 'minute']
    """
    rebuild = Rebuild(text, None)
    rebuild.sql()
    return frozenset(rebuild.read)
