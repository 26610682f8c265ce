"""The change of a pooled share, taken apart: by members whose own share changed, and by members that got busier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Split:
    """The change of a pooled share in three parts that add up to it, in shares."""

    before: float
    after: float
    rate: float
    """By members whose own share changed, at their old weight."""
    mix: float
    """By members that gained or lost weight, at their old share."""
    cross: float
    """By both at once."""
    members: tuple[tuple[str, float, float], ...]
    """(name, rate, mix), the largest effect first."""

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before

    @property
    def verdict(self) -> str:
        """`rate`, `mix` or `both`: what three quarters of the change come from, or neither alone."""
        if abs(self.change) < 1e-12:
            return "both"
        if self.mix / self.change >= 0.75:
            return "mix"
        return "rate" if (self.rate + self.cross) / self.change >= 0.75 else "both"


def split(before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> Split:
    """Kitagawa's (1955) decomposition of a pooled share over members, such as callers or reasons.

    Both sides give (unknown, all) by member. A member of one side alone has no share on the other: all that it
    brings or takes away is mix. Either side empty gives a change of nothing.
    """
    totals = [sum(n for _, n in side.values()) for side in (before, after)]
    if not all(totals):
        return Split(0.0, 0.0, 0.0, 0.0, 0.0, ())
    pooled = [sum(k for k, _ in side.values()) / total for side, total in zip((before, after), totals, strict=True)]
    rate = mix = cross = 0.0
    members = []
    for name in sorted({*before, *after}):
        k0, n0 = before.get(name, (0, 0))
        k1, n1 = after.get(name, (0, 0))
        w0, w1 = n0 / totals[0], n1 / totals[1]
        # Who was not there before brings its share along: its weight is mix, and so is its distance from the rest.
        p1 = k1 / n1 if n1 else None
        p0 = k0 / n0 if n0 else p1
        if p0 is None:
            continue
        p1 = p0 if p1 is None else p1
        rate += w0 * (p1 - p0)
        # Weights sum to one on both sides, so the pooled share may be taken off without changing the sum.
        mix += (w1 - w0) * (p0 - pooled[0])
        cross += (w1 - w0) * (p1 - p0)
        members.append((name, w1 * (p1 - p0), (w1 - w0) * (p0 - pooled[0])))
    members.sort(key=lambda each: (-abs(each[1]) - abs(each[2]), each[0]))
    return Split(pooled[0], pooled[1], rate, mix, cross, tuple(members))
