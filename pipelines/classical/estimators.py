"""The table of kinds: what each fits, with its parameters spelled as MLlib's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pyspark import StorageLevel
from pyspark.ml import Estimator, Pipeline, PipelineModel
from pyspark.ml.classification import GBTClassifier, LogisticRegression
from pyspark.ml.feature import OneHotEncoder, VectorAssembler
from pyspark.ml.regression import GBTRegressor, LinearRegression
from pyspark.ml.stat import Summarizer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from features.encode import TableEncoder
from pipelines.classical.design import (
    CODE,
    LABEL,
    NUMBERS,
    VECTOR,
    Design,
    LinearDesign,
    build_design,
)
from pipelines.classical.frame import TrainingFrame, prepare
from pipelines.classical.importance import sum_by_feature
from pipelines.classical.model import PREDICTION, PROBABILITY, ClassicalModel
from pipelines.errors import ConfigError, DataGateError
from pipelines.project.modeling import LinearParams, TreeParams
from pipelines.project.types import Strict

# Rows that the deviations behind a linear model's importance are estimated from.
_DEVIATION_ROWS = 20_000
# Statistics of all nodes of a level fit in one pass over the rows.
_TREE_STATISTICS_MB = 1_024
_CLASSIFIERS = ("mllib.logistic_regression", "mllib.gbt")
_COLUMNS: dict[str, Any] = {"featuresCol": VECTOR, "labelCol": LABEL}


def _logistic_regression(params: LinearParams, seed: int) -> Estimator[Any]:
    return _only_probability(LogisticRegression(**_COLUMNS, **_linear(params)))


def _linear_regression(params: LinearParams, seed: int) -> Estimator[Any]:
    return LinearRegression(**_COLUMNS, predictionCol=PREDICTION, **_linear(params))


def _gbt(params: TreeParams, seed: int) -> Estimator[Any]:
    return _only_probability(GBTClassifier(**_COLUMNS, **_trees(params), seed=seed))


def _gbt_regression(params: TreeParams, seed: int) -> Estimator[Any]:
    return GBTRegressor(**_COLUMNS, predictionCol=PREDICTION, **_trees(params), seed=seed)


def _only_probability(classifier: Any) -> Estimator[Any]:
    """No column that the score doesn't need."""
    quiet: Estimator[Any] = (
        classifier.setProbabilityCol(PROBABILITY).setRawPredictionCol("").setPredictionCol("")
    )
    return quiet


def _linear(params: LinearParams) -> dict[str, Any]:
    return {
        "regParam": params.reg,
        "elasticNetParam": params.elastic_net,
        "maxIter": params.max_iter,
    }


def _trees(params: TreeParams) -> dict[str, Any]:
    return {
        "maxIter": params.trees,
        "maxDepth": params.depth,
        "stepSize": params.step,
        "subsamplingRate": params.subsample,
        "featureSubsetStrategy": str(params.features),
        "maxBins": params.bins,
        "maxMemoryInMB": _TREE_STATISTICS_MB,
    }


ESTIMATORS: dict[str, Callable[[Any, int], Estimator[Any] | None]] = {
    "baseline.prior": lambda params, seed: None,
    "baseline.mean": lambda params, seed: None,
    "mllib.logistic_regression": _logistic_regression,
    "mllib.linear_regression": _linear_regression,
    "mllib.gbt": _gbt,
    "mllib.gbt_regression": _gbt_regression,
}
"""Kind → MLlib estimator for its parameters and a seed; None scores the label's mean."""


def fit_classical(
    kind: str, params: Strict, train: DataFrame, label: str, encoder: TableEncoder, seed: int
) -> ClassicalModel:
    """Fits one model; for several on the same rows, open `prepare` once and call `fit`.

    Raises:
        ConfigError: Unknown kind.
        DataGateError: The rows can't be learned from.
    """
    with prepare(train, label, encoder) as frame:
        return fit(kind, params, frame, seed)


def fit(kind: str, params: Strict, frame: TrainingFrame, seed: int) -> ClassicalModel:
    """Fits a model on an open frame.

    Args:
        kind: Key of `ESTIMATORS`.
        params: Parameters of the kind's own class.
        frame: The training part.
        seed: Seed of the sampling of rows and features.

    Raises:
        ConfigError: Unknown kind.
        DataGateError: A classifier's labels are all the same.
    """
    if kind not in ESTIMATORS:
        raise ConfigError(
            f"{kind} is no classical model; allowed: {', '.join(sorted(ESTIMATORS))}",
            remedy="cauce model ls",
        )
    settings = params.model_dump()
    estimator = ESTIMATORS[kind](params, seed)
    design = build_design(kind, frame.encoder, settings)
    if estimator is None or design is None:
        return ClassicalModel(
            kind, settings, frame.encoder, frame.label.num_rows, constant=frame.label.mean
        )
    if kind in _CLASSIFIERS and frame.label.low == frame.label.high:
        raise DataGateError(
            f"all {frame.label.num_rows} training labels are {frame.label.low:g}; "
            f"{kind} needs both classes",
            remedy="check training_sets.*.label and split.train_until",
        )
    rows = design.add_inputs(frame.rows)
    assembly = Pipeline(stages=_assembly(design)).fit(rows)
    # Making a vector costs more than MLlib's work on it, and MLlib reads the rows several times.
    vectors = assembly.transform(rows).select(VECTOR, LABEL).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        fitted = estimator.fit(vectors)
        share = min(1.0, _DEVIATION_ROWS / frame.label.num_rows)
        weights = _weights(fitted, vectors.sample(share, seed))
    finally:
        vectors.unpersist()
    return ClassicalModel(
        kind,
        settings,
        frame.encoder,
        frame.label.num_rows,
        stages=PipelineModel([*assembly.stages, fitted]),
        shares=sum_by_feature(design.names(), weights),
    )


def _assembly(design: Design) -> list[Any]:
    """Stages before the estimator: none for trees, whose vector is ready."""
    if not isinstance(design, LinearDesign):
        return []
    codes = [f"{CODE}{place}" for place in range(len(design.encoder.category))]
    one_hot = [f"{name}_one_hot" for name in codes]
    assembler = VectorAssembler(inputCols=[NUMBERS, *one_hot], outputCol=VECTOR)
    if not codes:
        return [assembler]
    return [OneHotEncoder(inputCols=codes, outputCols=one_hot, dropLast=False), assembler]


def _weights(fitted: Any, vectors: DataFrame) -> Any:
    """Weight of each vector position: gain, or absolute coefficient times deviation."""
    if hasattr(fitted, "featureImportances"):
        return fitted.featureImportances.toArray()
    deviation = vectors.select(Summarizer.std(F.col(VECTOR)).alias("std")).first()
    if deviation is None:
        raise DataGateError("the training part has no rows")
    return np.abs(fitted.coefficients.toArray()) * deviation["std"].toArray()
