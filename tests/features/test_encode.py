from __future__ import annotations

import json
import statistics

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from features.encode import TableEncoder, encode_arrow, encoded_columns, fit_table_encoder
from features.encode.fit import _exact_sums
from features.errors import FeatureError

SCHEMA = "n double, whole int, flag boolean, empty double, same double, text string, day int"
ROWS = [
    (1.5, 1, True, None, 7.0, "b", 1),
    (None, 2, False, None, 7.0, "a", 1),
    (-2.25, 3, True, None, 7.0, "a", 1),
    (float("nan"), 4, True, None, 7.0, "ü", 2),
    (float("inf"), 5, None, None, 7.0, None, 2),
    (0.1, 6, False, None, 7.0, "b", None),
]
NUMERIC = ["n", "whole", "flag", "empty", "same"]


@pytest.fixture(scope="module")
def train(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, SCHEMA)


def fit(rows: DataFrame, scale: str = "standard") -> TableEncoder:
    return fit_table_encoder(rows, NUMERIC, ["text", "day"], scale=scale, min_count=2)


@pytest.mark.spark
def test_fit_gives_hard_values(train: DataFrame) -> None:
    encoder = fit(train)
    n, whole, flag, empty, same = encoder.numeric
    assert (n.mean, n.std) == pytest.approx((-0.65 / 3, statistics.pstdev([1.5, -2.25, 0.1])))
    assert (whole.mean, whole.has_missing) == (3.5, False)
    assert (flag.mean, flag.has_missing) == (0.6, True)
    assert (empty.mean, empty.std, empty.has_missing) == (0.0, 1.0, True)
    assert (same.mean, same.std) == (7.0, 1.0)
    assert [column.values for column in encoder.category] == [("a", "b"), ("1", "2")]
    assert encoder.cardinalities == (3, 3)
    assert encoder.numeric_names == (*NUMERIC, "n", "flag", "empty")
    assert encoder.num_numeric == encoder.d_in == 8
    assert encoder.columns == (*NUMERIC, "text", "day")


@pytest.mark.spark
def test_unscaled_numbers_stay(train: DataFrame) -> None:
    assert {(column.mean, column.std) for column in fit(train, "none").numeric} == {(0.0, 1.0)}


@pytest.mark.spark
def test_fit_is_the_same_at_any_partitioning(spark: SparkSession) -> None:
    rows = spark.range(2000).selectExpr(
        "pmod(id * 7919, 1009) / 7 - 60 as n", "cast(pmod(id * id, 97) as string) as text"
    )
    found = {
        json.dumps(
            fit_table_encoder(
                rows.repartition(count), ["n"], ["text"], scale="standard", min_count=5
            ).to_dict()
        )
        for count in (1, 2, 7, 16)
    }
    assert len(found) == 1


@pytest.mark.spark
def test_spark_and_arrow_encode_alike(train: DataFrame) -> None:
    encoder = TableEncoder.from_dict(json.loads(json.dumps(fit(train).to_dict())))
    assert encoder == fit(train)
    columns = list(zip(*[(*row[:5], row[5], row[6]) for row in ROWS], strict=True))
    types = [
        pa.float64(),
        pa.int32(),
        pa.bool_(),
        pa.float64(),
        pa.float64(),
        pa.string(),
        pa.int32(),
    ]
    names = [part.split()[0] for part in SCHEMA.split(", ")]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    batch = encode_arrow(encoder, pa.table(arrays, names=names))
    assert batch.numeric.dtype == np.float32
    assert batch.codes.tolist() == [[2, 1], [1, 1], [1, 1], [0, 2], [0, 2], [2, 0]]
    assert batch.numeric[:, 5].tolist() == [0, 1, 0, 1, 1, 0]
    spark_rows = train.select(*encoded_columns(encoder)).collect()
    numbers = np.array([tuple(row)[:8] for row in spark_rows]).astype(np.float32)
    assert np.array_equal(numbers, batch.numeric)
    assert [list(row)[8:] for row in spark_rows] == batch.codes.tolist()
    one = encode_arrow(encoder, pa.record_batch(arrays, names=names).slice(2, 1))
    assert np.array_equal(one.numeric, batch.numeric[2:3])


@given(st.lists(st.integers(-(2**62) + 1, 2**62 - 1), max_size=30))
def test_sums_are_exact(units: list[int]) -> None:
    assert _exact_sums(np.array(units, np.int64)) == (sum(units), sum(unit**2 for unit in units))


def test_encoder_of_another_version_is_refused() -> None:
    with pytest.raises(FeatureError, match="encoder of version 9; this code reads version 1"):
        TableEncoder.from_dict({"version": 9, "numeric": [], "category": []})
