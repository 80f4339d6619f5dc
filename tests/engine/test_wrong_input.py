"""Wrong input at the real command: one clear message, the right exit code, nothing half-written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.cli import main
from pipelines.tables import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
NET = "models.net={kind: torch.resnet, train: {workers: 64}, early_stopping: {metric: loss}}"
HEADER = "order_id,customer_id,shop,amount,placed_at,received_at,days_to_deliver,note\n"


@dataclass(frozen=True)
class Ended:
    """What a command left: exit code, what it wrote, and the reports of its runs."""

    code: int
    out: str
    err: str
    home: Path

    @property
    def reports(self) -> list[dict[str, object]]:
        found = sorted(self.home.glob("runs/*/run_report.json"))
        return [json.loads(path.read_text()) for path in found]

    def check(self, code: int, *told: str) -> None:
        """Nothing but the message, which says all of `told`; a report of a run that failed."""
        assert self.code == code, self.err
        for words in told:
            assert words in self.err
        assert self.err.splitlines()[-1].startswith(f"Exit {code} ")
        assert "Traceback" not in self.err
        assert len(self.err.splitlines()) <= 6
        for report in self.reports:
            assert (report["status"], report["exit_code"]) == ("failed", code)
            error = report["error"]
            assert isinstance(error, dict)
            assert error["message"] in self.err

    def tables(self) -> set[str]:
        """Tables of the lake that have a commit."""
        lake = self.home / "lake"
        return {log.parent.relative_to(lake).as_posix() for log in lake.glob("*/*/_delta_log")}


Command = Callable[..., Ended]


@pytest.fixture
def edit(home: Path) -> Callable[[str, str], None]:
    """Replaces a text of the project file."""
    path = home / "conf" / "orders" / "base.yaml"

    def replace(before: str, after: str) -> None:
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))

    return replace


@pytest.fixture
def cauce(home: Path) -> Command:
    """Runs `python -m pipelines.cli run WORDS…` in a process of its own."""

    def run(*words: str, **environ: str) -> Ended:
        variables = {k: v for k, v in os.environ.items() if not k.startswith("CAUCE__")}
        ended = subprocess.run(
            [sys.executable, "-m", "pipelines.cli", "run", *words],
            cwd=home,
            env={**variables, "PYTHONPATH": str(ROOT), **environ},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr, home)

    return run


@pytest.fixture
def cauce_with_spark(
    home: Path,
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    """Runs `cauce run WORDS…` in this process and its session: for mistakes that only data show."""
    monkeypatch.chdir(home)

    def run(*words: str) -> Ended:
        code = 0
        try:
            main(["run", *words])
        except SystemExit as ending:
            code = int(str(ending.code))
        written = capsys.readouterr()
        return Ended(code, written.out, written.err, home)

    return run


def test_missing_file(cauce: Command, home: Path) -> None:
    (home / "data" / "customers.jsonl").unlink()
    ended = cauce()
    ended.check(66, "no file matches the source's path", "data/customers.jsonl")
    assert ended.tables() == set()
    assert len(ended.reports) == 1


def test_unknown_key(cauce: Command, edit: Callable[[str, str], None]) -> None:
    edit("row_rules:", "row_rule:")
    ended = cauce()
    ended.check(78, "sources.orders.row_rule", "Did you mean `row_rules`?", "nothing was started")
    assert re.search(r"conf/orders/base\.yaml:\d+ ", ended.err)
    assert (ended.tables(), ended.reports) == (set(), [])


def test_broken_pattern_of_a_suite(
    cauce: Command, edit: Callable[[str, str], None], home: Path
) -> None:
    suite = {
        "name": "s",
        "expectations": [
            {
                "type": "expect_column_values_to_match_regex",
                "kwargs": {"column": "order_id", "regex": "N((("},
                "meta": {"name": "form"},
            }
        ],
    }
    (home / "conf" / "orders" / "suite.json").write_text(json.dumps(suite))
    edit("    table_rules:\n", "    table_rules:\n      suite: {great_expectations: suite.json}\n")
    ended = cauce()
    ended.check(78, "suite.json:", "form: `N(((` is not a regular expression")
    assert (ended.tables(), ended.reports) == (set(), [])


def test_unknown_model(cauce: Command, edit: Callable[[str, str], None]) -> None:
    edit("mllib.linear_regression", "mllib.linear_regresion")
    ended = cauce()
    ended.check(78, "models.linear.kind = mllib.linear_regresion", "mllib.linear_regression")
    assert (ended.tables(), ended.reports) == (set(), [])


def test_wrong_type(cauce: Command) -> None:
    ended = cauce("--set", "models.linear.params.reg=two", "--set", "project.seed=x")
    ended.check(78, "2 errors", "models.linear.params.reg = two", "needs a number", "an integer")
    assert (ended.tables(), ended.reports) == (set(), [])


def test_broken_yaml(cauce: Command, edit: Callable[[str, str], None]) -> None:
    edit("{order_id: int,", "{order_id: int, [")
    ended = cauce()
    ended.check(78, "conf/orders/base.yaml:")
    assert (ended.tables(), ended.reports) == (set(), [])


def test_no_java(cauce: Command, tmp_path: Path) -> None:
    empty = tmp_path / "no-programs"
    empty.mkdir()
    for variables in ({"PATH": str(empty), "JAVA_HOME": ""}, {"JAVA_HOME": str(empty)}):
        ended = cauce(**variables)
        ended.check(78, "Spark needs Java 17 or 21; none was found", "apt-get install")
        assert ended.tables() == set()
    assert [report["exit_code"] for report in ended.reports] == [78, 78]


def test_a_lake_that_cannot_be_written(cauce: Command, home: Path) -> None:
    (home / "taken").write_text("a file")
    ended = cauce("--set", "project.lake=taken/lake")
    ended.check(78, "the lake cannot be written to", f"{home}/taken/lake", "set project.lake")
    assert ended.reports == []
    assert (home / "taken").read_text() == "a file"


def test_reports_that_cannot_be_written(cauce: Command, home: Path) -> None:
    (home / "taken").write_text("a file")
    ended = cauce("--set", "project.runs=taken/runs")
    ended.check(78, "run reports cannot be written", f"{home}/taken/runs", "set project.runs")
    assert ended.tables() == set()


def test_too_many_workers(cauce: Command, home: Path) -> None:
    (home / "conf" / "spark").mkdir()
    (home / "conf" / "spark" / "local.conf").write_text("spark.master local[2]\n")
    ended = cauce("--set", NET)
    ended.check(
        78,
        "models.net.train.workers = 64, but this machine has 2 task slots",
        "--set models.net.train.workers=2",
    )
    assert ended.tables() == set()
    steps = ended.reports[0]["steps"]
    assert isinstance(steps, list)
    assert {step["status"] for step in steps if step["name"] != "report"} == {"not_run"}


@pytest.mark.spark
@pytest.mark.parametrize("content", ["", HEADER], ids=["no byte", "header alone"])
def test_empty_source(cauce_with_spark: Command, home: Path, content: str) -> None:
    for path in (home / "data" / "orders").iterdir():
        path.unlink()
    (home / "data" / "orders" / "orders_20240215.csv").write_text(content)
    ended = cauce_with_spark()
    ended.check(66, "source orders has no records", "orders_20240215.csv")
    assert not {table for table in ended.tables() if table.startswith("clean")}
    # The other source may be loaded; of this one nothing counts as loaded.
    lake = Lake(str(home / "lake"), "test", lambda: pytest.fail("no session is needed"))
    loaded = lake.small("ops", "files").to_pylist() if lake.exists("ops", "files") else []
    assert "orders" not in {row["source"] for row in loaded}


@pytest.mark.spark
def test_failed_gate(cauce_with_spark: Command) -> None:
    ended = cauce_with_spark("--set", "sources.orders.table_rules.shops.in=[north, south]")
    ended.check(65, "clean/orders is not created", "Later steps not run")
    assert "validate   FAILED: 2 pass, 1 fail" in ended.out
    assert re.search(r"orders\.shops +fail +", ended.out)
    assert not {table for table in ended.tables() if table.startswith(("clean", "training"))}


@pytest.mark.spark
def test_failed_budget_names_the_rule_and_file_that_most_rows_come_from(
    cauce_with_spark: Command,
) -> None:
    ended = cauce_with_spark(
        *("--set", "sources.orders.table_rules.quarantine_budget.max_quarantined=0%")
    )
    ended.check(65, "cauce tables show quarantine/orders")
    assert re.search(
        r"^Mostly \w+: 1 row of data/orders/\S+\.csv, e\.g\. record \d+$", ended.err, re.M
    )
