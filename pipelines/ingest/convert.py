"""From a source's text to declared types: a value that does not fit is named, never nulled."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from pipelines.expressions import quote
from pipelines.project.types import ColumnType

_DATE = r"\s*\d{4}-\d{1,2}-\d{1,2}"
_WALL = rf"^{_DATE}([ T]\d{{1,2}}:\d{{1,2}}(:\d{{1,2}}(\.\d*)?)?)?\s*$"
_WITH_OFFSET = (
    rf"^{_DATE}[ T]\d{{1,2}}:\d{{1,2}}(:\d{{1,2}}(\.\d*)?)?\s*(Z|[+-]\d{{2}}:?\d{{2}})\s*$"
)
_NO_SECONDS = r"([ T]\d{1,2}:\d{1,2})\s*(Z|[+-])"
_ZERO_FRACTION = r"\.0+\s*$"
PROBLEM = "struct<column:string,value:string,reason:string>"


def column_of(name: str) -> Column:
    """The column of exactly this name; dots in it do not reach into a struct."""
    return F.col(quote(name))


def marked_null(text: Column, nulls: Sequence[str]) -> Column:
    """Text → text, with the declared markers turned into null."""
    return F.when(text.isin(*nulls), None).otherwise(text) if nulls else text


def typed(value: Column, declared: ColumnType, zone: str, kind: T.DataType) -> Column:
    """A value of the declared type, or null where it does not fit without loss.

    Args:
        value: The value as the file has it.
        declared: The column's declaration.
        zone: Zone of timestamps that carry no offset.
        kind: Type of `value`.
    """
    is_text = isinstance(kind, T.StringType)
    if declared.sql == "string":
        return value.cast("string")
    if declared.sql == "timestamp":
        if is_text:
            # Spark would also take a bare time of day, as today's, and names of zones.
            with_seconds = F.regexp_replace(value, _NO_SECONDS, "$1:00$2")
            with_offset = F.when(value.rlike(_WITH_OFFSET), with_seconds.try_cast("timestamp"))
            wall = F.when(value.rlike(_WALL), value.try_cast("timestamp"))
            return F.coalesce(with_offset, _instant(wall, zone))
        if isinstance(kind, T.TimestampNTZType):
            return _instant(value.cast("timestamp"), zone)
    if is_text and declared.sql in ("int", "bigint"):
        value = F.regexp_replace(value, _ZERO_FRACTION, "")
    converted = value.try_cast(declared.sql)
    if declared.sql in ("int", "bigint") and isinstance(kind, T.FractionalType):
        converted = F.when(converted == value, converted)
    if declared.sql == "double":
        # One form for -0.0 and for every NaN, so that equal values have equal hashes.
        return F.when(F.isnan(converted), F.lit(float("nan"))).otherwise(converted + F.lit(0.0))
    return converted


def _instant(wall: Column, zone: str) -> Column:
    """The instant of a wall time, the earlier of two; null for a time that the clocks skipped."""
    instant = F.to_utc_timestamp(wall, zone)
    # A skipped time comes back as another one.
    return F.when(F.from_utc_timestamp(instant, zone) == wall, instant)


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
