"""Exact figures of a validation pass: ROC AUC with ties, and the root mean squared error."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def roc_auc(labels: Floats, scores: Floats) -> float | None:
    """Probability that a positive scores higher than a negative, ties counting half.

    Args:
        labels: 0 or 1, shape [rows].
        scores: Any finite numbers, shape [rows].

    Returns:
        The area, or None where one class is missing.

    >>> roc_auc(np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.1, 0.4, 0.4, 0.8]))
    0.875
    """
    positives = int(labels.sum())
    negatives = len(labels) - positives
    if not positives or not negatives:
        return None
    _, value_of_row, counts = np.unique(scores, return_inverse=True, return_counts=True)
    twice_mean_rank = 2 * np.cumsum(counts) - counts + 1  # integers: exact for any row order
    rank_sum = int(twice_mean_rank[value_of_row][labels == 1].sum())
    return (rank_sum - positives * (positives + 1)) / (2 * positives * negatives)


def rmse(labels: Floats, values: Floats) -> float | None:
    """Root mean squared error in units of the label; None without rows."""
    if not len(labels):
        return None
    return math.sqrt(math.fsum((labels - values) ** 2) / len(labels))
