"""Reads a few rows of a Delta table, and finds missing files, from its log and files alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pipelines.errors import ConfigError

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from pipelines.tables import Lake

# Reader features under which the Parquet files alone do not say what the rows are.
_UNREADABLE = ("deletionVectors", "columnMapping")


def read_rows(
    lake: Lake, layer: str, name: str, *, run_id: str | None, limit: int
) -> tuple[list[str], list[list[Any]]]:
    """Reads the first rows of a table's newest version.

    Args:
        lake: The lake.
        layer: Layer of the table.
        name: Name of the table.
        run_id: Only rows in files that this run's commits added, if they are still in the table.
        limit: Most rows.

    Returns:
        Column names, partition columns included, and rows of values in that order.

    Raises:
        InputMissingError: There is no such table.
        ConfigError: An unknown layer or name, or a table whose rows need Spark to be read.
    """
    import pyarrow.parquet as pq
    from pyarrow import fs

    log = lake.log(layer, name)
    _check_readable(log, f"{layer}/{name}")
    columns = [field["name"] for field in json.loads(log.schema().to_json())["fields"]]
    system, root = fs.FileSystem.from_uri(lake.path(layer, name))
    wanted = None if run_id is None else _added_by(lake, layer, name, run_id)
    rows: list[list[Any]] = []
    for file in _files(log):
        if wanted is not None and file["path"] not in wanted:
            continue
        with system.open_input_file(f"{root}/{unquote(file['path'])}") as stream:
            for batch in pq.ParquetFile(stream).iter_batches(batch_size=limit):
                for row in batch.to_pylist():
                    rows.append([row.get(c, file.get(f"partition.{c}")) for c in columns])
                    if len(rows) == limit:
                        return columns, rows
    return columns, rows


def count_rows(lake: Lake, layer: str, name: str, batch_column: str, last_batch: int) -> int:
    """Counts the rows of a table up to a batch; later ones belong to a batch that isn't done.

    Args:
        lake: The lake.
        layer: Layer of the table.
        name: Name of the table; one that does not exist has no rows.
        batch_column: Column with the number of a row's batch.
        last_batch: Number of the newest batch that counts.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from pyarrow import fs

    if not lake.exists(layer, name):
        return 0
    log = lake.log(layer, name)
    _check_readable(log, f"{layer}/{name}")
    system, root = fs.FileSystem.from_uri(lake.path(layer, name))
    num_rows = 0
    for file in _files(log):
        with system.open_input_file(f"{root}/{unquote(file['path'])}") as stream:
            batches = pq.ParquetFile(stream).read(columns=[batch_column]).column(0)
        num_rows += pc.sum(pc.less_equal(batches, last_batch)).as_py() or 0
    return num_rows


def find_damage(lake: Lake, layer: str, name: str) -> list[str]:
    """Returns a line for each file that the log names and that is missing or has another size."""
    from pyarrow import fs

    system, root = fs.FileSystem.from_uri(lake.path(layer, name))
    damage = []
    for file in _files(lake.log(layer, name)):
        info = system.get_file_info(f"{root}/{unquote(file['path'])}")
        if info.type != fs.FileType.File:
            damage.append(f"{file['path']} is missing")
        elif info.size != file["size_bytes"]:
            damage.append(
                f"{file['path']} has {info.size:,} bytes; the log says {file['size_bytes']:,}"
            )
    return damage


def _check_readable(log: DeltaTable, table: str) -> None:
    features = log.protocol().reader_features or []
    used = [feature for feature in features if feature in _UNREADABLE]
    if used:
        raise ConfigError(
            f"{table} uses {used[0]}; its rows can only be read with Spark",
            remedy="read it in a notebook: spark.read.format('delta')",
        )


def _files(log: DeltaTable) -> list[dict[str, Any]]:
    import pyarrow as pa

    files: list[dict[str, Any]] = pa.table(log.get_add_actions(flatten=True)).to_pylist()
    return sorted(files, key=lambda file: str(file["path"]))


def _added_by(lake: Lake, layer: str, name: str, run_id: str) -> set[str]:
    """Paths of the files that the commits of one run added; the run id is in `userMetadata`."""
    added: set[str] = set()
    for commit in lake.log(layer, name).history():
        if json.loads(commit.get("userMetadata") or "{}").get("run_id") != run_id:
            continue
        version = int(commit["version"])
        after = {file["path"] for file in _files(lake.log(layer, name, version))}
        before = (
            {file["path"] for file in _files(lake.log(layer, name, version - 1))}
            if version
            else set()
        )
        added |= after - before
    return added
