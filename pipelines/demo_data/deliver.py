"""Lays flights and their mess out as the lines of each delivery, and says the truth about them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pipelines.demo_data.mess import EXPECTED, Mess
from pipelines.demo_data.read import FLIGHT_KEY


def place_lines(flights: pd.DataFrame, month_number: NDArray[np.int64], mess: Mess) -> pd.DataFrame:
    """One row a delivered line, in order: the month's own lines first, then what was sent again."""
    in_place = mess.lines[~mess.lines["is_extra"]].set_index("row")
    own = in_place.reindex(np.arange(len(flights))).rename_axis("row").reset_index()
    own = own.assign(delay=0, is_extra=False)
    extra = mess.lines[mess.lines["is_extra"]]
    lines = pd.concat([own, extra], ignore_index=True) if len(extra) else own
    lines["delivery"] = month_number[lines["row"]] + lines["delay"]
    lines = lines.sort_values(["delivery", "is_extra", "delay", "row"], ignore_index=True)
    return lines.assign(record=lines.groupby("delivery").cumcount())


def name_deliveries(months: pd.Index, num_deliveries: int) -> list[str]:
    """A month is delivered on the 3rd of the next; what the last one corrects, a month later."""
    covered = [*months, months[-1]][:num_deliveries]
    ends = pd.PeriodIndex([f"{month[:4]}-{month[4:]}" for month in covered], freq="M") + 1
    delivered = [*ends[: len(months)], *(ends[len(months) :] + 1)]
    return [
        f"flights_{month}_{end.strftime('%Y%m')}03.csv"
        for month, end in zip(covered, delivered, strict=True)
    ]


def render_deliveries(
    flights: pd.DataFrame, lines: pd.DataFrame, mess: Mess, months: pd.Index, seed: int
) -> Iterator[tuple[int, str, list[str]]]:
    """Yields each delivery's number, header and data lines (text without line ends)."""
    rng = np.random.default_rng([seed, 1])
    reordered = list(rng.permutation(flights.columns))
    for delivery, part in lines.groupby("delivery"):
        number = int(str(delivery))
        rows = flights.iloc[part["row"]].reset_index(drop=True)
        for column, value in (("column", "value"), ("column_2", "value_2")):
            for name, changed in part.reset_index(drop=True).groupby(column):
                rows.loc[changed.index, str(name)] = changed[value].to_numpy()
        month = months[number] if number < len(months) else None
        if month is not None and month == mess.reordered_month:
            rows = rows[reordered]
        if month is not None and month == mess.extra_column_month:
            letters = rng.choice(list("ABCD"), len(rows)).astype(object)
            gates = letters + rng.integers(1, 40, len(rows)).astype(str)
            rows.insert(rows.columns.get_loc("dest"), "gate", gates)
        header, *text = rows.to_csv(index=False, lineterminator="\n").splitlines()
        for record, share_left in part.set_index("record")["cut"].dropna().items():
            line = text[int(str(record))]
            text[int(str(record))] = line[: int(share_left * line.rindex(","))]
        yield number, header, text


def write_truth(path: Path, flights: pd.DataFrame, lines: pd.DataFrame, names: list[str]) -> None:
    """Writes the truth as JSON lines: one object a line that is not just a flight in its month.

    Fields: `file` and `record` (0-based data record in it), `kind`, `expected` destination,
    `reason` code, the key, and `ever_valid`: whether any delivery holds a valid line of the key.
    """
    disturbed = lines[lines["kind"].notna()].reset_index(drop=True)
    keys = flights[FLIGHT_KEY].iloc[disturbed["row"]].reset_index(drop=True)
    keys["flight"] = keys["flight"].astype(int)
    truth = pd.DataFrame(
        {
            "file": disturbed["delivery"].map(lambda number: f"flights/{names[number]}"),
            "record": disturbed["record"],
            "kind": disturbed["kind"],
            "expected": disturbed["kind"].map(lambda kind: EXPECTED[kind][0]),
            "reason": disturbed["kind"].map(lambda kind: EXPECTED[kind][1]),
            **keys,
            "ever_valid": disturbed["ever_valid"].astype(bool),
        }
    )
    text = truth.to_json(orient="records", lines=True) if len(truth) else ""
    path.write_text(text.replace("\\/", "/"), encoding="utf-8")
