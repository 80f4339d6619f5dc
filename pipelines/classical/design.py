"""How a row's features become the vector of a linear model or of trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.ml.functions import array_to_vector
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from features.encode import TableEncoder, encoded_columns

LABEL = "_label"
VECTOR = "_features"
NUMBERS = "_numbers"
CODE = "_code_"
# What is missing is below every number: one split sets it apart, without a column of its own.
_MISSING = -1e300


class Design(Protocol):
    """Columns that a kind of model reads."""

    def add_inputs(self, rows: DataFrame) -> DataFrame:
        """Adds the inputs to rows that have the features."""

    def names(self) -> list[str]:
        """The feature that each position of the model's vector belongs to."""


@dataclass(frozen=True)
class TreeDesign:
    """One vector position a feature: numbers as they are, texts by their codes.

    Args:
        encoder: The training set's encoder.
        bins: Most codes of a category that trees may split in any two sets; a larger category is
            split by the order of its codes.
    """

    encoder: TableEncoder
    bins: int

    def add_inputs(self, rows: DataFrame) -> DataFrame:
        """Adds the vector; null, NaN and infinity are below every number."""
        numbers = [_number(item.name) for item in self.encoder.numeric]
        codes = _codes(self.encoder)
        vector = array_to_vector(F.array(*numbers, *(code.cast("double") for code in codes)))
        return rows.withColumn(VECTOR, vector).withMetadata(VECTOR, self._attributes())

    def _attributes(self) -> dict[str, Any]:
        """MLlib's description of the vector: which positions are categories."""
        start = len(self.encoder.numeric)
        nominal = [
            {"idx": start + place, "type": "nominal", "num_vals": cardinality}
            for place, cardinality in enumerate(self.encoder.cardinalities)
            if cardinality <= self.bins
        ]
        size = start + len(self.encoder.cardinalities)
        return {"ml_attr": {"attrs": {"nominal": nominal} if nominal else {}, "num_attrs": size}}

    def names(self) -> list[str]:
        """The feature of each vector position."""
        numbers = [item.name for item in self.encoder.numeric]
        return [*numbers, *(item.name for item in self.encoder.category)]


@dataclass(frozen=True)
class LinearDesign:
    """Scaled numbers with their masks, and the codes of texts, one column each, for one-hot stages.

    Args:
        encoder: The training set's encoder.
    """

    encoder: TableEncoder

    def add_inputs(self, rows: DataFrame) -> DataFrame:
        """Adds the vector of numbers and the code columns, each described for MLlib."""
        numbers = encoded_columns(self.encoder)[: self.encoder.num_numeric]
        vector = array_to_vector(F.array(*(number.cast("double") for number in numbers)))
        added = rows.withColumn(NUMBERS, vector).withMetadata(
            NUMBERS, {"ml_attr": {"num_attrs": len(numbers)}}
        )
        for place, code in enumerate(_codes(self.encoder)):
            cardinality = self.encoder.cardinalities[place]
            added = added.withColumn(f"{CODE}{place}", code.cast("double")).withMetadata(
                f"{CODE}{place}", {"ml_attr": {"type": "nominal", "num_vals": cardinality}}
            )
        return added

    def names(self) -> list[str]:
        """The feature of each position of the assembled vector."""
        one_hot = zip(self.encoder.category, self.encoder.cardinalities, strict=True)
        return [
            *self.encoder.numeric_names,
            *(item.name for item, cardinality in one_hot for _ in range(cardinality)),
        ]


def build_design(kind: str, encoder: TableEncoder, params: Mapping[str, Any]) -> Design | None:
    """The design of a kind's inputs; a baseline has none."""
    if kind.startswith("mllib.gbt"):
        return TreeDesign(encoder, params["bins"])
    return LinearDesign(encoder) if kind.startswith("mllib.") else None


def _codes(encoder: TableEncoder) -> Sequence[Column]:
    return encoded_columns(encoder)[encoder.num_numeric :]


def _number(name: str) -> Column:
    value = F.col(f"`{name}`").cast("double")
    is_present = value.isNotNull() & ~F.isnan(value) & (F.abs(value) != float("inf"))
    return F.when(is_present, value).otherwise(_MISSING)
