"""How ranks agree: the few collectives that the training loop needs."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn


class Strategy(Protocol):
    """Collectives over all ranks; each is called by every rank, in the same order."""

    def broadcast(self, model: nn.Module) -> None:
        """Give every rank the parameters and buffers of rank 0, in place."""

    def add_up(self, values: Tensor) -> None:
        """Replace a contiguous tensor by its sum over ranks, in place."""

    def join_rows(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """All ranks' rows, [rows, columns], in the order of ranks; a rank may have none."""


__all__ = ["Strategy"]
