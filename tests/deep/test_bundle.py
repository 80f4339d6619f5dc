"""A bundle on disk: what it predicts, and what it refuses to load."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import torch
from safetensors.torch import save

from pipelines.deep import load_bundle, pack_bundle, unpack_bundle
from pipelines.deep.bundle import save_bundle
from pipelines.deep.models import ResNet
from pipelines.errors import ConfigError, InputMissingError

D_IN = 3  # amount, items and the mask of amount
CARDINALITIES = [5]


def write_bundle(folder: Path, encoder, task: str = "binary") -> None:
    params = {"width": 8, "blocks": 1, "dropout": 0.5, "d_in": D_IN, "cardinalities": CARDINALITIES}
    torch.manual_seed(3)
    manifest = {
        "kind": "torch.resnet",
        "params": params,
        "encoder": encoder,
        "task": task,
        "label": "late",
        "label_scale": {"mean": 100.0, "std": 20.0},
        "inputs": ["amount", "items", "shop"],
    }
    save_bundle(folder, manifest, save(ResNet(**params).state_dict()))


def test_predictions_do_not_depend_on_batches(orders: Path, encoder, tmp_path: Path):
    write_bundle(tmp_path / "net", encoder)
    bundle = load_bundle(tmp_path / "net")
    rows = ds.dataset(orders, partitioning="hive").to_table()

    probability = bundle.predict(rows)

    assert probability.dtype == np.float64
    assert probability.shape == (1601,)
    assert ((probability > 0) & (probability < 1)).all()
    parts = [bundle.predict(batch) for batch in rows.to_batches(max_chunksize=97)]
    assert np.allclose(np.concatenate(parts), probability, atol=1e-6)
    assert bundle.predict(rows.slice(0, 0)).shape == (0,)
    assert set(bundle.columns) == {"amount", "items", "shop"}


def test_regression_gives_values_of_the_label(encoder, tmp_path: Path):
    rows = pa.table({"amount": [1.0, None], "items": [3, 4], "shop": ["s1", None]})
    write_bundle(tmp_path / "logit", encoder)
    write_bundle(tmp_path / "value", encoder, task="regression")

    probability = load_bundle(tmp_path / "logit").predict(rows)
    value = load_bundle(tmp_path / "value").predict(rows)

    assert value == pytest.approx(np.log(probability / (1 - probability)) * 20 + 100)


def test_a_missing_column_is_named(encoder, tmp_path: Path):
    write_bundle(tmp_path / "net", encoder)
    with pytest.raises(ConfigError, match="the rows lack the column 'items', 'shop'"):
        load_bundle(tmp_path / "net").predict(pa.table({"amount": [1.0]}))


def test_packed_for_executors_and_built_once(encoder, tmp_path: Path):
    write_bundle(tmp_path / "net", encoder)

    packed = pack_bundle(tmp_path / "net")

    assert unpack_bundle(packed) is unpack_bundle(pickle.loads(pickle.dumps(packed)))  # noqa: S301
    assert json.loads(packed.manifest)["versions"]["torch"] == torch.__version__


def test_a_bundle_replaces_an_earlier_one_whole(encoder, tmp_path: Path):
    write_bundle(tmp_path / "net", encoder)
    (tmp_path / "net" / "stray").write_text("old")
    write_bundle(tmp_path / "net", encoder, task="regression")

    assert sorted(p.name for p in (tmp_path / "net").iterdir()) == [
        "bundle.json",
        "weights.safetensors",
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["net"]


class Hostile:
    def __init__(self, folder: Path):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_a_hostile_pickle_is_not_loaded(encoder, tmp_path: Path):
    write_bundle(tmp_path / "net", encoder)
    evil = pickle.dumps(Hostile(tmp_path / "was-here"))
    (tmp_path / "net" / "weights.safetensors").write_bytes(evil)

    with pytest.raises(InputMissingError, match="weights of this network can't be used"):
        load_bundle(tmp_path / "net")
    assert not (tmp_path / "was-here").exists()


def test_wrong_and_missing_weights(encoder, tmp_path: Path):
    write_bundle(tmp_path / "net", encoder)
    packed = pack_bundle(tmp_path / "net")
    with pytest.raises(InputMissingError, match="SHA-256 isn't the one"):
        unpack_bundle(packed._replace(weights=packed.weights + b" "))
    with pytest.raises(InputMissingError, match="no trained network here"):
        load_bundle(tmp_path / "none")
