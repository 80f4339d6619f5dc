"""The frozen parameters of a table's encoders, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from features.errors import FeatureError

VERSION = 1


@dataclass(frozen=True)
class NumericColumn:
    """A number: `(value - mean) / std`, 0 where it is missing (null, NaN or infinite).

    Args:
        name: Column.
        mean: Mean over the training part; 0 where nothing was seen or scaling is off.
        std: Population deviation over the training part; 1 where it is 0 or scaling is off.
        has_missing: Whether a training value was missing; gives the column a mask.
    """

    name: str
    mean: float
    std: float
    has_missing: bool


@dataclass(frozen=True)
class CategoryColumn:
    """A text: code 1, 2, … by place in `values`; 0 for null and for what is not among them.

    Args:
        name: Column.
        values: Values seen often enough in the training part, most frequent first, then by text.
    """

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class TableEncoder:
    """Encoders of a training set's features.

    Args:
        numeric: Numbers, in the order of the encoded columns.
        category: Texts, in the order of the codes.
    """

    numeric: tuple[NumericColumn, ...]
    category: tuple[CategoryColumn, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        numbers = [column.name for column in self.numeric]
        return (*numbers, *[column.name for column in self.category])

    @property
    def numeric_names(self) -> tuple[str, ...]:
        """The feature of each encoded number: all scaled numbers, then the masks."""
        masked = [column.name for column in self.numeric if column.has_missing]
        return (*[column.name for column in self.numeric], *masked)

    @property
    def num_numeric(self) -> int:
        """Width of the encoded numbers, masks included."""
        return len(self.numeric_names)

    @property
    def d_in(self) -> int:
        """The same, by the name that networks use."""
        return self.num_numeric

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of each text, 0 included."""
        return tuple(len(column.values) + 1 for column in self.category)

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON values."""
        return {"version": VERSION, **asdict(self)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> TableEncoder:
        """The encoder that `to_dict` wrote.

        Raises:
            FeatureError: It was written by another version.
        """
        if content.get("version") != VERSION:
            raise FeatureError(
                f"encoder of version {content.get('version')}; this code reads version {VERSION}"
            )
        numeric = tuple(NumericColumn(**column) for column in content["numeric"])
        category = tuple(
            CategoryColumn(column["name"], tuple(column["values"]))
            for column in content["category"]
        )
        return cls(numeric, category)
