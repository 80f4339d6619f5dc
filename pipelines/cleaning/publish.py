"""Publishing a stage: the one commit after which consumers see a batch."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.cleaning.stage import CleanSettings, Staged, committed_batch
from pipelines.errors import CauceError
from pipelines.expressions import quote
from pipelines.tables import Lake, Transaction

_DECISION = ("_status", "_violations", "_survivor_file", "_survivor_record", "_rule")


def candidate(lake: Lake, settings: CleanSettings, staged: Staged) -> DataFrame:
    """What the clean table would become if the stage were published."""
    name = settings.name
    if staged.mode == "current":
        return lake.read("clean", name)
    new = _survivors(lake.read("stage", name))
    if staged.mode == "rebuild":
        return new
    key = [quote(column) for column in settings.source.dedup.key]
    untouched = lake.read("clean", name).alias("c")
    same = F.lit(True)
    for column in key:
        same = same & (F.col(f"c.{column}") == F.col(f"n.{column}"))
    return untouched.join(new.alias("n"), same, "left_anti").unionByName(new)


def publish(lake: Lake, settings: CleanSettings, staged: Staged) -> int:
    """Makes the stage's survivors part of the clean table and gives the number of its rows.

    A stage that was published before is left alone.

    Raises:
        CauceError: The rows of the clean table do not add up with the stage.
    """
    name = settings.name
    before = sum(lake.num_rows("clean", name).values())
    if committed_batch(lake, settings) == staged.batch:
        return before
    batch = Transaction(settings.app, staged.batch)
    if staged.mode == "rebuild":
        rows = _survivors(lake.read("stage", name))
        lake.replace(rows, "clean", name, batch=batch)
        expected = staged.clean
    elif staged.clean:
        path = lake.path("stage", name)

        def source(session: SparkSession) -> DataFrame:
            return _survivors(session.read.format("delta").load(path))

        lake.merge(source, "clean", name, settings.source.dedup.key, batch)
        expected = before + staged.clean - staged.superseded
    else:
        # Nothing changes, but the batch is done: an empty commit carries its number.
        lake.append(lake.read("clean", name).limit(0), "clean", name, batch)
        expected = before
    found = sum(lake.num_rows("clean", name).values())
    if found != expected:
        raise CauceError(
            f"clean/{name} has {found:,} rows; its stage adds up to {expected:,}",
            where=lake.path("clean", name),
        )
    return found


def _survivors(stage: DataFrame) -> DataFrame:
    return stage.where(F.col("_status") == "clean").drop(*_DECISION)
