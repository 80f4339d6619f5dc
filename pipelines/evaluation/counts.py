"""The evaluation's one Spark job: predictions become small exact counts a model, part and day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipelines.errors import DataGateError

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import Column, DataFrame

# Bins of the score: 2**15 of equal width in its log-odds from -16 to 16. A width of 0.001 is at
# most 0.00025 in the score, and rare events, whose scores crowd near 0, keep their order.
NUM_BINS = 2**15
_MAX_LOG_ODDS = 16.0
# Sums are integers of 2**-30, so that they do not depend on the partitioning.
_SCALE = float(2**30)
# The smallest probability that a log loss is computed with, scikit-learn's.
_MIN_PROBABILITY = float(np.finfo(np.float64).eps)

_NO_SCORE, _NO_PROBABILITY, _NO_LABEL, _NO_DAY = -1, -2, -3, -4
_MISTAKES = {
    _NO_SCORE: "a score that is null, NaN or infinite",
    _NO_PROBABILITY: "a score outside 0 to 1",
    _NO_LABEL: "a label that is not 0 or 1",
    _NO_DAY: "no day",
}

Floats = NDArray[np.float64]
Key = tuple[str, str]
Counts = TypeVar("Counts")


@dataclass(frozen=True)
class BinaryCounts:
    """Counts of one model on one part; axes are day and occupied score bin, ascending."""

    days: tuple[str, ...]
    positives: Floats
    """Rows with label 1, (day, bin)."""
    negatives: Floats
    """Rows with label 0, (day, bin)."""
    score_sums: Floats
    """Sum of scores, (bin)."""
    losses: dict[str, Floats]
    """Sums of `log_loss` and of `brier`, (day)."""

    @property
    def rows(self) -> int:
        """Number of predictions."""
        return int(self.positives.sum() + self.negatives.sum())


@dataclass(frozen=True)
class RegressionCounts:
    """Sums of one model on one part, (day)."""

    days: tuple[str, ...]
    row_counts: Floats
    squared: Floats
    absolute: Floats
    label: Floats
    """Sum of labels less their mean over the part."""
    label_squared: Floats
    """Sum of squares of labels less their mean over the part."""

    @property
    def rows(self) -> int:
        """Number of predictions."""
        return int(self.row_counts.sum())


def count_binary(predictions: DataFrame) -> dict[Key, BinaryCounts]:
    """Counts predictions of probabilities by model, part, day, score bin and label, in one job.

    Args:
        predictions: One row a prediction: `model`, `split`, `day`, `label` (0 or 1), `score`.

    Raises:
        DataGateError: A score is no probability, a label is neither 0 nor 1, or a day is null.
    """
    from pyspark.sql import functions as F

    score, label = F.col("score").cast("double"), F.col("label").cast("double")
    clipped = F.greatest(F.least(score, F.lit(1 - 1e-12)), F.lit(1e-12))
    log_odds = F.log(clipped / (1 - clipped))
    position = (log_odds + _MAX_LOG_ODDS) * (NUM_BINS / (2 * _MAX_LOG_ODDS))
    bin_ = F.least(F.greatest(F.floor(position), F.lit(0)), F.lit(NUM_BINS - 1))
    likelihood = F.greatest(F.when(label == 1, score).otherwise(1 - score), F.lit(_MIN_PROBABILITY))
    checked = (
        F.when(_is_no_number(score), _NO_SCORE)
        .when(~score.between(0, 1), _NO_PROBABILITY)
        .when(label.isNull() | ~label.isin(0.0, 1.0), _NO_LABEL)
        .when(F.col("day").isNull(), _NO_DAY)
    )
    rows = predictions.select(
        "model",
        "split",
        F.col("day").cast("string").alias("day"),
        checked.otherwise(bin_).cast("int").alias("bin"),
        F.when(checked.isNull(), label == 1).otherwise(False).alias("positive"),
        *(
            F.when(checked.isNull(), F.rint(value * _SCALE)).otherwise(0.0).cast("long").alias(name)
            for name, value in {
                "score": score,
                "log_loss": -F.log(likelihood),
                "brier": (score - label) * (score - label),
            }.items()
        ),
    )
    counts = (
        rows.groupBy("model", "split", "day", "bin", "positive")
        .agg(
            F.count("*").alias("rows"), *(F.sum(c).alias(c) for c in ("score", "log_loss", "brier"))
        )
        .toArrow()
        .to_pandas()
    )
    _check_mistakes(counts, counts["bin"])
    return _by_model(counts, _to_binary_counts)


def count_regression(predictions: DataFrame) -> dict[Key, RegressionCounts]:
    """Sums the errors of predicted numbers by model, part and day, in one job.

    Sums are decimals with 12 places, so errors below 1e-6 count as none, and a part's sum of
    squares must stay below 1e26.

    Args:
        predictions: One row a prediction: `model`, `split`, `day`, `label`, `score`.

    Raises:
        DataGateError: A score or label is no number, or a day is null.
    """
    from pyspark.sql import functions as F

    score, label = F.col("score").cast("double"), F.col("label").cast("double")
    error = score - label
    mistake = (
        F.when(_is_no_number(score), _NO_SCORE)
        .when(_is_no_number(label), _NO_LABEL)
        .when(F.col("day").isNull(), _NO_DAY)
        .otherwise(0)
    )
    sums = {
        "squared": error * error,
        "absolute": F.abs(error),
        "label": label,
        "label_squared": label * label,
    }
    sums = {name: F.when(F.col("mistake") == 0, value) for name, value in sums.items()}
    counts = (
        predictions.withColumn("mistake", mistake)
        .groupBy("model", "split", F.col("day").cast("string").alias("day"), "mistake")
        .agg(
            F.count("*").alias("rows"),
            *(F.sum(value.cast("decimal(38,12)")).alias(name) for name, value in sums.items()),
        )
        .toArrow()
        .to_pandas()
    )
    _check_mistakes(counts, counts["mistake"], "a label that is null, NaN or infinite")
    return _by_model(counts, _to_regression_counts)


def _is_no_number(column: Column) -> Column:
    from pyspark.sql import functions as F

    return column.isNull() | F.isnan(column) | (F.abs(column) == float("inf"))


def _check_mistakes(counts: pd.DataFrame, kinds: pd.Series, label: str | None = None) -> None:
    wrong = counts[kinds < 0].assign(kind=kinds[kinds < 0])
    if wrong.empty:
        return
    wrong = wrong.groupby(["model", "split", "kind"], as_index=False)["rows"].sum()
    first = wrong.sort_values(["model", "split", "kind"]).iloc[0]
    what = label if label and first["kind"] == _NO_LABEL else _MISTAKES[first["kind"]]
    part = f"{first['rows']:,} rows of the {first['split']} part"
    raise DataGateError(
        f"model {first['model']} has {part} with {what}",
        where=f"predictions of {', '.join(sorted(set(wrong['model'])))}",
        remedy="a model that diverged gives NaN: lower its learning rate, or take it off `models`",
    )


def _by_model(counts: pd.DataFrame, build: Callable[[pd.DataFrame], Counts]) -> dict[Key, Counts]:
    ordered = counts.sort_values(["model", "split", "day"])
    return {key: build(part) for key, part in ordered.groupby(["model", "split"], sort=True)}


def _to_binary_counts(part: pd.DataFrame) -> BinaryCounts:
    days, day = np.unique(part["day"].to_numpy(dtype=str), return_inverse=True)
    bins, bin_ = np.unique(part["bin"].to_numpy(), return_inverse=True)
    shape = (len(days), len(bins))
    positive, rows = part["positive"].to_numpy(dtype=bool), part["rows"].to_numpy(dtype=np.float64)
    matrices = []
    for chosen in (positive, ~positive):
        matrix = np.zeros(shape)
        np.add.at(matrix, (day[chosen], bin_[chosen]), rows[chosen])
        matrices.append(matrix)
    return BinaryCounts(
        days=tuple(days),
        positives=matrices[0],
        negatives=matrices[1],
        score_sums=_sum_exactly(part["score"], bin_, len(bins)),
        losses={name: _sum_exactly(part[name], day, len(days)) for name in ("log_loss", "brier")},
    )


def _sum_exactly(scaled: pd.Series, group: NDArray[np.intp], num_groups: int) -> Floats:
    """Sums scaled integers by group, then scales back."""
    sums = np.zeros(num_groups, dtype=np.int64)
    np.add.at(sums, group, scaled.to_numpy(dtype=np.int64))
    return sums / _SCALE


def _to_regression_counts(part: pd.DataFrame) -> RegressionCounts:
    rows = part["rows"].astype(object)  # Python's integers, which decimals understand
    mean = part["label"].sum() / rows.sum()
    squares = part["label_squared"] - 2 * mean * part["label"] + mean * mean * rows
    return RegressionCounts(
        days=tuple(part["day"]),
        row_counts=rows.to_numpy(dtype=np.float64),
        squared=part["squared"].to_numpy(dtype=np.float64),
        absolute=part["absolute"].to_numpy(dtype=np.float64),
        label=(part["label"] - mean * rows).to_numpy(dtype=np.float64),
        label_squared=squares.to_numpy(dtype=np.float64),
    )
