"""Drift of the inputs: the population stability index of every feature between two tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from features.encode import TableEncoder
from pipelines.monitoring.histogram import Bins, Counts, build_bins, count_both
from pipelines.project.modeling import Drift

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Values of a text that keep a bin of their own; the others share one.
MAX_VALUES = 20

Level = Literal["ok", "warn", "alert", "not_evaluated"]


@dataclass(frozen=True)
class DriftRow:
    """One feature in both tables."""

    feature: str
    kind: str
    """`numeric` or `category`."""
    psi: float | None
    """Population stability index; null where there was nothing to look at."""
    reference_rows: int
    current_rows: int
    null_share_reference: float | None
    null_share_current: float | None


def measure_drift(
    reference: DataFrame, current: DataFrame, encoder: TableEncoder
) -> list[DriftRow]:
    """Compares every encoded feature of two tables, in one job.

    Bins are fixed by the encoder, so the result is the same at any partitioning: ten bins of
    (x - mean) / deviation for a number, the twenty values most frequent in `reference` and one
    for the others for a text, and one for nulls. PSI is the sum over bins of (p - q) ln(p / q)
    (Siddiqi 2006), with half a row added to every bin so that an empty one stays finite.

    Args:
        reference: The rows the models learned from; one column a feature.
        current: The rows to compare.
        encoder: Encoders fitted on the reference.

    Returns:
        One row a feature, the highest PSI first, then by name; those without a PSI last.
    """
    bins = build_bins(encoder)
    if not bins:
        return []
    counts = count_both(reference, current, bins)
    rows = [_compare(item, both) for item, both in zip(bins, counts, strict=True)]
    return sorted(rows, key=lambda row: (row.psi is None, -(row.psi or 0.0), row.feature))


def judge_drift(row: DriftRow, drift: Drift) -> Level:
    """The level of a feature: `ok`, `warn`, `alert`, or `not_evaluated` without a PSI."""
    if row.psi is None:
        return "not_evaluated"
    if row.psi >= drift.alert:
        return "alert"
    return "warn" if row.psi >= drift.warn else "ok"


def drift_evidence(rows: Sequence[DriftRow], drift: Drift) -> list[dict[str, Any]]:
    """The rows with their level, as plain dictionaries for the report."""
    return [{**asdict(row), "level": judge_drift(row, drift)} for row in rows]


def population_stability(reference: Counts, current: Counts) -> float | None:
    """PSI of two histograms over the same bins; None where one of them is empty."""
    used = (reference + current) > 0
    if not reference.sum() or not current.sum():
        return None
    p, q = ((side[used] + 0.5) / (side[used] + 0.5).sum() for side in (reference, current))
    return float(np.sum((p - q) * np.log(p / q)))


def _compare(bins: Bins, both: Counts) -> DriftRow:
    rows, nulls = both.sum(axis=1), both[:, -1]
    nothing = bool((rows == nulls).all())
    merged = _merge_rare(both) if bins.kind == "category" else both
    return DriftRow(
        feature=bins.feature,
        kind=bins.kind,
        psi=None if nothing else population_stability(merged[0], merged[1]),
        reference_rows=int(rows[0]),
        current_rows=int(rows[1]),
        null_share_reference=_share(nulls[0], rows[0]),
        null_share_current=_share(nulls[1], rows[1]),
    )


def _merge_rare(both: Counts) -> Counts:
    """Keeps the values most frequent in the reference; the rest joins the bin of the others."""
    values, others, nulls = both[:, :-2], both[:, -2], both[:, -1]
    order = np.argsort(-values[0], kind="stable")
    kept, rare = order[:MAX_VALUES], order[MAX_VALUES:]
    return np.column_stack([values[:, kept], others + values[:, rare].sum(axis=1), nulls])


def _share(part: int, whole: int) -> float | None:
    return float(part / whole) if whole else None
