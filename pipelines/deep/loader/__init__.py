"""The same batches for any number of ranks, straight from one version of a Delta table."""

from pipelines.deep.loader.batches import Batch, read_batches
from pipelines.deep.loader.plan import Plan, build_plan
from pipelines.deep.loader.reader import Source
from pipelines.deep.loader.snapshot import RowGroup, Snapshot, read_snapshot

__all__ = [
    "Batch",
    "Plan",
    "RowGroup",
    "Snapshot",
    "Source",
    "build_plan",
    "read_batches",
    "read_snapshot",
]
