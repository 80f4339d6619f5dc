"""Metrics of many resamples at once: days are drawn with replacement, their rows stay together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipelines.evaluation.counts import BinaryCounts, Floats, RegressionCounts

# With fewer blocks a percentile interval says nothing.
MIN_DAYS = 5
# Resamples of a matrix product: at most 17 MB a matrix.
_CHUNK = 64


@dataclass(frozen=True)
class Measured:
    """A metric with its interval; null where it could not be evaluated."""

    value: float | None
    low: float | None
    high: float | None


def draw_day_weights(num_days: int, resamples: int, seed: int) -> Floats:
    """How often each day occurs in each resample, (resample, day); every row sums to `num_days`."""
    generator = np.random.Generator(np.random.PCG64(seed))
    share = np.full(num_days, 1 / num_days)
    return generator.multinomial(num_days, share, size=resamples).astype(np.float64)


def summarise(point: float, resampled: Floats, level: float, num_days: int) -> Measured:
    """Percentile interval of the resamples in which the metric exists, if that is most of them."""
    if not np.isfinite(point):
        return Measured(None, None, None)
    usable = resampled[np.isfinite(resampled)]
    if num_days < MIN_DAYS or len(usable) * 2 < len(resampled):
        return Measured(float(point), None, None)
    low, high = np.quantile(usable, [(1 - level) / 2, (1 + level) / 2])
    return Measured(float(point), float(low), float(high))


def measure_binary(metric: str, counts: BinaryCounts, weights: Floats) -> Floats:
    """A metric of probabilities for every row of weights, (resample); NaN where undefined."""
    if metric == "roc_auc":
        return _roc_auc(counts, weights)
    if metric == "pr_auc":
        return _average_precision(counts, weights)
    return _divide(weights @ counts.losses[metric], weights @ _rows_a_day(counts))


def measure_regression(metric: str, counts: RegressionCounts, weights: Floats) -> Floats:
    """A metric of predicted numbers for every row of weights, (resample); NaN where undefined."""
    rows, squared = weights @ counts.row_counts, weights @ counts.squared
    if metric == "mae":
        return (weights @ counts.absolute) / rows
    if metric == "rmse":
        rmse: Floats = np.sqrt(squared / rows)
        return rmse
    spread = weights @ counts.label_squared - (weights @ counts.label) ** 2 / rows
    return 1 - _divide(squared, np.where(spread > 0, spread, 0))


def _rows_a_day(counts: BinaryCounts) -> Floats:
    rows: Floats = counts.positives.sum(axis=1) + counts.negatives.sum(axis=1)
    return rows


def _roc_auc(counts: BinaryCounts, weights: Floats) -> Floats:
    """Share of (positive, negative) pairs in the right order, a tie counting half.

    The number of such pairs is a quadratic form of the weights, over (day of the positive, day of
    the negative), so a resample costs days x days instead of days x bins.
    """
    below = np.cumsum(counts.negatives, axis=1) - counts.negatives / 2
    pairs = counts.positives @ below.T
    won = np.einsum("rd,rd->r", weights @ pairs, weights)
    return _divide(
        won, (weights @ counts.positives.sum(axis=1)) * (weights @ counts.negatives.sum(axis=1))
    )


def _average_precision(counts: BinaryCounts, weights: Floats) -> Floats:
    """Sum over thresholds of precision times gained recall, as scikit-learn's average precision."""
    positives = counts.positives[:, ::-1]
    found = np.cumsum(positives, axis=1)
    called = found + np.cumsum(counts.negatives[:, ::-1], axis=1)
    parts = []
    for start in range(0, len(weights), _CHUNK):
        chunk = weights[start : start + _CHUNK]
        precision = chunk @ found
        # Counts are whole numbers: where nothing is called nothing is found, and 0 / 1 is 0.
        precision /= np.maximum(chunk @ called, 1)
        parts.append(np.einsum("rb,rb->r", precision, chunk @ positives))
    total = weights @ counts.positives.sum(axis=1)
    both = total * (weights @ counts.negatives.sum(axis=1)) > 0
    return np.where(both, _divide(np.concatenate(parts), total), np.nan)


def _divide(above: Floats, below: Floats) -> Floats:
    """Quotient that is NaN, without a warning, where the divisor is 0."""
    return np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
