"""All models on the same rows: metrics with intervals, calibration and curves, in one Spark job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.errors import ConfigError, DataGateError
from pipelines.evaluation.bootstrap import (
    Measured,
    draw_day_weights,
    measure_binary,
    measure_regression,
    summarise,
)
from pipelines.evaluation.counts import (
    BinaryCounts,
    Floats,
    Key,
    RegressionCounts,
    count_binary,
    count_regression,
)
from pipelines.evaluation.curves import Curves, build_curves, expected_calibration_error
from pipelines.project.modeling import Interval

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

METRICS: dict[str, tuple[str, ...]] = {
    "binary": ("roc_auc", "pr_auc", "log_loss", "brier"),
    "regression": ("rmse", "mae", "r2"),
}
LOWER_IS_BETTER = frozenset({"log_loss", "brier", "rmse", "mae"})


@dataclass(frozen=True)
class ModelResult:
    """One model on one part."""

    model: str
    split: str
    rows: int
    days: int
    metrics: dict[str, Measured]
    calibration_error: float | None = None
    """Expected calibration error; null for regression."""
    curves: Curves | None = None
    """Null for regression, and where the part holds one class only."""


@dataclass(frozen=True)
class Evaluation:
    """All models on all parts, by part and model."""

    results: tuple[ModelResult, ...]

    def of(self, model: str, split: str) -> ModelResult:
        """The result of one model on one part.

        Raises:
            DataGateError: The model was not evaluated there.
        """
        for result in self.results:
            if (result.model, result.split) == (model, split):
                return result
        known = ", ".join(sorted({result.model for result in self.results})) or "none"
        raise DataGateError(
            f"model {model} was not evaluated on the {split} part; evaluated: {known}",
            where="predictions",
            remedy="cauce run --from train",
        )

    def curves_evidence(self, split: str = "test") -> dict[str, Any]:
        """Model → its curves on a part, as plain lists for the report."""
        return {
            result.model: asdict(result.curves)
            for result in self.results
            if result.split == split and result.curves is not None
        }


def evaluate_models(
    predictions: DataFrame, task: str, metrics: Sequence[str], interval: Interval, seed: int
) -> Evaluation:
    """Measures every model on every part.

    Intervals are percentiles over resamples of whole days, the same resamples for all models, and
    null below five days. ROC AUC and PR AUC come from 32,768 bins of the score's log-odds: scores
    closer than 0.00025 may count as ties, which moves both by less than 1e-4. Log loss and Brier
    are exact.

    Args:
        predictions: One row a prediction: `model` string, `split` string, `day` date, `label`
            double, `score` double (a probability, or a number for regression).
        task: `binary` or `regression`.
        metrics: Names of the board's metrics.
        interval: Level and number of resamples.
        seed: Seed of the resamples.

    Returns:
        Results ordered by part, then model. A metric that needs both classes is null where the
        part holds one.

    Raises:
        ConfigError: A metric does not belong to the task.
        DataGateError: A model has a score that is no number, or models differ in their rows.
    """
    unknown = [metric for metric in metrics if metric not in METRICS[task]]
    if unknown:
        raise ConfigError(
            f"evaluate.metrics: {unknown[0]} does not fit a {task} label; "
            f"allowed: {', '.join(METRICS[task])}",
            where="evaluate.metrics",
            remedy="change evaluate.metrics, or the label's task",
        )
    counts: Mapping[Key, BinaryCounts | RegressionCounts]
    counts = count_binary(predictions) if task == "binary" else count_regression(predictions)
    _check_same_rows(counts)
    num_days = {split: len(item.days) for (_, split), item in counts.items()}
    weights = {
        split: draw_day_weights(num, interval.bootstrap, seed) for split, num in num_days.items()
    }
    return Evaluation(
        tuple(
            _measure(key, counts[key], metrics, (weights[key[1]], interval.level))
            for key in sorted(counts, key=lambda key: key[::-1])
        )
    )


def _measure(
    key: Key,
    counts: BinaryCounts | RegressionCounts,
    metrics: Sequence[str],
    resampling: tuple[Floats, float],
) -> ModelResult:
    (model, split), (weights, level) = key, resampling
    num_days = len(counts.days)
    with_point = np.vstack([np.ones(num_days), weights])
    measured = {}
    for metric in metrics:
        if isinstance(counts, BinaryCounts):
            values = measure_binary(metric, counts, with_point)
        else:
            values = measure_regression(metric, counts, with_point)
        measured[metric] = summarise(float(values[0]), values[1:], level, num_days)
    if isinstance(counts, RegressionCounts):
        return ModelResult(model, split, counts.rows, num_days, measured)
    return ModelResult(
        model=model,
        split=split,
        rows=counts.rows,
        days=num_days,
        metrics=measured,
        calibration_error=expected_calibration_error(counts),
        curves=build_curves(counts),
    )


def _check_same_rows(counts: Mapping[Key, BinaryCounts | RegressionCounts]) -> None:
    """Models are comparable only on the same days and number of rows."""
    first: dict[str, tuple[str, BinaryCounts | RegressionCounts]] = {}
    for (model, split), item in counts.items():
        other, expected = first.setdefault(split, (model, item))
        if (item.rows, item.days) != (expected.rows, expected.days):
            raise DataGateError(
                f"models were scored on different rows of the {split} part: {other} on "
                f"{expected.rows:,} over {len(expected.days)} days, {model} on {item.rows:,} over "
                f"{len(item.days)} days",
                where="predictions",
                remedy="cauce run --from train",
            )
