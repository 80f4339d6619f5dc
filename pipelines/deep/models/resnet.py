"""A ResNet for tables (Gorishniy et al. 2021, arXiv:2106.11959, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class ResNet(nn.Module):
    """Numbers and embedded categories, a linear layer, residual blocks, one logit or value a row.

    LayerNorm stands where the paper has BatchNorm: batch statistics would depend on how rows are
    spread over ranks. Numbers pass through asinh, which leaves small ones alone and keeps the long
    tails of delays and counts from swamping the rest.

    Args:
        d_in: Number of numeric columns.
        cardinalities: Number of codes of each categorical column.
        width: Width of the residual stream.
        blocks: Number of residual blocks.
        dropout: Dropout inside a block.

    Shape:
        numeric: [rows, d_in], float32, any strides.
        codes: [rows, len(cardinalities)], int64, each in [0, cardinality).
        Returns [rows], float32. Zero rows are fine.

    Example:
        >>> net = ResNet(d_in=2, cardinalities=[3], width=8, blocks=1, dropout=0.0)
        >>> net(torch.zeros(5, 2), torch.zeros(5, 1, dtype=torch.int64)).shape
        torch.Size([5])
    """

    def __init__(
        self,
        *,
        d_in: int,
        cardinalities: Sequence[int],
        width: int,
        blocks: int,
        dropout: float,
    ):
        super().__init__()
        _check_positive(d_in=d_in + len(cardinalities), width=width, blocks=blocks)
        _check_positive(**{f"cardinalities[{i}]": n for i, n in enumerate(cardinalities)})
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is a share in [0, 1), however: {dropout=}")
        self.embeddings = nn.ModuleList(
            nn.Embedding(cardinality, embedding_width(cardinality)) for cardinality in cardinalities
        )
        d_embedded = sum(embedding_width(cardinality) for cardinality in cardinalities)
        self.first = nn.Linear(d_in + d_embedded, width)
        self.blocks = nn.ModuleList(Block(width, dropout) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1)

    def forward(self, numeric: Tensor, codes: Tensor) -> Tensor:
        """One logit (or standardised value) a row."""
        embedded = [embedding(codes[:, column]) for column, embedding in enumerate(self.embeddings)]
        hidden = self.first(torch.cat([torch.asinh(numeric), *embedded], dim=1))
        for block in self.blocks:
            hidden = block(hidden)
        value: Tensor = self.head(torch.relu(self.norm(hidden)))
        return value.squeeze(1)


class Block(nn.Module):
    """`x + linear(dropout(relu(linear(norm(x)))))`, twice as wide inside.

    The paper's second dropout, on the residual, is left out: masks cost a fifth of a step on CPUs.

    Shape: [rows, width] → [rows, width], float32.
    """

    def __init__(self, width: int, dropout: float):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, 2 * width)
        self.outer = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor) -> Tensor:
        """The residual step."""
        inner = self.dropout(torch.relu(self.inner(self.norm(hidden))))
        step: Tensor = self.outer(inner)
        return hidden + step


def embedding_width(cardinality: int) -> int:
    """Width of a column's embedding: grows slowly with its number of codes, at most 24.

    >>> [embedding_width(n) for n in (1, 2, 16, 100, 4000)]
    [1, 2, 8, 20, 24]
    """
    return min(24, max(1, round(2 * cardinality**0.5) if cardinality > 1 else 1), cardinality)


def _check_positive(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name} must be positive, however: {name}={size}")
