import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from features.encode import CategoryColumn, NumericColumn, TableEncoder
from pipelines.classical import ClassicalModel, fit, fit_classical, load_classical, prepare
from pipelines.errors import ConfigError, DataGateError, InputMissingError
from pipelines.project.modeling import LinearParams, NoParams, TreeParams

pytestmark = pytest.mark.spark

ENCODER = TableEncoder(
    numeric=(
        NumericColumn("wind", mean=2.0, std=2.0, has_missing=True),
        NumericColumn("hour", mean=4.5, std=3.0, has_missing=False),
    ),
    category=(CategoryColumn("carrier", ("UA", "AA")),),
)
SCHEMA = "id int, wind double, hour int, carrier string, is_late boolean, delay_min double"
TREES = TreeParams(trees=3, depth=3, step=0.5, subsample=1.0, features=1.0, bins=8)
PARAMS: dict[str, Any] = {
    "baseline.prior": NoParams(),
    "mllib.logistic_regression": LinearParams(reg=0.01),
    "mllib.gbt": TREES,
    "baseline.mean": NoParams(),
    "mllib.linear_regression": LinearParams(reg=0.01),
    "mllib.gbt_regression": TREES,
}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """40 rows whose label follows from wind and carrier; a missing wind means late."""
    winds = [0.0, 1.0, 2.0, 3.0, None]
    literal = []
    for place in range(40):
        wind = winds[place % 5]
        carrier = ["UA", "AA", None, "ZZ"][place // 5 % 4]
        late = wind is None or wind >= 2.0
        delay = (10.0 * wind if wind is not None else 50.0) + (5.0 if carrier == "AA" else 0.0)
        literal.append((place, wind, place % 10, carrier, late, delay))
    return spark.createDataFrame(literal, SCHEMA)


def label_of(kind: str) -> str:
    classifiers = ("baseline.prior", "mllib.logistic_regression", "mllib.gbt")
    return "is_late" if kind in classifiers else "delay_min"


def scores(model: ClassicalModel, rows: DataFrame) -> dict[int, float]:
    return {row["id"]: row["score"] for row in model.score(rows).collect()}


@pytest.mark.parametrize("kind", PARAMS)
def test_a_loaded_model_scores_to_the_last_bit_as_the_saved_one(
    rows: DataFrame, tmp_path: Path, kind: str
):
    model = fit_classical(kind, PARAMS[kind], rows, label_of(kind), ENCODER, seed=7)
    folder = tmp_path / "models [1] {a,b}*"  # Spark's readers would take the name for a pattern
    folder.mkdir()
    model.save(str(folder))
    loaded = load_classical(rows.sparkSession, str(folder))

    assert scores(loaded, rows) == scores(model, rows)
    assert loaded.describe() == model.describe()
    assert json.loads((folder / "classical.json").read_text())["kind"] == kind


def test_baselines_are_the_mean_of_the_label(rows: DataFrame):
    prior = fit_classical("baseline.prior", NoParams(), rows, "is_late", ENCODER, seed=7)
    mean = fit_classical("baseline.mean", NoParams(), rows, "delay_min", ENCODER, seed=7)
    assert set(scores(prior, rows).values()) == {0.6}
    assert set(scores(mean, rows).values()) == {23.25}
    assert prior.importance() is None
    assert prior.describe() == {
        "kind": "baseline.prior",
        "params": {},
        "num_rows": 40,
        "constant": 0.6,
        "importance": None,
    }


@pytest.mark.parametrize("kind", ["mllib.logistic_regression", "mllib.gbt"])
def test_classifiers_give_the_probability_of_true(rows: DataFrame, kind: str):
    model = fit_classical(kind, PARAMS[kind], rows, "is_late", ENCODER, seed=7)
    found = scores(model, rows)
    late = [found[row["id"]] for row in rows.filter("is_late").collect()]
    punctual = [found[row["id"]] for row in rows.filter("not is_late").collect()]
    assert 1 > min(late) > 0.5 > max(punctual) > 0


@pytest.mark.parametrize("kind", ["mllib.linear_regression", "mllib.gbt_regression"])
def test_regressions_give_values(rows: DataFrame, kind: str):
    model = fit_classical(kind, PARAMS[kind], rows, "delay_min", ENCODER, seed=7)
    found = scores(model, rows)
    assert found[4] == pytest.approx(50, abs=4)
    assert found[5] == pytest.approx(5, abs=4)


@pytest.mark.parametrize("kind", ["mllib.logistic_regression", "mllib.gbt"])
def test_partitions_and_order_of_the_rows_change_nothing(rows: DataFrame, kind: str):
    subsampled = PARAMS[kind].model_copy(
        update={"subsample": 0.6, "features": 0.7} if kind == "mllib.gbt" else {}
    )
    found = [
        scores(fit_classical(kind, subsampled, cut, "is_late", ENCODER, seed=7), rows)
        for cut in (rows.coalesce(1), rows.repartition(7), rows.orderBy("wind", "id"))
    ]
    assert found[0] == found[1] == found[2]


def test_missing_and_unknown_values_are_scored(rows: DataFrame, spark: SparkSession):
    odd = spark.createDataFrame(
        [
            (0, None, None, None, None, None),
            (1, float("nan"), 3, "", None, None),
            (2, float("inf"), 3, "é", None, None),
            (3, -0.0, 3, "UA", None, None),
        ],
        SCHEMA,
    )
    for kind in ("mllib.logistic_regression", "mllib.gbt"):
        found = scores(fit_classical(kind, PARAMS[kind], rows, "is_late", ENCODER, 7), odd)
        assert found[1] == found[2] > 0.5 > found[3]
        assert 0 < found[0] < 1


def test_importance_names_the_features(rows: DataFrame):
    with prepare(rows, "is_late", ENCODER) as frame:
        for kind in ("mllib.logistic_regression", "mllib.gbt"):
            shares = fit(kind, PARAMS[kind], frame, 7).importance()
            assert shares is not None
            assert set(shares) == {"wind", "hour", "carrier"}
            assert next(iter(shares)) == "wind"
            assert sum(shares.values()) == pytest.approx(1)


def test_a_category_with_more_codes_than_bins_is_ordered(rows: DataFrame):
    few_bins = TREES.model_copy(update={"bins": 2})
    model = fit_classical("mllib.gbt", few_bins, rows, "is_late", ENCODER, seed=7)
    assert all(0 < score < 1 for score in scores(model, rows).values())


def test_only_numbers_or_only_texts_are_enough(rows: DataFrame):
    for encoder in (TableEncoder(ENCODER.numeric, ()), TableEncoder((), ENCODER.category)):
        for kind in ("mllib.logistic_regression", "mllib.gbt"):
            model = fit_classical(kind, PARAMS[kind], rows, "is_late", encoder, seed=7)
            assert all(0 < score < 1 for score in scores(model, rows).values())


def test_score_keeps_every_column_and_row(rows: DataFrame):
    model = fit_classical("mllib.gbt", TREES, rows, "is_late", ENCODER, seed=7)
    named = rows.withColumnRenamed("id", "an id.é")
    scored = model.score(named)
    assert scored.columns == [*named.columns, "score"]
    assert scored.drop("score").exceptAll(named).isEmpty()
    assert scored.count() == 40


def test_nothing_stays_cached(rows: DataFrame):
    context = rows.sparkSession.sparkContext._jsc
    before = set(context.getPersistentRDDs())
    fit_classical("mllib.gbt", TREES, rows, "is_late", ENCODER, seed=7)
    assert set(context.getPersistentRDDs()) <= before


def test_what_cannot_be_learned_from_is_named(rows: DataFrame):
    prior = ("baseline.prior", NoParams())
    with pytest.raises(DataGateError, match="the training part has no rows"):
        fit_classical(*prior, rows.limit(0), "is_late", ENCODER, 7)
    with pytest.raises(DataGateError, match="8 of 40 training rows have no wind; allowed: 0"):
        fit_classical(*prior, rows, "wind", ENCODER, 7)
    with pytest.raises(DataGateError, match=r"all 24 training labels are 1; mllib\.gbt needs"):
        fit_classical("mllib.gbt", TREES, rows.filter("is_late"), "is_late", ENCODER, 7)
    with pytest.raises(ConfigError, match=r"torch\.resnet is no classical model; allowed: b"):
        fit_classical("torch.resnet", NoParams(), rows, "is_late", ENCODER, 7)


def test_a_score_is_never_overwritten(rows: DataFrame):
    model = fit_classical("baseline.prior", NoParams(), rows, "is_late", ENCODER, 7)
    with pytest.raises(ConfigError, match="the rows have a column `score` already"):
        model.score(rows.withColumnRenamed("hour", "score"))


def test_a_folder_without_a_model_is_named(spark: SparkSession, tmp_path: Path):
    with pytest.raises(InputMissingError, match=r"no classical model here: classical\.json is mis"):
        load_classical(spark, str(tmp_path))
