"""The rows of a training set before their features: instant, label, part, reason to stay out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from features.calendar import local_date
from features.split import EMBARGO, OUTSIDE, TEST, TRAIN, VALIDATION, TimeSplit
from pipelines.errors import ConfigError, DataGateError
from pipelines.expressions import columns_of
from pipelines.project.training import TrainingSet
from pipelines.training_sets.joins import Inputs
from pipelines.training_sets.known import ALWAYS, check_always_known

AT, DAY, LABEL, SPLIT = "__predict_at", "__day", "__label", "__split"
UNLABELLED, NOT_YET_KNOWN = "unlabelled", "not_yet_known"
_DELIVERED_AT = "_delivered_at"


@dataclass(frozen=True)
class SpineCounts:
    """Where each row of the row source went; the parts add up to `total`.

    Args:
        train: Rows of the training part.
        validation: Rows of the validation part.
        test: Rows of the test part.
        unlabelled: Rows whose label stayed null although its wait is over.
        not_yet_known: Rows younger than the label's wait.
        embargo: Rows whose label was not known at the end of their part.
        outside: Rows after the last part, or without an instant.
    """

    train: int
    validation: int
    test: int
    unlabelled: int
    not_yet_known: int
    embargo: int
    outside: int

    @property
    def training_rows(self) -> int:
        """Rows of the table."""
        return self.train + self.validation + self.test

    @property
    def excluded(self) -> int:
        """Rows left out, for whatever reason."""
        return self.unlabelled + self.not_yet_known + self.embargo + self.outside

    @property
    def total(self) -> int:
        """Rows of the row source."""
        return self.training_rows + self.excluded


def build_spine(spec: TrainingSet, inputs: Inputs, where: str) -> tuple[DataFrame, SpineCounts]:
    """Rows to predict for, with instant, day, label and part; two small jobs count the others.

    Returns:
        Rows of the three parts: the source's columns and `__predict_at`, `__day`, `__label`,
        `__split`; and where all rows went.

    Raises:
        ConfigError: `predict_at` reads what is not known always, or an expression has a wrong type.
        DataGateError: A part has no rows.
    """
    source = inputs.sources[spec.rows.source]
    check_always_known(source, columns_of(spec.rows.predict_at), f"{where}.rows.predict_at")
    table = inputs.table(spec.rows.source)
    with_label = table.withColumns(
        {
            AT: inputs.expression(spec.rows.predict_at, table.columns),
            LABEL: inputs.expression(spec.label.expression, table.columns),
        }
    )
    _check_types(with_label, spec, where)
    split = TimeSplit(
        spec.split.train_until,
        spec.split.validation_until,
        spec.split.test_until,
        inputs.zone,
        spec.label.wait if spec.split.embargo == "label" else timedelta(0),
    )
    number = "int" if spec.label.task == "binary" else "double"
    fate = _fate(spec, split.column(F.col(AT)), _newest_instant(spec, inputs))
    rows = with_label.withColumns(
        {
            LABEL: F.col(LABEL).cast(number),
            DAY: local_date(F.col(AT), inputs.zone),
            SPLIT: fate,
        }
    )
    found = {row[SPLIT]: row["count"] for row in rows.groupBy(SPLIT).count().collect()}
    names = (TRAIN, VALIDATION, TEST, UNLABELLED, NOT_YET_KNOWN, EMBARGO, OUTSIDE)
    counts = SpineCounts(*[found.get(name, 0) for name in names])
    _check_parts(counts, where)
    return rows.where(F.col(SPLIT).isin(TRAIN, VALIDATION, TEST)), counts


def _fate(spec: TrainingSet, part: Column, newest: int | None) -> Column:
    """The part of a row, or why it stays out: outside, too young, no label, embargo."""
    label, at = F.col(LABEL), F.col(AT)
    missing = label.isNull()
    if spec.label.task == "regression":
        missing = missing | F.isnan(label.cast("double"))
    known = F.timestamp_add("SECOND", F.lit(int(spec.label.wait.total_seconds())), at)
    return (
        F.when(part == OUTSIDE, OUTSIDE)
        .when(F.unix_micros(known) > F.lit(newest), NOT_YET_KNOWN)
        .when(missing, UNLABELLED)
        .otherwise(part)
    )


def _newest_instant(spec: TrainingSet, inputs: Inputs) -> int | None:
    """The last instant the data tell of (a delivery, an event, a value's), in microseconds."""
    source = inputs.sources[spec.rows.source]
    table = inputs.clean(spec.rows.source)
    instants = [name for name in source.known_at if name != ALWAYS]
    instants += [name for name in (source.event_time, _DELIVERED_AT) if name in table.columns]
    newest = [F.max(F.unix_micros(name)).alias(name) for name in dict.fromkeys(instants)]
    if not newest:
        return None
    found = [instant for instant in table.agg(*newest).collect()[0] if instant is not None]
    return max(found, default=None)


def _check_types(rows: DataFrame, spec: TrainingSet, where: str) -> None:
    at, label = rows.schema[AT].dataType.typeName(), rows.schema[LABEL].dataType.typeName()
    if at != "timestamp":
        raise ConfigError(
            f"predict_at is of type {at}; needs a timestamp", where=f"{where}.rows.predict_at"
        )
    numbers = ("byte", "short", "integer", "long", "float", "double", "decimal")
    allowed = ("boolean",) if spec.label.task == "binary" else numbers
    if label not in allowed:
        wanted = "a condition" if spec.label.task == "binary" else "a number"
        raise ConfigError(
            f"the label is of type {label}; a {spec.label.task} label needs {wanted}",
            where=f"{where}.label.expression",
        )


def _check_parts(counts: SpineCounts, where: str) -> None:
    empty = [name for name in (TRAIN, VALIDATION, TEST) if not getattr(counts, name)]
    if empty:
        raise DataGateError(
            f"no rows for {', '.join(empty)}: of {counts.total:,} rows {counts.unlabelled:,} are "
            f"unlabelled, {counts.not_yet_known:,} not yet known, {counts.embargo:,} under "
            f"embargo, {counts.outside:,} outside",
            where=f"{where}.split",
            remedy="move the borders of the split to where the data lie",
        )
