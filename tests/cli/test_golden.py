"""What a person sees, byte for byte: a good run, a failed gate, mistakes in the configuration."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.errors import DataGateError

GOLDEN = Path(__file__).with_name("golden")
RUN = "20261130-101502-7f3a"


def golden(name: str) -> str:
    return (GOLDEN / name).read_text(encoding="utf-8")


def good_run(_: Any, out: Any) -> int:
    out.started(RUN)
    out.begin("ingest")
    out.step("ingest", "377,772 read = 376,088 raw + 1,684 rejected", 12.2)
    clean = "376,088 = 367,670 clean + 6,734 duplicates + 1,684 quarantined"
    out.step("clean", clean, 15.0)
    out.step("validate", "published: 40 pass, 1 warn, 0 not evaluated", 5.8)
    rows = "336,776 flights = 327,346 labelled + 9,430 unlabelled; 94 columns"
    out.step("featurize", rows, 31.0)
    out.step("audit", "0 proofs, 1 suspicion (report#audit)", 5.0)
    out.step("train", "logistic 6 s · trees 38 s · net 41 s (horovod, 2 workers)", 85.4)
    out.step("evaluate", "trees ROC AUC 0.757 [0.731, 0.782]; champion gate passed", 7.0)
    out.step("score", "53,991 predictions, trees v1", 4.0)
    out.step("monitor", "0 alerts, 1 warning: temp PSI 0.14", 3.0)
    out.step("report", f"runs/{RUN}/run_report.html", 2.0)
    out.finished(2, 170.3)
    return 0


def failed_gate(_: Any, out: Any) -> int:
    out.started(RUN)
    out.step("validate", "39 pass, 1 fail, 1 not evaluated", 6.0, failed=True)
    out.table(
        ["rule", "verdict", "found", "allowed", "declared"],
        [
            ["flights.quarantine_budget", "fail", "3.4 % (1,034/30,412)", "1 %", "base.yaml:27"],
            [
                "flights.suite.gust_max",
                "not evaluated",
                "0 of 30,412 non-null",
                "–",
                "flights.json:41",
            ],
        ],
    )
    worst = "1,020 rows of flights_20131001.csv, e.g. line 17: distance=0"
    out.detail(f"Mostly distance_range: {worst}")
    raise DataGateError(
        "Not published: clean/flights stays at version 11. Later steps not run.",
        remedy="Look cauce tables show quarantine/flights --run latest\n"
        "Fix docs/runbooks/rule-failed.md",
    )


def test_a_good_run(cauce: Any, play: Callable[..., Any]) -> None:
    play(good_run)
    ended = cauce("run", "--project", "flights")
    assert ended.out == golden("good_run.txt")
    assert ended.err == ""
    assert ended.code == 0
    assert len(ended.out.splitlines()) <= 20
    assert "\x1b" not in ended.out


def test_a_failed_gate(cauce: Any, play: Callable[..., Any]) -> None:
    play(failed_gate)
    ended = cauce("run", "--project", "flights")
    assert ended.out + ended.err == golden("failed_gate.txt")
    assert ended.err.startswith("Not published")
    assert ended.code == 65


def test_mistakes_in_the_configuration(cauce: Any, tmp_path: Path, monkeypatch: Any) -> None:
    folder = tmp_path / "conf" / "flights"
    folder.mkdir(parents=True)
    base = Path("conf/flights/base.yaml").read_text(encoding="utf-8")
    (folder / "base.yaml").write_text(
        base.replace("        last:", "        lst:", 1), encoding="utf-8"
    )
    shutil.copytree("conf/flights/quality", folder / "quality")
    dev = "# a laptop\nmodels:\n  trees:\n    kind: mllib.gbdt\n"
    (folder / "dev.yaml").write_text(dev, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ended = cauce("run", "--set", "models.net.train.workers=two")
    assert ended.err == golden("mistakes.txt")
    assert ended.out == ""
    assert ended.code == 78
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conf"]
