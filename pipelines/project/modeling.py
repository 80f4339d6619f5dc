"""The `models`, `evaluate`, `gates`, `score` and `monitor` sections."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_core import InitErrorDetails

from pipelines.project.types import Name, Strict, unknown_word

Metric = Literal["roc_auc", "pr_auc", "log_loss", "brier", "rmse", "mae", "r2"]


class NoParams(Strict):
    """A model without parameters."""


class LinearParams(Strict):
    """Parameters of MLlib's logistic and linear regression."""

    reg: Annotated[float, Field(ge=0)] = 0.001
    """Strength of the regularisation."""
    elastic_net: Annotated[float, Field(ge=0, le=1)] = 0.0
    """0 is ridge, 1 is lasso."""
    max_iter: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Most iterations of the solver."""


class TreeParams(Strict):
    """Parameters of MLlib's gradient-boosted trees."""

    trees: Annotated[int, Field(ge=1, le=1_000)] = 40
    """Number of trees."""
    depth: Annotated[int, Field(ge=1, le=15)] = 5
    """Depth of a tree."""
    step: Annotated[float, Field(gt=0, le=1)] = 0.2
    """Learning rate."""
    subsample: Annotated[float, Field(gt=0, le=1)] = 0.7
    """Share of rows a tree sees."""
    features: Annotated[float, Field(gt=0, le=1)] = 0.3
    """Share of features a node may split on."""
    bins: Annotated[int, Field(ge=2, le=1_024)] = 64
    """Bins of a number."""


class ResNetParams(Strict):
    """Parameters of the ResNet-style network for tables (Gorishniy et al. 2021, section 3.2)."""

    width: Annotated[int, Field(ge=8, le=4_096)] = 256
    """Width of the residual stream."""
    blocks: Annotated[int, Field(ge=1, le=32)] = 3
    """Number of residual blocks."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Dropout inside a block."""


MODEL_KINDS: dict[str, type[Strict]] = {
    "baseline.prior": NoParams,
    "baseline.mean": NoParams,
    "mllib.logistic_regression": LinearParams,
    "mllib.linear_regression": LinearParams,
    "mllib.gbt": TreeParams,
    "mllib.gbt_regression": TreeParams,
    "torch.resnet": ResNetParams,
}


class DeepTraining(Strict):
    """How a network is trained."""

    backend: Literal["horovod", "single"] = "horovod"
    """`horovod`: ranks of a Spark barrier stage; `single`: one rank in the driver."""
    workers: Annotated[int, Field(ge=1, le=64)] = 2
    """Number of ranks."""
    global_batch_rows: Annotated[int, Field(ge=8, le=1_048_576)] = 2_048
    """Rows of a step over all ranks."""
    epochs: Annotated[int, Field(ge=1, le=1_000)] = 12
    """Most passes over the training part."""
    optimizer: Literal["adamw"] = "adamw"
    """Optimiser."""
    lr: Annotated[float, Field(gt=0, lt=10)] = 0.002
    """Highest learning rate, for the global batch."""
    weight_decay: Annotated[float, Field(ge=0, lt=1)] = 0.0001
    """Decoupled weight decay."""

    @model_validator(mode="after")
    def _single_is_one(self) -> DeepTraining:
        if self.backend == "single" and self.workers != 1:
            raise ValueError("backend single needs workers: 1")
        return self


class EarlyStopping(Strict):
    """When training ends before its last epoch."""

    metric: Literal["roc_auc", "loss"] = "roc_auc"
    """Metric on the validation part."""
    patience: Annotated[int, Field(ge=1, le=100)] = 2
    """Epochs without a better value before training ends; the best epoch's weights are kept."""


