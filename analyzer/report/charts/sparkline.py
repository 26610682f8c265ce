"""Draw the course of a key figure as a small line."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.readable import counted, percent
from analyzer.report.charts.elements import Svg, element, pixels

WIDTH, HEIGHT = 120, 28
"""The size of the drawing in its own units; the page's style says how large they are."""
_EDGE = 3.0
"""The room for the dot at the end and half a stroke, in units."""


def sparkline(values: Sequence[float | None], name: str, *, is_share: bool = False) -> Svg:
    """Draw values from left to right; empty without any value.

    None is a gap without data, never a zero. `name` says in our own words what the values are
    (`Errors of each of the last 14 days`); the sentence that is read aloud adds the first and the
    last value, the range, and the gaps. The scale begins at zero, or at the lowest value if that is
    below zero.
    """

    def shown(value: float) -> str:
        return percent(value) if is_share else f"{value:,.0f}"

    present = [value for value in values if value is not None]
    if not present:
        return Svg("")
    low, high = min(0.0, *present), max(0.0, *present)
    span = (high - low) or 1.0
    step = (WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    points = [
        None if value is None else (_EDGE + index * step, HEIGHT - _EDGE - (value - low) / span * (HEIGHT - 2 * _EDGE))
        for index, value in enumerate(values)
    ]
    words = f"{name}: from {shown(present[0])} to {shown(present[-1])}"
    words += f", between {shown(min(present))} and {shown(max(present))}"
    if missing := len(values) - len(present):
        words += f"; {counted(missing, 'gap')} without data"
    (x, y) = next(point for point in reversed(points) if point is not None)
    return element(
        "svg",
        element("title", f"{words}."),
        element("path", d=_path(points), class_="trend"),
        element("circle", cx=x, cy=y, r=2.5, class_="now"),
        class_="sparkline",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        preserveAspectRatio="xMaxYMid meet",
    )


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    """Draw one stroke for each stretch without a gap; the round ends make a single value a dot."""
    steps: list[str] = []
    for index, point in enumerate(points):
        if point is None:
            continue
        is_first = index == 0 or points[index - 1] is None
        is_single = is_first and (index + 1 == len(points) or points[index + 1] is None)
        steps.append(f"{'M' if is_first else 'L'}{pixels(point[0])} {pixels(point[1])}{'h0' if is_single else ''}")
    return "".join(steps)
