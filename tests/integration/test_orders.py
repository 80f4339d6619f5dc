"""The whole project `orders` through the engine: what comes out, what a later run does again."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from pipelines import session
from pipelines.engine.runner import RunRequest, run_project
from pipelines.errors import DataGateError
from pipelines.project import LoadedProject, load_project
from pipelines.report import model as report_model
from pipelines.tables import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.integration]

ORDERS = Path(__file__).parents[1] / "data" / "orders"
SCHEMA = Path(report_model.__file__).with_name("run_report.schema.json")
STEPS = (
    "ingest clean validate featurize train evaluate score monitor report".split()  # noqa: SIM905
)
HEADER = "order_id,customer_id,shop,amount,placed_at,received_at,days_to_deliver,note"


class Lines:
    """An output that keeps the lines of a run."""

    def __init__(self) -> None:
        self.run_id, self.lines = "", dict[str, str]()

    def started(self, run_id: str) -> None:
        self.run_id = run_id

    def begin(self, name: str) -> None: ...

    def detail(self, text: str) -> None: ...

    def table(self, headers: Any, rows: Any) -> None: ...

    def step(self, name: str, line: str, seconds: float, failed: bool = False) -> None:
        self.lines[name] = line

    def finished(self, warnings: int, seconds: float) -> None: ...


@dataclass(frozen=True)
class Ran:
    """A run's report, its lines, and whether it asked for a session."""

    report: dict[str, Any]
    lines: dict[str, str]
    asked_for_spark: bool

    def step(self, name: str) -> dict[str, Any]:
        return next(step for step in self.report["steps"] if step["name"] == name)

    def flow(self, step: str, table: str) -> dict[str, int | None]:
        found = next(row for row in self.step(step)["by_table"] if row["name"] == table)
        return {key: value for key, value in found.items() if key != "name"}

    def with_status(self, status: str) -> list[str]:
        return [step["name"] for step in self.report["steps"] if step["status"] == status]


@dataclass(frozen=True)
class Shop:
    """A copy of the project that one process runs again and again in the shared session."""

    home: Path
    spark: SparkSession

    def load(self, *overrides: str) -> LoadedProject:
        return load_project(str(self.home / "conf" / "orders"), overrides=overrides, environ={})

    def lake(self) -> Lake:
        return Lake(str(self.home / "lake"), "test", lambda: self.spark)

    def run(self, *overrides: str, **request: Any) -> Ran:
        loaded, lines, asked = self.load(*overrides), Lines(), []
        real = session.build_session

        def build_session(*words: Any) -> SparkSession:
            asked.append(words)
            return real(*words)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session, "build_session", build_session)
            patch.setattr(sys, "argv", ["cauce", "run"])
            assert run_project(loaded, RunRequest(output=lines, **request)) == 0
        report = {}
        if lines.run_id:
            report = json.loads((loaded.runs / lines.run_id / "run_report.json").read_text())
            jsonschema.validate(report, json.loads(SCHEMA.read_text()))
        return Ran(report, lines.lines, bool(asked))

    def orders(self) -> dict[int, Any]:
        """Key → row of the clean table; a key that stands there twice is an error."""
        rows = self.lake().small("clean", "orders").to_pylist()
        found = {row["order_id"]: row for row in rows}
        assert len(found) == len(rows)
        return found


