"""Versioned model folders of a training set, and the pointer to its champion."""

from pipelines.registry.card import ModelCard
from pipelines.registry.versions import ModelRegistry, RegisteredModel

__all__ = ["ModelCard", "ModelRegistry", "RegisteredModel"]
