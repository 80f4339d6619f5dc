"""The strategy of Horovod: its collectives between ranks that called `hvd.init()`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn


class HorovodStrategy:
    """Collectives of `horovod.torch`, which the caller has initialised."""

    def __init__(self) -> None:
        import horovod.torch as hvd

        self._hvd: Any = hvd

    def broadcast(self, model: nn.Module) -> None:
        """Give every rank the parameters and buffers of rank 0, in place."""
        self._hvd.broadcast_parameters(model.state_dict(), root_rank=0)

    def add_up(self, values: Tensor) -> None:
        """Replace a contiguous tensor by its sum over ranks, in place."""
        self._hvd.allreduce_(values, op=self._hvd.Sum, name="add_up")

    def join_rows(self, rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """All ranks' rows, [rows, columns], in the order of ranks; a rank may have none."""
        joined: npt.NDArray[np.float64] = self._hvd.allgather(
            torch.from_numpy(rows), name="join_rows"
        ).numpy()
        return joined
