"""A trend as a line no larger than a word, from zero up, with its ends, its range and its gaps told in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analyzer.phrases import counted
from analyzer.report.cells import count
from analyzer.report.svg.element import Svg, element, pixels

WIDTH, HEIGHT = 120, 28
"""Units of the drawing; the page's style says how large they are."""
_EDGE = 3.0
"""Room for the dot at the end and half a stroke."""


def sparkline(values: Sequence[float | None], said: str, shown: Callable[[float], str] | None = None) -> Svg:
    """The values from left to right, None where there is no data (a gap, never a zero); empty without any value.

    `said` says in our own words what they are (`Errors of each of the last 14 days`); the sentence that is read aloud
    adds the first and the last value, the range, and the gaps. `shown` writes a value, by default as a count. The scale
    begins at zero, or at the lowest value where that is below.
    """
    shown = shown or (lambda value: count(round(value)))
    known = [value for value in values if value is not None]
    if not known:
        return Svg("")
    low, high = min(0.0, *known), max(0.0, *known)
    span = (high - low) or 1.0
    step = (WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    points = [
        None if value is None else (_EDGE + place * step, HEIGHT - _EDGE - (value - low) / span * (HEIGHT - 2 * _EDGE))
        for place, value in enumerate(values)
    ]
    words = f"{said}: from {shown(known[0])} to {shown(known[-1])}, between {shown(min(known))} and {shown(max(known))}"
    if missing := len(values) - len(known):
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
    """One stroke for each stretch without a gap; a value alone is a dot, by the round ends of the stroke."""
    steps: list[str] = []
    for place, point in enumerate(points):
        if point is None:
            continue
        begins = place == 0 or points[place - 1] is None
        alone = begins and (place + 1 == len(points) or points[place + 1] is None)
        steps.append(f"{'M' if begins else 'L'}{pixels(point[0])} {pixels(point[1])}{'h0' if alone else ''}")
    return "".join(steps)
