"""Evidence beside the run report, one JSON file a kind, that only the HTML page shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipelines.errors import InputMissingError
from pipelines.report.model import write_text_atomic

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class _Evidence(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        from_attributes=True,
        use_attribute_docstrings=True,
    )


class Champion(_Evidence):
    """The model that won, and the metric it was chosen by."""

    model: str
    metric: str


class SetAside(_Evidence):
    """Records that left the flow for one reason."""

    table: str
    kind: Literal["rejected", "quarantined", "duplicate", "excluded"]
    reason: str
    rows: Count


class Coverage(_Evidence):
    """How much of a feature there is."""

    feature: str
    kind: str
    share: Share | None
    """Share of rows with a value; null without rows."""


class Epoch(_Evidence):
    """One pass of a network over the training part."""

    epoch: int
    train_loss: float | None = None
    validation_loss: float | None = None
    validation_metric: float | None = None


class ModelCurves(_Evidence):
    """Curves of one model on the test part."""

    roc: list[tuple[float, float]]
    """False positive rate, true positive rate."""
    pr: list[tuple[float, float]]
    """Recall, precision."""
    calibration: list[tuple[float, float, float]]
    """Mean score, share of positives, rows."""
    base_rate: Share


class DriftEvidence(_Evidence):
    """Drift of one input from training to test."""

    feature: str
    kind: str
    psi: float | None
    reference_rows: Count
    current_rows: Count
    null_share_reference: Share | None
    null_share_current: Share | None
    level: Literal["ok", "warn", "alert", "not_evaluated"]


class ReportExtras(_Evidence):
    """All evidence of a run; what no step left behind is empty, and absent from the page."""

    champion: Champion | None = None
    set_aside: list[SetAside] = []
    coverage: list[Coverage] = []
    learning: dict[str, list[Epoch]] = {}
    """Network → its epochs."""
    curves: dict[str, ModelCurves] = {}
    """Model → its curves."""
    importance: dict[str, dict[str, float]] = {}
    """Model → feature → importance."""
    drift: list[DriftEvidence] = []

    @classmethod
    def load(cls, folder: Path) -> ReportExtras:
        """Reads what is there of `champion.json`, `set_aside.json`, `coverage.json` and so on.

        Raises:
            InputMissingError: A file is no evidence of its kind.
        """
        found = {}
        for name in cls.model_fields:
            path = folder / f"{name}.json"
            if path.is_file():
                found[name] = _read(path, name)
        return cls(**found)


def write_evidence(folder: Path, name: str, value: Any) -> Path:
    """Checks and writes one kind of evidence as `<name>.json`, atomically; returns its path.

    Args:
        folder: The run's folder of evidence, made where it is missing.
        name: A field of `ReportExtras`.
        value: What the field holds: plain lists and dictionaries, or objects with its attributes.

    Raises:
        pydantic.ValidationError: The value is no evidence of this kind.
    """
    checked = ReportExtras.model_validate({name: value}).model_dump(mode="json")[name]
    text = json.dumps(checked, indent=1, ensure_ascii=False, allow_nan=False)
    path = folder / f"{name}.json"
    write_text_atomic(path, text + "\n")
    return path


def _read(path: Path, name: str) -> Any:
    try:
        return getattr(ReportExtras.model_validate({name: json.loads(path.read_bytes())}), name)
    except (json.JSONDecodeError, ValidationError) as error:
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            cause = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        else:
            cause = f"no JSON: {error.msg}"
        raise InputMissingError(
            f"not evidence of {name}: {cause}",
            where=str(path),
            remedy="run the step that writes it again: cauce run --force",
        ) from None
