"""The page of a run: what it shows, what it leaves out, and that nothing in it is active."""

from __future__ import annotations

import importlib.util
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from pydantic import ValidationError

from pipelines.errors import InputMissingError
from pipelines.evaluation.bootstrap import Measured
from pipelines.evaluation.champion import GateResult
from pipelines.evaluation.counts import BinaryCounts
from pipelines.evaluation.curves import build_curves
from pipelines.evaluation.evaluate import Evaluation, ModelResult
from pipelines.monitoring.drift import DriftRow, drift_evidence
from pipelines.project.modeling import Drift
from pipelines.report.extras import ReportExtras, write_evidence
from pipelines.report.html import render_report, write_html
from pipelines.report.model import BoardRow, Gate
from pipelines.report.view import build_page

HOSTILE = "<img src=x onerror=alert(1)>\"'></script><script>alert(2)</script>{{7*7}}&"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def _load_sample() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample", Path(__file__).with_name("sample.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sample = _load_sample()


class Outline(HTMLParser):
    """Tags, ids, attributes and text of a page."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.names: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_data(self, data):
        self.texts.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def whole() -> Outline:
    return Outline(render_report(sample.build_report(), sample.build_extras()))


def test_the_sections_come_in_the_order_people_read(whole):
    order = (
        "warnings rows quality gates features learning board curves importance drift steps "
        "versions files"
    )
    assert whole.ids == order.split()


@pytest.mark.parametrize(
    "words",
    [
        "flights",
        "succeeded with warnings",
        "ROC AUC on the test part",
        "0.757",
        "between 0.732 and 0.782",
        "2 min 50 s",
        "8 pass , 1 warn , 1 not evaluated".replace(" ,", ","),
        "377,772 in",
        "6,734 duplicates",
        "same key, an earlier delivery",
        "60 features in 7 groups",
        "net: ROC AUC on validation",
        "2 workers",
        "lead of trees over base_rate in roc_auc on test 0.2570, allowed at least 0.002",
        "delays · carrier · arr_delay · count_3h",
        "pyspark 4.0.5",
        "cauce run --project flights",
    ],
)
def test_what_a_whole_run_shows(whole, words):
    assert words in whole.text


def test_every_flow_adds_up_or_says_what_is_missing(whole):
    assert whole.text.count("✓ adds up") == 5
    report = sample.build_report()
    report.steps[1].by_table[0].rows_duplicate = 6_700
    page = render_report(report, sample.build_extras())
    assert "34 unaccounted for" in page
    assert page.count("✓ adds up") == 4


def test_a_failed_run_shows_its_error_and_nothing_it_did_not_measure():
    page = Outline(render_report(sample.build_failed_report(), ReportExtras()))
    assert page.ids == ["error", "rows", "quality", "gates", "steps", "versions"]
    assert "Stopped in step validate" in page.text
    assert "3.4 % (1,034/30,412) found, 1 % allowed" in page.text
    assert "docs/runbooks/rule-failed.md" in page.text
    assert "0.757" not in page.text


def test_a_run_that_only_started_has_a_page():
    report = sample.build_report(
        status="running",
        exit_code=None,
        ended_at=None,
        warnings=[],
        gates=[],
        steps=[],
        tables=[],
        data_quality=[],
        leaderboard=[],
        artifacts=[],
        packages={},
        code_version=None,
        config_hash=None,
    )
    page = Outline(render_report(report, ReportExtras()))
    assert page.ids == []
    assert "This run compared no models." in page.text


def test_what_was_not_evaluated_is_said_so():
    report = sample.build_report()
    for row in report.leaderboard:
        row.metrics["roc_auc"].value = None
    page = Outline(render_report(report, sample.build_extras()))
    assert "not evaluated" in page.text
    assert "nan" not in page.text.lower().split()
    assert "None" not in page.text


def test_the_board_goes_by_the_primary_metric():
    board = build_page(sample.build_report(), sample.build_extras()).board
    assert [row.model for row in board[:4]] == ["trees", "net", "logistic", "base_rate"]
    by_loss = sample.build_extras(champion={"model": "net", "metric": "log_loss"})
    assert build_page(sample.build_report(), by_loss).board[0].model == "trees"


def test_hostile_names_are_text():
    hostile = {"name": HOSTILE, "model": HOSTILE, "table": HOSTILE, "feature": HOSTILE}
    report = sample.build_report(
        project=HOSTILE,
        env=HOSTILE,
        args=[HOSTILE],
        packages={HOSTILE: HOSTILE},
        warnings=[HOSTILE],
        code_version=HOSTILE,
        config_hash=HOSTILE,
        resumed_from=HOSTILE,
        gates=[{"name": HOSTILE, "verdict": "pass", "reasons": [HOSTILE]}],
        error={"kind": HOSTILE, "message": HOSTILE, "where": HOSTILE, "remedy": HOSTILE},
        steps=[
            {"name": HOSTILE, "status": "done", "reason": HOSTILE, "from_run": HOSTILE},
            {
                "name": "ingest",
                "status": "done",
                "by_table": [{"name": HOSTILE, "rows_in": 1, "rows_out": 1}],
            },
        ],
        tables=[{"name": HOSTILE}],
        data_quality=[
            {
                "table": HOSTILE,
                "rule": HOSTILE,
                "severity": "fail",
                "verdict": "fail",
                "observed": HOSTILE,
                "allowed": HOSTILE,
                "origin": HOSTILE,
            }
        ],
        leaderboard=[
            {
                "model": HOSTILE,
                "version": HOSTILE,
                "split": "test",
                "metrics": {HOSTILE: {"value": 0.5}},
                "backend": HOSTILE,
            }
        ],
        artifacts=[{"kind": HOSTILE, "path": "a/<img src=x onerror=alert(1)>"}],
    )
    extras = sample.build_extras(
        champion={"model": HOSTILE, "metric": HOSTILE},
        set_aside=[{"table": HOSTILE, "kind": "rejected", "reason": HOSTILE, "rows": 1}],
        coverage=[{"feature": hostile["feature"], "kind": HOSTILE, "share": 0.5}],
        learning={HOSTILE: [{"epoch": 1, "train_loss": 1.0, "validation_metric": 0.5}]},
        curves={HOSTILE: sample.build_extras().curves["trees"].model_dump()},
        importance={HOSTILE: {HOSTILE: 1.0}},
        drift=[{**sample.build_extras().drift[0].model_dump(), "feature": HOSTILE}],
    )
    page = Outline(render_report(report, extras))
    assert not page.tags & {"script", "img", "iframe", "object", "link", "form", "base"}
    assert not {name for name in page.names if name.startswith("on")}
    assert "{{7*7}}" in page.text
    assert "alert(2)" in page.text


def test_the_page_names_no_address_and_forbids_requests():
    page = render_report(sample.build_report(), sample.build_extras())
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|//[a-z]|url\(|@import|src=|<link|<script", page)
    assert page == render_report(sample.build_report(), sample.build_extras())


def test_evidence_comes_back_as_written(tmp_path: Path):
    extras = sample.build_extras()
    for name in ReportExtras.model_fields:
        assert write_evidence(tmp_path, name, getattr(extras, name)) == tmp_path / f"{name}.json"
    assert ReportExtras.load(tmp_path) == extras
    assert ReportExtras.load(tmp_path / "none") == ReportExtras()


def test_what_the_libraries_return_fits_the_report(tmp_path: Path):
    counts = BinaryCounts(
        days=("2013-11-01", "2013-11-02"),
        positives=np.array([[1.0, 3.0], [0.0, 2.0]]),
        negatives=np.array([[4.0, 1.0], [2.0, 2.0]]),
        score_sums=np.array([1.4, 5.6]),
        losses={},
    )
    metrics = {"roc_auc": Measured(0.7, None, None)}
    result = ModelResult("trees", "test", 15, 2, metrics, 0.1, build_curves(counts))
    write_evidence(tmp_path, "curves", Evaluation((result,)).curves_evidence())
    row = DriftRow("temp", "numeric", 0.2, 10, 5, 0.0, None)
    write_evidence(tmp_path, "drift", drift_evidence([row], Drift()))
    extras = ReportExtras.load(tmp_path)
    assert extras.curves["trees"].roc == [(0, 0), (0.333333, 0.833333), (1, 1)]
    assert extras.drift[0].level == "warn"
    board = BoardRow(model="trees", split="test", metrics=result.metrics)
    assert board.metrics["roc_auc"].value == 0.7
    gate = Gate.model_validate(GateResult("champion", "pass", ["pass: found 1, allowed 0"]))
    assert gate.reasons == ["pass: found 1, allowed 0"]


def test_evidence_of_another_kind_is_refused(tmp_path: Path):
    with pytest.raises(ValidationError, match="finite number"):
        write_evidence(tmp_path, "importance", {"trees": {"x": float("nan")}})
    (tmp_path / "drift.json").write_text('[{"feature": 3}]', encoding="utf-8")
    with pytest.raises(InputMissingError, match=r"not evidence of drift: drift\.0\.feature: Input"):
        ReportExtras.load(tmp_path)
    (tmp_path / "drift.json").write_text("[", encoding="utf-8")
    with pytest.raises(InputMissingError, match="not evidence of drift: no JSON: Expecting"):
        ReportExtras.load(tmp_path)


@pytest.mark.integration
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_opens_it_without_a_request_or_a_complaint(tmp_path: Path, width, scheme):
    from playwright.sync_api import sync_playwright

    browser = next(
        (found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None
    )
    assert browser, "needs Debian's package chromium"
    path = tmp_path / "run_report.html"
    write_html(sample.build_report(), sample.build_extras(), path)
    requests: list[str] = []
    complaints: list[str] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=FLAGS)
        page = chromium.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
        scroll_width = page.evaluate("document.documentElement.scrollWidth")
        clipped = page.evaluate(
            "[...document.querySelectorAll('h1, h2, h3, figcaption, dd, li')]"
            ".filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0)"
            ".map(e => e.textContent)"
        )
        chromium.close()
    assert requests == [path.as_uri()]
    assert complaints == []
    assert scroll_width <= width
    assert clipped == []
