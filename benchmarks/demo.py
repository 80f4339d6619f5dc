"""The whole demo against the figures it must reach: cold JVM to report, memory, a second run, AUC.

Prints what `cauce run` prints, then one line of JSON. `QUICK=1` runs the small project `orders`
instead, which checks the benchmark itself and the times of start-up.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
QUICK = os.environ.get("QUICK") == "1"
CAUCE = (sys.executable, "-m", "pipelines.cli")
REPEATS = 5


def main() -> int:
    """Runs the benchmark and returns 0, whatever the figures are."""
    with tempfile.TemporaryDirectory(prefix="cauce-bench-") as folder:
        home = Path(folder)
        project = prepare(home)
        first = seconds(("run", "--project", project), home, show=True)
        report = read_report(home)
        again = [seconds(("run", "--project", project), home) for _ in range(REPEATS)]
        help_s = [seconds(("--help",), home) for _ in range(REPEATS)]
    checks = [
        check("wall_s", [first], "s", at_most=None if QUICK else 240),
        check("peak_rss_mb", [peak_rss_mb(report)], "MB", at_most=6_000),
        check("second_run_s", again, "s", at_most=3),
        check("help_s", help_s, "s", at_most=0.5),
    ]
    if not QUICK:
        best = max(metric(report, model, "roc_auc") for model in ("trees", "net"))
        checks += [
            check("best_roc_auc", [best], "", at_least=0.745),
            check("best_pr_auc", [metric(report, "net", "pr_auc")], "", at_least=0.53),
            check("trees_roc_auc", [metric(report, "trees", "roc_auc")], "", at_least=0.735),
            check("net_roc_auc", [metric(report, "net", "roc_auc")], "", at_least=0.745),
        ]
    result = {"benchmark": "demo", "commit": commit(), "machine": machine(), "checks": checks}
    sys.stdout.write(json.dumps(result) + "\n")
    return 0


def prepare(home: Path) -> str:
    """Puts a project and its raw data into an empty home; gives its name."""
    if QUICK:
        shutil.copytree(ROOT / "tests" / "data" / "orders", home, dirs_exist_ok=True)
        shutil.copytree(ROOT / "conf" / "spark", home / "conf" / "spark")
        return "orders"
    shutil.copytree(ROOT / "conf", home / "conf")
    seconds(("demo-data", "--out", "data", "--mess", "0.01", "--seed", "2013"), home)
    return "flights"


def seconds(words: tuple[str, ...], home: Path, *, show: bool = False) -> float:
    """Wall time of one command as a process of its own."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    began = time.perf_counter()
    out = None if show else subprocess.DEVNULL
    subprocess.run([*CAUCE, *words], cwd=home, env=environ, check=True, stdout=out)
    return time.perf_counter() - began


def read_report(home: Path) -> Any:
    """The newest run's report."""
    run = (home / "runs" / "latest").read_text(encoding="utf-8").strip()
    return json.loads((home / "runs" / run / "run_report.json").read_text(encoding="utf-8"))


def peak_rss_mb(report: Any) -> float:
    """Highest resident memory of all processes together, sampled twice a second."""
    return max(step["peak_rss_mb"] or 0.0 for step in report["steps"])


def metric(report: Any, model: str, name: str) -> float:
    """A metric of the test part."""
    rows = report["leaderboard"]
    found = next(row for row in rows if (row["model"], row["split"]) == (model, "test"))
    return float(found["metrics"][name]["value"])


def check(
    name: str,
    values: list[float],
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> dict[str, Any]:
    """A figure with its target; the median counts."""
    ordered = sorted(values)
    value = ordered[len(ordered) // 2]
    target = at_most if at_least is None else at_least
    ok = None
    if target is not None:
        ok = value <= target if at_least is None else value >= target
    return {
        "name": name,
        "value": round(value, 4),
        "min": round(ordered[0], 4),
        "max": round(ordered[-1], 4),
        "unit": unit,
        "target": target,
        "ok": ok,
    }


def commit() -> str | None:
    """The checkout's commit, or None outside git."""
    git = shutil.which("git")
    if git is None:
        return None
    done = subprocess.run(
        [git, "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or None


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {"cpu": platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}


if __name__ == "__main__":
    sys.exit(main())
