"""A small training set with nulls, text and unequal row groups, written by deltalake."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import WriterProperties, write_deltalake

from features.encode import CategoryColumn, NumericColumn, TableEncoder


@pytest.fixture(scope="session")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,300 rows to learn from and 301 to validate on, row groups of up to 128 rows.

    Columns: `key` (unique), `amount` (null every 11th row), `items`, `shop` (text, null every 7th
    row), `late` (0 or 1, follows from amount and shop), `total` (a number), `split`.
    """
    folder = tmp_path_factory.mktemp("orders") / "table"
    write_orders(folder, num_train=1300, num_validation=301)
    return folder


def write_orders(folder: Path, num_train: int, num_validation: int) -> None:
    num_rows = num_train + num_validation
    key = np.arange(num_rows)
    random = np.random.RandomState(5)
    amount, items = random.randn(num_rows), random.randint(0, 9, num_rows)
    shop = random.randint(0, 4, num_rows)
    late = random.rand(num_rows) < 1 / (1 + np.exp(1 - 2 * amount - 1.5 * (shop == 2)))
    table = pa.table(
        {
            "key": key,
            "amount": pa.array(amount, mask=key % 11 == 0),
            "items": items,
            "shop": pa.array([f"s{n}" for n in shop], mask=key % 7 == 0),
            "late": late.astype("float64"),
            "total": 100.0 + 20.0 * amount + items,
            "split": ["train"] * num_train + ["validation"] * num_validation,
        }
    )
    write_deltalake(
        folder,
        table,
        partition_by=["split"],
        writer_properties=WriterProperties(max_row_group_size=128),
    )


@pytest.fixture(scope="session")
def encoder() -> dict[str, object]:
    """Parameters for `amount`, `items` and `shop` of the training set `orders`."""
    numbers = (NumericColumn("amount", 0.0, 1.0, True), NumericColumn("items", 4.0, 2.0, False))
    shops = CategoryColumn("shop", ("s0", "s1", "s2", "s3"))
    return TableEncoder(numbers, (shops,)).to_dict()
