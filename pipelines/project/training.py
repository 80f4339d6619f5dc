"""The `training_sets` section: rows to predict for, their label, their features and their split."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from pipelines.project.types import Duration, Expression, Name, Strict

Aggregate = Literal["count", "sum", "mean", "min", "max", "std", "rate"]


class Rows(Strict):
    """The spine of a training set: one row for each thing to predict."""

    source: Name
    """Source whose clean rows are predicted for."""
    predict_at: Expression
    """Instant of the prediction; features use only what was known then."""


class Label(Strict):
    """What is predicted."""

    name: Name
    """Name of the label column."""
    expression: Expression
    """A condition (binary) or a number (regression) over the clean row."""
    task: Literal["binary", "regression"] = "binary"
    """Kind of the label."""
    wait: Duration
    """How long after predict_at a label is surely known; younger rows are `not yet known`."""
    if_null: Literal["exclude"] = "exclude"
    """Rows without a label are kept out and counted."""


class Windows(Strict):
    """Aggregates of events over spans of time, by keys."""

    from_: Annotated[Name, Field(alias="from")]
    """Source of the events."""
    by: Annotated[dict[Name, tuple[str, ...]], Field(min_length=1)]
    """Name of the key → its columns, present in the rows and in the events."""
    last: tuple[Duration, ...] = ()
    """Spans back: values that became known in (predict_at - span, predict_at]."""
    next: tuple[Duration, ...] = ()
    """Spans ahead, for what is always known: events in (predict_at, predict_at + span]."""
    values: Annotated[dict[str, tuple[Aggregate, ...]], Field(min_length=1)]
    """Column, condition, or `*` for the events → aggregates; `rate` is a condition's share."""

    @model_validator(mode="after")
    def _one_direction(self) -> Windows:
        if bool(self.last) == bool(self.next):
            raise ValueError("needs exactly one of last, next")
        return self


class Latest(Strict):
    """The newest known value of a key, and its age."""

    from_: Annotated[Name, Field(alias="from")]
    """Source of the events."""
    by: Annotated[tuple[str, ...], Field(min_length=1)]
    """Key columns, present in the rows and in the events."""
    columns: Annotated[tuple[str, ...], Field(min_length=1)]
    """Columns whose newest known value is taken."""
    max_age: Duration
    """Older values are null."""


class Static(Strict):
    """Columns of the row itself, or of a table joined by key."""

    from_: Annotated[Name, Field(alias="from")]
    """Source of the columns."""
    join: dict[str, str] | None = None
    """Row column → key column of the source; none for the row's own source."""
    columns: Annotated[tuple[str, ...], Field(min_length=1)]
    """Columns to take."""


class Calendar(Strict):
    """Parts of an instant in the project's zone."""

    of: str
    """Instant column of the rows."""
    parts: Annotated[tuple[Literal["hour", "weekday", "month", "day"], ...], Field(min_length=1)]
    """Parts to take; weekday 0 is Monday."""


def _kind_of_static(value: Any) -> str:
    is_calendar = "parts" in value or "of" in value if isinstance(value, dict) else False
    return "Calendar" if is_calendar or isinstance(value, Calendar) else "Static"


StaticColumns = Annotated[
    Annotated[Static, Tag("Static")] | Annotated[Calendar, Tag("Calendar")],
    Discriminator(_kind_of_static),
]


class EncodeNumeric(Strict):
    """How numbers enter a model."""

    scale: Literal["standard", "none"] = "standard"
    """`standard`: mean 0 and deviation 1 over the training part."""
    nulls: Literal["mask"] = "mask"
    """Null becomes 0 after scaling, with a mask column that says so."""


class EncodeCategory(Strict):
    """How texts enter a model."""

    min_count: Annotated[int, Field(ge=1)] = 20
    """Values seen less often in the training part share the code of unknown ones."""
    unknown: Literal["own_code"] = "own_code"
    """Unknown values and nulls have code 0."""


class Encode(Strict):
    """Encoders, fitted on the training part only."""

    numeric: EncodeNumeric = EncodeNumeric()
    """Numbers."""
    category: EncodeCategory = EncodeCategory()
    """Texts."""


class Split(Strict):
    """A split by time: train before validation before test, in the project's zone."""

    by: Literal["time"] = "time"
    """Rows are split by predict_at."""
    train_until: date
    """First day that is no longer training."""
    validation_until: date
    """First day that is no longer validation."""
    test_until: date
    """First day that is no longer test; later rows are left out and counted."""
    embargo: Literal["label", "none"] = "label"
    """`label`: rows whose label was unknown when their part ended are excluded and counted."""

    @model_validator(mode="after")
    def _ordered(self) -> Split:
        if not self.train_until < self.validation_until < self.test_until:
            raise ValueError("needs train_until < validation_until < test_until")
        return self


class TrainingSet(Strict):
    """Rows, label, features, encoders and split of one table that models learn from."""

    rows: Rows
    """The rows to predict for."""
    label: Label
    """What is predicted."""
    windows: dict[Name, Windows] = Field(default={})
    """Aggregates over spans of time."""
    latest: dict[Name, Latest] = Field(default={})
    """Newest known values."""
    static: dict[Name, StaticColumns] = Field(default={})
    """Columns of the row, of joined tables, and calendar parts."""
    encode: Encode = Encode()
    """Encoders."""
    split: Split
    """Parts of the table."""
