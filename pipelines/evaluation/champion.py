"""Which model wins, chosen on validation, and whether it may score, judged on test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from pipelines.errors import DataGateError
from pipelines.evaluation.evaluate import LOWER_IS_BETTER, Evaluation
from pipelines.project.modeling import ChampionGate


@dataclass(frozen=True)
class GateResult:
    """The verdict of the champion gate and each check's words, as found and allowed."""

    name: str
    verdict: Literal["pass", "fail", "not_evaluated"]
    reasons: list[str]


@dataclass(frozen=True)
class _Check:
    text: str
    passed: bool | None
    """None where there was nothing to look at."""


def choose_champion(evaluation: Evaluation, primary: str) -> str:
    """The model with the best primary metric on validation; of equals, the first by name.

    Raises:
        DataGateError: No model has the metric there.
    """
    found = {
        result.model: result.metrics[primary].value
        for result in evaluation.results
        if result.split == "validation"
    }
    usable = {model: value for model, value in found.items() if value is not None}
    if not usable:
        raise DataGateError(
            f"no champion: {primary} could not be evaluated on validation for any of "
            f"{', '.join(sorted(found)) or 'no model'}; it needs rows of both classes",
            where="evaluate.primary",
            remedy="widen the validation part in split, or choose another primary metric",
        )
    sign = 1 if primary in LOWER_IS_BETTER else -1
    return min(usable, key=lambda model: (sign * usable[model], model))


def check_champion_gate(
    evaluation: Evaluation, champion: str, primary: str, gate: ChampionGate
) -> GateResult:
    """Judges the champion on the test part: lowest metrics, lead over the baseline, calibration.

    The verdict is `fail` if one check fails, else `not_evaluated` if one had nothing to look at.

    Raises:
        DataGateError: The champion or the baseline was not evaluated on the test part.
    """
    checks = [*_check_limits(evaluation, champion, gate)]
    checks.append(_check_lead(evaluation, champion, primary, gate))
    if gate.max_calibration_error is not None:
        error = evaluation.of(champion, "test").calibration_error
        checks.append(_limit("calibration error", error, gate.max_calibration_error, lower=True))
    outcomes = [check.passed for check in checks]
    verdict: Literal["pass", "fail", "not_evaluated"] = "pass"
    if False in outcomes:
        verdict = "fail"
    elif None in outcomes:
        verdict = "not_evaluated"
    words = {True: "pass", False: "fail", None: "not evaluated"}
    return GateResult(
        "champion", verdict, [f"{words[check.passed]}: {check.text}" for check in checks]
    )


def _check_limits(evaluation: Evaluation, champion: str, gate: ChampionGate) -> Iterator[_Check]:
    metrics = evaluation.of(champion, "test").metrics
    for metric, limit in gate.min.items():
        value = metrics[metric].value if metric in metrics else None
        yield _limit(f"{champion} {metric}", value, limit, lower=metric in LOWER_IS_BETTER)


def _limit(what: str, value: float | None, limit: float, *, lower: bool) -> _Check:
    allowed = f"allowed at {'most' if lower else 'least'} {limit:g}"
    if value is None:
        return _Check(f"{what} on test not measured, {allowed}", None)
    passed = value <= limit if lower else value >= limit
    return _Check(f"{what} on test {value:.4f}, {allowed}", passed)


def _check_lead(evaluation: Evaluation, champion: str, primary: str, gate: ChampionGate) -> _Check:
    what = f"lead of {champion} over {gate.baseline} in {primary} on test"
    allowed = f"allowed at least {gate.margin:g}" if gate.margin else "allowed more than 0"
    best = evaluation.of(champion, "test").metrics[primary].value
    base = evaluation.of(gate.baseline, "test").metrics[primary].value
    if best is None or base is None:
        return _Check(f"{what} not measured, {allowed}", None)
    lead = base - best if primary in LOWER_IS_BETTER else best - base
    return _Check(f"{what} {lead:.4f}, {allowed}", lead > 0 and lead >= gate.margin)
