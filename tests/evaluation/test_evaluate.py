"""Metrics against scikit-learn, intervals by days, and what has no metric."""

from __future__ import annotations

import time
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as oracle

from pipelines.errors import ConfigError, DataGateError
from pipelines.evaluation.bootstrap import Measured, draw_day_weights, measure_binary
from pipelines.evaluation.counts import BinaryCounts
from pipelines.evaluation.curves import build_curves
from pipelines.evaluation.evaluate import evaluate_models
from pipelines.project.modeling import Interval

BINARY = ("roc_auc", "pr_auc", "log_loss", "brier")
SCHEMA = "model string, split string, day date, label double, score double"
FIRST = date(2013, 11, 1)


def make_predictions(num_rows: int, seed: int = 7, num_days: int = 30) -> pd.DataFrame:
    """Two models on the same rows; days differ in their rate, so that they are real clusters."""
    rng = np.random.default_rng(seed)
    day = rng.integers(0, num_days, num_rows)
    logit = rng.normal(-1.2, 1.2, num_rows) + rng.normal(0, 0.8, num_days)[day]
    label = (rng.random(num_rows) < 1 / (1 + np.exp(-logit))).astype(float)
    frames = []
    for model, noise in {"good": 0.3, "poor": 3.0}.items():
        score = 1 / (1 + np.exp(-(logit + rng.normal(0, noise, num_rows))))
        frames.append(
            pd.DataFrame(
                {
                    "model": model,
                    "split": "test",
                    "day": [FIRST + timedelta(days=int(d)) for d in day],
                    "label": label,
                    "score": score,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


@pytest.fixture(scope="module")
def predictions() -> pd.DataFrame:
    return make_predictions(6_000)


@pytest.mark.spark
def test_metrics_agree_with_scikit_learn(spark, predictions):
    evaluation = evaluate_models(
        spark.createDataFrame(predictions, SCHEMA), "binary", BINARY, Interval(), seed=1
    )
    for model, rows in predictions.groupby("model"):
        result = evaluation.of(model, "test")
        found = {name: measured.value for name, measured in result.metrics.items()}
        assert found["roc_auc"] == pytest.approx(
            oracle.roc_auc_score(rows.label, rows.score), abs=1e-4
        )
        assert found["pr_auc"] == pytest.approx(
            oracle.average_precision_score(rows.label, rows.score), abs=1e-4
        )
        assert found["log_loss"] == pytest.approx(oracle.log_loss(rows.label, rows.score), abs=1e-8)
        assert found["brier"] == pytest.approx(
            oracle.brier_score_loss(rows.label, rows.score), abs=1e-8
        )
        assert (result.rows, result.days) == (6_000, 30)
        expected = _calibration_error(rows)
        assert result.calibration_error == pytest.approx(expected, abs=1e-3)


def _calibration_error(rows: pd.DataFrame) -> float:
    group = rows.groupby((rows.score * 15).astype(int).clip(upper=14))
    return float(((group.score.mean() - group.label.mean()).abs() * group.size()).sum() / len(rows))


@pytest.mark.spark
def test_intervals_resample_days_and_ignore_the_partitioning(spark, predictions):
    frame = spark.createDataFrame(predictions, SCHEMA)
    first = evaluate_models(frame.repartition(7), "binary", BINARY, Interval(), seed=1)
    again = evaluate_models(frame.coalesce(1), "binary", BINARY, Interval(), seed=1)
    assert first == again

    rows = predictions[predictions.model == "good"]
    measured = first.of("good", "test").metrics["roc_auc"]
    days = [group for _, group in rows.groupby("day")]
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(300):
        sample = pd.concat([days[i] for i in rng.integers(0, len(days), len(days))])
        draws.append(oracle.roc_auc_score(sample.label, sample.score))
    low, high = np.quantile(draws, [0.025, 0.975])
    assert measured.low == pytest.approx(low, abs=0.006)
    assert measured.high == pytest.approx(high, abs=0.006)
    assert measured.low < measured.value < measured.high


@pytest.mark.spark
def test_one_job_whatever_the_number_of_models(spark, predictions):
    tracker = spark.sparkContext.statusTracker()
    frame = spark.createDataFrame(predictions, SCHEMA).coalesce(1)
    spark.sparkContext.setJobGroup("evaluate-one-job", "evaluate")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        evaluate_models(frame, "binary", BINARY, Interval(), seed=1)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    assert len(tracker.getJobIdsForGroup("evaluate-one-job")) == 1


@pytest.mark.spark
def test_regression_agrees_with_scikit_learn(spark):
    rng = np.random.default_rng(3)
    label = rng.normal(1e6, 3.0, 500)
    rows = pd.DataFrame(
        {
            "model": "linear",
            "split": "test",
            "day": [FIRST + timedelta(days=i % 20) for i in range(500)],
            "label": label,
            "score": label + rng.normal(0.5, 1.0, 500),
        }
    )
    metrics = evaluate_models(
        spark.createDataFrame(rows, SCHEMA), "regression", ("rmse", "mae", "r2"), Interval(), seed=1
    ).of("linear", "test")
    found = {name: measured.value for name, measured in metrics.metrics.items()}
    assert found["rmse"] == pytest.approx(oracle.root_mean_squared_error(rows.label, rows.score))
    assert found["mae"] == pytest.approx(oracle.mean_absolute_error(rows.label, rows.score))
    assert found["r2"] == pytest.approx(oracle.r2_score(rows.label, rows.score), abs=1e-6)
    assert metrics.metrics["r2"].low < found["r2"] < metrics.metrics["r2"].high
    assert (metrics.calibration_error, metrics.curves) == (None, None)


def _rows(*rows: tuple) -> list[tuple]:
    return [(model, split, FIRST, label, score) for model, split, label, score in rows]


@pytest.mark.spark
def test_one_class_has_no_auc_and_few_days_no_interval(spark):
    rows = _rows(("m", "test", 0.0, 0.2), ("m", "test", 0.0, 0.4))
    result = evaluate_models(
        spark.createDataFrame(rows, SCHEMA), "binary", BINARY, Interval(), seed=1
    ).of("m", "test")
    assert result.metrics["roc_auc"] == Measured(None, None, None)
    assert result.metrics["pr_auc"] == Measured(None, None, None)
    assert result.metrics["brier"].value == pytest.approx((0.04 + 0.16) / 2)
    assert result.metrics["brier"].low is None
    assert result.curves is None


@pytest.mark.spark
def test_scores_at_the_ends_are_probabilities_too(spark):
    rows = _rows(("m", "test", 0.0, 0.0), ("m", "test", 1.0, 1.0), ("m", "test", 0.0, 1.0))
    result = evaluate_models(
        spark.createDataFrame(rows, SCHEMA), "binary", BINARY, Interval(), seed=1
    ).of("m", "test")
    assert result.metrics["roc_auc"].value == pytest.approx(0.75)
    expected = oracle.log_loss([0, 1, 0], [0.0, 1.0, 1.0])
    assert result.metrics["log_loss"].value == pytest.approx(expected, rel=1e-6)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            (1.0, float("nan")),
            "model net has 1 rows of the test part with a score that is null, NaN",
        ),
        ((1.0, None), "model net has 1 rows of the test part with a score that is null, NaN"),
        ((1.0, 1.5), "model net has 1 rows of the test part with a score outside 0 to 1"),
        ((0.5, 0.5), "model net has 1 rows of the test part with a label that is not 0 or 1"),
        ((None, 0.5), "model net has 1 rows of the test part with a label that is not 0 or 1"),
    ],
)
def test_what_is_no_prediction_names_its_model(spark, bad, message):
    rows = _rows(("fine", "test", 1.0, 0.5), ("net", "test", 0.0, 0.5), ("net", "test", *bad))
    with pytest.raises(DataGateError, match=message):
        evaluate_models(spark.createDataFrame(rows, SCHEMA), "binary", BINARY, Interval(), seed=1)


