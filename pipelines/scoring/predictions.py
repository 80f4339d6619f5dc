"""The rows of a predictions table: append-only, one a key, model version and instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.classical import SCORE
from pipelines.errors import ConfigError
from pipelines.project.modeling import Decide


@dataclass(frozen=True)
class PredictionStamp:
    """What all predictions of a scoring have in common.

    Args:
        key: Key columns of the scored rows.
        as_of: Timestamp column of the scored rows: the instant their features are known at.
        model: Name of the model.
        model_version: Its version.
        run_id: Run that scores.
    """

    key: tuple[str, ...]
    as_of: str
    model: str
    model_version: int
    run_id: str


def decision_threshold(decide: Decide) -> float:
    """The score from which acting costs less than waiting, for calibrated probabilities.

    On average, acting on a row whose label is true with probability p costs
    `(1 - p) * cost_false_alarm`, and not acting `p * cost_missed`.
    """
    return decide.cost_false_alarm / (decide.cost_false_alarm + decide.cost_missed)


def predictions_to_write(
    scored: DataFrame,
    stamp: PredictionStamp,
    decide: Decide | None,
    existing: DataFrame | None,
) -> DataFrame:
    """The predictions that the table lacks, so that scoring again appends nothing.

    Args:
        scored: Key columns, the instant and `score`; one row a key.
        stamp: What the rows have in common.
        decide: Costs of wrong decisions; without them `decision` is null.
        existing: The predictions table, or None before its first commit.

    Returns:
        One row a key, model version and `as_of`: the key, `as_of` (timestamp, UTC), `model`,
        `model_version` (int), `score`, `decision` (boolean: act or not), `run_id`.

    Raises:
        ConfigError: A key column has the name of a column that predictions add.
    """
    added = ("as_of", "model", "model_version", SCORE, "decision", "run_id")
    taken = [name for name in stamp.key if name in added]
    if taken:
        raise ConfigError(
            f"key column `{taken[0]}` has the name of a prediction's own column; "
            f"those are {', '.join(added)}",
            where=f"predictions of {stamp.model}",
            remedy="rename the key with sources.*.derive",
        )
    decision = F.lit(None) if decide is None else F.col(SCORE) >= decision_threshold(decide)
    predictions = scored.select(
        *stamp.key,
        F.col(stamp.as_of).alias("as_of"),
        F.lit(stamp.model).alias("model"),
        F.lit(stamp.model_version).cast("int").alias("model_version"),
        F.col(SCORE),
        decision.cast("boolean").alias("decision"),
        F.lit(stamp.run_id).alias("run_id"),
    )
    return predictions if existing is None else _absent(predictions, existing, stamp)


def _absent(predictions: DataFrame, existing: DataFrame, stamp: PredictionStamp) -> DataFrame:
    """Predictions whose key and instant this model version has not predicted; nulls are equal."""
    same_model = (F.col("model") == stamp.model) & (F.col("model_version") == stamp.model_version)
    identity: Sequence[str] = (*stamp.key, "as_of")
    known = existing.filter(same_model).select(
        *(F.col(f"`{name}`").alias(f"_known_{place}") for place, name in enumerate(identity))
    )
    matches = [
        F.col(f"`{name}`").eqNullSafe(F.col(f"_known_{place}"))
        for place, name in enumerate(identity)
    ]
    return predictions.join(known, matches, "left_anti")
