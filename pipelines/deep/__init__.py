"""Networks on PyTorch: trained by ranks on Spark from a training set's own files."""

from pipelines.deep.bundle import Bundle, PackedBundle, load_bundle, pack_bundle, unpack_bundle
from pipelines.deep.spec import Epoch, TrainResult, TrainSpec
from pipelines.deep.train import train_network

__all__ = [
    "Bundle",
    "Epoch",
    "PackedBundle",
    "TrainResult",
    "TrainSpec",
    "load_bundle",
    "pack_bundle",
    "train_network",
    "unpack_bundle",
]
