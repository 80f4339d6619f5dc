"""How much each feature counts in a fitted model, as shares that sum to 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def sum_by_feature(names: Sequence[str], weights: npt.ArrayLike) -> dict[str, float]:
    """Shares of the features, largest first.

    Args:
        names: The feature of each vector position; a feature may have several.
        weights: Non-negative weight of each position.

    >>> sum_by_feature(["height", "colour", "colour"], [2.0, 1.0, 1.0])
    {'colour': 0.5, 'height': 0.5}
    """
    values = np.asarray(weights, dtype=np.float64)
    total = float(values.sum()) or 1.0
    shares = dict.fromkeys(names, 0.0)
    for name, value in zip(names, values, strict=True):
        shares[name] += float(value) / total
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))