@pytest.fixture(scope="module")
def shop(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The project before its first run."""
    home = tmp_path_factory.mktemp("shop") / "orders"
    shutil.copytree(ORDERS, home, ignore=shutil.ignore_patterns("lake", "runs", "__pycache__"))
    return Shop(home, spark)


@pytest.fixture(scope="module")
def first(shop: Shop) -> Ran:
    """The first run; the tests below change the project one after the other."""
    return shop.run()


@pytest.fixture
def undo(shop: Shop, first: Ran, tmp_path: Path) -> Iterator[None]:
    """Gives the project back as the first run left it."""
    saved = tmp_path / "saved"
    shutil.copytree(shop.home, saved)
    yield
    shutil.rmtree(shop.home)
    shutil.copytree(saved, shop.home)


def test_counts_are_the_expected_ones(first: Ran) -> None:
    for name, expected in json.loads((ORDERS / "expected.json").read_text()).items():
        read, cleaned = first.flow("ingest", name), first.flow("clean", name)
        published = first.flow("validate", name)
        assert read["rows_in"] == expected["records"]
        assert read["rows_rejected"] == expected["rejected"]
        assert cleaned["rows_quarantined"] == expected["quarantined"]
        assert published["rows_out"] == expected["clean"]
        raw_not_clean = expected["quarantined"] + expected["duplicates"]
        assert read["rows_out"] - raw_not_clean == expected["clean"]
        assert cleaned["rows_duplicate"] == expected["duplicates"]


def test_rows_reconcile_on_every_step(first: Ran, shop: Shop) -> None:
    for step in ("ingest", "clean"):
        for row in [first.step(step), *first.step(step)["by_table"]]:
            out = ("rows_out", "rows_rejected", "rows_duplicate", "rows_quarantined")
            assert row["rows_in"] == sum(row[key] or 0 for key in out), (step, row["name"])
    assert first.step("clean")["rows_in"] == first.step("ingest")["rows_out"]
    spine = first.step("featurize")
    assert spine["rows_in"] == spine["rows_out"] + spine["rows_excluded"]
    assert spine["rows_in"] == len(shop.orders())
    parts = shop.lake().num_rows("training_sets", "delivery_time", by="split")
    assert sum(parts.values()) == spine["rows_out"]
    assert first.step("train")["rows_in"] == parts["train"]
    assert first.step("score")["rows_in"] == first.step("score")["rows_out"] == parts["test"]


def test_tables_hold_what_the_report_says(first: Ran, shop: Shop) -> None:
    tables = {table["name"]: table["rows"] for table in first.report["tables"]}
    assert tables["clean/orders"] == len(shop.orders()) == 1198
    for name, rows in tables.items():
        assert rows == shop.lake().read(*name.split("/")).count(), name


def test_wall_time_became_utc_and_text_its_type(first: Ran, shop: Shop) -> None:
    order = shop.orders()[1001]
    assert order["placed_at"].isoformat() == "2024-01-01T06:01:29+00:00"  # Madrid is UTC+1
    assert (order["amount"], order["note"]) == (47.46, 'say "hola"')
    assert shop.orders()[1002]["note"] == "ring twice\nthen wait"


def test_board_champion_and_predictions(first: Ran, shop: Shop) -> None:
    board = {(row["model"], row["split"]): row for row in first.report["leaderboard"]}
    assert set(board) == {(m, s) for m in ("mean", "linear") for s in ("validation", "test")}
    linear, mean = board["linear", "test"]["metrics"], board["mean", "test"]["metrics"]
    assert linear["rmse"]["low"] < linear["rmse"]["value"] < linear["rmse"]["high"]
    assert linear["rmse"]["value"] < 0.5 * mean["rmse"]["value"]
    assert linear["r2"]["value"] > 0.8
    verdicts = {gate["name"]: gate["verdict"] for gate in first.report["gates"]}
    assert verdicts["quality"] == "pass"
    assert set(verdicts.values()) == {"pass"}
    predictions = shop.lake().small("predictions", "delivery_time").to_pylist()
    assert {row["model"] for row in predictions} == {"linear"}
    assert {row["run_id"] for row in predictions} == {first.report["run_id"]}
    assert len({row["order_id"] for row in predictions}) == len(predictions) > 200


def test_the_report_is_whole(first: Ran, shop: Shop) -> None:
    assert first.report["exit_code"] == 0
    assert first.with_status("done") == STEPS
    assert all(step["spark_jobs"] for step in first.report["steps"][:-1])
    (page,) = first.report["artifacts"]
    folder = shop.home / "runs" / first.report["run_id"]
    assert "delivery_time" in (folder / page["path"]).read_text()
    assert list(first.lines) == STEPS
    assert first.lines["ingest"] == "1,387 read = 1,385 raw + 2 rejected"


def test_the_session_was_not_the_engines_to_stop(first: Ran, spark: SparkSession) -> None:
    assert spark.range(3).count() == 3


def test_a_second_run_does_nothing(first: Ran, shop: Shop) -> None:
    before = shop.lake().identity("predictions", "delivery_time")
    again = shop.run()
    assert not again.asked_for_spark
    assert again.with_status("skipped") == STEPS
    assert again.lines == {"unchanged": f"{', '.join(STEPS[:-1])} (run {first.report['run_id']})"}
    assert again.report["leaderboard"] == first.report["leaderboard"]
    assert again.report["data_quality"] == first.report["data_quality"]
    assert again.report["tables"] == first.report["tables"]
    assert shop.lake().identity("predictions", "delivery_time") == before


def test_explain_names_the_key(first: Ran, shop: Shop) -> None:
    told = shop.run("models.linear.params.reg=0.5", explain=True)
    assert not told.asked_for_spark
    assert told.lines["featurize"] == "current"
    assert told.lines["train"] == "runs: `models.linear.params.reg` changed: 0.01 → 0.5"
    assert told.lines["evaluate"] == "may run: if train changes its input"


@pytest.mark.usefixtures("undo")
def test_a_changed_model_trains_alone(shop: Shop) -> None:
    changed = shop.run("models.linear.params.reg=0.5")
    # Drift does not depend on a model's parameters.
    kept = ["ingest", "clean", "validate", "featurize", "monitor"]
    assert changed.with_status("skipped") == kept
    assert changed.step("train")["reason"] == "`models.linear.params.reg` changed: 0.01 → 0.5"
    assert changed.lines["train"].startswith("mean v1 kept · linear ")
    versions = {row["model"]: row["version"] for row in changed.report["leaderboard"]}
    assert versions == {"mean": "1", "linear": "2"}
    assert changed.step("evaluate")["reason"] == "input changed: model linear"
    assert changed.step("score")["reason"] == "input changed: champion"
    back = shop.run()
    assert back.lines["train"] == "mean v1 kept · linear v1 kept"
    assert back.lines["score"] == "0 predictions, linear v1, 271 known already"


@pytest.mark.usefixtures("undo")
def test_from_until_and_force(shop: Shop) -> None:
    forced = shop.run(from_step="evaluate", until_step="score", force=True)
    assert forced.with_status("done") == ["evaluate", "score"]
    assert forced.step("evaluate")["reason"] == "--force"
    assert len(forced.with_status("not_run")) == 7
    assert forced.lines["score"] == "0 predictions, linear v1, 271 known already"


def deliver(shop: Shop, *rows: str) -> None:
    text = "\n".join((HEADER, *rows, ""))
    (shop.home / "data" / "orders" / "orders_20240701.csv").write_text(text)


@pytest.mark.usefixtures("undo")
def test_a_new_delivery_is_merged(shop: Shop) -> None:
    before = shop.orders()
    deliver(
        shop,
        "9001,28,web,10.00,2024-06-20 10:00:00,2024-06-22 10:00:00,2.0,new",
        "1001,28,web,99.99,2024-01-01 07:01:29,2024-01-05 20:59:35,4.582,corrected",
        "9002,28,web,-1.00,2024-06-20 10:00:00,,,breaks a row rule",
        "9003,28,web,many,2024-06-20 10:00:00,,,no number",
        "9001,28,web,10.00,2024-06-20 10:00:00,2024-06-22 10:00:00,2.0,new",
    )
    ran = shop.run(
        "sources.orders.max_rejected=50%",
        "sources.orders.table_rules.quarantine_budget.severity=warn",
        until_step="validate",
    )
    flow = ran.flow("ingest", "orders")
    assert (flow["rows_in"], flow["rows_out"], flow["rows_rejected"]) == (5, 4, 1)
    flow = ran.flow("clean", "orders")
    assert (flow["rows_in"], flow["rows_out"], flow["rows_duplicate"]) == (4, 2, 1)
    assert flow["rows_quarantined"] == 1
    after = shop.orders()
    assert set(after) - set(before) == {9001}
    assert (after[1001]["amount"], after[1001]["note"]) == (99.99, "corrected")
    assert {key: after[key] for key in before if key != 1001} == {
        key: before[key] for key in before if key != 1001
    }
    assert shop.lake().log("clean", "orders").history(1)[0]["operation"] == "MERGE"


@pytest.mark.usefixtures("undo")
def test_a_lost_clean_table_comes_back(shop: Shop) -> None:
    before = shop.orders()
    deliver(shop, "9001,28,web,10.00,2024-06-20 10:00:00,2024-06-22 10:00:00,2.0,new")
    shop.run(until_step="validate")  # the stage now holds the new row alone
    shutil.rmtree(shop.home / "lake" / "clean" / "orders")
    ran = shop.run(until_step="validate")
    assert ran.step("ingest")["status"] == "skipped"
    assert ran.step("clean")["reason"] == "input changed: clean/orders"
    assert set(shop.orders()) == {*before, 9001}
    assert not shop.run(until_step="validate").asked_for_spark


@pytest.mark.usefixtures("undo")
def test_a_lost_output_is_made_again(shop: Shop) -> None:
    before = shop.orders()
    shutil.rmtree(shop.home / "lake" / "clean" / "orders")
    ran = shop.run(until_step="validate")
    assert ran.with_status("done") == ["validate"]
    assert ran.step("validate")["reason"] == "output changed: clean/orders"
    assert shop.orders() == before


@pytest.mark.usefixtures("undo")
def test_a_failed_gate_keeps_what_was_published(shop: Shop, first: Ran) -> None:
    version = shop.lake().version("clean", "orders")
    deliver(shop, "9001,28,moon,10.00,2024-06-20 10:00:00,2024-06-22 10:00:00,2.0,new")
    run: Callable[[], Ran] = shop.run
    with pytest.raises(DataGateError, match=f"clean/orders stays at version {version}"):
        run()
    assert shop.lake().version("clean", "orders") == version
    assert 9001 not in shop.orders()
    latest = (shop.home / "runs" / "latest").read_text().strip()
    report = json.loads((shop.home / "runs" / latest / "run_report.json").read_text())
    jsonschema.validate(report, json.loads(SCHEMA.read_text()))
    assert (report["status"], report["exit_code"]) == ("failed", 65)
    assert [step["status"] for step in report["steps"]] == [
        *["done", "done", "failed"],
        *["not_run"] * 5,
        "done",
    ]
    failed = [row for row in report["data_quality"] if row["verdict"] == "fail"]
    assert [(row["rule"], row["failed"]) for row in failed] == [("shops", 1)]
