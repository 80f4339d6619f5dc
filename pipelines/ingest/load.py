"""One batch of a source: new files → raw and rejected rows, then the ledger that makes it count.

Rows of a batch that the ledger does not hold do not exist for readers; the next attempt replaces
them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from pipelines.errors import ConfigError, DataGateError, InputMissingError
from pipelines.ingest.convert import PROBLEM, column_of, marked_null, problem, typed
from pipelines.ingest.files import FoundFile, find_files, inspect
from pipelines.ingest.ledger import (
    LedgerRow,
    known_files,
    next_batch,
    raw_transaction,
    write_ledger,
)
from pipelines.ingest.readers import (
    CORRUPT,
    ONE_FILE_A_PARTITION,
    RESERVED,
    one_slash,
    read_records,
    union,
)
from pipelines.project.schema import Defaults
from pipelines.project.sources import Source
from pipelines.session import private_conf
from pipelines.tables import Lake

_NO_NAME = re.compile(r"[\s,;{}()=]")  # Delta's own rule


@dataclass(frozen=True)
class IngestSettings:
    """What ingestion of one source needs to know.

    Args:
        name: Source.
        source: Its section.
        defaults: The project's defaults.
        home: Folder that relative paths start from.
        now: Instant of the run, UTC.
        definition: Hash of all that decides how a record is read. Another hash means another raw
            table, loaded anew from all files.
    """

    name: str
    source: Source
    defaults: Defaults
    home: Path
    now: datetime
    definition: str

    @property
    def zone(self) -> str:
        """Zone of the source's timestamps without offset."""
        return self.source.time_zone or self.defaults.time_zone


@dataclass(frozen=True)
class Ingested:
    """What one batch did; counts are records.

    Args:
        batch: Number of the newest batch; unchanged where there was nothing new.
        read: Records read by this batch.
        raw: Records written to raw.
        rejected: Records written to rejected.
        set_aside: Path → cause of files that were not loaded at all.
        repeated: Paths of files whose content had been loaded before.
        reasons: Reason → rejected records.
    """

    batch: int
    read: int = 0
    raw: int = 0
    rejected: int = 0
    set_aside: Mapping[str, str] | None = None
    repeated: tuple[str, ...] = ()
    reasons: Mapping[str, int] | None = None


def ingest_source(lake: Lake, settings: IngestSettings) -> Ingested:
    """Loads the files of a source that the ledger does not know by content.

    Raises:
        ConfigError: A column's name is one that no table can have.
        InputMissingError: No file matches, or none of the files has a record.
        DataGateError: More records are unreadable than `max_rejected` allows.
    """
    _check_names(settings)
    files = settings.source.files
    zone = settings.defaults.zone
    found = inspect(find_files(files, settings.home, zone, settings.now), files, settings.home)
    known = known_files(lake, settings.name, settings.definition)
    hashes = {row.sha256 for row in known}
    fresh: dict[str, FoundFile] = {}
    repeated = []
    for one in found:
        if one.sha256 in fresh:
            repeated.append(one)
        elif one.sha256 not in hashes:
            fresh[one.sha256] = _check_header(one, settings)
    if not fresh:
        done = max(row.batch for row in known)
        return Ingested(batch=done, repeated=tuple(one.path for one in repeated))
    good = [one for one in fresh.values() if one.cause is None]
    batch = next_batch(lake, settings.name)
    first = min((row.batch for row in known), default=batch)
    with private_conf(lake.spark(), ONE_FILE_A_PARTITION) as session:
        counts = (
            _load(lake, session, settings, good, (first, batch)) if good else _Counts({}, {}, {})
        )
    if not known and not sum(counts.raw.values()) + sum(counts.rejected.values()):
        causes = "; ".join(f"{one.path}: {one.cause or 'no record'}" for one in fresh.values())
        raise InputMissingError(
            f"source {settings.name} has no records ({causes})", where=files.path
        )
    _check_budget(settings, counts)
    rows = [_ledger_row(settings, one, counts, batch) for one in fresh.values()]
    rows += [
        replace(_ledger_row(settings, one, _Counts({}, {}, {}), batch), status="repeated")
        for one in repeated
    ]
    write_ledger(lake, rows)
    raw, rejected = sum(counts.raw.values()), sum(counts.rejected.values())
    return Ingested(
        batch=batch,
        read=raw + rejected,
        raw=raw,
        rejected=rejected,
        set_aside={one.path: one.cause for one in fresh.values() if one.cause},
        repeated=tuple(one.path for one in repeated),
        reasons=counts.reasons,
    )


