"""Finding a source's files: names, sizes, hashes, headers, and what is wrong with a whole file."""

from __future__ import annotations

import csv
import fnmatch
import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from pipelines.errors import ConfigError, InputMissingError
from pipelines.project.sources import Files

_CHUNK_BYTES = 4 << 20
_HEAD_BYTES = 1 << 20
_THREADS = 8
_COMPRESSED = (".gz", ".bz2", ".zst")
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"(\xb5/\xfd": "zstd",
    b"PAR1": "Parquet",
    b"PK\x03\x04": "zip",
}


@dataclass(frozen=True)
class FoundFile:
    """One file of a source.

    Args:
        path: Relative to the project's home where it lies below it, else as found.
        uri: Where it is read from.
        size: Bytes.
        mtime_ns: Modification time, only ever used to notice a change.
        sha256: Hash of the bytes; empty until `inspect` has read them.
        header: Column names in file order, for CSV and Parquet.
        types: Column types in file order, for Parquet.
        delivered_at: Instant of the delivery.
        cause: Why the file is set aside whole, or None.
    """

    path: str
    uri: str
    size: int
    mtime_ns: int
    delivered_at: datetime
    sha256: str = ""
    header: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    cause: str | None = None


def find_files(files: Files, home: Path, zone: ZoneInfo, now: datetime) -> list[FoundFile]:
    """Lists a source's files by name, without reading them.

    Args:
        files: The source's `files` section.
        home: Folder that relative paths start from.
        zone: Zone in which a date in a file's name begins.
        now: Delivery instant of files whose section has no `delivered_at`.

    Raises:
        InputMissingError: Nothing matches the path.
        ConfigError: A file's name does not fit `delivered_at.from_name`.
    """
    store, root, pattern = _store(files.path, home)
    base = root + re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[0] or "/"
    selected = store.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    is_plain = not any(c in pattern for c in "*?[")
    single = store.get_file_info([root + pattern]) if is_plain else []
    depth = pattern.count("/")  # a star does not reach into folders
    found = [
        info
        for info in (single or selected)
        if info.type == fs.FileType.File
        and info.path.startswith(root)
        and info.path.count("/", len(root)) == depth
        and fnmatch.fnmatchcase(info.path[len(root) :], pattern)
    ]
    if not found:
        raise InputMissingError(
            "no file matches the source's path", where=files.path, remedy="Fix: check files.path"
        )
    result = []
    for info in sorted(found, key=lambda info: info.path):
        local = isinstance(store, fs.LocalFileSystem)
        path = Path(info.path)
        name = str(path.relative_to(home)) if local and path.is_relative_to(home) else info.path
        result.append(
            FoundFile(
                path=name,
                uri=info.path if local else files.path.partition("://")[0] + "://" + info.path,
                size=info.size,
                mtime_ns=info.mtime_ns or 0,
                delivered_at=_delivered_at(files, path.name, zone, now),
            )
        )
    return result


def inspect(found: list[FoundFile], files: Files, home: Path) -> list[FoundFile]:
    """Reads each file once: hash, header, and whether it is whole and what it claims to be."""
    store, _, _ = _store(files.path, home)
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(lambda one: _inspect(one, files, store), found))


def _inspect(found: FoundFile, files: Files, store: fs.FileSystem) -> FoundFile:
    path = found.uri.partition("://")[2] or found.uri
    digest = hashlib.sha256()
    with store.open_input_stream(path, compression=None) as stream:
        head = b""
        for chunk in _chunks(stream):
            head = head or chunk[:_HEAD_BYTES]
            digest.update(chunk)
    found = replace(found, sha256=digest.hexdigest())
    if not head:
        return replace(found, cause="empty file")
    try:
        if files.format == "parquet":
            with store.open_input_file(path) as opened:
                schema = pq.read_schema(opened)
            types = tuple(str(kind) for kind in schema.types)
            return replace(found, header=tuple(schema.names), types=types)
        if path.endswith(_COMPRESSED):
            head = _decompress(store, path)
        else:
            kind = next((name for magic, name in _MAGIC.items() if head.startswith(magic)), None)
            if kind:
                return replace(found, cause=f"holds {kind} data, not {files.format}")
        if files.format == "json":
            ok = head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{")
            return found if ok else replace(found, cause="does not start with a JSON object")
        return replace(found, header=_csv_header(head, files))
    except (OSError, EOFError, zlib.error, pa.ArrowException, UnicodeDecodeError) as error:
        return replace(found, cause=f"cannot be read to its end: {str(error).splitlines()[0]}")


def _chunks(stream: IO[bytes] | Any) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK_BYTES):
        yield chunk


def _decompress(store: fs.FileSystem, path: str) -> bytes:
    """Decompresses to the end, so that a cut file is noticed, and gives the beginning."""
    head = b""
    with store.open_input_stream(path, compression="detect") as stream:
        for chunk in _chunks(stream):
            head = head or chunk[:_HEAD_BYTES]
    return head


def _csv_header(head: bytes, files: Files) -> tuple[str, ...]:
    text = head.decode({"UTF-8": "utf-8-sig"}.get(files.encoding, files.encoding), errors="replace")
    return tuple(next(csv.reader(text.splitlines(), delimiter=files.separator), ()))


def _delivered_at(files: Files, name: str, zone: ZoneInfo, now: datetime) -> datetime:
    if files.delivered_at is None:
        return now
    match = re.search(files.delivered_at.from_name, name)
    try:
        if match is None:
            raise ValueError
        day = datetime.strptime(match[1], "%Y%m%d").replace(tzinfo=zone)
    except ValueError:
        raise ConfigError(
            f"the name `{name}` has no date as delivered_at.from_name asks for "
            f"({files.delivered_at.from_name}, YYYYMMDD)",
            where=files.path,
        ) from None
    return day.astimezone(UTC)


def _store(path: str, home: Path) -> tuple[fs.FileSystem, str, str]:
    """Where a pattern is looked for: the store, a folder taken literally, the pattern in it."""
    if "://" in path:
        store, inner = fs.FileSystem.from_uri(path)
        return store, "", str(inner)
    if Path(path).is_absolute():
        return fs.LocalFileSystem(), "", os.path.normpath(path)
    return fs.LocalFileSystem(), f"{home}/", os.path.normpath(path)
