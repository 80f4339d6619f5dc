"""A realistic run, built from arithmetic, that the page's tests render."""

from __future__ import annotations

import math

from pipelines.report.extras import ReportExtras
from pipelines.report.model import RunReport

MODELS = {
    "base_rate": ("baseline", 0.2, 0.5, 0.258, 0.571, 0.192),
    "logistic": ("mllib", 6.1, 0.731, 0.521, 0.503, 0.163),
    "net": ("horovod", 41.3, 0.752, 0.548, 0.488, 0.158),
    "trees": ("mllib", 38.4, 0.757, 0.556, 0.484, 0.157),
}
SPANS = ("3h", "1d", "7d", "28d")


def build_report(**changes: object) -> RunReport:
    """A whole run that ended well, with two warnings."""
    fields: dict[str, object] = {
        "run_id": "20261130-101502-7f3a",
        "project": "flights",
        "env": "dev",
        "seed": 2013,
        "status": "warned",
        "exit_code": 0,
        "started_at": "2026-11-30T10:15:02Z",
        "ended_at": "2026-11-30T10:17:52Z",
        "args": ["run", "--project", "flights"],
        "config_hash": "9f2c61aa03bd4e77" * 4,
        "code_version": "1f00cd2a77e1b3c9" * 4,
        "packages": {
            "python": "3.11.2",
            "pyspark": "4.0.5",
            "delta-spark": "4.0.1",
            "torch": "2.13.0",
            "horovod": "0.28.1",
            "petastorm": "0.12.1",
            "great-expectations": "1.24.1",
            "cauce": "0.1.0",
        },
        "warnings": [
            "flights.dest_known: 2.3 % of rows have a destination that airports lacks",
            "temp has drifted: PSI 0.142, warning from 0.1",
        ],
        "gates": [
            {"name": "audit", "verdict": "pass", "reasons": ["0 proofs, 1 suspicion"]},
            {
                "name": "champion",
                "verdict": "pass",
                "reasons": [
                    "pass: trees roc_auc on test 0.7570, allowed at least 0.74",
                    "pass: lead of trees over base_rate in roc_auc on test 0.2570, "
                    "allowed at least 0.002",
                    "pass: calibration error on test 0.0183, allowed at most 0.03",
                ],
            },
        ],
        "steps": _steps(),
        "tables": [
            {"name": f"{layer}/flights", "version": 11, "published": True, "rows": rows}
            | {"bytes": rows * 61}
            for layer, rows in (("raw", 376_088), ("clean", 367_670), ("history", 371_002))
        ],
        "data_quality": _rules(),
        "leaderboard": _board(),
        "artifacts": [
            {"kind": "report", "path": "run_report.html", "sha256": "3a" * 32},
            {"kind": "model", "path": "models/trees/v1", "sha256": "7b" * 32},
            {"kind": "evidence", "path": "evidence/curves.json", "sha256": "c4" * 32},
        ],
    }
    return RunReport.model_validate({**fields, **changes})


def build_extras(**changes: object) -> ReportExtras:
    """The evidence of the whole run."""
    fields: dict[str, object] = {
        "champion": {"model": "trees", "metric": "roc_auc"},
        "set_aside": [
            {"table": "raw/flights", "kind": kind, "reason": reason, "rows": rows}
            for kind, reason, rows in (
                ("duplicate", "same key, an earlier delivery", 4_380),
                ("duplicate", "same row delivered twice", 2_354),
                ("quarantined", "distance_range", 1_104),
                ("quarantined", "dep_delay_range", 580),
                ("rejected", "distance: `abc` is no double", 1_022),
                ("rejected", "line ends too early", 662),
            )
        ],
        "coverage": _coverage(),
        "learning": {
            "net": [
                {
                    "epoch": epoch,
                    "train_loss": 0.47 + 0.09 * math.exp(-epoch / 2),
                    "validation_loss": 0.40 + 0.05 * math.exp(-epoch / 1.5) + 0.001 * epoch,
                    "validation_metric": 0.768 - 0.05 * math.exp(-epoch / 1.7),
                }
                for epoch in range(1, 9)
            ]
        },
        "curves": {name: _curves(auc) for name, (_, _, auc, *_) in MODELS.items()},
        "importance": {
            model: {
                item["feature"]: scale * math.exp(-position / 5)
                for position, item in enumerate(_coverage()[start:])
            }
            for model, scale, start in (("trees", 0.14, 0), ("logistic", 0.61, 12))
        },
        "drift": _drift(),
    }
    return ReportExtras.model_validate({**fields, **changes})


