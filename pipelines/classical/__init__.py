"""Spark MLlib's models and the baselines behind one small table of kinds."""

from pipelines.classical.estimators import ESTIMATORS, fit, fit_classical
from pipelines.classical.frame import TrainingFrame, prepare
from pipelines.classical.model import SCORE, ClassicalModel, load_classical

__all__ = [
    "ESTIMATORS",
    "SCORE",
    "ClassicalModel",
    "TrainingFrame",
    "fit",
    "fit_classical",
    "load_classical",
    "prepare",
]
