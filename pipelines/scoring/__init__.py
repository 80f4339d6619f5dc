"""Scores of any registered model, and the rows they become in a predictions table."""

from pipelines.scoring.predictions import PredictionStamp, decision_threshold, predictions_to_write
from pipelines.scoring.score import score_rows

__all__ = ["PredictionStamp", "decision_threshold", "predictions_to_write", "score_rows"]
