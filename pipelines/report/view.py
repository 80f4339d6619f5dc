"""What the page shows, drawn from the report and its evidence: rows, sums and charts, no markup."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pipelines.report import charts, words
from pipelines.report.extras import Coverage, DriftEvidence, ReportExtras, SetAside
from pipelines.report.model import BoardRow, Gate, QualityRow, RowFlow, RunReport, StepReport

NUM_BARS = 15
_KINDS = ("out", "duplicate", "quarantined", "rejected", "excluded")


@dataclass(frozen=True)
class Part:
    """A share of a flow."""

    kind: str
    rows: int
    percent: float


@dataclass(frozen=True)
class Flow:
    """Where the records of one source went, from files to clean rows."""

    name: str
    rows_in: int
    parts: list[Part]
    missing: int
    """Records that the parts do not account for; 0 when the flow reconciles."""
    reasons: list[SetAside]


@dataclass(frozen=True)
class Verdicts:
    """Rules by outcome."""

    counts: list[tuple[str, int]]
    """Outcome → rules; `warn` is a failed rule that only warns."""
    open: list[QualityRow]
    """Rules that did not pass."""
    passed: list[QualityRow]


@dataclass(frozen=True)
class FeatureGroup:
    """Features of one origin."""

    name: str
    features: list[Coverage]
    lowest: float | None
    mean: float | None


@dataclass(frozen=True)
class Bar:
    """A labelled bar, as per cent of the longest."""

    name: str
    value: float
    percent: float


@dataclass(frozen=True)
class Page:
    """Everything the template needs; an empty part is absent from the page."""

    report: RunReport
    extras: ReportExtras
    seconds: float | None
    stopped: StepReport | None
    """The step that failed."""
    champion: BoardRow | None
    champion_gate: Gate | None
    flows: list[Flow]
    verdicts: Verdicts | None
    groups: list[FeatureGroup]
    learning: list[charts.LineChart]
    plots: list[charts.DotPlot]
    board: list[BoardRow]
    metrics: list[str]
    curves: list[charts.LineChart]
    importance: list[tuple[str, list[Bar]]]
    drift: list[tuple[DriftEvidence, float]]
    drift_levels: list[tuple[str, int]]
    longest_step: float


def build_page(report: RunReport, extras: ReportExtras) -> Page:
    """Gathers what each section shows."""
    champion = extras.champion.model if extras.champion else None
    primary = extras.champion.metric if extras.champion else None
    board = sorted(report.leaderboard, key=lambda row: (row.split, _rank(row, primary), row.model))
    test = [row for row in board if row.split == "test"]
    metrics = list(dict.fromkeys(name for row in board for name in row.metrics))
    gate = next((gate for gate in report.gates if gate.name == "champion"), None)
    return Page(
        report=report,
        extras=extras,
        seconds=words.seconds_between(report.started_at, report.ended_at),
        stopped=next((step for step in report.steps if step.status == "failed"), None),
        champion=next((row for row in test if row.model == champion), None),
        champion_gate=gate,
        flows=_flows(report, extras),
        verdicts=_verdicts(report.data_quality),
        groups=_groups(extras.coverage),
        learning=_learning(extras),
        plots=[_plot(name, test) for name in metrics if test],
        board=board,
        metrics=metrics,
        curves=_curves(extras, [row.model for row in test]),
        importance=[
            (model, _bars(values)) for model, values in extras.importance.items() if values
        ],
        drift=_drift(extras.drift),
        drift_levels=_count_levels(extras.drift),
        longest_step=max((step.seconds or 0.0 for step in report.steps), default=0.0),
    )


def _rank(row: BoardRow, metric: str | None) -> float:
    """Orders a board from the best value of a metric to the worst, those without one last."""
    measured = row.metrics.get(metric) if metric else None
    if measured is None or measured.value is None:
        return math.inf
    return measured.value if metric in words.LOWER_IS_BETTER else -measured.value


def _flows(report: RunReport, extras: ReportExtras) -> list[Flow]:
    """Sources first, in the order of ingest; then any other table a step accounts for."""
    reports: dict[str, list[RowFlow]] = {}
    for step in report.steps:
        if step.name in {"ingest", "clean"}:
            for table in step.by_table:
                reports.setdefault(table.name.split("/")[-1], []).append(table)
    flows = [_flow(name, tables, extras.set_aside) for name, tables in reports.items()]
    featurize = [step for step in report.steps if step.name == "featurize"]
    flows += [
        _flow(table.name.split("/")[-1], [table], extras.set_aside)
        for step in featurize
        for table in step.by_table
    ]
    return [flow for flow in flows if flow.rows_in]


def _flow(name: str, tables: list[RowFlow], set_aside: list[SetAside]) -> Flow:
    """Chains the steps of one table: what the first one read, what the last one left."""
    rows_in = tables[0].rows_in or 0
    rows = {
        "out": tables[-1].rows_out or 0,
        "duplicate": sum(table.rows_duplicate or 0 for table in tables),
        "quarantined": sum(table.rows_quarantined or 0 for table in tables),
        "rejected": sum(table.rows_rejected or 0 for table in tables),
        "excluded": sum(table.rows_excluded or 0 for table in tables),
    }
    parts = [
        Part(kind, rows[kind], round(100 * rows[kind] / max(rows_in, 1), 2))
        for kind in _KINDS
        if rows[kind] or kind == "out"
    ]
    reasons = [item for item in set_aside if item.table.split("/")[-1] == name]
    reasons.sort(key=lambda item: (_KINDS.index(item.kind), -item.rows, item.reason))
    return Flow(name, rows_in, parts, rows_in - sum(rows.values()), reasons)


def _verdicts(rules: list[QualityRow]) -> Verdicts | None:
    if not rules:
        return None
    outcomes = [outcome(rule) for rule in rules]
    order = {"fail": 0, "warn": 1, "not_evaluated": 2}
    return Verdicts(
        counts=[(name, outcomes.count(name)) for name in ("pass", "warn", "fail", "not_evaluated")],
        open=sorted(
            (rule for rule in rules if rule.verdict != "pass"),
            key=lambda rule: order[outcome(rule)],
        ),
        passed=[rule for rule in rules if rule.verdict == "pass"],
    )


def outcome(rule: QualityRow) -> str:
    """`pass`, `fail`, `not_evaluated`, or `warn` for a failed rule that only warns."""
    return "warn" if rule.verdict == "fail" and rule.severity == "warn" else rule.verdict


def _groups(coverage: list[Coverage]) -> list[FeatureGroup]:
    """Features by the first word group of their names, `delays__origin__…` under `delays`."""
    groups: dict[str, list[Coverage]] = {}
    for item in coverage:
        groups.setdefault(item.feature.split("__")[0], []).append(item)
    found = []
    for name, features in groups.items():
        shares = [item.share for item in features if item.share is not None]
        mean = sum(shares) / len(shares) if shares else None
        found.append(FeatureGroup(name, features, min(shares, default=None), mean))
    return found


def _learning(extras: ReportExtras) -> list[charts.LineChart]:
    found = []
    metric = words.metric(extras.champion.metric) if extras.champion else "metric"
    for model, epochs in extras.learning.items():
        series = {
            name: [(e.epoch, v) for e in epochs if (v := getattr(e, field)) is not None]
            for name, field in (
                ("validation", "validation_loss"),
                ("training", "train_loss"),
                ("on validation", "validation_metric"),
            )
        }
        losses = {name: line for name, line in list(series.items())[:2] if line}
        if losses:
            found.append(
                charts.line_chart((f"{model}: loss", "epoch", ""), losses, width=charts.WIDE)
            )
        if series["on validation"]:
            metrics = {"validation": series["on validation"]}
            title = f"{model}: {metric} on validation"
            found.append(charts.line_chart((title, "epoch", ""), metrics, width=charts.WIDE))
    return found


def _plot(metric: str, rows: list[BoardRow]) -> charts.DotPlot:
    values: list[charts.Measured] = []
    for row in rows:
        measured = row.metrics.get(metric)
        if measured is None or measured.value is None:
            values.append((row.model, "not evaluated", None, None, None))
        else:
            text = words.number(measured.value)
            values.append((row.model, text, measured.value, measured.low, measured.high))
    hint = "lower is better" if metric in words.LOWER_IS_BETTER else "higher is better"
    return charts.dot_plot(words.metric(metric), hint, values)


def _curves(extras: ReportExtras, order: list[str]) -> list[charts.LineChart]:
    """The three curves of every model; the champion is emphasised, the rest as on the board."""
    if not extras.curves:
        return []
    champion = extras.champion.model if extras.champion else None
    names = [*dict.fromkeys([champion, *order, *extras.curves])]
    ordered = [(name, extras.curves[name]) for name in names if name and name in extras.curves]
    base_rate = ordered[0][1].base_rate
    return [
        charts.line_chart(
            ("ROC", "false positive rate", "true positive rate"),
            {model: curves.roc for model, curves in ordered},
            reference=[(0, 0), (1, 1)],
            unit=True,
        ),
        charts.line_chart(
            ("Precision and recall", "recall", "precision"),
            {model: curves.pr for model, curves in ordered},
            reference=[(0, base_rate), (1, base_rate)],
            unit=True,
        ),
        charts.line_chart(
            ("Calibration", "mean score", "share that came true"),
            {model: [point[:2] for point in curves.calibration] for model, curves in ordered},
            reference=[(0, 0), (1, 1)],
            unit=True,
        ),
    ]


def _bars(values: dict[str, float]) -> list[Bar]:
    top = sorted(values.items(), key=lambda item: (-item[1], item[0]))[:NUM_BARS]
    longest = max(top[0][1], 1e-12)
    return [Bar(name, value, round(100 * max(value, 0) / longest, 1)) for name, value in top]


def _drift(rows: list[DriftEvidence]) -> list[tuple[DriftEvidence, float]]:
    known = sorted(
        (row for row in rows if row.psi is not None), key=lambda row: (-(row.psi or 0), row.feature)
    )[:NUM_BARS]
    longest = max((row.psi or 0 for row in known), default=0) or 1.0
    return [(row, round(100 * (row.psi or 0) / longest, 1)) for row in known]


def _count_levels(rows: list[DriftEvidence]) -> list[tuple[str, int]]:
    levels = [row.level for row in rows]
    return [(level, levels.count(level)) for level in ("ok", "warn", "alert", "not_evaluated")]
