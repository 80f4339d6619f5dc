"""Real files through Petastorm: every row once, equal batches for any world, errors that arrive."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from pipelines.deep.loader import Batch, Plan, Source, build_plan, read_batches, read_snapshot
from pipelines.errors import InputMissingError


def decode(rows: pa.Table) -> tuple[torch.Tensor, ...]:
    key, items = (rows.column(name).to_numpy() for name in ("key", "items"))
    return torch.from_numpy(np.stack([key, items])), torch.from_numpy(items * 2.0)[None]


def source_of(table: Path, split: str = "train") -> Source:
    groups = read_snapshot(str(table), 0).row_groups(split)
    return Source(groups, ("key", "items"), decode)


def plan_of(source: Source, **choices) -> Plan:
    choices = {"batch_rows": 100, "lanes": 8, "seed": 3, **choices}
    return build_plan([group.rows for group in source.groups], **choices)


def global_batches(source: Source, plan: Plan, world: int) -> list[torch.Tensor]:
    ranks = [list(read_batches(source, plan, rank, world)) for rank in range(world)]
    assert {len(batches) for batches in ranks} == {plan.steps}
    return [torch.cat([b.tensors[0] for b in step], dim=1) for step in zip(*ranks, strict=True)]


@pytest.mark.parametrize("shuffle", [True, False])
def test_every_row_once_and_equal_batches_for_any_world(orders: Path, shuffle: bool):
    source = source_of(orders)
    plan = plan_of(source, shuffle=shuffle)

    alone = global_batches(source, plan, world=1)

    keys = torch.cat(alone, dim=1)[0]
    assert sorted(keys.tolist()) == list(range(1300))
    assert [batch.shape[1] for batch in alone] == [100] * 13
    assert keys.tolist() != list(range(1300))
    for world in (2, 3, 8):
        others = global_batches(source, plan, world)
        assert all(torch.equal(a, b) for a, b in zip(alone, others, strict=True))


def test_in_order_with_a_lane_a_rank_gives_the_table_back(orders: Path):
    source = source_of(orders, "validation")
    plan = plan_of(source, lanes=2, shuffle=False, batch_rows=64)

    shares = [
        torch.cat([batch.tensors[0] for batch in read_batches(source, plan, rank, 2)], dim=1)
        for rank in range(2)
    ]

    assert torch.cat(shares, dim=1)[0].tolist() == list(range(1300, 1601))


def test_columns_of_a_row_stay_together(orders: Path):
    source = source_of(orders)
    for batch in read_batches(source, plan_of(source), 0, 1):
        assert torch.equal(batch.tensors[0][1] * 2.0, batch.tensors[1][0])
        assert batch.global_rows == batch.tensors[0].shape[1]


def test_a_rank_without_rows_gets_empty_tensors_of_the_right_shape(orders: Path):
    source = source_of(orders, "validation")
    source = Source(source.groups[2:], source.columns, decode)  # 45 rows
    plan = plan_of(source, batch_rows=4096, lanes=64)

    ranks = [next(iter(read_batches(source, plan, rank, 64))) for rank in range(64)]

    assert sum(batch.tensors[0].shape[1] for batch in ranks) == 45
    empty = [batch for batch in ranks if not batch.tensors[0].shape[1]]
    assert empty
    assert [tuple(t.shape) for t in empty[0].tensors] == [(2, 0), (1, 0)]


def test_memory_is_bounded_by_the_open_row_groups(orders: Path):
    source = source_of(orders)
    decoded: list[int] = []

    def counting(rows: pa.Table) -> tuple[torch.Tensor, ...]:
        decoded.append(rows.num_rows)
        return decode(rows)

    plan = plan_of(source, lanes=1, batch_rows=10)
    batches = read_batches(Source(source.groups, source.columns, counting), plan, 0, 1)
    next(batches)
    threading.Event().wait(0.3)

    assert len(decoded) <= 3  # the open row group and two ahead, of eleven
    batches.close()


def test_a_vanished_file_and_a_bad_decoder_are_raised_to_the_caller(orders: Path):
    source = source_of(orders)
    gone = Source((source.groups[0]._replace(path="/gone.parquet"),), ("key",), decode)
    with pytest.raises(InputMissingError, match="vanished while it was read"):
        list(read_batches(gone, plan_of(gone), 0, 1))
    wrong = Source((source.groups[0]._replace(rows=127),), ("key", "items"), decode)
    with pytest.raises(InputMissingError, match="holds 128 rows, planned were 127"):
        list(read_batches(wrong, plan_of(wrong), 0, 1))
    lacking = Source(source.groups[:1], ("colour",), decode)
    with pytest.raises(InputMissingError, match="lacks 'colour'"):
        list(read_batches(lacking, plan_of(lacking), 0, 1))

    def refuse(_rows: pa.Table) -> tuple[torch.Tensor, ...]:
        raise ValueError("no such encoding")

    refusing = Source(source.groups[:1], ("key",), refuse)
    with pytest.raises(ValueError, match="no such encoding"):
        list(read_batches(refusing, plan_of(refusing), 0, 1))


def test_leaving_early_ends_the_threads(orders: Path):
    source = source_of(orders)
    before = threading.active_count()
    batches = read_batches(source, plan_of(source), 0, 1)
    first: Batch = next(batches)
    batches.close()

    assert first.step == 0
    assert threading.active_count() == before


def test_small_sets_never_come_back_short(orders: Path):
    source = source_of(orders, "validation")
    for seed in range(50):
        plan = plan_of(source, seed=seed)
        keys = torch.cat([b.tensors[0][0] for b in read_batches(source, plan, 0, 1)])
        assert sorted(keys.tolist()) == list(range(1300, 1601))
