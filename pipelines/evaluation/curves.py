"""Points of the ROC, precision–recall and calibration curves of one model on one part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipelines.evaluation.counts import BinaryCounts, Floats

MAX_POINTS = 200
NUM_CALIBRATION_BINS = 15

Points = list[list[float]]


@dataclass(frozen=True)
class Curves:
    """Curves as points; each list is short enough to be drawn."""

    roc: Points
    """[false positive rate, true positive rate], ascending."""
    pr: Points
    """[recall, precision], recall ascending."""
    calibration: Points
    """[mean score, share of label 1, rows] of each occupied bin of equal width."""
    base_rate: float
    """Share of label 1: the precision of a model that knows nothing."""


def build_curves(counts: BinaryCounts) -> Curves | None:
    """The curves; None where the part holds one class only."""
    positives = counts.positives.sum(axis=0)[::-1]
    negatives = counts.negatives.sum(axis=0)[::-1]
    found, false_alarms = np.cumsum(positives), np.cumsum(negatives)
    if not found[-1] or not false_alarms[-1]:
        return None
    recall, fpr = found / found[-1], false_alarms / false_alarms[-1]
    precision = found / (found + false_alarms)
    roc = np.column_stack([np.append(0.0, fpr), np.append(0.0, recall)])
    return Curves(
        roc=_thin(roc, roc.sum(axis=1)),
        pr=_thin(np.column_stack([recall, precision]), recall),
        calibration=calibration_bins(counts).tolist(),
        base_rate=float(found[-1] / (found[-1] + false_alarms[-1])),
    )


def calibration_bins(counts: BinaryCounts) -> Floats:
    """Mean score, share of label 1 and rows of each occupied bin, (bin, 3).

    The bins are 15 of equal width over the score (Guo et al. 2017, section 3). A fine bin of
    `counts` goes whole to the bin of its mean score.
    """
    positives = counts.positives.sum(axis=0)
    rows = positives + counts.negatives.sum(axis=0)
    mean = counts.score_sums / rows
    target = np.minimum((mean * NUM_CALIBRATION_BINS).astype(int), NUM_CALIBRATION_BINS - 1)
    sums = [
        np.bincount(target, weights=values, minlength=NUM_CALIBRATION_BINS)
        for values in (counts.score_sums, positives, rows)
    ]
    occupied = sums[2] > 0
    score, label, size = (values[occupied] for values in sums)
    return np.column_stack([score / size, label / size, size])


def expected_calibration_error(counts: BinaryCounts) -> float:
    """Mean distance of score and outcome over the calibration bins, weighted by their rows."""
    score, label, rows = calibration_bins(counts).T
    return float(np.abs(score - label) @ rows / rows.sum())


def _thin(points: Floats, along: Floats) -> Points:
    """At most 200 points, evenly spaced along an ascending measure; first and last always stay."""
    wanted = np.linspace(along[0], along[-1], MAX_POINTS)
    kept = np.unique(np.minimum(np.searchsorted(along, wanted), len(along) - 1))
    kept = np.unique(np.concatenate([[0], kept, [len(along) - 1]]))[-MAX_POINTS:]
    return [[round(float(x), 6), round(float(y), 6)] for x, y in points[kept]]
