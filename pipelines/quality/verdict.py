"""Owns what a rule says about a table: three values, counts, words, and the gate they add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_SAMPLES = 3
MAX_SAMPLE_CHARS = 100

Severity = Literal["fail", "warn"]
Outcome = Literal["pass", "fail", "warn", "not_evaluated", "error"]


@dataclass(frozen=True)
class Verdict:
    """What one rule found on one candidate table.

    Attributes:
        table: Source whose clean table is judged.
        rule: Name of the rule; an expectation of a suite is `suite.name`.
        severity: What this outcome means for publishing. For `not_evaluated` it is the rule's
            `not_evaluated` setting.
        verdict: `pass`; `fail` or `warn` by severity; `not_evaluated` where there was nothing to
            look at; `error` where the rule could not run.
        evaluated: Values looked at (nulls are not, but for rules about nulls); None where the rule
            looks at one figure.
        failed: Values that broke the rule; None as above.
        observed: What was found, for people.
        allowed: What is allowed, for people.
        origin: File and line that declare the rule.
        samples: At most three failing values, as column → value; no other columns of their rows.
    """

    table: str
    rule: str
    severity: Severity
    verdict: Outcome
    evaluated: int | None
    failed: int | None
    observed: str
    allowed: str
    origin: str
    samples: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class GateContext:
    """What the rules of a table need to know beside the table.

    Attributes:
        batch_rows: Rows of the batch that row rules looked at.
        quarantined_rows: Rows of the batch that row rules set aside.
        reference: Gives the clean table of another source, for foreign keys. It may raise
            InputMissingError: the rule is then not evaluated.
        suite_folder: Folder that the paths of suites are relative to.
        origin: Dotted key → file and line, such as `base.yaml:27`.
    """

    batch_rows: int
    quarantined_rows: int
    reference: Callable[[str], DataFrame]
    suite_folder: Path
    origin: Callable[[str], str]


def gate_passed(verdicts: Iterable[Verdict]) -> bool:
    """Whether the table may be published.

    It may not if a rule of severity `fail` failed, could not run, or, by its own setting, had
    nothing to look at.
    """
    return all(v.verdict == "pass" or v.severity == "warn" for v in verdicts)


def outcome(passed: bool, severity: Severity) -> Outcome:
    """`pass`, or what breaking a rule of this severity is called."""
    return "pass" if passed else severity


def share_text(failed: int, evaluated: int) -> str:
    """A share with its counts: `3.4 % (1,034/30,412)`.

    Examples:
        >>> share_text(1034, 30412)
        '3.4 % (1,034/30,412)'
    """
    return f"{percent(failed / evaluated)} ({failed:,}/{evaluated:,})"


def percent(share: float) -> str:
    """A share in per cent with three digits at most.

    Examples:
        >>> percent(0.01), percent(0.0340), percent(1.0), percent(0.0000123)
        ('1 %', '3.4 %', '100 %', '0.00123 %')
    """
    return f"{float(f'{share * 100:.3g}'):.10f}".rstrip("0").rstrip(".") + " %"


def cause(error: Exception) -> str:
    """Why a rule could not run: kind and condition, never the message, which may hold data."""
    condition = getattr(error, "getCondition", lambda: None)()
    name = type(error).__name__
    return f"{name}: {condition}" if condition else name


def sample(column: str, value: Any) -> dict[str, Any]:
    """One failing value as something JSON can hold, its text cut short."""
    plain = value if value is None or isinstance(value, bool | int) else str(value)
    return {column: plain[:MAX_SAMPLE_CHARS] if isinstance(plain, str) else plain}
