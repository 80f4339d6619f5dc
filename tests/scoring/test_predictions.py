from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.errors import ConfigError
from pipelines.project.modeling import Decide
from pipelines.scoring import PredictionStamp, decision_threshold, predictions_to_write

NOON = datetime(2013, 11, 1, 12, tzinfo=UTC)
LATER = datetime(2013, 11, 1, 13, tzinfo=UTC)
STAMP = PredictionStamp(("carrier", "flight"), "predict_at", "trees", 1, "r1")
COSTS = Decide(cost_false_alarm=1, cost_missed=3)


def test_the_threshold_weighs_the_costs():
    assert decision_threshold(COSTS) == 0.25
    assert decision_threshold(Decide(cost_false_alarm=1, cost_missed=1)) == 0.5


@pytest.fixture(scope="module")
def scored(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(
        [("UA", 1, NOON, 0.25), ("UA", 2, NOON, 0.2499), (None, 3, NOON, 0.9)],
        "carrier string, flight int, predict_at timestamp, score double",
    )


def written(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=str)


@pytest.mark.spark
def test_predictions_carry_their_model_and_run(scored: DataFrame):
    first = predictions_to_write(scored, STAMP, COSTS, None)
    assert first.dtypes == [
        ("carrier", "string"),
        ("flight", "int"),
        ("as_of", "timestamp"),
        ("model", "string"),
        ("model_version", "int"),
        ("score", "double"),
        ("decision", "boolean"),
        ("run_id", "string"),
    ]
    at = NOON.replace(tzinfo=None)
    assert [(*row[:2], *row[3:]) for row in written(first)] == [
        ("UA", 1, "trees", 1, 0.25, True, "r1"),
        ("UA", 2, "trees", 1, 0.2499, False, "r1"),
        (None, 3, "trees", 1, 0.9, True, "r1"),
    ]
    assert first.filter(f"as_of = timestamp '{at}+00:00'").count() == 3


@pytest.mark.spark
def test_without_costs_nothing_is_decided(scored: DataFrame):
    decisions = predictions_to_write(scored, STAMP, None, None).select("decision")
    assert decisions.dtypes == [("decision", "boolean")]
    assert decisions.distinct().collect() == [(None,)]


@pytest.mark.spark
def test_scoring_again_appends_nothing(scored: DataFrame):
    first = predictions_to_write(scored, STAMP, COSTS, None)
    again = PredictionStamp(STAMP.key, STAMP.as_of, "trees", 1, "r2")
    assert predictions_to_write(scored, again, COSTS, first).isEmpty()


@pytest.mark.spark
def test_another_version_model_or_instant_is_another_prediction(
    spark: SparkSession, scored: DataFrame
):
    first = predictions_to_write(scored, STAMP, COSTS, None)
    for stamp in (
        PredictionStamp(STAMP.key, STAMP.as_of, "trees", 2, "r2"),
        PredictionStamp(STAMP.key, STAMP.as_of, "net", 1, "r2"),
    ):
        assert predictions_to_write(scored, stamp, COSTS, first).count() == 3
    moved = spark.createDataFrame([("UA", 1, LATER, 0.3), ("UA", 2, NOON, 0.3)], scored.schema)
    added = predictions_to_write(moved, STAMP, COSTS, first)
    assert [(row["flight"], row["score"]) for row in added.collect()] == [(1, 0.3)]


@pytest.mark.spark
def test_a_key_named_like_a_predictions_column_is_refused(scored: DataFrame):
    stamp = PredictionStamp(("model",), "predict_at", "trees", 1, "r1")
    with pytest.raises(ConfigError, match="key column `model` has the name of a prediction's own"):
        predictions_to_write(scored, stamp, COSTS, None)
