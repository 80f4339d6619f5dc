"""From a source's text to declared types: a value that does not fit is named, never nulled."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pipelines.expressions import quote
from pipelines.project.types import ColumnType

_HAS_OFFSET = r"(Z|[+-]\d{2}:?\d{2})\s*$"
_ZERO_FRACTION = r"\.0+\s*$"
PROBLEM = "struct<column:string,value:string,reason:string>"


def column_of(name: str) -> Column:
    """The column of exactly this name; dots in it do not reach into a struct."""
    return F.col(quote(name))


def marked_null(text: Column, nulls: Sequence[str]) -> Column:
    """Text → text, with the declared markers turned into null."""
    return F.when(text.isin(*nulls), None).otherwise(text) if nulls else text


def typed(value: Column, declared: ColumnType, zone: str, *, is_text: bool) -> Column:
    """A value of the declared type, or null where it does not fit.

    Args:
        value: Text, or for Parquet the file's own type.
        declared: The column's declaration.
        zone: Zone of timestamps that carry no offset.
        is_text: Whether `value` is text.
    """
    if declared.sql == "string":
        return value.cast("string")
    if not is_text:
        return value.try_cast(declared.sql)
    if declared.sql == "timestamp":
        wall = value.try_cast("timestamp")
        instant = F.to_utc_timestamp(wall, zone)
        # A wall time that the clocks skipped comes back as another one.
        local = F.when(F.from_utc_timestamp(instant, zone) == wall, instant)
        return F.when(value.rlike(_HAS_OFFSET), wall).otherwise(local)
    if declared.sql in ("int", "bigint"):
        return F.regexp_replace(value, _ZERO_FRACTION, "").try_cast(declared.sql)
    converted = value.try_cast(declared.sql)
    if declared.sql == "double":
        # One form for -0.0 and for every NaN, so that equal values have equal hashes.
        return F.when(F.isnan(converted), F.lit(float("nan"))).otherwise(converted + F.lit(0.0))
    return converted


def problem(name: str, text: Column, value: Column, declared: ColumnType) -> Column:
    """What is wrong with one value, as PROBLEM, or null.

    Args:
        name: Column name.
        text: The value as delivered, null markers already null.
        value: The converted value.
        declared: The column's declaration.
    """
    reason = F.when(text.isNotNull() & value.isNull(), F.lit("bad_value"))
    if declared.required:
        reason = reason.when(text.isNull(), F.lit("null_value"))
    told = F.struct(
        F.lit(name).alias("column"),
        F.substring(text.cast("string"), 1, 200).alias("value"),
        reason.alias("reason"),
    )
    return F.when(reason.isNotNull(), told).cast(PROBLEM)


def text_schema(header: Sequence[str], corrupt: str) -> T.StructType:
    """All columns as text in file order, and the whole record where it could not be split."""
    fields = [T.StructField(name, T.StringType()) for name in (*header, corrupt)]
    return T.StructType(fields)
