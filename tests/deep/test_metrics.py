"""ROC AUC and RMSE against scikit-learn and on the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from pipelines.deep.metrics import rmse, roc_auc


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=2, max_size=60))
def test_area_equals_scikit_learn_with_ties(rows: list[tuple[bool, int]]):
    labels, scores = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    if len(set(labels)) == 1:
        assert roc_auc(labels, scores) is None
        return
    assert roc_auc(labels, scores) == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)


def test_area_does_not_depend_on_the_order_of_rows():
    random = np.random.RandomState(0)
    labels, scores = (random.rand(5000) < 0.3).astype(float), random.randint(0, 90, 5000) / 7
    order = random.permutation(5000)

    assert roc_auc(labels, scores) == roc_auc(labels[order], scores[order])


def test_rmse_literal_and_empty():
    assert rmse(np.array([1.0, 2.0]), np.array([4.0, 6.0])) == pytest.approx(12.5**0.5)
    assert rmse(np.array([]), np.array([])) is None
