"""Charts of the unknown share by day: of all callers, and of the fleet as recorded and under the rules in force."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Protocol

import polars as pl

from analyzer.analysis.charts.chart import (
    AZURE,
    GREEN,
    GREY,
    MAX_DAYS,
    OCHRE,
    ROSE,
    SKY,
    VERMILION,
    Axis,
    Chart,
    Note,
    Points,
    Side,
    Upright,
    day_axis,
    milliseconds,
    rows_of,
    short,
    with_gaps,
)
from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.tables import Table
from analyzer.readable import percent

MAX_SPIKING = 6
"""Callers drawn in colour."""
MAX_OTHERS = 40
"""Callers drawn in grey, those with the most errors on one day."""
_SPIKING = (VERMILION, AZURE, GREEN, ROSE, OCHRE, SKY)
_SYMBOLS = ("diamond", "square", "triangle-up", "star", "cross", "hexagon")


class Rises(Protocol):
    """The rises of a window, as `Spikes` has them."""

    @property
    def share(self) -> Table:
        """Unknown share by day and caller."""

    @property
    def found(self) -> tuple[Detection, ...]:
        """Detections of a rise."""

    @property
    def callers(self) -> tuple[str, ...]:
        """Callers with a rise, in the order in which they are drawn."""


def unknown_share(given: Rises | Table | pl.DataFrame) -> Chart:
    """Unknown share of errors by day: callers with a rise in colour, its days marked, all others in grey.

    Of what `spikes` gives; rows of `unknown-share` alone know of no rise.
    """
    judged = None if isinstance(given, Table | pl.DataFrame) else given
    share = given if isinstance(given, Table | pl.DataFrame) else given.share
    needed = ("day", "caller", "errors", "unknown_errors", "unknown_share")
    frame = rows_of(share, "unknown-share", *needed)
    days = frame["day"].unique().to_list()
    # Very many callers may have errors: those that are drawn alone are ranked and become rows of Python.
    risers = judged.callers if judged else ()
    known = set(frame.filter(pl.col("caller").is_in(list(risers)))["caller"])
    spiking = [caller for caller in risers if caller in known]
    others = frame.filter(~pl.col("caller").is_in(spiking))
    busiest = others.top_k(MAX_OTHERS * len(days), by=["errors", "caller"], reverse=[False, True])
    ranked = busiest.sort(["errors", "caller"], descending=[True, False])["caller"].unique(maintain_order=True)
    drawn, grey = spiking[:MAX_SPIKING], ranked.head(MAX_OTHERS).to_list()
    quiet = frame["caller"].n_unique() - len(spiking)
    series: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in frame.filter(pl.col("caller").is_in([*drawn, *grey])).iter_rows(named=True):
        series[row["caller"]].append(row)
    lines = [
        _share_line(series[caller], caller, GREY, 1, "callers without a rise", keyed=not place)
        for place, caller in enumerate(grey)
    ]
    names: list[Note] = []
    for place, caller in enumerate(drawn):
        colour = _SPIKING[place]
        lines.append(_share_line(series[caller], caller, colour, 2.5, short(caller), group=str(place)))
        # The tests count distinct errors, this line counts all: a mark stands on the line.
        risen = {one.day for one in (judged.found if judged else ()) if one.caller == caller}
        if marked := [row for row in series[caller] if row["day"] in risen]:
            lines.append(_marks(marked, caller, colour, _SYMBOLS[place], str(place)))
            worst = max(marked, key=lambda row: row["unknown_share"])
            # Names of one day stand above each other.
            up = 26 + 16 * sum(name.x == worst["day"] for name in names)
            said, side = f"{short(caller)} {percent(worst['unknown_share'])}", _towards_middle(worst["day"], days)
            names.append(Note(said, worst["day"], worst["unknown_share"], side, up, colour, strong=True))
    notes = []
    if len(spiking) > len(drawn):
        notes.append(f"{len(drawn)} of {len(spiking)} callers with a rise")
    if quiet > len(grey):
        notes.append(f"{len(grey)} of {quiet} without one are drawn")
    return Chart(
        "Unknown share of errors by day and caller",
        "; ".join(notes),
        day_axis(days),
        Axis("unknown share (%)", form=".0%", ends=(0, 1.12), ticks=(0, 0.25, 0.5, 0.75, 1)),
        tuple(lines),
        notes=tuple(names),
    )


def _share_line(
    rows: Sequence[Mapping[str, Any]], caller: str, colour: str, width: float, name: str, *,
    keyed: bool = True, group: str = "others",
) -> Points:  # fmt: skip
    drawn = list(with_gaps(rows))
    return Points(
        name,
        colour,
        tuple(row["day"] for row in drawn),
        tuple(row["unknown_share"] for row in drawn),
        tuple(f"{short(caller)}\n{row['day']}: {row['unknown_errors']} of {row['errors']}" for row in drawn),
        width=width,
        size=3 + width,
        faint=group == "others",
        keyed=keyed,
        group=group,
        opening=short(caller),
    )


def _towards_middle(day: date, days: Sequence[date]) -> Side:
    """The end of a label that stands at the day, so that the label does not leave the plot."""
    place = (day - min(days)).days / max(1, (max(days) - min(days)).days)
    return "left" if place < 0.3 else "right" if place > 0.7 else "center"


def _marks(rows: Sequence[Mapping[str, Any]], caller: str, colour: str, symbol: str, group: str) -> Points:
    return Points(
        f"rises of {short(caller)}",
        colour,
        tuple(row["day"] for row in rows),
        tuple(row["unknown_share"] for row in rows),
        tuple(f"{row['unknown_errors']} of {row['errors']} unknown\nrise" for row in rows),
        size=13,
        symbol=symbol,
        group=group,
    )


_MAX_MARKED = 12
"""Applied rulesets with a line of their own."""


class RuledDays(Protocol):
    """What rulesets did to a fleet, as `Drifts` has it."""

    @property
    def days(self) -> pl.DataFrame:
        """A row a day: `day`, `errors`, `recorded_share`, `unknown_share`."""

    @property
    def applied(self) -> Table:
        """Rulesets that became the active one."""


def rules(drifts: RuledDays) -> Chart:
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
                "" if row[column] is None else f"{row['day']}: {percent(row[column])} of {row['errors']:,} {name}"
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
