"""Key columns that two tables share: which types match, and which cannot."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from features.errors import FeatureError

_INTEGERS = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


def as_key(table: DataFrame, column: str, wanted: T.DataType) -> Column:
    """A key column in the type of the rows it is matched with.

    Integers may differ in width; one that does not fit becomes null and matches nothing.

    Raises:
        FeatureError: The types differ otherwise, or are floats, which are no keys.
    """
    found = table.schema[column].dataType
    if isinstance(wanted, (T.FloatType, T.DoubleType)):
        raise FeatureError(
            f"key column {column} is {wanted.simpleString()}; allowed are texts, integers, "
            "decimals, dates, timestamps and booleans"
        )
    if found == wanted:
        return F.col(column)
    if isinstance(found, _INTEGERS) and isinstance(wanted, _INTEGERS):
        return F.col(column).try_cast(wanted)
    raise FeatureError(
        f"key column {column} is {found.simpleString()}, but {wanted.simpleString()} in the rows; "
        "both need one type"
    )
