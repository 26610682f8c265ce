"""Draw a report's tables: errors by day and outcome, retry chains, hand-offs, unknown share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Protocol

import polars as pl

from analyzer.analysis.charts.chart import (
    AMBER,
    AZURE,
    BLUE,
    GREEN,
    GREY,
    MAX_DAILY,
    MAX_DAYS,
    OCHRE,
    OLIVE,
    OTHER,
    OTHER_STYLE,
    PLUM,
    ROSE,
    SILVER,
    SKY,
    VERMILION,
    Axis,
    Bars,
    Chart,
    Mark,
    Note,
    Points,
    Side,
    Style,
    Upright,
    as_number,
    counts,
    day_axis,
    day_bars,
    milliseconds,
    round_step,
    rows_of,
    short,
    with_gaps,
)
from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.tables import Table
from analyzer.readable import percent

MAX_REASONS = 12
# The eight reasons in the order of the recovery table. Colours after Okabe and Ito (2008) and Tol
# (2021), which people with any of the common colour blindnesses can tell apart.
_REASON_STYLES: dict[str, Style] = {
    "rate_limited": (AMBER, ""),
    "context_overflow": (SKY, "/"),
    "auth_error": (PLUM, "x"),
    "network_transient": (GREEN, "\\"),
    "network_permanent": (BLUE, "-"),
    "tool_not_found": (OLIVE, "+"),
    "validation": (SILVER, "."),
    "unknown": (VERMILION, "|"),
}
_OUTCOME_STYLES: dict[str, Style] = {
    "recovered": (GREEN, ""),
    "exhausted": (VERMILION, "x"),
    "surfaced": (AMBER, "/"),
    "escalated": (PLUM, "+"),
    "aborted": (SKY, "."),
    "unresolved": (SILVER, "-"),
}


def errors_timeline(given: Table | pl.DataFrame) -> Chart:
    """Draw errors by day, stacked by reason; of `errors-timeline`."""
    rows = rows_of(given, "errors-timeline", "day", "reason", "errors")
    days = sorted(set(rows["day"]))
    kept = days[-MAX_DAYS:]
    by_reason: dict[str, Counter[date]] = defaultdict(Counter)
    strange: set[str] = set()
    for row in rows.iter_rows(named=True):
        if row["reason"] not in _REASON_STYLES:
            strange.add(row["reason"])
        if row["day"] >= kept[0]:
            by_reason[row["reason"] if row["reason"] in _REASON_STYLES else OTHER][row["day"]] += row["errors"]
    names = (name for name in (*_REASON_STYLES, OTHER) if name in by_reason)
    weekly = len(kept) > MAX_DAILY
    bars = tuple(
        day_bars(by_reason[name], name, _REASON_STYLES.get(name, OTHER_STYLE), weekly=weekly) for name in names
    )
    notes = [f"the latest {len(kept)} of {len(days)} days"] if len(days) > len(kept) else []
    notes += ["a bar a week"] if weekly else []
    if strange:
        notes.append(f"{OTHER} are {len(strange)} beyond the eight reasons")
    total = rows.group_by("day").agg(pl.sum("errors")).sort("errors", "day", descending=[True, False])
    title = "Errors by day and reason"
    if total.height:
        day, most = total.row(0)
        title = f"Errors peaked on {day}: {most:,}" if total.height > 1 else f"{most:,} errors on {day}"
    return Chart(title, "; ".join(notes), day_axis(kept), counts("errors"), bars)


def outcomes(given: Table | pl.DataFrame) -> Chart:
    """Draw errors by reason and outcome, over all callers; of `errors-by-reason-caller-outcome`."""
    rows = rows_of(given, "errors-by-reason-caller-outcome", "reason", "outcome", "errors")
    rows = rows.group_by("reason", "outcome").agg(pl.col("errors").sum())
    by_reason: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows.iter_rows(named=True):
        outcome = row["outcome"] if row["outcome"] in _OUTCOME_STYLES else OTHER
        by_reason[row["reason"] or "(none)"][outcome] += row["errors"]
    ends = {reason: f"{outcomes.total():,}" for reason, outcomes in by_reason.items()}
    return _outcome_bars("{recovered} of {total} errors recovered", by_reason, "errors", ends)


def retries(given: Table | pl.DataFrame) -> Chart:
    """Draw retry chains by reason and outcome, and the recovered share; of `retries-outcomes`."""
    rows = rows_of(given, "retries-outcomes", "reason", "recovery_share", *_OUTCOME_STYLES)
    by_reason: dict[str, Counter[str]] = {}
    ends: dict[str, str] = {}
    for row in rows.iter_rows(named=True):
        reason = row["reason"] or "(none)"
        by_reason[reason] = Counter({outcome: row[outcome] for outcome in _OUTCOME_STYLES})
        share = row["recovery_share"]
        ends[reason] = "–" if share is None else percent(share)
    title = "{recovered} of {total} retried calls succeeded"
    return _outcome_bars(title, by_reason, "retry chains", ends)


def _outcome_bars(title: str, by_reason: Mapping[str, Counter[str]], unit: str, ends: Mapping[str, str]) -> Chart:
    """Draw horizontal bars by reason, longest on top, with a text at each end.

    `title` has places for the numbers that recovered and of all.
    """
    recovered = sum(outcomes["recovered"] for outcomes in by_reason.values())
    total = sum(outcomes.total() for outcomes in by_reason.values())
    ranked = sorted(by_reason, key=lambda name: (-by_reason[name].total(), name))
    kept = ranked[:MAX_REASONS]
    names = tuple(map(short, kept))
    present = {name for counter in by_reason.values() for name in counter if counter[name]}
    bars = []
    for outcome in (name for name in (*_OUTCOME_STYLES, OTHER) if name in present):
        lengths = tuple(by_reason[reason][outcome] for reason in kept)
        tips = tuple(f"{name}: {length:,} {outcome}" for name, length in zip(names, lengths, strict=True))
        bars.append(Bars(outcome, _OUTCOME_STYLES.get(outcome, OTHER_STYLE), names, lengths, tips))
    longest = max((by_reason[name].total() for name in kept), default=1)
    return Chart(
        title.format(recovered=f"{recovered:,}", total=f"{total:,}"),
        f"{len(kept)} of {len(ranked)} reasons" if len(ranked) > len(kept) else "",
        Axis(unit, form=",d", ends=(0, longest * 1.2), most_ticks=6, grid=False),
        Axis(kind="category", grid=False),
        tuple(bars),
        notes=tuple(Note(ends[reason], by_reason[reason].total(), short(reason)) for reason in kept),
        gap=0.35,
        height=170 + 34 * len(kept),
    )


_TRIGGER_STYLES: dict[str, Style] = {
    "auto": (BLUE, ""),
    "manual": (AMBER, "/"),
    "not said": (SILVER, "."),
}


def relays(given: Table | pl.DataFrame) -> Chart:
    """Draw hand-offs and compactions by day, stacked by cause, and those that failed; of `relays-by-day`."""
    drawn = rows_of(given, "relays-by-day", "day", "relays", "auto_relays", "manual_relays", "halted")
    rows = list(drawn.iter_rows(named=True))
    kept = rows[-MAX_DAYS:]
    weekly = len(kept) > MAX_DAILY
    by_cause: dict[str, dict[date, int]] = defaultdict(dict)
    for row in kept:
        other = row["relays"] - row["auto_relays"] - row["manual_relays"]
        for name, number in (("auto", row["auto_relays"]), ("manual", row["manual_relays"]), ("not said", other)):
            if number:
                by_cause[name][row["day"]] = number
    marks: list[Mark] = [
        day_bars(by_cause[name], name, style, weekly=weekly)
        for name, style in _TRIGGER_STYLES.items()
        if name in by_cause
    ]
    if not weekly and (halted := [row for row in kept if row["halted"]]):
        highest = max(row["relays"] for row in kept)
        marks.append(
            Points(
                "failed",
                VERMILION,
                tuple(row["day"] for row in halted),
                # Above the bar: inside it, the mark would look like a value.
                tuple(row["relays"] + 0.06 * highest for row in halted),
                tuple(f"{row['day']}: {row['halted']:,} failed" for row in halted),
                size=10,
                symbol="x",
                texts=tuple(f"{row['halted']:,}" for row in halted),
            )
        )
    note = f"the latest {len(kept)} of {len(rows)} days" if len(rows) > len(kept) else ""
    days = day_axis([row["day"] for row in kept])
    most = max(kept, key=lambda row: row["relays"], default=None)
    title = f"Most hand-offs and compactions on {most['day']}: {most['relays']:,}" if most else "No hand-off"
    return Chart(title, note, days, counts("number"), tuple(marks))


def utilization(given: Table | pl.DataFrame) -> Chart:
    """Draw how full the context was at hand-off, by cause: percent if logs say it, else tokens.

    Of `relays-utilization`.
    """
    names = ("token_usage_percent", "pre_tokens", "trigger", "threshold_percent")
    drawn = rows_of(given, "relays-utilization", *names)
    # Many rows are equal, and converting a row to a dictionary is expensive.
    rows = list(drawn.group_by(names, maintain_order=True).agg(hand_offs=pl.len()).iter_rows(named=True))
    by_percent = any(row["token_usage_percent"] is not None for row in rows)
    measure = "token_usage_percent" if by_percent else "pre_tokens"
    measured = [row for row in rows if row[measure] is not None]
    top = max((float(row[measure]) for row in measured), default=0.0)
    size = 5.0 if by_percent else round_step(max(1.0, top / 20))
    last = 120.0 if by_percent else top
    bins: dict[str, Counter[float]] = defaultdict(Counter)
    for row in measured:
        place = min(max(float(row[measure]), 0.0), last) // size * size
        bins[row["trigger"] if row["trigger"] in _TRIGGER_STYLES else "not said"][place] += row["hand_offs"]
    marks = []
    for name, style in _TRIGGER_STYLES.items():
        if name in bins:
            starts = sorted(bins[name])
            tips = tuple(f"{start:,.0f} to {start + size:,.0f}: {bins[name][start]:,} {name}" for start in starts)
            middles, numbers = tuple(start + size / 2 for start in starts), tuple(bins[name][start] for start in starts)
            marks.append(Bars(name, style, middles, numbers, tips, width=size * 0.92))
    thresholds: Counter[float] = Counter()
    for row in measured if by_percent else ():
        if row["threshold_percent"] is not None:
            thresholds[row["threshold_percent"]] += row["hand_offs"]
    with_measure = sum(row["hand_offs"] for row in measured)
    share = Axis("context in use at hand-off (%)", ends=(0, 125 if top > 100 else 102), step=20, grid=False)
    tokens = Axis("tokens in the context before the hand-off", form="~s", from_zero=True, grid=False)
    return Chart(
        "How full the context was at hand-off",
        f"{with_measure:,} of {drawn.height:,} hand-offs whose logs say it" if with_measure < drawn.height else "",
        share if by_percent else tokens,
        counts("hand-offs"),
        tuple(marks),
        uprights=tuple(
            Upright(threshold, f"threshold {threshold:g}%", left=True, colour=VERMILION, width=1.5, dash="dash")
            for threshold, _ in thresholds.most_common(3)
        ),
    )


MAX_SPIKING = 6
"""Most callers drawn in colour."""
MAX_OTHERS = 40
"""Most callers drawn in grey: those with the most errors on one day."""
_SPIKING = (VERMILION, AZURE, GREEN, ROSE, OCHRE, SKY)
_SYMBOLS = ("diamond", "square", "triangle-up", "star", "cross", "hexagon")


class Rises(Protocol):
    """The rises of a window, as `Spikes` has them."""

    @property
    def share(self) -> Table:
        """Return the unknown share by day and caller."""

    @property
    def found(self) -> tuple[Detection, ...]:
        """Return the detections of rises."""

    @property
    def callers(self) -> tuple[str, ...]:
        """Return the callers with a rise, in drawing order."""


def unknown_share(given: Rises | Table | pl.DataFrame) -> Chart:
    """Draw the unknown share of errors by day: callers with a rise in colour, others in grey.

    Takes the result of `spikes`; rows of `unknown-share` have no rises. The days of a rise are
    marked.
    """
    judged = None if isinstance(given, Table | pl.DataFrame) else given
    share = given if isinstance(given, Table | pl.DataFrame) else given.share
    needed = ("day", "caller", "errors", "unknown_errors", "unknown_share")
    frame = rows_of(share, "unknown-share", *needed)
    days = frame["day"].unique().to_list()
    # Many callers may have errors: only those that are drawn become rows of Python.
    risers = judged.callers if judged else ()
    present = set(frame.filter(pl.col("caller").is_in(list(risers)))["caller"])
    spiking = [caller for caller in risers if caller in present]
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
        # The tests count distinct errors, this line all errors: marks are on the line.
        risen = {detection.day for detection in (judged.found if judged else ()) if detection.caller == caller}
        if marked := [row for row in series[caller] if row["day"] in risen]:
            lines.append(_marks(marked, caller, colour, _SYMBOLS[place], str(place)))
            worst = max(marked, key=lambda row: row["unknown_share"])
            # Names of one day are above each other.
            up = 26 + 16 * sum(name.x == worst["day"] for name in names)
            label, side = f"{short(caller)} {percent(worst['unknown_share'])}", _towards_middle(worst["day"], days)
            names.append(Note(label, worst["day"], worst["unknown_share"], side, up, colour, strong=True))
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
    """Return the side of a label to put at the day, so that the label stays in the plot."""
    place = (day - min(days)).days / max(1, (max(days) - min(days)).days)
    if place < 0.3:
        return "left"
    return "right" if place > 0.7 else "center"


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
"""Most applied rulesets with a line of their own."""


class RuledDays(Protocol):
    """The effect of rulesets on a fleet, as `Drifts` has it."""

    @property
    def days(self) -> pl.DataFrame:
        """Return a row per day: `day`, `errors`, `recorded_share`, `unknown_share`."""

    @property
    def applied(self) -> Table:
        """Return the rulesets that became active."""


def rules(drifts: RuledDays) -> Chart:
    """Draw two shares of the fleet by day, with a vertical line where a ruleset became active."""
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
            # Wide and below, so that it is visible where both are the same.
            share("recorded_share", "as recorded", GREY, 7),
            share("unknown_share", "under the rules in force", VERMILION, 2),
        ),
        uprights=tuple(Upright(milliseconds(day), "rules applied", left=True) for day in applied[-_MAX_MARKED:]),
    )


def with_changes(chart: Chart, changes: Table) -> Chart:
    """Mark the latest changes that people wrote down, on a chart over days; of `changes-noted`."""
    if chart.x.kind != "date" or chart.x.ends is None:
        return chart
    first, last = chart.x.ends
    marks = [(as_number(at), short(text)) for at, text in changes.frame.select("changed_at", "change").iter_rows()]
    shown = [(at, text) for at, text in marks if first <= at <= last][-_MAX_MARKED:]
    uprights = (Upright(at, text, left=at - first > last - at) for at, text in shown)
    return replace(chart, uprights=(*chart.uprights, *uprights))
