"""Networks for tables; torch is all they know."""

from pipelines.deep.models.resnet import ResNet

__all__ = ["ResNet"]
