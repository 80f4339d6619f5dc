"""Adds up the rows of each source's tables at the last committed batch, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.cleaning import CleanSettings, committed_batch
from pipelines.cleaning.stage import lookups_of
from pipelines.cli.peek import count_rows
from pipelines.ingest.ledger import known_files, last_batch
from pipelines.steps.base import clean_definition, source_definition

if TYPE_CHECKING:
    from pipelines.project import LoadedProject
    from pipelines.tables import Lake


@dataclass(frozen=True)
class Sum:
    """One equation over the rows of a source.

    Attributes:
        source: The source.
        ok: True if it holds; None where there is nothing to add up yet.
        told: The equation with its numbers.
    """

    source: str
    ok: bool | None
    told: str


def reconcile(lake: Lake, loaded: LoadedProject) -> Iterator[Sum]:
    """Yields, a source, read = raw + rejected and raw = clean + duplicates + quarantined."""
    batches = {
        name: last_batch(lake, name, source_definition(loaded, name))
        for name in loaded.project.sources
    }
    for name, batch in batches.items():
        if not batch:
            yield Sum(name, None, "not ingested with these settings yet: cauce ingest")
            continue
        yield _ingested(lake, loaded, name, batch)
        yield _cleaned(lake, loaded, name, batches)


def _ingested(lake: Lake, loaded: LoadedProject, name: str, batch: int) -> Sum:
    files = known_files(lake, name, source_definition(loaded, name))
    expected = (sum(f.loaded for f in files), sum(f.rejected for f in files))
    found = (
        count_rows(lake, "raw", name, "_batch", batch),
        count_rows(lake, "rejected", name, "_batch", batch),
    )
    told = f"{sum(expected):,} read = {found[0]:,} raw + {found[1]:,} rejected"
    return Sum(name, found == expected, told)


def _cleaned(lake: Lake, loaded: LoadedProject, name: str, batches: dict[str, int]) -> Sum:
    source = loaded.project.sources[name]
    lookups = {
        other: f"{source_definition(loaded, other)}@{batches[other]}"
        for other in sorted(lookups_of(source))
    }
    definition = clean_definition(loaded, name, lookups)
    committed = committed_batch(lake, CleanSettings(name, source, definition, batches[name]))
    if committed is None:
        return Sum(name, None, "not published with these settings yet: cauce run --until validate")
    raw = count_rows(lake, "raw", name, "_batch", committed)
    clean = sum(lake.num_rows("clean", name).values())
    duplicates = count_rows(lake, "duplicates", name, "_decided_in", committed)
    quarantined = count_rows(lake, "quarantine", name, "_decided_in", committed)
    told = (
        f"{raw:,} raw = {clean:,} clean + {duplicates:,} duplicates + {quarantined:,} quarantined"
    )
    return Sum(name, raw == clean + duplicates + quarantined, told)