def build_failed_report() -> RunReport:
    """A run that its quality gate stopped: later steps did not run, nothing is measured."""
    steps = [step for step in _steps() if step["name"] in {"ingest", "clean"}]
    return build_report(
        status="failed",
        exit_code=65,
        ended_at="2026-11-30T10:15:40Z",
        warnings=[],
        gates=[{"name": "quality", "verdict": "fail", "reasons": ["3.4 % found, 1 % allowed"]}],
        error={
            "kind": "data",
            "message": "flights.quarantine_budget: 3.4 % (1,034/30,412) found, 1 % allowed",
            "where": "base.yaml:27",
            "remedy": "docs/runbooks/rule-failed.md",
        },
        steps=[
            *steps,
            {"name": "validate", "status": "failed", "seconds": 6.0, "reason": "1 rule failed"},
            {"name": "featurize", "status": "not_run"},
            {"name": "train", "status": "not_run"},
        ],
        data_quality=[
            {
                "table": "flights",
                "rule": "quarantine_budget",
                "severity": "fail",
                "verdict": "fail",
                "evaluated": 30_412,
                "failed": 1_034,
                "observed": "3.4 %",
                "allowed": "1 %",
                "origin": "base.yaml:27",
            }
        ],
        tables=[],
        leaderboard=[],
        artifacts=[],
    )


def _steps() -> list[dict[str, object]]:
    sources = {"flights": 377_772, "weather": 26_115, "planes": 3_322, "airports": 1_458}
    rejected = {"flights": 1_684}
    duplicate, quarantined = {"flights": 6_734, "weather": 0}, {"flights": 1_684, "weather": 1}
    raw = {name: rows - rejected.get(name, 0) for name, rows in sources.items()}
    clean = {n: r - duplicate.get(n, 0) - quarantined.get(n, 0) for n, r in raw.items()}
    times = {"ingest": 12.4, "clean": 15.1, "validate": 6.2, "featurize": 31.0, "audit": 5.3}
    times |= {"train": 85.4, "evaluate": 7.0, "score": 4.2, "monitor": 3.1, "report": 1.6}
    rows: dict[str, dict[str, object]] = {
        "ingest": {
            "by_table": [
                {
                    "name": f"raw/{n}",
                    "rows_in": sources[n],
                    "rows_out": raw[n],
                    "rows_rejected": sources[n] - raw[n],
                }
                for n in sources
            ]
        },
        "clean": {
            "by_table": [
                {
                    "name": f"clean/{n}",
                    "rows_in": raw[n],
                    "rows_out": clean[n],
                    "rows_duplicate": duplicate.get(n, 0),
                    "rows_quarantined": quarantined.get(n, 0),
                }
                for n in sources
            ]
        },
        "featurize": {
            "by_table": [
                {
                    "name": "training_sets/late_arrival",
                    "rows_in": 336_776,
                    "rows_out": 327_346,
                    "rows_excluded": 9_430,
                }
            ]
        },
    }
    totals = {"ingest": (408_667, 406_983), "clean": (406_983, 398_564), "score": (53_991, 53_991)}
    return [
        {
            "name": name,
            "status": "done",
            "seconds": seconds,
            "spark_jobs": 3 + int(seconds),
            "peak_rss_mb": 1_800 + 20 * seconds,
            "rows_in": totals.get(name, (None, None))[0],
            "rows_out": totals.get(name, (None, None))[1],
            **rows.get(name, {}),
        }
        for name, seconds in times.items()
    ]


