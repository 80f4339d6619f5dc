"""The champion and its gate, on literal results."""

import pytest

from pipelines.errors import DataGateError
from pipelines.evaluation.bootstrap import Measured
from pipelines.evaluation.champion import check_champion_gate, choose_champion
from pipelines.evaluation.evaluate import Evaluation, ModelResult
from pipelines.project.modeling import ChampionGate


def make_evaluation(**values: tuple[float | None, float | None]) -> Evaluation:
    """Model → (validation, test) value of every metric; the calibration error is .02."""
    return Evaluation(
        tuple(
            ModelResult(
                model=model,
                split=split,
                rows=10,
                days=5,
                metrics={
                    name: Measured(value, None, None) for name in ("roc_auc", "log_loss", "rmse")
                },
                calibration_error=0.02,
            )
            for model, pair in values.items()
            for split, value in zip(("validation", "test"), pair, strict=True)
        )
    )


def test_the_champion_is_chosen_on_validation():
    evaluation = make_evaluation(net=(0.7, 0.9), trees=(0.8, 0.6), prior=(None, None))
    assert choose_champion(evaluation, "roc_auc") == "trees"


def test_losses_are_better_when_lower_and_equals_go_by_name():
    assert choose_champion(make_evaluation(b=(0.5, 1.0), a=(0.6, 0.1)), "log_loss") == "b"
    assert choose_champion(make_evaluation(b=(0.5, 1.0), a=(0.5, 1.0)), "log_loss") == "a"
    assert choose_champion(make_evaluation(b=(0.5, 1.0), a=(0.5, 1.0)), "roc_auc") == "a"


def test_no_champion_without_the_metric():
    with pytest.raises(DataGateError, match="roc_auc could not be evaluated on validation for any"):
        choose_champion(make_evaluation(a=(None, 0.7)), "roc_auc")


def test_a_good_champion_passes_and_says_what_was_found():
    gate = ChampionGate(
        baseline="prior", min={"roc_auc": 0.74}, margin=0.002, max_calibration_error=0.03
    )
    evaluation = make_evaluation(trees=(0.76, 0.757), prior=(0.5, 0.5))
    result = check_champion_gate(evaluation, "trees", "roc_auc", gate)
    assert result.verdict == "pass"
    assert result.reasons == [
        "pass: trees roc_auc on test 0.7570, allowed at least 0.74",
        "pass: lead of trees over prior in roc_auc on test 0.2570, allowed at least 0.002",
        "pass: calibration error on test 0.0200, allowed at most 0.03",
    ]


@pytest.mark.parametrize(
    ("gate", "test_values", "verdict", "reason"),
    [
        (
            {"min": {"roc_auc": 0.8}},
            (0.757, 0.5),
            "fail",
            "fail: trees roc_auc on test 0.7570, allowed at least 0.8",
        ),
        (
            {"min": {"log_loss": 0.5}},
            (0.757, 0.5),
            "fail",
            "fail: trees log_loss on test 0.7570, allowed at most 0.5",
        ),
        (
            {"margin": 0.3},
            (0.757, 0.5),
            "fail",
            "fail: lead of trees over prior in roc_auc on test 0.2570, allowed at least 0.3",
        ),
        (
            {},
            (0.5, 0.5),
            "fail",
            "fail: lead of trees over prior in roc_auc on test 0.0000, allowed more than 0",
        ),
        (
            {"max_calibration_error": 0.01},
            (0.757, 0.5),
            "fail",
            "fail: calibration error on test 0.0200, allowed at most 0.01",
        ),
        (
            {"min": {"roc_auc": 0.7}},
            (None, 0.5),
            "not_evaluated",
            "not evaluated: trees roc_auc on test not measured, allowed at least 0.7",
        ),
        (
            {"min": {"pr_auc": 0.5}},
            (0.757, 0.5),
            "not_evaluated",
            "not evaluated: trees pr_auc on test not measured, allowed at least 0.5",
        ),
        (
            {"min": {"pr_auc": 0.5, "roc_auc": 0.8}},
            (0.757, 0.5),
            "fail",
            "not evaluated: trees pr_auc on test not measured, allowed at least 0.5",
        ),
    ],
)
def test_each_check_of_the_gate(gate, test_values, verdict, reason):
    trees, prior = test_values
    evaluation = make_evaluation(trees=(0.76, trees), prior=(0.5, prior))
    result = check_champion_gate(
        evaluation, "trees", "roc_auc", ChampionGate(baseline="prior", **gate)
    )
    assert result.verdict == verdict
    assert reason in result.reasons


def test_the_baseline_itself_beats_nobody():
    evaluation = make_evaluation(prior=(0.5, 0.5))
    result = check_champion_gate(evaluation, "prior", "roc_auc", ChampionGate(baseline="prior"))
    assert result.verdict == "fail"


def test_a_loss_leads_when_it_is_lower():
    evaluation = make_evaluation(a=(0.4, 0.4), prior=(0.6, 0.6))
    gate = ChampionGate(baseline="prior", margin=0.1)
    assert check_champion_gate(evaluation, "a", "log_loss", gate).verdict == "pass"
