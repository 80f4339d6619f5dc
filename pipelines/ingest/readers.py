"""Reading files of one header into text or native columns, each row with its file and record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from itertools import groupby

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.ingest.convert import text_schema
from pipelines.ingest.files import FoundFile
from pipelines.project.sources import Files
from pipelines.session import literal_path

CORRUPT = "_corrupt_record"
RESERVED = (CORRUPT, "_record", "_uri", "_metadata")  # columns that reading adds
_RECORD_BITS = (1 << 33) - 1
# One file is one partition, so that a record's number is its position in the partition.
ONE_FILE_A_PARTITION = {
    "spark.sql.files.openCostInBytes": str(1 << 40),
    "spark.sql.files.maxPartitionBytes": str(1 << 40),
}


def read_records(
    spark: SparkSession, files: Files, found: Sequence[FoundFile], declared: Sequence[str]
) -> list[tuple[tuple[str, ...], DataFrame]]:
    """Reads files grouped by their header and, for Parquet, their types.

    Args:
        spark: A session with ONE_FILE_A_PARTITION set.
        files: How the files are written.
        found: Inspected files without a cause.
        declared: Names of the declared columns, which JSON objects are read for.

    Returns:
        Pairs of a header and a DataFrame with that header's columns, `_corrupt_record`, `_uri` and
        `_record` (0-based number of the record in its file).
    """
    frames = []
    for (header, _), group in groupby(sorted(found, key=_layout), key=_layout):
        paths = [literal_path(one.uri) for one in group]
        names, reader = header, spark.read
        if files.format == "parquet":
            frame = reader.parquet(*paths).withColumn(CORRUPT, F.lit(None).cast("string"))
        elif files.format == "json":
            names = tuple(declared)
            frame = (
                reader.schema(text_schema(names, CORRUPT))
                .option("columnNameOfCorruptRecord", CORRUPT)
                .option("encoding", files.encoding)
                .json(paths)
            )
        else:
            frame = (
                reader.schema(text_schema(header, CORRUPT))
                .options(
                    header=True,
                    sep=files.separator,
                    encoding=files.encoding,
                    quote='"',
                    escape='"',
                    multiLine=True,
                    mode="PERMISSIVE",
                    columnNameOfCorruptRecord=CORRUPT,
                    maxCharsPerColumn=-1,
                )
                .csv(paths)
            )
        record = F.monotonically_increasing_id().bitwiseAND(F.lit(_RECORD_BITS))
        frames.append(
            (
                names,
                frame.withColumn("_record", record).withColumn(
                    "_uri", F.regexp_replace("_metadata.file_path", "^file:/+", "file:/")
                ),
            )
        )
    return frames


def one_slash(uri: str) -> str:
    """The form of a local URI that `_uri` has; Hadoop writes it with one slash or with three."""
    return re.sub("^file:/+", "file:/", uri)


def _layout(one: FoundFile) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return one.header, one.types


def union(frames: Sequence[DataFrame]) -> DataFrame:
    """All rows of frames with the same columns."""
    return reduce(DataFrame.unionByName, frames)