def _rules() -> list[dict[str, object]]:
    rules = [
        {
            "table": "flights",
            "rule": f"suite.column_{number}_not_null",
            "severity": "fail",
            "verdict": "pass",
            "evaluated": 367_670,
            "failed": 0,
            "observed": "100 %",
            "allowed": "100 %",
            "origin": f"flights.json:{10 * number}",
        }
        for number in range(1, 9)
    ]
    return [
        *rules,
        {
            "table": "flights",
            "rule": "dest_known",
            "severity": "warn",
            "verdict": "fail",
            "evaluated": 367_670,
            "failed": 8_456,
            "observed": "97.7 % known",
            "allowed": "at least 98 %",
            "origin": "base.yaml:29",
        },
        {
            "table": "weather",
            "rule": "suite.gust_max",
            "severity": "warn",
            "verdict": "not_evaluated",
            "evaluated": 0,
            "failed": 0,
            "observed": "0 of 26,114 non-null",
            "origin": "weather.json:41",
        },
    ]


def _board() -> list[dict[str, object]]:
    rows = []
    for model, (backend, seconds, *values) in MODELS.items():
        for split, shift in (("validation", 0.012), ("test", 0.0)):
            metrics = {
                name: {
                    "value": value + shift,
                    "low": value + shift - width,
                    "high": value + shift + width,
                }
                for name, value, width in zip(
                    ("roc_auc", "pr_auc", "log_loss", "brier"),
                    values,
                    (0.025 * (model != "base_rate"), 0.041, 0.038, 0.014),
                    strict=True,
                )
            }
            rows.append(
                {
                    "model": model,
                    "version": "1",
                    "split": split,
                    "metrics": metrics,
                    "seconds": seconds,
                    "rows_per_s": 217_727 / seconds,
                    "backend": backend,
                    "workers": 2 if backend == "horovod" else None,
                }
            )
    return rows


def _coverage() -> list[dict[str, object]]:
    windows = [
        (f"delays__{key}__arr_delay__{aggregate}_{span}", "numeric", 1 - loss * factor)
        for key, factor in (("carrier", 0.2), ("origin", 0.1), ("route", 1.4), ("tail", 2.2))
        for span, loss in zip(SPANS, (0.3, 0.12, 0.05, 0.01), strict=True)
        for aggregate in ("count", "mean", "max")
    ]
    others = [
        ("congestion__origin__events__count_1h", "numeric", 1.0),
        ("congestion__origin__events__count_3h", "numeric", 1.0),
        ("weather__temp", "numeric", 0.996),
        ("weather__wind_speed", "numeric", 0.991),
        ("weather__precip", "numeric", 0.9999),
        ("previous_leg__arr_delay", "numeric", 0.61),
        ("plane__year", "numeric", 0.83),
        ("plane__manufacturer", "category", 0.85),
        ("schedule__carrier", "category", 1.0),
        ("schedule__dest", "category", 1.0),
        ("calendar__hour", "category", 1.0),
        ("calendar__weekday", "category", 1.0),
    ]
    return [{"feature": f, "kind": k, "share": s} for f, k, s in (*windows, *others)]


def _curves(auc: float) -> dict[str, object]:
    power = (1 - auc) / auc
    grid = [i / 99 for i in range(100)]
    spread = 0.75 * (auc - 0.5) / 0.25
    scores = [0.258 + spread * (i / 14 - 0.3) for i in range(15)] if auc > 0.5 else [0.258]
    return {
        "roc": [(x, x**power) for x in grid],
        "pr": [(x, 0.258 + (0.92 - 0.258) * (auc - 0.5) / 0.26 * (1 - x) ** 1.6) for x in grid],
        "calibration": [
            (s, min(1.0, max(0.0, s + 0.03 * math.sin(7 * s))), 3_600)
            for s in scores
            if 0 <= s <= 1
        ],
        "base_rate": 0.258,
    }


def _drift() -> list[dict[str, object]]:
    rows = []
    for position, item in enumerate(_coverage()):
        psi = 0.31 * math.exp(-position / 4)
        rows.append(
            {
                "feature": item["feature"],
                "kind": item["kind"],
                "psi": psi,
                "reference_rows": 217_727,
                "current_rows": 53_991,
                "null_share_reference": round(1 - item["share"], 4),
                "null_share_current": round(0.9 * (1 - item["share"]), 4),
                "level": "alert" if psi >= 0.25 else "warn" if psi >= 0.1 else "ok",
            }
        )
    rows[-1] |= {"psi": None, "level": "not_evaluated"}
    return rows
