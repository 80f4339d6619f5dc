"""Who a rank is and how it says what it does: facts that are passed in, never looked up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class World:
    """One rank's place among all ranks.

    Attributes:
        rank: Number of this rank, from 0.
        world_size: Number of ranks.
        threads: Threads that this rank's arithmetic may use.
    """

    rank: int
    world_size: int
    threads: int


class Progress(Protocol):
    """Called by a rank with what it is about to do.

    A rank that waits for others has said so, hence the one that made the fewest calls is the one
    the others wait for.
    """

    def __call__(self, doing: str) -> None:
        """Take note of a phase such as `epoch 2 step 17`."""


def silent(doing: str) -> None:
    """Progress that nobody watches."""
