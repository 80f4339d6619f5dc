"""A trained network on disk: `weights.safetensors` and `bundle.json`, all that scoring needs."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from safetensors import SafetensorError
from safetensors.torch import load

from pipelines.deep.inputs import NetworkInput
from pipelines.deep.models import ResNet
from pipelines.errors import InputMissingError

_SCHEMA_VERSION = 1
_MANIFEST = "bundle.json"
_WEIGHTS = "weights.safetensors"
_CHUNK_ROWS = 8192


class PackedBundle(NamedTuple):
    """A bundle's two files, to be broadcast to executors that don't see its folder."""

    manifest: str
    weights: bytes


@dataclass(frozen=True)
class Bundle:
    """A network ready to predict.

    Attributes:
        manifest: Content of `bundle.json`: kind, params, encoder, task, label, scale, inputs.
    """

    manifest: Mapping[str, Any]
    _inputs: NetworkInput
    _model: ResNet

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that `predict` reads; others are ignored."""
        return self._inputs.columns

    def predict(self, rows: pa.Table | pa.RecordBatch) -> npt.NDArray[np.float64]:
        """Probability of the label (binary) or its value (regression), shape [rows].

        Nulls and unknown categories are what the encoder makes of them.

        Raises:
            ConfigError: A column is missing.
        """
        numeric, codes = self._inputs.encode(rows)
        with torch.inference_mode():
            parts = [
                self._model(numeric[:, begin : begin + _CHUNK_ROWS].T, code.T).double()
                for begin in range(0, numeric.shape[1], _CHUNK_ROWS)
                for code in (codes[:, begin : begin + _CHUNK_ROWS],)
            ]
        output = torch.cat(parts) if parts else torch.empty(0, dtype=torch.float64)
        if self.manifest["task"] == "binary":
            return torch.sigmoid(output).numpy()
        scale = self.manifest["label_scale"]
        values: npt.NDArray[np.float64] = output.numpy() * scale["std"] + scale["mean"]
        return values


def save_bundle(folder: Path, manifest: Mapping[str, Any], weights: bytes) -> None:
    """Write a bundle beside its place and move it there, so that it is whole or absent.

    Args:
        folder: Its place; an earlier bundle there is replaced.
        manifest: kind, params, encoder, task, label, label_scale, inputs.
        weights: safetensors.
    """
    text = json.dumps(
        {
            "schema_version": _SCHEMA_VERSION,
            **manifest,
            "weights_sha256": hashlib.sha256(weights).hexdigest(),
            "versions": {name: version(name) for name in ("torch", "numpy", "safetensors")},
        },
        indent=2,
        sort_keys=True,
    )
    staged = folder.with_name(f".{folder.name}.staged")
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    (staged / _WEIGHTS).write_bytes(weights)
    (staged / _MANIFEST).write_text(text + "\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    staged.rename(folder)


def pack_bundle(folder: Path) -> PackedBundle:
    """Read a bundle's files.

    Raises:
        InputMissingError: There is no bundle in this folder.
    """
    try:
        return PackedBundle(
            (folder / _MANIFEST).read_text(encoding="utf-8"), (folder / _WEIGHTS).read_bytes()
        )
    except FileNotFoundError as error:
        raise InputMissingError(
            "there is no trained network here", where=str(folder), remedy="run `cauce train`"
        ) from error


def load_bundle(folder: Path) -> Bundle:
    """Load the network of a folder.

    Raises:
        InputMissingError: There is none, or its weights aren't the ones it was written with.
    """
    return unpack_bundle(pack_bundle(folder))


@lru_cache(maxsize=4)
def unpack_bundle(packed: PackedBundle) -> Bundle:
    """Build the network once a process; nothing is ever unpickled.

    Raises:
        InputMissingError: The weights aren't the ones the bundle was written with.
    """
    manifest = json.loads(packed.manifest)
    inputs = NetworkInput(manifest["encoder"])
    model = ResNet(**manifest["params"])
    try:
        if hashlib.sha256(packed.weights).hexdigest() != manifest["weights_sha256"]:
            raise SafetensorError("their SHA-256 isn't the one in the manifest")
        model.load_state_dict(load(packed.weights))
    except (SafetensorError, RuntimeError) as error:
        raise InputMissingError(
            f"the weights of this network can't be used: {error}",
            where=_WEIGHTS,
            remedy="train again: `cauce train --force`",
        ) from error
    return Bundle(manifest, inputs, model.eval())
