"""The stage of a source: every new raw row with its fate, written before anything is published.

A batch counts when `clean` has committed it (publish.py); what an unfinished batch left in the
stage, in quarantine or in duplicates is replaced by the next attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.cleaning.dedup import TECHNICAL, add_decision
from pipelines.cleaning.derive import add_derived
from pipelines.cleaning.row_rules import violations
from pipelines.errors import ConfigError, InputMissingError
from pipelines.expressions import quote
from pipelines.project.sources import DeriveFunction, Source
from pipelines.tables import Lake


@dataclass(frozen=True)
class CleanSettings:
    """What cleaning one source needs to know.

    Args:
        name: Source.
        source: Its section.
        definition: Hash of all that decides about a row: configuration, code, lookups. Another hash
            means another clean table, rebuilt from all raw rows.
        last_batch: Newest batch that ingestion committed.
    """

    name: str
    source: Source
    definition: str
    last_batch: int

    @property
    def app(self) -> str:
        """Name of the transactions that publish this definition of the clean table."""
        return f"clean/{self.name}/{self.definition[:12]}"


@dataclass(frozen=True)
class Staged:
    """What a stage holds, in rows.

    Args:
        mode: `current`: nothing new; `merge`: new rows for an existing table; `rebuild`: all rows.
        batch: Newest raw batch in the stage.
        read: Raw rows read.
        clean: Rows to insert or to replace by key.
        duplicates: Rows that lost their key, superseded clean rows included.
        quarantined: Rows that break a row rule.
        superseded: Rows of the clean table that lose their key to a new row.
    """

    mode: str
    batch: int
    read: int = 0
    clean: int = 0
    duplicates: int = 0
    quarantined: int = 0
    superseded: int = 0


def lookup_order(sources: Mapping[str, Source]) -> list[list[str]]:
    """Groups of sources: those of a group look up only what stands in the groups before it.

    Raises:
        ConfigError: Two sources look each other up.
    """
    groups: list[list[str]] = []
    left = dict(sources)
    while left:
        done = {name for group in groups for name in group}
        ready = [name for name, source in left.items() if not (lookups_of(source) - done)]
        if not ready:
            raise ConfigError(f"sources {', '.join(left)} look each other up in a circle")
        groups.append(ready)
        left = {name: source for name, source in left.items() if name not in ready}
    return groups


def lookups_of(source: Source) -> set[str]:
    """Sources whose clean rows a source's functions are given."""
    return {
        how.lookup
        for how in source.derive.values()
        if isinstance(how, DeriveFunction) and how.lookup
    }


def committed_batch(lake: Lake, settings: CleanSettings) -> int | None:
    """Newest batch that the clean table holds; None where it must be rebuilt.

    A table that another definition has rebuilt since must be, too.
    """
    newest = lake.newest("clean", settings.name)
    return newest.number if newest and newest.app == settings.app else None


def stage_source(lake: Lake, settings: CleanSettings, lookup: Callable[[str], DataFrame]) -> Staged:
    """Decides about every raw row that `clean` has not committed yet.

    Args:
        lake: The tables.
        settings: What to clean, and how.
        lookup: Source name → what its clean table would become.

    Raises:
        InputMissingError: The source was never ingested.
    """
    name = settings.name
    if settings.last_batch == 0:
        raise InputMissingError(
            f"source {name} was never ingested",
            where=f"raw/{name}",
            remedy="Fix: cauce ingest",
        )
    committed = committed_batch(lake, settings)
    if committed == settings.last_batch:
        return Staged("current", settings.last_batch)
    new = F.col("_batch").between((committed or 0) + 1, settings.last_batch)
    raw = lake.read("raw", name).where(new).drop("_rescued")
    rows = add_derived(raw, settings.source.derive, lookup)
    content = [column for column in rows.columns if column not in TECHNICAL]
    rows = rows.select(*[F.col(quote(column)) for column in content], *TECHNICAL)
    rows = rows.withColumn("_violations", _violations(settings.source, content))
    staged = _decide(lake, settings, rows, content, merge=committed is not None)
    lake.replace(staged, "stage", name, partition_by=["_status"])
    counts = lake.num_rows("stage", name, by="_status")
    superseded = counts.get("superseded", 0)
    result = Staged(
        mode="rebuild" if committed is None else "merge",
        batch=settings.last_batch,
        read=sum(counts.values()) - superseded,
        clean=counts.get("clean", 0),
        duplicates=counts.get("duplicate", 0) + superseded,
        quarantined=counts.get("quarantine", 0),
        superseded=superseded,
    )
    _write_set_aside(lake, name, committed or 0, settings.last_batch, counts)
    return result


def _violations(source: Source, columns: list[str]) -> Column:
    broken = violations(source.row_rules, columns)
    null_key = F.lit(False)
    for column in source.dedup.key:
        null_key = null_key | F.col(quote(column)).isNull()
    return F.when(null_key, F.array_append(broken, F.lit("null_key"))).otherwise(broken)


def _decide(
    lake: Lake, settings: CleanSettings, rows: DataFrame, content: list[str], *, merge: bool
) -> DataFrame:
    """Rows with `_status`: clean, duplicate, quarantine, or superseded, for rows of clean."""
    is_good = F.size("_violations") == 0
    good = rows.where(is_good).withColumn("_is_new", F.lit(True))
    if merge:
        key = [F.col(quote(column)) for column in settings.source.dedup.key]
        keys = good.select(*key).distinct()
        current = lake.read("clean", settings.name)
        same_key = F.lit(True)
        for column in settings.source.dedup.key:
            same_key = same_key & (F.col(f"c.{quote(column)}") == F.col(f"k.{quote(column)}"))
        touched = current.alias("c").join(keys.alias("k"), same_key, "left_semi")
        good = good.unionByName(
            touched.withColumn("_is_new", F.lit(False)).withColumn(
                "_violations", F.array().cast("array<string>")
            )
        )
    decided = add_decision(good, settings.source.dedup, content)
    status = (
        F.when(F.col("_is_new") & (F.col("_rank") == 1), "clean")
        .when(F.col("_is_new"), "duplicate")
        .when(F.col("_rank") > 1, "superseded")
    )
    # A row of the clean table that keeps its key is not touched.
    decided = decided.withColumn("_status", status).where(F.col("_status").isNotNull())
    bad = rows.where(~is_good).withColumn("_status", F.lit("quarantine"))
    return decided.drop("_is_new", "_rank").unionByName(bad, allowMissingColumns=True)


def _write_set_aside(
    lake: Lake, name: str, committed: int, batch: int, counts: Mapping[str, int]
) -> None:
    """Writes quarantine and duplicates of the stage, replacing those of unfinished batches."""
    stage = lake.read("stage", name)
    leftover = f"_decided_in > {committed}"
    quarantine = stage.where(F.col("_status") == "quarantine").drop(
        "_status", "_survivor_file", "_survivor_record", "_rule"
    )
    duplicates = stage.where(F.col("_status").isin("duplicate", "superseded")).drop(
        "_status", "_violations"
    )
    for layer, rows, count in (
        ("quarantine", quarantine, counts.get("quarantine", 0)),
        ("duplicates", duplicates, counts.get("duplicate", 0) + counts.get("superseded", 0)),
    ):
        if count or lake.exists(layer, name):
            tagged = rows.withColumn("_decided_in", F.lit(batch).cast("bigint"))
            where = leftover if committed else None
            lake.replace(tagged.coalesce(1), layer, name, where=where)
