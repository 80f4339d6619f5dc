"""The network's contract: shapes, empty batches, strides, what it refuses."""

from __future__ import annotations

import pytest
import torch

from pipelines.deep.models import ResNet


def net(**changes) -> ResNet:
    choices = {"d_in": 3, "cardinalities": [4, 2], "width": 8, "blocks": 2, "dropout": 0.0}
    torch.manual_seed(0)
    return ResNet(**{**choices, **changes})


def test_one_logit_a_row_also_for_none():
    for rows in (0, 1, 7):
        codes = torch.zeros(rows, 2, dtype=torch.int64)
        assert net()(torch.randn(rows, 3), codes).shape == (rows,)


def test_a_batch_without_rows_gives_zero_gradients():
    model = net()
    model(torch.zeros(0, 3), torch.zeros(0, 2, dtype=torch.int64)).sum().backward()

    assert all(p.grad is not None and not p.grad.any() for p in model.parameters())


def test_any_strides_and_any_neighbours_give_the_same_row():
    model, numeric = net(), torch.randn(6, 3)
    codes = torch.tensor([[0, 1], [3, 0], [1, 1], [2, 0], [0, 0], [3, 1]])
    whole = model(numeric, codes)

    assert torch.allclose(model(numeric.T.contiguous().T, codes.T.contiguous().T), whole, atol=1e-6)
    assert torch.allclose(model(numeric[2:3], codes[2:3]), whole[2:3], atol=1e-6)


def test_numbers_only_and_categories_only():
    assert net(cardinalities=[])(torch.randn(2, 3), torch.zeros(2, 0, dtype=torch.int64)).shape
    assert net(d_in=0)(torch.zeros(2, 0), torch.zeros(2, 2, dtype=torch.int64)).shape


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_in": 0, "cardinalities": []}, "d_in must be positive, however: d_in=0"),
        ({"width": 0}, "width must be positive, however: width=0"),
        ({"cardinalities": [4, 0]}, r"cardinalities\[1\]=0"),
        ({"dropout": 1.0}, r"a share in \[0, 1\), however: dropout=1.0"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ValueError, match=message):
        net(**changes)
