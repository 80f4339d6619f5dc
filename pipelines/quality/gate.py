"""Runs every table rule of a source on what its clean table would become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pipelines.quality.run_suite import judge_suite
from pipelines.quality.table_rules import judge_budget, judge_columns
from pipelines.quality.verdict import GateContext, Verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pipelines.project.sources import TableRule


def evaluate_table_rules(
    table: str, rules: Mapping[str, TableRule], frame: DataFrame, context: GateContext
) -> list[Verdict]:
    """Verdicts of all table rules of a source, in declared order; nothing stays cached.

    Args:
        table: Name of the source.
        rules: Name of the rule → rule, as in `table_rules`.
        frame: The rows that clean would hold if the batch were published.
        context: Counts of the batch, other tables, places.

    Returns:
        One verdict a rule, and one an expectation of a suite. A rule that raises is an `error` by
        name; the others keep their results.
    """
    on_columns = {
        name: rule
        for name, rule in rules.items()
        if rule.max_quarantined is None and rule.great_expectations is None
    }
    judged = judge_columns(table, on_columns, frame, context)
    verdicts: list[Verdict] = []
    for name, rule in rules.items():
        if rule.max_quarantined is not None:
            verdicts.append(judge_budget(table, name, rule, context))
        elif rule.great_expectations is not None:
            verdicts += judge_suite(table, name, rule, frame, context)
        else:
            verdicts.append(judged[name])
    return verdicts
