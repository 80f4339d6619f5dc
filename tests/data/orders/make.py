"""Makes the data of the project `orders` from one seed, and says what must become of it.

`python tests/data/orders/make.py` writes `data/` and `expected.json` beside this file.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd

SEED = 7
NUM_ORDERS = 1200
NUM_CUSTOMERS = 60
ZONE = "Europe/Madrid"
FIRST_DAY, NUM_DAYS = pd.Timestamp("2024-01-01", tz=ZONE), 130
DELIVERIES = pd.DatetimeIndex(["2024-02-15", "2024-04-01", "2024-06-01"]).tz_localize(ZONE)
NOTES = np.array(["", "leave it, please", 'say "hola"', "ring twice\nthen wait", "señal ñ €"])


def make_customers(rng: np.random.Generator) -> pd.DataFrame:
    """One row a customer, some without region or distance; one stands there twice, once emptier."""
    customers = pd.DataFrame(
        {
            "customer_id": np.arange(1, NUM_CUSTOMERS + 1),
            "name": [f"Zoë Núñez {number}" for number in range(1, NUM_CUSTOMERS + 1)],
            "region": rng.choice(["coast", "hills", "islands"], NUM_CUSTOMERS),
            "distance_km": rng.uniform(1, 400, NUM_CUSTOMERS).round(1),
            "is_member": rng.random(NUM_CUSTOMERS) < 0.5,
        }
    )
    customers.loc[[4, 17], "region"] = None
    customers.loc[[8, 17], "distance_km"] = np.nan
    emptier = customers.iloc[[0]].assign(name=None, region=None)
    return pd.concat([customers, emptier], ignore_index=True)


def make_orders(rng: np.random.Generator, customers: pd.DataFrame) -> pd.DataFrame:
    """One row an order, as it was in the end; a customer in fifty is unknown."""
    placed_s = np.sort(rng.integers(0, NUM_DAYS * 86_400, NUM_ORDERS))
    customer = rng.integers(0, NUM_CUSTOMERS, NUM_ORDERS)
    shop = rng.choice(["north", "south", "web"], NUM_ORDERS)
    amount = rng.lognormal(3.5, 0.8, NUM_ORDERS).round(2)
    km = customers["distance_km"].fillna(200).to_numpy()[customer]
    island = (customers["region"] == "islands").to_numpy()[customer]
    days = (
        1
        + km / 150
        + 2.5 * island
        + np.where(shop == "web", 1.5, 0)
        + amount / 200
        + rng.gamma(2, 0.3, NUM_ORDERS)
    ).clip(0.2, 11.5)
    placed = (FIRST_DAY + pd.to_timedelta(placed_s, unit="s")).floor("s")
    orders = pd.DataFrame(
        {
            "order_id": np.arange(1001, 1001 + NUM_ORDERS),
            "customer_id": np.where(rng.random(NUM_ORDERS) < 0.02, 999, customer + 1),
            "shop": shop,
            "amount": amount,
            "placed_at": placed,
            "received_at": (placed + pd.to_timedelta(days, unit="D")).floor("s"),
            "note": rng.choice(NOTES, NUM_ORDERS),
        }
    )
    orders.loc[rng.random(NUM_ORDERS) < 0.02, "received_at"] = pd.NaT  # never came
    orders.loc[rng.random(NUM_ORDERS) < 0.01, "amount"] = np.nan
    taken = orders["received_at"] - orders["placed_at"]
    return orders.assign(days_to_deliver=(taken / pd.Timedelta(days=1)).round(3))


def make_deliveries(orders: pd.DataFrame) -> list[pd.DataFrame]:
    """What was known at each delivery: the new orders, and again those that were open before."""
    deliveries, since = [], FIRST_DAY
    was_open = pd.Series(data=False, index=orders.index)
    for until in DELIVERIES:
        is_new = (orders["placed_at"] >= since) & (orders["placed_at"] < until)
        delivery = orders[is_new | was_open].copy()
        is_open = ~(delivery["received_at"] < until)
        delivery.loc[is_open, ["received_at", "days_to_deliver"]] = None
        was_open = is_open.reindex(orders.index, fill_value=False)
        deliveries.append(as_text(delivery))
        since = until
    return deliveries


def as_text(orders: pd.DataFrame) -> pd.DataFrame:
    """Every value as it stands in a CSV file; wall time without an offset; null is empty."""
    text = orders.assign(
        amount=orders["amount"].map("{:.2f}".format, na_action="ignore"),
        placed_at=orders["placed_at"].dt.strftime("%Y-%m-%d %H:%M:%S"),
        received_at=orders["received_at"].dt.strftime("%Y-%m-%d %H:%M:%S"),
    )
    columns = ["order_id", "customer_id", "shop", "amount", "placed_at", "received_at"]
    return text[[*columns, "days_to_deliver", "note"]].astype(object)


def add_mess(deliveries: list[pd.DataFrame]) -> dict[str, int]:
    """Disturbs the deliveries in place and returns how many rows must end where."""
    first, second, third = deliveries
    num_sent = sum(len(delivery) for delivery in deliveries)
    num_orders = pd.concat(deliveries)["order_id"].nunique()
    first.iloc[110, first.columns.get_loc("amount")] = "12,5O"  # rejected: text; sent right later
    right = first.iloc[[110]].assign(amount="12.50")
    first.iloc[120, first.columns.get_loc("placed_at")] = "yesterday"  # rejected: never valid
    second.iloc[130, second.columns.get_loc("amount")] = "-5.00"  # quarantined: never valid
    no_key = second.iloc[[140]].assign(order_id=None)  # quarantined: a key that is null
    deliveries[0] = pd.concat([first, first.iloc[[150, 151]]])  # twice in one delivery
    deliveries[1] = pd.concat([second, right, no_key])
    deliveries[2] = pd.concat([third, second.iloc[[160]]])  # again in a later delivery
    records, rejected, quarantined, never_valid = num_sent + 5, 2, 2, 2
    clean = num_orders - never_valid
    return {
        "records": records,
        "rejected": rejected,
        "quarantined": quarantined,
        "duplicates": records - rejected - quarantined - clean,
        "clean": clean,
    }


def write(folder: Path) -> None:
    """Writes `data/` and `expected.json` into a folder."""
    rng = np.random.default_rng(SEED)
    customers = make_customers(rng)
    deliveries = make_deliveries(make_orders(rng, customers))
    expected = {"orders": add_mess(deliveries)}
    num_customers = customers["customer_id"].nunique()
    expected["customers"] = {
        "records": len(customers),
        "rejected": 0,
        "quarantined": 0,
        "duplicates": len(customers) - num_customers,
        "clean": num_customers,
    }
    data = folder / "data"
    (data / "orders").mkdir(parents=True, exist_ok=True)
    for when, delivery in zip(DELIVERIES, deliveries, strict=True):
        delivery.to_csv(
            data / "orders" / f"orders_{when:%Y%m%d}.csv",
            index=False,
            lineterminator="\n",
            quoting=csv.QUOTE_MINIMAL,
        )
    customers.to_json(data / "customers.jsonl", orient="records", lines=True, force_ascii=False)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(__file__).parent)
