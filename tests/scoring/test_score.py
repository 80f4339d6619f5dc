from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from pyspark.sql import DataFrame, SparkSession
from safetensors.torch import save

from features.encode import CategoryColumn, NumericColumn, TableEncoder
from pipelines.classical import fit_classical
from pipelines.deep.bundle import load_bundle, save_bundle
from pipelines.deep.models import ResNet
from pipelines.errors import ConfigError
from pipelines.project.modeling import LinearParams
from pipelines.registry import ModelCard, ModelRegistry, RegisteredModel
from pipelines.scoring import score_rows
from pipelines.scoring.network import NETWORK

pytestmark = pytest.mark.spark

ENCODER = TableEncoder(
    numeric=(NumericColumn("wind", mean=2.0, std=2.0, has_missing=True),),
    category=(CategoryColumn("carrier", ("UA", "AA")),),
)
LITERAL = [
    (1, "UA", 0.0, False, "x"),
    (2, "AA", 4.0, True, "x"),
    (3, None, None, True, "x"),
    (4, "ZZ", 1.0, False, "x"),
]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    schema = "id int, carrier string, wind double, is_late boolean, unused string"
    return spark.createDataFrame(LITERAL, schema)


def card(kind: str) -> ModelCard:
    return ModelCard(
        name="candidate",
        kind=kind,
        version=1,
        params={},
        training_set="late_arrival",
        training_set_version=0,
        label="is_late",
        encoder=ENCODER.to_dict(),
        features=ENCODER.columns,
        fingerprint="f1",
        seed=7,
        run_id="r1",
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def scores(frame: DataFrame) -> dict[int, float]:
    return {row["id"]: row["score"] for row in frame.collect()}


@pytest.fixture
def logistic(rows: DataFrame, tmp_path: Path) -> RegisteredModel:
    kind = "mllib.logistic_regression"
    model = fit_classical(kind, LinearParams(reg=0.1), rows, "is_late", ENCODER, seed=7)
    return ModelRegistry(str(tmp_path), "late_arrival").register(card(kind), model.save)


def test_a_registered_classical_model_scores(rows: DataFrame, logistic: RegisteredModel):
    scored = score_rows(rows, logistic, ["id", "is_late"])
    assert scored.columns == ["id", "is_late", "score"]
    found = scores(scored)
    assert found[2] > found[1]
    assert len(found) == 4


def test_a_registered_network_scores_as_its_bundle_does(rows: DataFrame, tmp_path: Path):
    torch.manual_seed(7)
    params = {
        "d_in": ENCODER.num_numeric,
        "cardinalities": list(ENCODER.cardinalities),
        "width": 8,
        "blocks": 1,
        "dropout": 0.0,
    }
    manifest = {
        "kind": "torch.resnet",
        "params": params,
        "encoder": ENCODER.to_dict(),
        "task": "binary",
        "label": "is_late",
        "label_scale": {"mean": 0.0, "std": 1.0},
        "inputs": list(ENCODER.columns),
    }
    weights = save(ResNet(**params).state_dict())
    network = ModelRegistry(str(tmp_path), "late_arrival").register(
        card("torch.resnet"),
        lambda folder: save_bundle(Path(folder) / NETWORK, manifest, weights),
    )

    scored = score_rows(rows.repartition(3), network, ["id", "is_late"])
    assert scored.columns == ["id", "is_late", "score"]
    assert [field.dataType.simpleString() for field in scored.schema] == [
        "int",
        "boolean",
        "double",
    ]

    bundle = load_bundle(Path(network.folder) / NETWORK)
    whole = rows.orderBy("id").toArrow()
    assert scores(scored) == pytest.approx(
        dict(zip(whole["id"].to_pylist(), bundle.predict(whole), strict=True)), abs=1e-6
    )


def test_a_missing_feature_is_named(rows: DataFrame, logistic: RegisteredModel):
    with pytest.raises(ConfigError, match="candidate v1 needs columns that the rows lack: wind"):
        score_rows(rows.drop("wind"), logistic, ["id"])


def test_no_kept_column_is_called_score(rows: DataFrame, logistic: RegisteredModel):
    with pytest.raises(ConfigError, match="a kept column is named `score`, as the result is"):
        score_rows(rows.withColumnRenamed("unused", "score"), logistic, ["id", "score"])
