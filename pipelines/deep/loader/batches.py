"""A rank's part of each global batch, copied out of the blocks that the reader holds ready."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.deep.loader.plan import Need, Plan
from pipelines.deep.loader.reader import Block, BlockReader, Source, empty_block

_READ_AHEAD = 2


class Batch(NamedTuple):
    """This rank's rows of one global batch.

    Attributes:
        step: Number of the global batch in its epoch.
        global_rows: Rows of the global batch over all ranks.
        tensors: The decoder's tensors, rows on the last axis; possibly of no rows.
    """

    step: int
    global_rows: int
    tensors: Block


def read_batches(source: Source, plan: Plan, rank: int, world_size: int) -> Iterator[Batch]:
    """Read one epoch of a rank: `plan.steps` batches, on every rank the same number.

    Memory holds the row groups that the rank's lanes have open, and two more.

    Raises:
        InputMissingError: A file is gone or isn't what the snapshot says.
    """
    lanes = plan.lanes_of(rank, world_size)
    needs = plan.needs(lanes)
    reader = BlockReader(
        source,
        [need.group for need in needs],
        plan.row_order,
        limit=_most_open(needs) + _READ_AHEAD,
    )
    try:
        blocks = _OpenBlocks(reader, needs, plan, lanes)
        for step in range(plan.steps):
            rows = blocks.take(step) or empty_block(source)
            yield Batch(step, plan.batch_rows(step), rows)
    finally:
        reader.stop()
        reader.join()


class _OpenBlocks:
    """The blocks that lanes are in the middle of, and each lane's place in its pieces."""

    def __init__(self, reader: BlockReader, needs: list[Need], plan: Plan, lanes: range):
        self._reader = reader
        self._wanted = iter(needs)
        self._plan = plan
        self._lanes = lanes
        self._place = dict.fromkeys(lanes, 0)
        self._uses = Counter(piece.group for lane in lanes for piece in plan.lanes[lane])
        self._open: dict[int, Block] = {}

    def take(self, step: int) -> Block:
        """Copy this rank's rows of a batch into fresh tensors; an empty tuple if it has none."""
        spans = {lane: self._plan.span(lane, step) for lane in self._lanes}
        rows = sum(end - begin for begin, end in spans.values())
        out: Block = ()
        filled = 0
        for lane, (begin, end) in spans.items():
            position = begin
            while position < end:
                piece = self._plan.lanes[lane][self._place[lane]]
                block = self._block(piece.group)
                out = out or tuple(values.new_empty(*values.shape[:-1], rows) for values in block)
                offset = position - piece.start
                count = min(end - position, piece.rows - offset)
                source = slice(piece.first + offset, piece.first + offset + count)
                for target, values in zip(out, block, strict=True):
                    target[..., filled : filled + count] = values[..., source]
                filled, position = filled + count, position + count
                if position == piece.start + piece.rows:
                    self._place[lane] += 1
                    self._close_use(piece.group)
        return out

    def _block(self, group: int) -> Block:
        while group not in self._open:
            self._open[next(self._wanted).group] = next(self._reader)
        return self._open[group]

    def _close_use(self, group: int) -> None:
        self._uses[group] -= 1
        if not self._uses[group]:
            del self._open[group]
            self._reader.release()


def _most_open(needs: list[Need]) -> int:
    """The largest number of row groups that are wanted at one instant."""
    most = 1
    open_until: list[tuple[int, int, int]] = []
    for need in needs:
        open_until = [end for end in open_until if end >= need.begin] + [need.end]
        most = max(most, len(open_until))
    return most
