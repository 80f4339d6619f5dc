"""A fitted classical model: how it scores rows, and how it is kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyarrow import fs
from pyspark.ml import PipelineModel
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from features.encode import TableEncoder
from pipelines.classical.design import build_design
from pipelines.errors import ConfigError, InputMissingError
from pipelines.session import literal_path

SCORE = "score"
PROBABILITY = "_probability"
PREDICTION = "_prediction"
_MODEL = "classical.json"
_STAGES = "mllib"


@dataclass(frozen=True)
class ClassicalModel:
    """A baseline or an MLlib model with everything it needs to score.

    Args:
        kind: Kind of the table in `estimators`.
        params: Parameters with their defaults.
        encoder: Encoder of its inputs.
        num_rows: Rows it learned from.
        constant: Score of every row, for a baseline.
        stages: MLlib's stages from the design's columns to the prediction, else.
        shares: Importance of the features, for an MLlib model.
    """

    kind: str
    params: Mapping[str, Any]
    encoder: TableEncoder
    num_rows: int
    constant: float | None = None
    stages: PipelineModel | None = None
    shares: Mapping[str, float] | None = None

    def score(self, rows: DataFrame) -> DataFrame:
        """Adds `score` (double, never null) and keeps all else; same grain.

        The score is the probability of a true label, or the predicted value. Null features and
        unknown categories are allowed.

        Raises:
            ConfigError: The rows have a column `score` already.
        """
        if SCORE in rows.columns:
            raise ConfigError(
                f"the rows have a column `{SCORE}` already",
                where=self.kind,
                remedy="rename it before scoring",
            )
        design = build_design(self.kind, self.encoder, self.params)
        if design is None or self.stages is None:
            return rows.withColumn(SCORE, F.lit(self.constant))
        scored = self.stages.transform(design.add_inputs(rows))
        if PROBABILITY in scored.columns:
            score = F.get(vector_to_array(F.col(PROBABILITY)), 1)
        else:
            score = F.col(PREDICTION)
        return scored.select(*(f"`{name}`" for name in rows.columns), score.alias(SCORE))

    def importance(self) -> dict[str, float] | None:
        """Shares of the features, largest first, summing to 1; None for a baseline.

        Trees: gain of the splits (Breiman et al., as MLlib sums it). Linear models: absolute
        coefficients times the deviation of their column, summed over a feature's columns.
        """
        return None if self.shares is None else dict(self.shares)

    def describe(self) -> dict[str, Any]:
        """What a reader of the board wants to know, JSON-ready."""
        return {
            "kind": self.kind,
            "params": dict(self.params),
            "num_rows": self.num_rows,
            "constant": self.constant,
            "importance": self.importance(),
        }

    def save(self, folder: str) -> None:
        """Writes the model into an existing, empty folder (absolute path or URI)."""
        if self.stages is not None:
            self.stages.write().overwrite().save(f"{folder}/{_STAGES}")
        system, path = fs.FileSystem.from_uri(folder)
        text = json.dumps({**self.describe(), "encoder": self.encoder.to_dict()}, indent=2)
        with system.open_output_stream(f"{path}/{_MODEL}") as stream:
            stream.write(text.encode())


def load_classical(spark: SparkSession, folder: str) -> ClassicalModel:
    """The model that `ClassicalModel.save` wrote; its scores are equal to the last bit.

    Raises:
        InputMissingError: The folder holds no such model.
    """
    system, path = fs.FileSystem.from_uri(folder)
    try:
        with system.open_input_stream(f"{path}/{_MODEL}") as stream:
            content = json.loads(bytes(stream.read()))
    except FileNotFoundError as error:
        raise InputMissingError(
            f"no classical model here: {_MODEL} is missing",
            where=folder,
            remedy="cauce train --force",
        ) from error
    stages = None
    if content["constant"] is None:
        stages = PipelineModel.read().session(spark).load(literal_path(f"{folder}/{_STAGES}"))
    return ClassicalModel(
        kind=content["kind"],
        params=content["params"],
        encoder=TableEncoder.from_dict(content["encoder"]),
        num_rows=content["num_rows"],
        constant=content["constant"],
        stages=stages,
        shares=content["importance"],
    )
