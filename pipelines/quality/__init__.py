"""Guards a clean table before it is published: table rules, suites, verdicts of three values."""

from pipelines.quality.gate import evaluate_table_rules
from pipelines.quality.suite import check_suite
from pipelines.quality.verdict import GateContext, Verdict, gate_passed

__all__ = ["GateContext", "Verdict", "check_suite", "evaluate_table_rules", "gate_passed"]
