"""The `sources` section: where raw data lie, what they mean, and which rows are good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from pipelines.project.types import (
    Column,
    Expression,
    Name,
    Share,
    Strict,
    raise_findings,
    unknown_word,
)

Severity = Literal["fail", "warn"]
Nulls = Literal["fail", "ignore"]
Scalar = str | float | bool


class DeliveredAt(Strict):
    """How the instant of a delivery is found; it is never taken from the modification time."""

    from_name: str
    """Regular expression on the file name whose first group is the date, as YYYYMMDD."""


class Files(Strict):
    """The files of a source."""

    path: str
    """A path or glob, relative to the project's home."""
    format: Literal["csv", "json", "parquet"]
    """File format; `json` is one object a line."""
    separator: Annotated[str, Field(min_length=1, max_length=1)] = ","
    """Field separator of CSV files."""
    encoding: Literal["UTF-8", "UTF-16", "ISO-8859-1"] = "UTF-8"
    """Character encoding of text files."""
    delivered_at: DeliveredAt | None = None
    """Where the instant of the delivery stands; without it, the instant of ingestion counts."""


class DeriveFunction(Strict):
    """A function of the project's code that adds one column."""

    function: Annotated[str, Field(pattern=r"^custom\.[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$")]
    """`custom.module.name`: called with rows and lookup table, returns the rows with the column."""
    lookup: Name | None = None
    """Source whose clean table is passed as second argument."""


def _kind_of_derived(value: Any) -> str:
    return "DeriveFunction" if isinstance(value, dict | DeriveFunction) else "Expression"


Derived = Annotated[
    Annotated[Expression, Tag("Expression")] | Annotated[DeriveFunction, Tag("DeriveFunction")],
    Discriminator(_kind_of_derived),
]


class RowRule(Strict):
    """A rule each row must keep; a row that breaks it goes to quarantine and never wins its key."""

    column: str | None = None
    """Column that `between` or `in` looks at."""
    between: tuple[float, float] | None = None
    """Lowest and highest allowed value, both included; NaN is outside."""
    in_: Annotated[tuple[Scalar, ...] | None, Field(alias="in")] = None
    """Allowed values."""
    expression: Expression | None = None
    """A condition that must be true."""
    nulls: Nulls = "fail"
    """Whether a null keeps the rule (`ignore`) or breaks it (`fail`)."""

    @model_validator(mode="after")
    def _one_test(self) -> RowRule:
        tests = [self.between is not None, self.in_ is not None, self.expression is not None]
        if sum(tests) != 1:
            raise ValueError("needs exactly one of between, in, expression")
        if (self.expression is None) != (self.column is not None):
            raise ValueError("between and in need column; expression stands alone")
        return self


class Dedup(Strict):
    """Which row of several with one key stays."""

    key: Annotated[tuple[str, ...], Field(min_length=1)]
    """Columns that name one thing."""
    keep: Literal["latest", "most_complete"] = "latest"
    """`latest` by the column `by`, or the row with the fewest nulls; ties end in a row hash."""
    by: str = "delivered_at"
    """Column that orders versions of a row; `delivered_at` is the delivery's instant."""
    null_key: Literal["reject"] = "reject"
    """A row whose key has a null goes to quarantine."""


class TableRule(Strict):
    """A rule on what the clean table would become; severity `fail` stops publishing."""

    max_quarantined: Share | None = None
    """Highest share of a batch's rows that row rules may set aside."""
    column: str | None = None
    """Column that `in` or `not_null` looks at."""
    in_: Annotated[tuple[Scalar, ...] | None, Field(alias="in")] = None
    """Allowed values."""
    not_null: bool | None = None
    """True where the column must have a value."""
    foreign_key: Annotated[dict[str, str] | None, Field(min_length=1, max_length=1)] = None
    """Column → `source.column` in which its values must stand."""
    great_expectations: str | None = None
    """Suite as JSON, relative to the project's folder."""
    mostly: Share = 1.0
    """Share of rows that must keep the rule."""
    severity: Severity = "fail"
    """`fail` stops publishing, `warn` is reported."""
    not_evaluated: Severity = "warn"
    """What it means when there was nothing to look at."""

    @model_validator(mode="after")
    def _one_test(self) -> TableRule:
        tests = ("max_quarantined", "in_", "not_null", "foreign_key", "great_expectations")
        if sum(getattr(self, name) is not None for name in tests) != 1:
            words = ", ".join(test.rstrip("_") for test in tests)
            raise ValueError(f"needs exactly one of {words}")
        if (self.in_ is not None or self.not_null is not None) != (self.column is not None):
            raise ValueError("in and not_null need column; other rules stand alone")
        return self


class Source(Strict):
    """One kind of raw data, from its files to its clean table."""

    files: Files
    """Where the data lie and how they are written."""
    columns: Annotated[dict[str, Column], Field(alias="schema", min_length=1)]
    """Column → type, matched by name; `!` says that null is a mistake."""
    derive: dict[Name, Derived] = Field(default={})
    """Columns computed from the others, in this order."""
    event_time: str | None = None
    """Column that says when the event happened."""
    known_at: dict[str, tuple[str, ...] | Literal["*"]] = Field(default={})
    """Instant column, or `always` → columns known from then on; the rest feeds nothing."""
    row_rules: dict[Name, RowRule] = Field(default={})
    """Rules for single rows, applied before deduplication."""
    dedup: Dedup
    """Which row of several with one key stays."""
    table_rules: dict[Name, TableRule] = Field(default={})
    """Rules for the table as a whole."""
    time_zone: str | None = None
    """Zone of timestamps without an offset; default: `defaults.time_zone`."""
    nulls: tuple[str, ...] | None = None
    """Texts that mean null; default: `defaults.nulls`."""
    max_rejected: Share | None = None
    """Highest share of records that may be unreadable; default: `defaults.max_rejected`."""
    extra_column: Literal["rescue", "fail"] | None = None
    """What to do with undeclared columns; default: `defaults.extra_column`."""

    @model_validator(mode="after")
    def _columns_exist(self) -> Source:
        known = ["delivered_at", *self.columns, *self.derive]
        findings = [
            (place, unknown_word("column", column, known))
            for place, column in self._named_columns()
            if column not in known
        ]
        if findings:
            raise_findings("source", findings)
        return self

    def _named_columns(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yields (place, column) of each column the section names."""
        if self.event_time:
            yield ("event_time",), self.event_time
        for index, column in enumerate(self.dedup.key):
            yield ("dedup", "key", index), column
        yield ("dedup", "by"), self.dedup.by
        for instant, columns in self.known_at.items():
            if instant != "always":
                yield ("known_at", instant), instant
            for index, column in enumerate(() if columns == "*" else columns):
                yield ("known_at", instant, index), column
        for group in ("row_rules", "table_rules"):
            for name, rule in getattr(self, group).items():
                if rule.column:
                    yield (group, name, "column"), rule.column
