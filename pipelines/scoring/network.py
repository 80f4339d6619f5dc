"""Scores of a network: Arrow batches go to its bundle in the executors' Python processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from pipelines.classical import SCORE
from pipelines.deep.bundle import pack_bundle, unpack_bundle

NETWORK = "network"
"""Name of the bundle's folder inside a version's folder."""


def score_network(
    rows: DataFrame, folder: str, features: Sequence[str], keep: Sequence[str]
) -> DataFrame:
    """The kept columns and `score` (double), same grain.

    The bundle is read here and broadcast, so executors need not see its folder; a Python process
    builds the network once. A batch has `spark.sql.execution.arrow.maxRecordsPerBatch` rows.

    Args:
        rows: Rows with the features and the kept columns.
        folder: Folder of the model's version.
        features: Columns the network reads.
        keep: Columns that pass through.
    """
    packed = rows.sparkSession.sparkContext.broadcast(pack_bundle(Path(folder) / NETWORK))
    sent = rows.select(*dict.fromkeys([*keep, *features]))
    kept = [T.StructField(name, sent.schema[name].dataType) for name in keep]
    names = list(keep)

    def score(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        network = unpack_bundle(packed.value)
        for batch in batches:
            scores = pa.array(network.predict(batch), pa.float64())
            columns = [batch.column(name) for name in names]
            yield pa.RecordBatch.from_arrays([*columns, scores], names=[*names, SCORE])

    return sent.mapInArrow(score, T.StructType([*kept, T.StructField(SCORE, T.DoubleType())]))