@pytest.mark.spark
def test_a_regression_score_must_be_a_number_and_so_must_a_label(spark):
    for label, score, what in [
        (1.0, float("inf"), "a score that is null, NaN or infinite"),
        (float("nan"), 1.0, "a label that is null, NaN or infinite"),
    ]:
        frame = spark.createDataFrame(_rows(("m", "test", label, score)), SCHEMA)
        with pytest.raises(DataGateError, match=what):
            evaluate_models(frame, "regression", ("rmse",), Interval(), seed=1)


@pytest.mark.spark
def test_models_on_different_rows_are_not_compared(spark):
    rows = _rows(("a", "test", 1.0, 0.5), ("a", "test", 0.0, 0.5), ("b", "test", 1.0, 0.5))
    message = "models were scored on different rows of the test part: a on 2 over 1 days, b on 1"
    with pytest.raises(DataGateError, match=message):
        evaluate_models(spark.createDataFrame(rows, SCHEMA), "binary", BINARY, Interval(), seed=1)


@pytest.mark.spark
def test_an_unknown_model_is_named(spark):
    frame = spark.createDataFrame(_rows(("a", "test", 1.0, 0.5)), SCHEMA)
    evaluation = evaluate_models(frame, "binary", ("brier",), Interval(), seed=1)
    with pytest.raises(DataGateError, match="model b was not evaluated on the test part"):
        evaluation.of("b", "test")


