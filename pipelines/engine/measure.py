"""What a step costs: seconds, memory of all processes, Spark jobs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EVERY_S = 0.5
_MB = 1 << 20


@dataclass
class Cost:
    """Cost of one step.

    Attributes:
        seconds: Wall time.
        peak_rss_mb: Highest sum of resident memory of this process and its children, sampled.
    """

    seconds: float = 0.0
    peak_rss_mb: float = 0.0
    _done: threading.Event = field(default_factory=threading.Event, repr=False)


@contextmanager
def measured() -> Iterator[Cost]:
    """Measures what happens inside."""
    cost = Cost()
    began = time.perf_counter()
    watcher = threading.Thread(target=_watch, args=(cost,), daemon=True)
    watcher.start()
    try:
        yield cost
    finally:
        cost.seconds = time.perf_counter() - began
        cost._done.set()
        watcher.join()


def _watch(cost: Cost) -> None:
    me = psutil.Process()
    while True:
        total = 0
        with suppress(psutil.Error):
            for process in (me, *me.children(recursive=True)):
                with suppress(psutil.Error):
                    total += process.memory_info().rss
        cost.peak_rss_mb = max(cost.peak_rss_mb, total / _MB)
        if cost._done.wait(_EVERY_S):
            return


def count_jobs(spark: SparkSession, group: str) -> int:
    """Spark jobs started under a job group, as far back as Spark remembers."""
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
