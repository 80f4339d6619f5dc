"""The plan against literal orders, and against "every row once, the same for any world"."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.deep.loader.plan import Need, Piece, Plan, build_plan


def rows_of_lane(plan: Plan, lane: int) -> list[tuple[int, int]]:
    """(group, stored row) of a lane, in delivery order."""
    rows = []
    for piece in plan.lanes[lane]:
        order = plan.row_order(piece.group)
        stored = np.arange(plan.group_rows[piece.group]) if order is None else order
        rows += [(piece.group, int(r)) for r in stored[piece.first : piece.first + piece.rows]]
    return rows


def batch_of(plan: Plan, step: int, lanes: range) -> list[tuple[int, int]]:
    return [
        row for lane in lanes for row in rows_of_lane(plan, lane)[slice(*plan.span(lane, step))]
    ]


def test_in_order_two_lanes_literal():
    plan = build_plan([3, 4], batch_rows=4, lanes=2, shuffle=False)

    assert (plan.steps, plan.full_steps, plan.quota, plan.tail) == (2, 1, (2, 2), (1, 2))
    assert plan.lanes == ((Piece(0, 0, 3, 0),), (Piece(1, 0, 4, 0),))
    assert batch_of(plan, 0, range(2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert batch_of(plan, 1, range(2)) == [(0, 2), (1, 2), (1, 3)]


def test_a_row_group_is_cut_between_lanes_literal():
    plan = build_plan([5, 1], batch_rows=2, lanes=2, shuffle=False)

    assert plan.lanes == ((Piece(0, 0, 3, 0),), (Piece(0, 3, 2, 0), Piece(1, 0, 1, 2)))
    assert plan.needs([0, 1]) == [Need(0, (0, 0, 0), (2, 0, 0)), Need(1, (2, 1, 1), (2, 1, 1))]


def test_seeded_order_literal():
    plan = build_plan([3, 3, 3], batch_rows=3, lanes=1, seed=7, epoch=1)

    assert rows_of_lane(plan, 0) == [
        *[(0, 1), (0, 0), (0, 2)],
        *[(2, 2), (2, 1), (2, 0)],
        *[(1, 2), (1, 1), (1, 0)],
    ]


def test_odd_lanes_run_backwards_so_neighbours_share_a_group_at_one_time():
    plan = build_plan([10] * 4, batch_rows=8, lanes=4, seed=1)
    ends = [[piece.group for piece in lane] for lane in plan.lanes]

    assert all(len(lane) == 1 for lane in ends)
    cut = build_plan([7] * 3, batch_rows=2, lanes=2, seed=1)
    assert cut.lanes[0][-1].group == cut.lanes[1][-1].group


def test_a_rank_without_rows_still_has_the_step():
    plan = build_plan([3], batch_rows=16, lanes=16)

    assert plan.steps == 1
    assert plan.batch_rows(0) == 3
    rows = [len(batch_of(plan, 0, plan.lanes_of(rank, 16))) for rank in range(16)]
    assert sum(rows) == 3
    assert 0 in rows


def test_epochs_and_seeds_differ_and_repeat():
    first = build_plan([50] * 4, 20, 4, seed=1, epoch=0)

    assert first == build_plan([50] * 4, 20, 4, seed=1, epoch=0)
    for other in (build_plan([50] * 4, 20, 4, 2, 0), build_plan([50] * 4, 20, 4, 1, 1)):
        assert batch_of(first, 0, range(4)) != batch_of(other, 0, range(4))


@settings(max_examples=150, deadline=None)
@given(
    group_rows=st.lists(st.integers(1, 40), min_size=1, max_size=12),
    batch_rows=st.integers(8, 64),
    lanes=st.integers(4, 8),
    seed=st.integers(0, 5),
    shuffle=st.booleans(),
)
def test_every_row_once_and_the_same_batches_for_any_world(
    group_rows: list[int], batch_rows: int, lanes: int, seed: int, shuffle: bool
):
    plan = build_plan(group_rows, batch_rows, lanes, seed=seed, epoch=3, shuffle=shuffle)
    every_row = [(g, r) for g, rows in enumerate(group_rows) for r in range(rows)]
    batches = [batch_of(plan, step, range(lanes)) for step in range(plan.steps)]

    assert sorted(row for batch in batches for row in batch) == every_row
    assert [len(batch) for batch in batches] == [plan.batch_rows(t) for t in range(plan.steps)]
    assert all(len(batch) == batch_rows for batch in batches[:-1])
    for world in (1, 2, 3, 4):
        ranks = [plan.lanes_of(rank, world) for rank in range(world)]
        assert [lane for lanes_of in ranks for lane in lanes_of] == list(range(lanes))
        for step, batch in enumerate(batches):
            assert [r for lanes_of in ranks for r in batch_of(plan, step, lanes_of)] == batch


@settings(max_examples=60, deadline=None)
@given(group_rows=st.lists(st.integers(1, 40), min_size=1, max_size=12), seed=st.integers(0, 5))
def test_needs_name_each_wanted_group_once_in_order_of_use(group_rows: list[int], seed: int):
    plan = build_plan(group_rows, 10, 4, seed=seed)

    needs = plan.needs(range(1, 3))

    assert all(a.begin < b.begin for a, b in pairwise(needs))
    wanted = {piece.group for lane in (1, 2) for piece in plan.lanes[lane]}
    assert sorted(need.group for need in needs) == sorted(wanted)
    assert all(need.begin <= need.end for need in needs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: build_plan([3, 0], 4, 2), "row groups need rows, however: 0"),
        (lambda: build_plan([3], 4, 5), "1 <= lanes <= batch_rows, however: lanes=5, batch_rows=4"),
        (lambda: build_plan([9], 4, 2).lanes_of(0, 3), "1 to 2 ranks fit 2 lanes, however: 3"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
