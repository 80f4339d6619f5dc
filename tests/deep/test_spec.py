"""What a spec refuses, and that it travels."""

from __future__ import annotations

import pytest

from pipelines.deep import TrainSpec
from pipelines.errors import ConfigError


def spec(**changes) -> TrainSpec:
    values = {"table": "t", "version": 0, "label": "late", "task": "binary", "encoder": {}}
    return TrainSpec(**{**values, "output": "o", **changes})


def test_travels_as_json():
    assert TrainSpec.from_json(spec(lr=0.1).to_json()) == spec(lr=0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "torch.mlp"}, "kind is one of torch.resnet, not 'torch.mlp'"),
        ({"task": "ranking"}, "task is one of binary, regression, not 'ranking'"),
        ({"backend": "ddp"}, "backend is one of horovod, single, not 'ddp'"),
        ({"task": "regression"}, "roc_auc needs a binary label, the task is regression"),
        ({"backend": "single"}, "backend single has one worker, not 2"),
        ({"workers": 17}, "workers is between 1 and 16, not 17"),
        ({"global_batch_rows": 8}, "global_batch_rows is 16 or more, not 8"),
    ],
)
def test_refusals(changes, message):
    with pytest.raises(ConfigError, match=message):
        spec(**changes)
