"""Population stability of literal tables, and the same answer at any partitioning."""

from __future__ import annotations

import math

import numpy as np
import pytest

from features.encode import CategoryColumn, NumericColumn, TableEncoder
from pipelines.monitoring.drift import (
    DriftRow,
    drift_evidence,
    judge_drift,
    measure_drift,
    population_stability,
)
from pipelines.monitoring.histogram import Bins, build_bins
from pipelines.project.modeling import Drift


def encoder_of(
    numeric: dict[str, tuple[float, float]] | None = None,
    category: dict[str, tuple[str, ...]] | None = None,
) -> TableEncoder:
    """Encoders from name → (mean, deviation) and name → values."""
    return TableEncoder(
        numeric=tuple(NumericColumn(n, m, s, False) for n, (m, s) in (numeric or {}).items()),
        category=tuple(CategoryColumn(n, values) for n, values in (category or {}).items()),
    )


def test_psi_of_literal_histograms():
    assert population_stability(np.array([10, 10]), np.array([20, 20])) == pytest.approx(0)
    p, q = 50.5 / 101, 90.5 / 101
    expected = (p - q) * math.log(p / q) + (q - p) * math.log((1 - p) / (1 - q))
    found = population_stability(np.array([50, 50]), np.array([90, 10]))
    assert found == pytest.approx(expected)
    assert population_stability(np.array([50, 50]), np.array([0, 0])) is None


def test_psi_agrees_with_the_textbook_on_large_tables():
    p, q = np.array([0.2, 0.5, 0.3]), np.array([0.3, 0.4, 0.3])
    found = population_stability((p * 1e6).astype(int), (q * 1e6).astype(int))
    assert found == pytest.approx(float(np.sum((p - q) * np.log(p / q))), abs=1e-5)


def test_numbers_fall_into_normal_deciles_and_no_number_is_missing():
    import pyarrow as pa

    (bins,) = build_bins(encoder_of({"x": (10.0, 2.0)}))
    values = pa.array([None, math.nan, -math.inf, 7.0, 10.0, 12.6, math.inf], pa.float64())
    assert bins.code(values).tolist() == [10, 10, 10, 0, 5, 9, 10]


def test_a_constant_has_bins_too():
    import pyarrow as pa

    (bins,) = build_bins(encoder_of({"x": (3.0, 1.0)}))
    assert bins.code(pa.array([3.0, 3.0, 9.0])).tolist() == [5, 5, 9]


def test_texts_have_a_bin_each_then_others_then_null():
    import pyarrow as pa

    bins = Bins("carrier", "category", values=("AA", "UA"))
    assert bins.code(pa.array(["UA", "ZZ", None, "AA"])).tolist() == [1, 2, 3, 0]


SCHEMA = "`temp.f` double, carrier string, empty double"


@pytest.mark.spark
def test_drift_of_two_tables_whatever_their_partitions(spark):
    rng = np.random.default_rng(1)
    old = [(float(x), "AA" if x > 0 else None, None) for x in rng.normal(0, 1, 2_000)]
    new = [(float(x), "AA" if x > 0 else None, None) for x in rng.normal(1, 1, 1_000)]
    encoder = encoder_of(
        {"temp.f": (0.0, 1.0), "empty": (0.0, 1.0)},
        {"carrier": ("AA", "UA")},
    )
    reference, current = (spark.createDataFrame(rows, SCHEMA) for rows in (old, new))
    rows = measure_drift(reference.repartition(5), current.repartition(3), encoder)
    assert rows == measure_drift(reference.coalesce(1), current.coalesce(1), encoder)
    assert [row.feature for row in rows] == ["temp.f", "carrier", "empty"]
    shifted, carrier, empty = rows
    assert shifted.psi == pytest.approx(0.96, abs=0.15)  # two normals one deviation apart: 1
    assert (shifted.reference_rows, shifted.current_rows) == (2_000, 1_000)
    assert carrier.null_share_reference == pytest.approx(0.5, abs=0.05)
    assert carrier.null_share_current == pytest.approx(0.16, abs=0.04)
    assert carrier.psi == pytest.approx(0.55, abs=0.15)
    assert empty == DriftRow("empty", "numeric", None, 2_000, 1_000, 1.0, 1.0)


@pytest.mark.spark
def test_an_empty_side_is_not_evaluated(spark):
    reference = spark.createDataFrame([(1.0, "AA", 1.0)], SCHEMA)
    encoder = encoder_of({"temp.f": (0.0, 1.0)})
    (row,) = measure_drift(reference, reference.limit(0), encoder)
    assert row == DriftRow("temp.f", "numeric", None, 1, 0, 0.0, None)
    assert judge_drift(row, Drift()) == "not_evaluated"


@pytest.mark.spark
def test_rare_values_share_a_bin(spark):
    many = [(0.0, f"v{i:03}", 0.0) for i in range(60) for _ in range(1 + (i < 20) * 50)]
    frame = spark.createDataFrame(many, SCHEMA)
    names = tuple(f"v{i:03}" for i in range(60))
    moved = spark.createDataFrame(
        [(0.0, "v059" if name >= "v020" else name, 0.0) for _, name, _ in many], SCHEMA
    )
    (row,) = measure_drift(frame, moved, encoder_of(category={"carrier": names}))
    assert row.psi == pytest.approx(0)


def test_no_features_no_job():
    assert measure_drift(None, None, encoder_of()) == []


def test_levels_and_evidence():
    rows = [DriftRow("x", "numeric", psi, 1, 1, 0.0, 0.0) for psi in (0.05, 0.1, 0.25, None)]
    assert [judge_drift(row, Drift()) for row in rows] == ["ok", "warn", "alert", "not_evaluated"]
    assert drift_evidence(rows[:1], Drift()) == [
        {
            "feature": "x",
            "kind": "numeric",
            "psi": 0.05,
            "reference_rows": 1,
            "current_rows": 1,
            "null_share_reference": 0.0,
            "null_share_current": 0.0,
            "level": "ok",
        }
    ]
