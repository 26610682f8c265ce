"""The curves of `benchmarks.scale` as an SVG: processor time and memory over events, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5")
WIDTH, HEIGHT, LEFT, TOP, GAP = 380, 300, 60, 40, 90
LEGEND = 190


@dataclass(frozen=True, slots=True)
class Curve:
    """What one command took at each size."""

    name: str
    seconds: Sequence[float]
    megabytes: Sequence[float]
    exponent: float | None


def draw(sizes: Sequence[int], curves: Sequence[Curve]) -> str:
    """The picture, with a panel for processor time and one for memory."""
    panels = [
        ("CPU seconds", [curve.seconds for curve in curves]),
        ("peak memory, MB", [curve.megabytes for curve in curves]),
    ]
    box = f"0 0 {LEFT + 2 * WIDTH + GAP + LEGEND} {HEIGHT + TOP + 50}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for number, (title, rows) in enumerate(panels):
        parts += _panel(LEFT + number * (WIDTH + GAP), title, sizes, rows)
    for number, curve in enumerate(curves):
        y = TOP + 14 + 20 * number
        x = LEFT + 2 * WIDTH + GAP + 16
        said = curve.name if curve.exponent is None else f"{curve.name} (n^{curve.exponent:.2f})"
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{COLOURS[number % len(COLOURS)]}"/>')
        parts.append(f'<text x="{x + 16}" y="{y}">{said}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(left: int, title: str, sizes: Sequence[int], rows: Sequence[Sequence[float]]) -> list[str]:
    values = [value for row in rows for value in row if value > 0]
    low, high = floor(log10(min(values))), max(ceil(log10(max(values))), floor(log10(min(values))) + 1)
    first, last = log10(sizes[0]), log10(sizes[-1]) if len(sizes) > 1 else log10(sizes[0]) + 1

    def x(size: float) -> float:
        return left + (log10(size) - first) / (last - first) * WIDTH

    def y(value: float) -> float:
        return TOP + HEIGHT - (log10(max(value, 10**low)) - low) / (high - low) * HEIGHT

    parts = [f'<text x="{left}" y="{TOP - 14}" font-weight="bold">{title}</text>']
    for power in range(low, high + 1):
        at = y(10**power)
        parts.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    parts += [f'<text x="{x(size):.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{size:,}</text>' for size in sizes]
    parts.append(f'<text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 38}" text-anchor="middle">events</text>')
    for number, row in enumerate(rows):
        points = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in zip(sizes, row, strict=True))
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return parts
