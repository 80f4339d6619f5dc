"""Decides, from one seed, which flights are delivered wrongly, how, and where each line must end.

Every disturbed flight has one kind of mess only, so the truth about its key is one sentence:

| kind               | what is delivered                              | the line must end in      |
|--------------------|------------------------------------------------|---------------------------|
| `repeated_in_file` | the same line twice in one file                | duplicates (one of them)  |
| `repeated_later`   | the same line again in the next delivery       | duplicates (one of them)  |
| `superseded`       | wrong delays first, the right ones next time   | duplicates (the first)    |
| `text_in_number`   | text where a number is due                     | rejected                  |
| `cut_line`         | a line that ends early                         | rejected                  |
| `distance_range`   | a distance no flight has                       | quarantine                |
| `dep_delay_range`  | a departure delay no flight has                | quarantine                |
| `correction`       | the right line of one of the five kinds above  | clean                     |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.demo_data.read import NULL_MARKER

EXPECTED = {  # kind -> (destination, reason code)
    "repeated_in_file": ("duplicates", "duplicate"),
    "repeated_later": ("duplicates", "duplicate"),
    "superseded": ("duplicates", "superseded"),
    "text_in_number": ("rejected", "bad_value"),
    "cut_line": ("rejected", "cut_row"),
    "distance_range": ("quarantine", "distance_range"),
    "dep_delay_range": ("quarantine", "dep_delay_range"),
    "correction": ("clean", None),
}
Rows = NDArray[np.int64]  # positions of flights

NUM_UNITS = 5  # repeated in file, repeated later, superseded, broken, impossible
_TEXTS = np.array(["n/a", "abc", "12O", "1 400", "--", "#REF!"])
_NUMBER_COLUMNS = np.array(["distance", "dep_delay", "arr_delay", "arr_time", "minute"])
_DISTANCES = np.array(["0", "-1", "-187", "99999"])  # miles
_DEP_DELAYS = np.array(["5000", "-500", "99999"])  # minutes


@dataclass(frozen=True)
class Mess:
    """The lines that are not just one flight in its month, and the months with other columns.

    Attributes:
        lines: One row a disturbed or additional line: `row` (position of the flight), `kind`,
            `is_extra` (a line more, else in place of the flight's own), `delay` (0: its month's
            delivery, 1: the next), `column` and `value` (what replaces the true value, null if
            nothing does), `column_2` and `value_2` (the same), `cut` (share of the line that is
            left, null if whole), `ever_valid` (whether any delivery has the flight's true line).
        reordered_month: Its columns stand in another order; None if the months are clean.
        extra_column_month: Its file has one column more, `gate`; None likewise.
    """

    lines: pd.DataFrame
    reordered_month: str | None
    extra_column_month: str | None


def plan_mess(flights: pd.DataFrame, months: pd.Index, share: float, seed: int) -> Mess:
    """Draws the mess for `share` of the flights, a fifth of them each kind of mess.

    Args:
        flights: One row a flight, all text, as `read_flights` gives them.
        months: The months (`YYYYMM`) in which flights are delivered, in order.
        share: Share of the flights that is disturbed, 0 for none.
        seed: The same seed draws the same mess.
    """
    num_each = round(share * len(flights) / NUM_UNITS)
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(len(flights))
    has_arrived = (flights["arr_delay"] != NULL_MARKER).to_numpy()[drawn]
    arrived, others = drawn[has_arrived], drawn[~has_arrived]
    superseded, broken, impossible, arrived = np.split(arrived, num_each * np.arange(1, 4))
    repeated = rng.permutation(np.concatenate([arrived, others]))[: 2 * num_each]
    lines = pd.concat(
        [
            _repeat(repeated[:num_each], "repeated_in_file", delay=0),
            _repeat(repeated[num_each:], "repeated_later", delay=1),
            _supersede(flights, superseded, rng),
            _break_lines(broken, rng),
            _make_impossible(impossible, rng),
        ],
        ignore_index=True,
    )
    odd_months: list[str] = list(rng.permutation(months)) if share else []
    reordered_month, extra_column_month = [*odd_months, None, None][:2]
    return Mess(lines, reordered_month, extra_column_month)


def _repeat(rows: Rows, kind: str, *, delay: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"row": rows, "kind": kind, "is_extra": True, "delay": delay, "ever_valid": True}
    )


def _supersede(flights: pd.DataFrame, rows: Rows, rng: np.random.Generator) -> pd.DataFrame:
    # The first estimate left a little earlier, so that it still arrives after it departs.
    true = flights[["dep_delay", "arr_delay"]].iloc[rows].astype(int)
    arr_error = rng.integers(5, 61, len(rows)) * rng.choice([-1, 1], len(rows))
    wrong = pd.DataFrame(
        {
            "row": rows,
            "kind": "superseded",
            "column": "dep_delay",
            "value": (true["dep_delay"].to_numpy() - rng.integers(1, 16, len(rows))).astype(str),
            "column_2": "arr_delay",
            "value_2": (true["arr_delay"].to_numpy() + arr_error).astype(str),
        }
    )
    return _with_corrections(wrong, is_corrected=np.full(len(rows), True))


def _break_lines(rows: Rows, rng: np.random.Generator) -> pd.DataFrame:
    order = np.arange(len(rows))
    is_cut = order % 2 == 1
    wrong = pd.DataFrame(
        {
            "row": rows,
            "kind": np.where(is_cut, "cut_line", "text_in_number"),
            "column": rng.choice(_NUMBER_COLUMNS, len(rows)),
            "value": rng.choice(_TEXTS, len(rows)),
            "cut": rng.uniform(0.25, 1.0, len(rows)),
        }
    )
    wrong.loc[is_cut, ["column", "value"]] = None
    wrong.loc[~is_cut, "cut"] = np.nan
    return _with_corrections(wrong, is_corrected=order // 2 % 2 == 0)


def _make_impossible(rows: Rows, rng: np.random.Generator) -> pd.DataFrame:
    order = np.arange(len(rows))
    is_delay = order % 2 == 1
    delays, distances = rng.choice(_DEP_DELAYS, len(rows)), rng.choice(_DISTANCES, len(rows))
    wrong = pd.DataFrame(
        {
            "row": rows,
            "kind": np.where(is_delay, "dep_delay_range", "distance_range"),
            "column": np.where(is_delay, "dep_delay", "distance"),
            "value": np.where(is_delay, delays, distances),
        }
    )
    return _with_corrections(wrong, is_corrected=order // 2 % 2 == 0)


def _with_corrections(wrong: pd.DataFrame, *, is_corrected: NDArray[np.bool_]) -> pd.DataFrame:
    wrong = wrong.assign(is_extra=False, delay=0, ever_valid=is_corrected)
    right = wrong.loc[is_corrected, ["row", "ever_valid"]]
    return pd.concat([wrong, right.assign(kind="correction", is_extra=True, delay=1)])
