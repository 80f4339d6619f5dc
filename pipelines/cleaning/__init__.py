"""From raw rows to one row a key: derived columns, row rules, deduplication, recorded decisions."""

from pipelines.cleaning.derive import read_function
from pipelines.cleaning.publish import candidate, publish
from pipelines.cleaning.stage import (
    CleanSettings,
    Staged,
    committed_batch,
    lookup_order,
    stage_source,
)

__all__ = [
    "CleanSettings",
    "Staged",
    "candidate",
    "committed_batch",
    "lookup_order",
    "publish",
    "read_function",
    "stage_source",
]