@dataclass(frozen=True)
class _Counts:
    """Path → records, for raw and for rejected; reason → records."""

    raw: Mapping[str, int]
    rejected: Mapping[str, int]
    reasons: Mapping[str, int]


def _check_names(settings: IngestSettings) -> None:
    for name in settings.source.columns:
        if name.startswith("_") or _NO_NAME.search(name):
            raise ConfigError(
                f"`{name}` cannot be the name of a column; not allowed: _ at its beginning, white "
                "space and any of , ; { } ( ) =",
                where=f"sources.{settings.name}.schema.{name}",
                remedy="let the producer rename it; undeclared columns are kept in `_rescued`",
            )


def _check_header(found: FoundFile, settings: IngestSettings) -> FoundFile:
    """Sets a file aside whole where its columns cannot be matched by name."""
    declared = settings.source.columns
    header = found.header
    if found.cause or settings.source.files.format == "json":
        return found
    # Spark does not tell upper from lower case in names.
    times = Counter(name.lower() for name in header)
    twice = sorted(name for name in header if times[name.lower()] > 1)
    reserved = [name for name in header if name in RESERVED]
    needed = [name for name, column in declared.items() if column.required]
    needed += [name for name in settings.source.dedup.key if name in declared]
    missing = [name for name in needed if name not in header]
    extra = [name for name in header if name not in declared]
    policy = settings.source.extra_column or settings.defaults.extra_column
    cause = None
    if twice:
        cause = f"{times[twice[0].lower()]} columns of its header have the name {twice[0]}"
    elif reserved:
        cause = f"the column name {reserved[0]} of its header is reserved"
    elif missing:
        cause = f"column {missing[0]} is missing; its header has {', '.join(header[:20])}"
    elif extra and policy == "fail":
        cause = f"column {extra[0]} is not declared and extra_column is fail"
    return replace(found, cause=cause)


def _load(
    lake: Lake,
    session: SparkSession,
    settings: IngestSettings,
    good: Sequence[FoundFile],
    batches: tuple[int, int],
) -> _Counts:
    """Writes the batch's raw and rejected rows, replacing what an unfinished attempt left.

    `batches` are the first one that the table shall hold, and this one.
    """
    name, (first, batch) = settings.name, batches
    records = union(
        [
            _converted(frame, header, settings)
            for header, frame in read_records(
                session, settings.source.files, good, list(settings.source.columns)
            )
        ]
    )
    records = records.join(F.broadcast(_file_facts(session, good)), "_uri", "left").drop("_uri")
    is_bad = (F.size("_problems") > 0) | F.col(CORRUPT).isNotNull()
    seen = Observation()
    observed = records.observe(seen, F.count_if(is_bad).alias("bad"))
    values = [column_of(column) for column in settings.source.columns]
    raw = observed.where(~is_bad).select(
        *values,
        F.xxhash64(F.struct(*values)).alias("_row_hash"),
        "_rescued",
        "_file",
        "_record",
        "_delivered_at",
        F.lit(batch).cast("bigint").alias("_batch"),
    )
    leftover = f"_batch >= {batch}" if batch > first else None
    noted = raw_transaction(settings.definition, first, batch)
    lake.replace(raw, "raw", name, where=leftover, batch=noted)
    reasons: dict[str, int] = {}
    rejected: dict[str, int] = {}
    if seen.get["bad"] or lake.exists("rejected", name):
        bad = records.where(is_bad).select(
            *_rejection(settings), F.lit(batch).cast("bigint").alias("_batch")
        )
        lake.replace(bad.coalesce(1), "rejected", name, where=leftover)
        written = lake.read("rejected", name).where(F.col("_batch") == batch)
        for row in written.groupBy("file", "reason").count().collect():
            rejected[row["file"]] = rejected.get(row["file"], 0) + row["count"]
            reasons[row["reason"]] = reasons.get(row["reason"], 0) + row["count"]
    loaded = lake.read("raw", name).where(F.col("_batch") == batch).groupBy("_file").count()
    return _Counts({row["_file"]: row["count"] for row in loaded.collect()}, rejected, reasons)