def test_a_metric_of_the_other_task_is_refused():
    with pytest.raises(ConfigError, match="rmse does not fit a binary label; allowed: roc_auc"):
        evaluate_models(None, "binary", ("rmse",), Interval(), seed=1)


def _random_counts(num_bins: int) -> BinaryCounts:
    rng = np.random.default_rng(5)
    shape = (61, num_bins)
    return BinaryCounts(
        days=tuple(str(day) for day in range(61)),
        positives=rng.poisson(0.5, shape).astype(float),
        negatives=rng.poisson(1.5, shape).astype(float),
        score_sums=np.ones(num_bins),
        losses={},
    )


def test_resampled_metrics_equal_metrics_of_the_resampled_rows():
    counts, weights = _random_counts(40), draw_day_weights(61, 3, seed=9)
    for name, expected in {
        "roc_auc": oracle.roc_auc_score,
        "pr_auc": oracle.average_precision_score,
    }.items():
        found = measure_binary(name, counts, weights)
        for weight, value in zip(weights, found, strict=True):
            repeats = np.concatenate([weight @ counts.positives, weight @ counts.negatives])
            label = np.repeat([1, 0], 40)
            score = np.tile(np.arange(40), 2)
            assert value == pytest.approx(expected(label, score, sample_weight=repeats), abs=1e-12)


def test_a_thousand_resamples_of_every_bin_take_seconds():
    counts, weights = _random_counts(16_384), draw_day_weights(61, 1_000, seed=9)
    started = time.perf_counter()
    for _ in range(4):
        measure_binary("roc_auc", counts, weights)
    assert time.perf_counter() - started < 2


def test_day_weights_are_fixed_by_their_seed():
    weights = draw_day_weights(4, 3, seed=1)
    assert weights.sum(axis=1).tolist() == [4, 4, 4]
    assert weights.tolist() == draw_day_weights(4, 3, seed=1).tolist()
    assert weights.tolist() != draw_day_weights(4, 3, seed=2).tolist()


def test_curves_are_short_and_end_where_they_must():
    curves = build_curves(_random_counts(5_000))
    assert len(curves.roc) <= 200
    assert len(curves.pr) <= 200
    assert (curves.roc[0], curves.roc[-1]) == ([0, 0], [1, 1])
    assert curves.pr[-1] == [1, pytest.approx(curves.base_rate, abs=1e-6)]
