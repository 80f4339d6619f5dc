"""One way to score rows, whichever kind of model it is."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from pipelines.classical import SCORE, load_classical
from pipelines.errors import ConfigError
from pipelines.registry import RegisteredModel
from pipelines.scoring.network import score_network


def score_rows(rows: DataFrame, model: RegisteredModel, keep: Sequence[str]) -> DataFrame:
    """Scores rows where they are; nothing is collected and no other column travels.

    Args:
        rows: One row a thing to predict, with the model's feature columns and those to keep.
        model: A version of the registry, classical or a network.
        keep: Columns that stay: the key, and what the caller compares scores with.

    Returns:
        Same grain: the kept columns and `score` (double, never null): the probability of a true
        label, or the predicted value.

    Raises:
        ConfigError: `score` is among the kept columns, or a column is missing.
    """
    if SCORE in keep:
        raise ConfigError(f"a kept column is named `{SCORE}`, as the result is", where=model.folder)
    missing = [name for name in (*keep, *model.card.features) if name not in rows.columns]
    if missing:
        raise ConfigError(
            f"{model.label} needs columns that the rows lack: {', '.join(missing[:5])}",
            where=model.folder,
            remedy="score with the training set the model learned from",
        )
    if model.card.kind.startswith("torch."):
        return score_network(rows, model.folder, model.card.features, keep)
    classical = load_classical(rows.sparkSession, model.folder)
    needed = dict.fromkeys([*keep, *model.card.features])
    return classical.score(rows.select(*needed)).select(*keep, SCORE)