def _converted(frame: DataFrame, header: tuple[str, ...], settings: IngestSettings) -> DataFrame:
    """Typed columns, `_problems`, `_rescued`, `_text` (record as delivered), `_corrupt_record`."""
    source = settings.source
    nulls = source.nulls if source.nulls is not None else settings.defaults.nulls
    is_text = source.files.format != "parquet"  # Parquet has nulls of its own
    values: list[Column] = []
    problems: list[Column] = []
    for name, declared in source.columns.items():
        if name not in header:
            values.append(F.lit(None).cast(declared.sql).alias(name))
            continue
        text = marked_null(column_of(name), nulls) if is_text else column_of(name)
        value = typed(text, declared, settings.zone, frame.schema[name].dataType)
        values.append(value.alias(name))
        found = problem(name, text, value, declared)
        if declared.sql != "string" or declared.required:
            problems.append(found)
    extra = [name for name in header if name not in source.columns]
    rescued = F.create_map(
        *[part for name in extra for part in (F.lit(name), column_of(name).cast("string"))]
    )
    return frame.select(
        *values,
        F.array_compact(F.array(*problems)).alias("_problems")
        if problems
        else F.array().cast(f"array<{PROBLEM}>").alias("_problems"),
        (rescued if extra else F.lit(None)).cast("map<string,string>").alias("_rescued"),
        F.to_json(F.struct(*[column_of(name) for name in header])).alias("_text"),
        CORRUPT,
        "_record",
        "_uri",
    )


def _rejection(settings: IngestSettings) -> list[Column]:
    """Columns of `rejected`: where the record stands, what is wrong with it, the record itself."""
    first = F.try_element_at("_problems", F.lit(1))
    corrupt = F.when(
        F.col(CORRUPT).isNotNull(),
        F.when(F.lit(settings.source.files.format == "json"), "broken_record").otherwise("cut_row"),
    )
    return [
        F.col("_file").alias("file"),
        F.col("_record").alias("record"),
        F.coalesce(corrupt, first["reason"]).alias("reason"),
        F.when(corrupt.isNull(), first["column"]).alias("column"),
        F.when(corrupt.isNull(), first["value"]).alias("value"),
        F.coalesce(F.col(CORRUPT), F.col("_text")).alias("text"),
        F.col("_delivered_at").alias("delivered_at"),
    ]


def _file_facts(session: SparkSession, good: Sequence[FoundFile]) -> DataFrame:
    """One row a file: `_uri` as Spark writes it, `_file`, `_delivered_at`."""
    hadoop = session._jvm.org.apache.hadoop.fs.Path  # type: ignore[union-attr]
    conf = session._jsc.hadoopConfiguration()
    rows = []
    for one in good:
        path = hadoop(one.uri)
        qualified = path.getFileSystem(conf).makeQualified(path)
        rows.append((one_slash(qualified.toUri().toString()), one.path, one.delivered_at))
    return session.createDataFrame(rows, "_uri string, _file string, _delivered_at timestamp")


def _check_budget(settings: IngestSettings, counts: _Counts) -> None:
    allowed = (
        settings.source.max_rejected
        if settings.source.max_rejected is not None
        else settings.defaults.max_rejected
    )
    rejected, raw = sum(counts.rejected.values()), sum(counts.raw.values())
    if rejected <= allowed * (rejected + raw):
        return
    worst = max(counts.rejected, key=lambda path: counts.rejected[path])
    share = rejected / (rejected + raw)
    raise DataGateError(
        f"source {settings.name}: {share:.2%} of records are unreadable ({rejected:,} of "
        f"{rejected + raw:,}); allowed: {allowed:.2%}; most of them in {worst} "
        f"({', '.join(f'{reason}: {n:,}' for reason, n in sorted(counts.reasons.items()))})",
        where=f"sources.{settings.name}.max_rejected",
        remedy=f"Look   cauce tables show rejected/{settings.name}",
    )


def _ledger_row(settings: IngestSettings, one: FoundFile, counts: _Counts, batch: int) -> LedgerRow:
    return LedgerRow(
        source=settings.name,
        path=one.path,
        size=one.size,
        mtime_ns=one.mtime_ns,
        sha256=one.sha256,
        delivered_at=one.delivered_at,
        status="set_aside" if one.cause else "loaded",
        cause=one.cause,
        loaded=counts.raw.get(one.path, 0),
        rejected=counts.rejected.get(one.path, 0),
        batch=batch,
        definition=settings.definition,
    )
