"""Petastorm's reader, pool and ventilator, following a plan: ordered, bounded, counted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from petastorm.reader import Reader
from petastorm.workers_pool import EmptyResultError
from petastorm.workers_pool.thread_pool import ThreadPool
from petastorm.workers_pool.ventilator import ConcurrentVentilator
from petastorm.workers_pool.worker_base import WorkerBase
from torch import Tensor

from pipelines.deep.loader.snapshot import RowGroup
from pipelines.errors import InputMissingError

Block = tuple[Tensor, ...]
"""A decoded row group: tensors whose last axis is rows."""

_THREADS = 2


@dataclass(frozen=True)
class Source:
    """Where rows come from and what they become.

    Attributes:
        groups: The row groups, in the order the plan numbers them.
        columns: Columns to read.
        decode: Turns a row group into a block, column-major.
    """

    groups: tuple[RowGroup, ...]
    columns: tuple[str, ...]
    decode: Callable[[pa.Table], Block]


class BlockReader(Reader):  # type: ignore[misc]  # petastorm ships no types
    """Blocks of planned row groups, in planned order.

    Petastorm's own constructor lists a data set and parses every footer; here the driver's
    snapshot has done so. Its thread pool and iteration are used as they are.

    Args:
        source: What to read.
        groups: Indexes of the row groups, in the order they are wanted.
        row_order: Delivery order of a row group's rows, or None for as stored.
        limit: Blocks that may be read but not yet released.
    """

    def __init__(
        self,
        source: Source,
        groups: Sequence[int],
        row_order: Callable[[int], npt.NDArray[np.int64] | None],
        limit: int,
    ):
        self.num_epochs = 1
        self.is_batched_reader = True
        self.ngram = None
        self.schema = None
        self.last_row_consumed = False
        self.stopped = False
        self._workers_pool = ThreadPool(_THREADS, results_queue_size=limit + _THREADS)
        self._results_queue_reader = _OrderedResults(len(groups))
        items = [{"position": position, "group": group} for position, group in enumerate(groups)]
        self.ventilator = _BoundedVentilator(self._workers_pool.ventilate, items, limit)
        self._workers_pool.start(_BlockWorker, (source, row_order), ventilator=self.ventilator)

    def release(self) -> None:
        """Tell the reader that a block is used up, so that it may read one more."""
        self.ventilator.release()


class _BoundedVentilator(ConcurrentVentilator):  # type: ignore[misc]
    """Hands out row groups while fewer than `limit` are unreleased.

    Petastorm's own counts a row group as done when it is taken from the queue, which with a plan
    that holds many row groups open leaves memory without a bound.
    """

    def __init__(self, ventilate: Callable[..., None], items: list[dict[str, int]], limit: int):
        super().__init__(ventilate, items, iterations=1, max_ventilation_queue_size=limit)
        self._slots = threading.Semaphore(limit)

    def release(self) -> None:
        self._slots.release()

    def processed_item(self) -> None:
        """Nothing: an item is done when it is released."""

    def _ventilate(self) -> None:
        for item in self._items_to_ventilate:
            self._slots.acquire()
            if self._stop_requested:
                return
            self._ventilate_fn(**item)
        self._iterations_remaining = 0

    def stop(self) -> None:
        self._stop_requested = True
        self._slots.release()
        super().stop()


class _OrderedResults:
    """Takes blocks as threads finish them and gives them out in planned order, all of them."""

    batched_output = True

    def __init__(self, expected: int):
        self._expected = expected
        self._next = 0
        self._early: dict[int, Block] = {}

    def read_next(self, pool: Any, _schema: Any, _ngram: Any) -> Block:
        if self._next == self._expected:
            raise StopIteration
        while self._next not in self._early:
            try:
                position, block = pool.get_results()
            except EmptyResultError:
                continue  # petastorm's test for the end races with its ventilator; we count
            if isinstance(block, BaseException):
                raise block
            self._early[position] = block
        self._next += 1
        return self._early.pop(self._next - 1)


class _BlockWorker(WorkerBase):  # type: ignore[misc]
    """Reads, decodes and permutes one row group at a time, in a thread of the pool."""

    def process(self, position: int, group: int) -> None:
        try:
            self.publish_func((position, self._block(group)))
        except Exception as error:
            self.publish_func((position, error))  # raised by the reader, without petastorm's print

    def _block(self, number: int) -> Block:
        source, row_order = self.args
        group: RowGroup = source.groups[number]
        table = _read(group, source.columns)
        block: Block = source.decode(table)
        order = row_order(number)
        if order is None:
            return block
        rows = torch.from_numpy(order)
        return tuple(torch.index_select(values, -1, rows) for values in block)


def empty_block(source: Source) -> Block:
    """What a batch without rows looks like."""
    return source.decode(_read(source.groups[0], source.columns).slice(0, 0))


def _read(group: RowGroup, columns: Sequence[str]) -> pa.Table:
    if not Path(group.path).exists():
        raise InputMissingError(
            "a file of the training set vanished while it was read",
            where=group.path,
            remedy="write the training set again: `cauce featurize --force`",
        )
    with pq.ParquetFile(group.path, memory_map=True) as file:
        missing = sorted(set(columns) - set(file.schema_arrow.names))
        if missing:
            raise InputMissingError(
                f"a file of the training set lacks {', '.join(map(repr, missing))}",
                where=group.path,
                remedy="write the training set again: `cauce featurize --force`",
            )
        table = file.read_row_group(group.number, columns=list(columns), use_threads=False)
    if table.num_rows != group.rows:
        raise InputMissingError(
            f"row group {group.number} holds {table.num_rows} rows, planned were {group.rows}",
            where=group.path,
            remedy="write the training set again: `cauce featurize --force`",
        )
    return table