class Model(Strict):
    """One candidate of the board."""

    kind: str
    """Which estimator (`cauce model ls`)."""
    params: dict[str, Any] = Field(default={})
    """Parameters of the estimator."""
    train: DeepTraining | None = None
    """Training of a network."""
    early_stopping: EarlyStopping | None = None
    """Early stopping of a network."""

    @field_validator("kind")
    @classmethod
    def _known_kind(cls, kind: str) -> str:
        if kind not in MODEL_KINDS:
            raise ValueError(f"{unknown_word('model', kind, MODEL_KINDS, most=2)} (cauce model ls)")
        return kind

    @model_validator(mode="after")
    def _params_fit(self) -> Model:
        try:
            self.settings()
        except ValidationError as error:
            raise ValidationError.from_exception_data(
                "params", [_under_params(item) for item in error.errors()]
            ) from None
        if self.is_deep == (self.train is None):
            raise ValueError(
                "needs train: {backend, workers, …}" if self.is_deep else "only networks have train"
            )
        return self

    @property
    def is_deep(self) -> bool:
        """True for a network, which is trained by ranks rather than by MLlib."""
        return self.kind.startswith("torch.")

    def settings(self) -> Any:
        """The parameters with their defaults, as the section's own type."""
        return MODEL_KINDS[self.kind].model_validate(self.params, strict=True)


def _under_params(item: Any) -> InitErrorDetails:
    return InitErrorDetails(
        type=item["type"],
        loc=("params", *item["loc"]),
        input=item["input"],
        ctx=item.get("ctx", {}),
    )


class Interval(Strict):
    """Confidence intervals by resampling blocks of rows."""

    level: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Level of the interval."""
    bootstrap: Annotated[int, Field(ge=100, le=100_000)] = 1_000
    """Number of resamples."""
    resample: Literal["day"] = "day"
    """Blocks that are drawn; rows of a day are not independent."""


class Evaluate(Strict):
    """How models are compared."""

    primary: Metric = "roc_auc"
    """Metric the champion is chosen by, on validation."""
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)] = (
        "roc_auc",
        "pr_auc",
        "log_loss",
        "brier",
    )
    """Metrics of the board."""
    interval: Interval = Interval()
    """Intervals of the metrics."""

    @model_validator(mode="after")
    def _primary_is_measured(self) -> Evaluate:
        if self.primary not in self.metrics:
            raise ValueError(f"primary {self.primary} must be one of metrics")
        return self


class ChampionGate(Strict):
    """What the best model must reach before it may score."""

    baseline: Name
    """Model of the board it must beat."""
    min: dict[Metric, float] = Field(default={})
    """Metric → lowest allowed value on the test part (highest, for losses)."""
    margin: Annotated[float, Field(ge=0)] = 0.0
    """How much better than the baseline it must be in the primary metric."""
    max_calibration_error: Annotated[float, Field(gt=0, le=1)] | None = None
    """Highest expected calibration error on the test part."""


class Gates(Strict):
    """Gates that end a run with 65."""

    champion: ChampionGate | None = None
    """The model gate."""


class ScoreRows(Strict):
    """Which rows are scored."""

    split: Literal["validation", "test"] | None = "test"
    """A part of the training set."""


class Decide(Strict):
    """Costs that set the threshold of a decision."""

    cost_false_alarm: Annotated[float, Field(gt=0)]
    """Cost of acting on a row whose label turns out false."""
    cost_missed: Annotated[float, Field(gt=0)]
    """Cost of not acting on a row whose label turns out true."""


class Score(Strict):
    """How a training set's champion scores."""

    rows: ScoreRows = ScoreRows()
    """Rows to score."""
    decide: Decide | None = None
    """Costs of wrong decisions; adds the column `decision`."""


class Drift(Strict):
    """Comparison of input distributions."""

    reference: Literal["train"] = "train"
    """Part the test part is compared with."""
    metric: Literal["psi"] = "psi"
    """Population stability index over ten bins."""
    warn: Annotated[float, Field(gt=0)] = 0.1
    """From this value on a warning."""
    alert: Annotated[float, Field(gt=0)] = 0.25
    """From this value on an alert."""


class Monitor(Strict):
    """What is watched."""

    drift: Drift = Drift()
    """Drift of the inputs."""
