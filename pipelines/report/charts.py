"""Numbers of the page's drawings: paths, ticks and positions; all markup is in the template."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# A drawing's own units; it is shown at about this width, so that text keeps its size.
WIDTH, WIDE, HEIGHT = 320, 480, 240
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 40
# Longer lines are drawn without a dot a point.
_MAX_DOTS = 30

Point = Sequence[float]
Range = tuple[float, float]
# Name, text, value, low, high.
Measured = tuple[str, str, float | None, float | None, float | None]


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Line:
    """One series: its path, its dots, and its style (0 is the emphasised one)."""

    name: str
    path: str
    dots: list[tuple[float, float]]
    style: int


@dataclass(frozen=True)
class LineChart:
    """A chart of lines over two numeric axes."""

    title: str
    width: int
    x_label: str
    y_label: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    lines: list[Line]
    reference: str | None
    """Path of a line that stands for no skill, or for a perfect one."""


@dataclass(frozen=True)
class Whisker:
    """A value with its interval, as per cent of a track's width."""

    name: str
    text: str
    at: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class DotPlot:
    """One metric of several models on one scale."""

    title: str
    hint: str
    whiskers: list[Whisker]
    ticks: list[Tick]


def line_chart(
    texts: tuple[str, str, str],
    series: Mapping[str, Sequence[Point]],
    *,
    unit: bool = False,
    reference: Sequence[Point] | None = None,
    width: int = WIDTH,
) -> LineChart:
    """Scales series into a chart; the first one is emphasised.

    Args:
        texts: Title, label of the x axis, label of the y axis.
        series: Name → points (x, y), in the order of the legend.
        unit: Both axes run from 0 to 1; by default they hold the points.
        reference: A line to compare with.
        width: Width of the drawing, in its own units.
    """
    points = [point for line in series.values() for point in line]
    whole = all(float(point[0]).is_integer() for point in points)
    x_range = (0.0, 1.0) if unit else _span([point[0] for point in points], room=0.0)
    y_range = (0.0, 1.0) if unit else _span([point[1] for point in points], room=0.08)
    title, x_label, y_label = texts
    lines = [
        Line(
            name,
            _path(line, x_range, y_range, width),
            [_place(point, x_range, y_range, width) for point in line if len(line) <= _MAX_DOTS],
            position,
        )
        for position, (name, line) in enumerate(series.items())
    ]
    return LineChart(
        title=title,
        width=width,
        x_label=x_label,
        y_label=y_label,
        x_ticks=[
            Tick(_place((tick.at, 0), x_range, (0, 1), width)[0], tick.text)
            for tick in _ticks(*x_range, whole=whole)
        ],
        y_ticks=[
            Tick(_place((0, tick.at), (0, 1), y_range, width)[1], tick.text)
            for tick in _ticks(*y_range)
        ],
        lines=lines,
        reference=_path(reference, x_range, y_range, width) if reference else None,
    )


def dot_plot(title: str, hint: str, rows: Sequence[Measured]) -> DotPlot:
    """Scales rows of (name, text, value, low, high) onto one track.

    >>> plot = dot_plot("AUC", "", [("a", "0.5", 0.5, None, None), ("b", "0.7", 0.7, 0.6, 0.8)])
    >>> [whisker.at for whisker in plot.whiskers]
    [5.8, 64.7]
    """
    known = [v for _, _, *values in rows for v in values if v is not None]
    low, high = _span(known or [0.0, 1.0], room=0.065)

    def percent(value: float | None) -> float | None:
        return None if value is None else round(100 * (value - low) / (high - low), 1)

    return DotPlot(
        title=title,
        hint=hint,
        whiskers=[
            Whisker(name, text, percent(value), percent(lowest), percent(highest))
            for name, text, value, lowest, highest in rows
        ],
        ticks=[Tick(percent(tick.at) or 0.0, tick.text) for tick in _ticks(low, high, most=4)],
    )


def _span(values: Sequence[float], room: float) -> Range:
    low, high = min(values, default=0.0), max(values, default=1.0)
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    margin = room * (high - low)
    return low - margin, high + margin


def _ticks(low: float, high: float, *, most: int = 6, whole: bool = False) -> list[Tick]:
    """Round values inside a range, with their text; `at` is the value.

    >>> [tick.text for tick in _ticks(0, 1)]
    ['0', '0.2', '0.4', '0.6', '0.8', '1']
    >>> [tick.text for tick in _ticks(1, 3, whole=True)]
    ['1', '2', '3']
    """
    magnitude = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = [max(factor * magnitude, float(whole)) for factor in (1, 2, 5, 10)]
    for step in steps:
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            break
    return [Tick(k * step, f"{k * step:.6g}") for k in range(first, last + 1)]


def _place(point: Point, x: Range, y: Range, width: int) -> tuple[float, float]:
    across = (point[0] - x[0]) / (x[1] - x[0])
    up = (point[1] - y[0]) / (y[1] - y[0])
    return (
        round(LEFT + across * (width - LEFT - RIGHT), 1),
        round(HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM), 1),
    )


def _path(points: Sequence[Point], x: Range, y: Range, width: int) -> str:
    placed = [_place(point, x, y, width) for point in points]
    return " ".join(f"{'L' if i else 'M'}{px:g} {py:g}" for i, (px, py) in enumerate(placed))
