"""One rank in this process: no Spark, no Horovod."""

from __future__ import annotations

import os

from pipelines.deep.rank import RankReport, main
from pipelines.deep.strategy.single import SingleStrategy
from pipelines.deep.world import World, silent


def run_single_rank(job: str) -> list[RankReport]:
    """Train with all cores of this machine.

    Args:
        job: Text of `rank.pack_job`.
    """
    world = World(rank=0, world_size=1, threads=os.cpu_count() or 1)
    return [main(job, world, SingleStrategy(), silent)]
