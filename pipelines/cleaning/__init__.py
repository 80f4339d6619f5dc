"""From raw rows to one row a key: derived columns, row rules, deduplication, and the record of every decision."""

from pipelines.cleaning.derive import read_function
from pipelines.cleaning.publish import candidate, publish
from pipelines.cleaning.stage import CleanSettings, Staged, lookup_order, stage_source

__all__ = [
    "CleanSettings",
    "Staged",
    "candidate",
    "lookup_order",
    "publish",
    "read_function",
    "stage_source",
]
