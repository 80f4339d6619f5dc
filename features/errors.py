"""The error that a feature definition or a column's type raises."""

from __future__ import annotations


class FeatureError(ValueError):
    """A feature cannot be computed as defined: what was found, and what is allowed."""
