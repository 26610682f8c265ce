"""The chart of what rulesets did to history: the unknown share as it was recorded, and under the rules in force."""

from __future__ import annotations

from analyzer.analysis.charts.chart import MAX_DAYS, Axis, Chart, Points, Upright, day_axis, milliseconds, with_gaps
from analyzer.analysis.charts.colours import GREY, VERMILION
from analyzer.analysis.summary.drifts import Drifts

_MAX_MARKED = 12
"""Applied rulesets with a line of their own."""


def rules(drifts: Drifts) -> Chart:
    """Two shares of the whole fleet by day; a vertical line where a ruleset became the active one."""
    rows = list(drifts.days.tail(MAX_DAYS).iter_rows(named=True))
    days = [row["day"] for row in rows]
    drawn = list(with_gaps(rows))

    def share(column: str, name: str, colour: str, width: float) -> Points:
        return Points(
            name,
            colour,
            tuple(row["day"] for row in drawn),
            tuple(row[column] for row in drawn),
            tuple(
                "" if row[column] is None else f"{row['day']}: {row[column]:.1%} of {row['errors']:,} {name}"
                for row in drawn
            ),
            width=width,
            size=width + 3,
            faint=colour == GREY,
        )

    applied = sorted({day for day in drifts.applied.frame["applied_on"] if days and days[0] <= day})
    notes = []
    if drifts.days.height > len(rows):
        notes.append(f"the latest {len(rows)} of {drifts.days.height} days")
    if len(applied) > _MAX_MARKED:
        notes.append(f"the latest {_MAX_MARKED} of {len(applied)} days on which rules were applied are marked")
    return Chart(
        "Unknown share of errors by day, as recorded and under the rules in force",
        "; ".join(notes),
        day_axis([*days, *applied]),
        Axis("share (%)", form=".0%", ends=(0, 1.05), most_ticks=5),
        (
            # Broad and below, so that it is seen where both are the same.
            share("recorded_share", "as recorded", GREY, 7),
            share("unknown_share", "under the rules in force", VERMILION, 2),
        ),
        uprights=tuple(Upright(milliseconds(day), "rules applied", left=True) for day in applied[-_MAX_MARKED:]),
    )
