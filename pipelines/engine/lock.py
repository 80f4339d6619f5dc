"""One run at a time for a lake: a lock that the operating system takes back when its owner dies."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.errors import ConfigError, TemporaryError


@contextmanager
def locked(lake: str, run_id: str) -> Iterator[None]:
    """Holds the lake's lock; object stores have none, there the scheduler keeps runs apart.

    Raises:
        TemporaryError: Another run holds it.
        ConfigError: The lake cannot be written to.
    """
    if "://" in lake:
        yield
        return
    path = Path(lake) / "ops" / "lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigError(
            f"the lake cannot be written to: {error.strerror}",
            where=lake,
            remedy="Fix: set project.lake to another folder, or let this user write there",
        ) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.pread(handle, 200, 0).decode(errors="replace") or "another run"
        os.close(handle)
        raise TemporaryError(
            f"the lake is in use by {owner}",
            where=lake,
            remedy="Fix: wait until it ends, then run the same command again",
        ) from None
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"run {run_id}, process {os.getpid()}".encode(), 0)
        yield
    finally:
        os.ftruncate(handle, 0)
        os.close(handle)
