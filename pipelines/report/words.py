"""How figures read on the page: counts, shares, durations, sizes, metrics."""

from __future__ import annotations

from datetime import datetime

ABSENT = "–"
# Between a figure and its unit, so that a line never breaks there.
SPACE = "\u00a0"
_SMALL_SHARE = 0.001
_SHORT_S, _MINUTE_S, _HOUR_S = 10, 60, 3_600
_THOUSAND = 1_000
METRIC_NAMES = {
    "roc_auc": "ROC AUC",
    "pr_auc": "PR AUC",
    "log_loss": "Log loss",
    "brier": "Brier score",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "calibration_error": "Calibration error",
}
LOWER_IS_BETTER = frozenset({"log_loss", "brier", "rmse", "mae", "calibration_error"})
STATUS_WORDS = {"not_run": "not run", "not_evaluated": "not evaluated", "warned": "with warnings"}


def count(value: float | None) -> str:
    """Whole numbers with thousands separators.

    >>> count(377772), count(None)
    ('377,772', '–')
    """
    return ABSENT if value is None else f"{value:,.0f}"


def share(value: float | None) -> str:
    """A share as per cent.

    >>> [share(v).replace(SPACE, " ") for v in (0.9996, 0.034, 1.0, 0.00002)]
    ['> 99.9 %', '3.4 %', '100 %', '< 0.1 %']
    """
    if value is None:
        return ABSENT
    if 0 < value < _SMALL_SHARE:
        return f"< 0.1{SPACE}%"
    if 1 - _SMALL_SHARE < value < 1:
        return f"> 99.9{SPACE}%"
    return f"{100 * value:.1f}".removesuffix(".0") + SPACE + "%"


def number(value: float | None) -> str:
    """A metric or statistic with three decimals, or four significant digits from 100 on.

    >>> number(0.7568), number(1234.56), number(-0.0001), number(None)
    ('0.757', '1,235', '0.000', '–')
    """
    if value is None:
        return ABSENT
    for limit, decimals in ((1_000, 0), (100, 1)):
        if abs(value) >= limit:
            return f"{value:,.{decimals}f}"
    return f"{value:.3f}".replace("-0.000", "0.000")


def duration(seconds: float | None) -> str:
    """Seconds as a person says them.

    >>> [duration(v).replace(SPACE, " ") for v in (0.42, 41.6, 170, 4_000)]
    ['0.4 s', '42 s', '2 min 50 s', '1 h 6 min']
    """
    if seconds is None:
        return ABSENT
    whole = round(seconds)
    if whole < _SHORT_S:
        return f"{seconds:.1f}{SPACE}s"
    if whole < _MINUTE_S:
        return f"{whole}{SPACE}s"
    if whole < _HOUR_S:
        return f"{whole // _MINUTE_S}{SPACE}min {whole % _MINUTE_S}{SPACE}s"
    return f"{whole // _HOUR_S}{SPACE}h {whole % _HOUR_S // _MINUTE_S}{SPACE}min"


def size(num_bytes: float | None) -> str:
    """Bytes in the unit that fits.

    >>> [size(v).replace(SPACE, " ") for v in (512, 2_500_000)]
    ['512 B', '2.5 MB']
    """
    if num_bytes is None:
        return ABSENT
    for unit in ("B", "kB", "MB", "GB"):
        if num_bytes < _THOUSAND:
            return f"{num_bytes:.3g}{SPACE}{unit}"
        num_bytes /= _THOUSAND
    return f"{num_bytes:,.1f}{SPACE}TB"


def instant(text: str | None) -> str:
    """RFC 3339 text without its punctuation: `30 November 2026, 10:15 UTC`."""
    if text is None:
        return ABSENT
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def seconds_between(start: str, end: str | None) -> float | None:
    """Seconds from one RFC 3339 text to another; None while there is no end."""
    if end is None:
        return None
    first, last = (datetime.fromisoformat(text.replace("Z", "+00:00")) for text in (start, end))
    return (last - first).total_seconds()


def metric(name: str) -> str:
    """The usual name of a metric."""
    return METRIC_NAMES.get(name, name)


def feature(name: str) -> str:
    """A feature's name with its parts set apart.

    >>> feature("delays__origin__delay_min__mean_3h")
    'delays · origin · delay_min · mean_3h'
    """
    return name.replace("__", " · ")


def word(value: str) -> str:
    """A status or verdict as words.

    >>> word("not_evaluated"), word("pass")
    ('not evaluated', 'pass')
    """
    return STATUS_WORDS.get(value, value)
