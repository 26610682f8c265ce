"""The charts of findings that are one plot of bars: a change of the mix of reasons, and a burst."""

from __future__ import annotations

from datetime import timedelta

from analyzer.analysis.charts.chart import Axis, Bars, Chart, short
from analyzer.analysis.charts.finding_panels import MARKED, USUAL
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.summary.cases import Case

MAX_REASONS = 8
_UNITS = ((3_600, "hour", "hours"), (60, "minute", "minutes"), (1, "second", "seconds"))


def mix(case: Case) -> Chart:
    """Shares of what sessions show, by reason, of the last week and of the baseline before it; with 95 % intervals."""
    rows = list(case.numbers.head(MAX_REASONS).iter_rows(named=True))
    begin = case.finding.last_on - timedelta(days=RECENT_DAYS - 1)
    first, end = begin - timedelta(days=BASELINE_DAYS), begin - timedelta(days=1)
    reasons = tuple(short(row["reason"]) for row in rows)
    bars = []
    for side, name, style in (
        ("after", f"{begin} to {case.finding.last_on}", MARKED),
        ("before", f"the {BASELINE_DAYS} days before: {first} to {end}", USUAL),
    ):
        shares = tuple(row[f"{side}_share"] for row in rows)
        told = zip(reasons, shares, rows, strict=True)
        tips = tuple(f"{reason}: {share:.0%}, {row[f'{side}_sessions']:,} sessions" for reason, share, row in told)
        intervals = tuple((row[f"{side}_low_share"], row[f"{side}_high_share"]) for row in rows)
        bars.append(Bars(name, style, reasons, shares, tips, intervals=intervals))
    notes = ["whiskers: 95% intervals"]
    if case.numbers.height > len(rows):
        notes.append(f"the {len(rows)} of {case.numbers.height} reasons that changed most")
    return Chart(
        f"What sessions show, by reason: the last {RECENT_DAYS} days against the {BASELINE_DAYS} before",
        "; ".join(notes),
        Axis("share (%)", form=".0%", from_zero=True, most_ticks=5),
        Axis(kind="category", grid=False, standoff=6),
        tuple(bars),
        stacked=False,
        gap=0.3,
        height=170 + 46 * len(rows),
    )


def burst(case: Case) -> Chart:
    """Repeats of the message in the session, over its time."""
    rows = list(case.numbers.iter_rows(named=True))
    seconds = rows[0]["seconds"]
    bars = Bars(
        "repeats of the message",
        MARKED,
        tuple(row["begins_at"] for row in rows),
        tuple(row["repeats"] for row in rows),
        tuple(f"from {row['begins_at']:%H:%M:%S}: {row['repeats']:,} repeats" for row in rows),
        width=seconds * 1_000 * 0.9,
        # A bar stands over its stretch of time, not around its beginning.
        centred=False,
    )
    usual = case.finding.latest.expected
    end = rows[-1]["begins_at"] + timedelta(seconds=seconds)
    note = f"{sum(bars.lengths):,} repeats from {rows[0]['begins_at']:%Y-%m-%d %H:%M:%S} to {end:%H:%M:%S} UTC"
    if usual is not None:
        times = "time" if usual == 1 else "times"
        note += f"; other sessions of this caller show a message {usual:,.0f} {times} (median)"
    return Chart(
        f"How often the session repeats the message, every {_length(seconds)}",
        f"{note}.",
        Axis(
            "time (UTC)",
            "date",
            "%H:%M:%S\n%-d %b %Y" if seconds < 60 else "%H:%M\n%-d %b %Y",
            most_ticks=6,
            grid=False,
        ),
        Axis("repeats", form=",~r", from_zero=True, most_ticks=5),
        (bars,),
        height=320,
    )


def _length(seconds: int) -> str:
    size, one, many = next(unit for unit in _UNITS if seconds >= unit[0])
    return one if seconds == size else f"{seconds // size} {many}"
