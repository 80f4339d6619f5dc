"""Training sets: what to predict for, what was known then, and which part each row belongs to."""

from __future__ import annotations

from pipelines.training_sets.assemble import (
    FeatureColumn,
    TrainingSetPlan,
    arrange_for_training,
    build_training_set,
)
from pipelines.training_sets.spine import SpineCounts

__all__ = [
    "FeatureColumn",
    "SpineCounts",
    "TrainingSetPlan",
    "arrange_for_training",
    "build_training_set",
]
