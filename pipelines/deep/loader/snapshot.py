"""The live files and row groups of one version of a training set, checked on the driver."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlparse

from pipelines.errors import ConfigError, InputMissingError

SPLIT_COLUMN = "split"
"""Partition column of every training set."""

_FOOTER_THREADS = 8
_READABLE_FEATURES = frozenset(
    {"deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
)


class RowGroup(NamedTuple):
    """The unit of reading: one row group of one live file."""

    path: str
    number: int
    rows: int


@dataclass(frozen=True)
class DataFile:
    """One live Parquet file: where it is, which split it belongs to, rows of each row group."""

    path: str
    split: str
    group_rows: tuple[int, ...]


@dataclass(frozen=True)
class Snapshot:
    """One version of a Delta table, small enough to be sent to every rank.

    Attributes:
        uri: The table, as it was asked for.
        version: The Delta version.
        columns: Delta type by column name, partition columns included.
        files: Live files, sorted by path.
        digest: SHA-256 over the table's id, the version, the files and their row groups.
    """

    uri: str
    version: int
    columns: dict[str, str]
    files: tuple[DataFile, ...]
    digest: str

    def row_groups(self, split: str) -> tuple[RowGroup, ...]:
        """The row groups of one split, in the order of paths, empty ones left out.

        Raises:
            InputMissingError: The split has no rows.
        """
        groups = tuple(
            RowGroup(file.path, number, rows)
            for file in self.files
            if file.split == split
            for number, rows in enumerate(file.group_rows)
            if rows
        )
        if not groups:
            found = sorted({file.split for file in self.files})
            raise InputMissingError(
                f"the split {split!r} has no rows; splits with rows: {', '.join(found) or 'none'}",
                where=f"{self.uri}@{self.version}",
                remedy="name another split, or change the dates of `training_sets.<name>.split`",
            )
        return groups

    def check_columns(self, names: Sequence[str]) -> None:
        """Check that files hold these columns.

        Raises:
            ConfigError: A column is missing, or is a partition column that no file holds.
        """
        missing = sorted(set(names) - (self.columns.keys() - {SPLIT_COLUMN}))
        if missing:
            raise ConfigError(
                f"the training set has no column {', '.join(map(repr, missing))}; "
                f"it has {len(self.columns)} columns",
                where=f"{self.uri}@{self.version}",
                remedy="run `cauce featurize` again, or fit the encoder on this version",
            )

    def to_dict(self) -> dict[str, Any]:
        """This snapshot as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Snapshot:
        """The inverse of `to_dict`."""
        files = tuple(
            DataFile(file["path"], file["split"], tuple(file["group_rows"]))
            for file in values["files"]
        )
        return cls(**{**values, "files": files})


def read_snapshot(uri: str, version: int) -> Snapshot:
    """Read which files and row groups make up one version of a training set.

    Each footer is read once. Only local paths and `file:` URIs are read.

    Raises:
        InputMissingError: There is no such table or version, or a file of it is gone.
        ConfigError: The table needs something this loader can't read: another file system,
            deletion vectors, column mapping, an unknown reader feature, no `split` partitions,
            or files whose footers disagree with the log.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    root = _local_path(uri)
    where = f"{uri}@{version}"
    try:
        table = DeltaTable(str(root), version=version)
    except (DeltaError, FileNotFoundError, OSError) as error:
        raise InputMissingError(
            f"no Delta table of version {version} can be read: {error}",
            where=uri,
            remedy="run `cauce featurize` first",
        ) from error
    _check_protocol(table, where)
    actions = _add_actions(table)
    with ThreadPoolExecutor(_FOOTER_THREADS) as pool:
        files = tuple(pool.map(lambda action: _data_file(root, action, where), actions))
    digest = hashlib.sha256(json.dumps([table.metadata().id, version]).encode())
    for file in files:
        relative = str(Path(file.path).relative_to(root))
        digest.update(json.dumps([relative, file.group_rows]).encode())
    columns = {
        field.name: str(getattr(field.type, "type", field.type)) for field in table.schema().fields
    }
    return Snapshot(uri, version, columns, files, digest.hexdigest())


def _local_path(uri: str) -> Path:
    parsed = urlparse(uri)
    if parsed.scheme not in ("", "file"):
        raise ConfigError(
            f"the deep loader reads local paths and file: URIs, not {parsed.scheme}:",
            where=uri,
            remedy="keep the training set on a file system that all executors mount",
        )
    return Path(unquote(parsed.path) if parsed.scheme else uri).absolute()


def _check_protocol(table: Any, where: str) -> None:
    features = set(table.protocol().reader_features or ())
    metadata = table.metadata()
    problems = [f"the reader feature {name}" for name in sorted(features - _READABLE_FEATURES)]
    if metadata.configuration.get("delta.columnMapping.mode", "none") != "none":
        problems.append("column mapping")
    if "deletionVectors" in features and any(batch.num_rows for batch in table.deletion_vectors()):
        problems.append("deletion vectors")
    if problems:
        raise ConfigError(
            f"the deep loader can't read a table with {', '.join(problems)}",
            where=where,
            remedy="write the training set without them: run `cauce featurize --force`",
        )
    if metadata.partition_columns != [SPLIT_COLUMN]:
        raise ConfigError(
            f"a training set is partitioned by {SPLIT_COLUMN!r} alone, "
            f"this table by {metadata.partition_columns}",
            where=where,
            remedy="run `cauce featurize --force`",
        )


def _add_actions(table: Any) -> list[dict[str, Any]]:
    import pyarrow as pa

    actions: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    return sorted(actions, key=lambda action: str(action["path"]))  # the log's order isn't stable


def _data_file(root: Path, action: Mapping[str, Any], where: str) -> DataFile:
    import pyarrow.parquet as pq

    path = root / unquote(action["path"])
    try:
        footer = pq.read_metadata(path)
    except FileNotFoundError as error:
        raise InputMissingError(
            f"{path} is in the Delta log but not on disk",
            where=where,
            remedy="restore it, or write the training set again: `cauce featurize --force`",
        ) from error
    rows = tuple(footer.row_group(index).num_rows for index in range(footer.num_row_groups))
    if sum(rows) != action["num_records"]:
        raise ConfigError(
            f"{path} holds {sum(rows)} rows, the Delta log says {action['num_records']}",
            where=where,
            remedy="write the training set again: `cauce featurize --force`",
        )
    return DataFile(str(path), action[f"partition.{SPLIT_COLUMN}"], rows)
