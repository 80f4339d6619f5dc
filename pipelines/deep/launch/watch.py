"""Ranks tell the driver what they do, so that a silent one has a name and a time limit."""

from __future__ import annotations

import json
import secrets
import socket
import socketserver
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple

from pipelines import errors

_BEAT_S = 0.5
_CONNECT_TIMEOUT_S = 10.0
_START_LIMIT_S = 90.0


class WatchAddress(NamedTuple):
    """Where a rank reports to; the token keeps strangers out."""

    host: str
    port: int
    token: str


@dataclass
class _Seen:
    """What the driver last heard of a rank."""

    calls: int = 0
    doing: str = "starting"
    moved_at: float = 0.0
    heard_at: float = 0.0
    finished: bool = False

    def limit(self, limit_s: float) -> float:
        """Longest silence: a rank that starts may have to import torch from a cold disk."""
        return limit_s if self.calls else max(limit_s, _START_LIMIT_S)


class Watch:
    """The driver's side: a server that notes each rank's progress and its first error.

    Args:
        host: Address of the driver that ranks can reach.
        num_ranks: Number of ranks that are expected.
    """

    def __init__(self, host: str, num_ranks: int):
        now = time.monotonic()
        self._seen = [_Seen(moved_at=now, heard_at=now) for _ in range(num_ranks)]
        self._errors: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        token = secrets.token_hex(16)
        watch = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                if self.rfile.readline(256).decode(errors="replace").strip() == token:
                    for line in self.rfile:
                        watch._note(json.loads(line))

        self._server = socketserver.ThreadingTCPServer((host, 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.address = WatchAddress(host, self._server.server_address[1], token)
        threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True).start()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def stalled(self, limit_s: float) -> str | None:
        """The rank that the others wait for, once any has made no progress for `limit_s`."""
        now = time.monotonic()
        with self._lock:
            running = [(rank, seen) for rank, seen in enumerate(self._seen) if not seen.finished]
            if not any(now - seen.moved_at > seen.limit(limit_s) for _, seen in running):
                return None
            rank, seen = min(running, key=lambda item: (item[1].calls, item[1].heard_at))
            return f"rank {rank} ({seen.doing})"

    def last_doing(self, rank: int) -> str:
        """What a rank last said it was about to do."""
        with self._lock:
            return self._seen[rank].doing

    def first_error(self) -> errors.CauceError | None:
        """The first error that a rank reported, as the class it had there."""
        with self._lock:
            if not self._errors:
                return None
            reported = self._errors[0]
        kind = getattr(errors, str(reported["class"]), errors.CauceError)
        error: errors.CauceError = kind(
            f"rank {reported['rank']}: {reported['message']}",
            where=reported["where"],
            remedy=reported["remedy"],
        )
        return error

    def _note(self, line: dict[str, Any]) -> None:
        now = time.monotonic()
        with self._lock:
            if "class" in line:
                self._errors.append(line)
                return
            seen = self._seen[line["rank"]]
            if line["calls"] != seen.calls:
                seen.moved_at = now
            seen.heard_at, seen.calls, seen.doing = now, line["calls"], line["doing"]
            seen.finished = line["finished"]


class WatchedProgress:
    """A rank's side: counts its phases, and a thread sends the count while the rank works.

    Args:
        address: Where to.
        rank: Number of this rank.
    """

    def __init__(self, address: WatchAddress, rank: int):
        self._rank = rank
        self._calls = 0
        self._doing = "starting"
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._socket = socket.create_connection((address.host, address.port), _CONNECT_TIMEOUT_S)
        self._socket.sendall(f"{address.token}\n".encode())
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._thread.start()

    def __call__(self, doing: str) -> None:
        """Take note of a phase; costs no system call."""
        self._doing = doing
        self._calls += 1

    def __enter__(self) -> WatchedProgress:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        if error is None:
            self._say(finished=True)
        else:
            self._send(self._describe(error))
        self._socket.close()

    def _describe(self, error: BaseException) -> dict[str, object]:
        known = isinstance(error, errors.CauceError)
        return {
            "rank": self._rank,
            "class": type(error).__name__ if known else "CauceError",
            "message": str(error) if known else f"{type(error).__name__}: {error}",
            "where": getattr(error, "where", None) or self._doing,
            "remedy": getattr(error, "remedy", None),
        }

    def _beat(self) -> None:
        self._say()
        while not self._ended.wait(_BEAT_S):
            self._say()

    def _say(self, finished: bool = False) -> None:
        self._send(
            {
                "rank": self._rank,
                "calls": self._calls,
                "doing": self._doing,
                "finished": finished,
            }
        )

    def _send(self, line: dict[str, object]) -> None:
        with self._lock:
            try:
                self._socket.sendall(json.dumps(line).encode() + b"\n")
            except OSError:  # the driver is gone, and Spark ends this task
                self._ended.set()
