"""Which row goes into which global batch: arithmetic over row counts, whatever the ranks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Piece(NamedTuple):
    """A run of rows of one row group within a lane.

    Attributes:
        group: Index of the row group.
        first: First row of the run, counted in the row group's delivery order.
        rows: Length of the run.
        start: Position of the run in its lane.
    """

    group: int
    first: int
    rows: int
    start: int


class Need(NamedTuple):
    """When a rank first wants a row group, and when it wants it for the last time.

    Both instants are (step, lane, index of the piece in the lane), the order of consumption.
    """

    group: int
    begin: tuple[int, int, int]
    end: tuple[int, int, int]


@dataclass(frozen=True)
class Plan:
    """The batches of one epoch.

    The row groups, in a seeded order, form one sequence that is cut by rows into equal lanes.
    Global batch t takes the next few rows of each lane, in the order of lanes. A rank owns a
    contiguous block of lanes, so batches don't depend on the number of ranks. Odd lanes run
    backwards: two neighbours that share a row group want it at the same time.

    Attributes:
        group_rows: Rows of each row group.
        seed: Seed of all orders.
        epoch: Number of the epoch; each has its own order.
        shuffle: Whether row groups and the rows within them are permuted.
        full_steps: Number of batches with all their rows.
        quota: Rows that each lane gives to a full batch.
        tail: Rows that each lane gives to the short last batch; zeros when there is none.
        lanes: The pieces of each lane.
    """

    group_rows: tuple[int, ...]
    seed: int
    epoch: int
    shuffle: bool
    full_steps: int
    quota: tuple[int, ...]
    tail: tuple[int, ...]
    lanes: tuple[tuple[Piece, ...], ...]

    @property
    def steps(self) -> int:
        """Number of batches, the short one included: the same on every rank."""
        return self.full_steps + (1 if any(self.tail) else 0)

    def batch_rows(self, step: int) -> int:
        """Rows of a global batch."""
        return sum(self.quota if step < self.full_steps else self.tail)

    def span(self, lane: int, step: int) -> tuple[int, int]:
        """First and last position (exclusive) that a lane gives to a batch."""
        begin = step * self.quota[lane]
        return begin, begin + (self.quota if step < self.full_steps else self.tail)[lane]

    def lanes_of(self, rank: int, world_size: int) -> range:
        """The lanes that a rank reads; with fewer lanes than ranks an error."""
        num_lanes = len(self.lanes)
        if not 1 <= world_size <= num_lanes:
            raise ValueError(f"1 to {num_lanes} ranks fit {num_lanes} lanes, however: {world_size}")
        return range(rank * num_lanes // world_size, (rank + 1) * num_lanes // world_size)

    def row_order(self, group: int) -> npt.NDArray[np.int64] | None:
        """Delivery order of a row group's rows, shape [rows]; None means as stored."""
        if not self.shuffle:
            return None
        order = _random("rows", self.seed, self.epoch, group).permutation(self.group_rows[group])
        return order.astype(np.int64)

    def needs(self, lanes: Sequence[int]) -> list[Need]:
        """The row groups that these lanes want, each once, in the order of first use."""
        found: dict[int, Need] = {}
        for lane in lanes:
            for index, piece in enumerate(self.lanes[lane]):
                begin = (self._step_at(lane, piece.start), lane, index)
                end = (self._step_at(lane, piece.start + piece.rows - 1), lane, index)
                known = found.get(piece.group, Need(piece.group, begin, end))
                found[piece.group] = Need(piece.group, min(known.begin, begin), max(known.end, end))
        return sorted(found.values(), key=lambda need: need.begin)

    def _step_at(self, lane: int, position: int) -> int:
        full = self.full_steps * self.quota[lane]
        return self.full_steps if position >= full else position // self.quota[lane]


def build_plan(  # one frozen choice a caller makes, spelt out
    group_rows: Sequence[int],
    batch_rows: int,
    lanes: int,
    seed: int = 0,
    epoch: int = 0,
    shuffle: bool = True,
) -> Plan:
    """Plan one epoch: every row exactly once, the last batch short.

    Args:
        group_rows: Rows of each row group, all positive.
        batch_rows: Rows of a global batch.
        lanes: Number of lanes: the largest number of ranks, and the shuffle window in row groups.
        seed: Seed of all orders.
        epoch: Number of the epoch.
        shuffle: False keeps the order of the table within lanes.

    Raises:
        ValueError: A row group without rows, or more lanes than rows in a batch.
    """
    if any(rows <= 0 for rows in group_rows):
        raise ValueError(f"row groups need rows, however: {min(group_rows)}")
    if not 1 <= lanes <= batch_rows:
        raise ValueError(f"1 <= lanes <= batch_rows, however: lanes={lanes}, {batch_rows=}")
    full_steps, rest = divmod(sum(group_rows), batch_rows)
    quota = np.arange(lanes + 1) * batch_rows // lanes
    tail = quota * rest // batch_rows
    bounds = full_steps * quota + tail
    order = (
        _random("groups", seed, epoch).permutation(len(group_rows))
        if shuffle
        else np.arange(len(group_rows))
    )
    return Plan(
        group_rows=tuple(group_rows),
        seed=seed,
        epoch=epoch,
        shuffle=shuffle,
        full_steps=full_steps,
        quota=tuple(np.diff(quota).tolist()),
        tail=tuple(np.diff(tail).tolist()),
        lanes=tuple(
            _cut(group_rows, order, (int(bounds[lane]), int(bounds[lane + 1])), lane, shuffle)
            for lane in range(lanes)
        ),
    )


def _cut(
    group_rows: Sequence[int],
    order: npt.NDArray[np.int64],
    bounds: tuple[int, int],
    lane: int,
    shuffle: bool,
) -> tuple[Piece, ...]:
    """The pieces of [begin, end) of the sequence of row groups."""
    begin, end = bounds
    ends = np.cumsum([group_rows[group] for group in order])
    runs = []
    for index in range(int(np.searchsorted(ends, begin, "right")), len(order)):
        group_begin = int(ends[index]) - group_rows[order[index]]
        if group_begin >= end:
            break
        first = max(begin, group_begin)
        last = min(end, int(ends[index]))
        if first < last:
            runs.append((int(order[index]), first - group_begin, last - first))
    if shuffle and lane % 2:
        runs.reverse()
    pieces, start = [], 0
    for group, first, rows in runs:
        pieces.append(Piece(group, first, rows, start))
        start += rows
    return tuple(pieces)


def _random(*key: str | int) -> np.random.RandomState:
    """A stream of its own for each key; numpy promises never to change RandomState's (NEP 19)."""
    digest = hashlib.sha256(json.dumps(key).encode()).digest()
    return np.random.RandomState(np.frombuffer(digest[:16], dtype="<u4").tolist())
