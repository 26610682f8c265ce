"""Results → plotly figures: counts in, `Figure` out. Imported lazily, because plotly takes its time.

Invariants: every text from a log goes through `label`, since plotly reads pseudo-HTML; titles hold our own words
alone; what a figure leaves out stands in its subtitle; what colour says, a symbol or a pattern says too.
"""

from __future__ import annotations

import html
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import plotly.graph_objects as go

from analyzer.analysis.spikes import Spike, Spikes
from analyzer.analysis.tables import Table

MAX_SPIKING = 6
"""Callers drawn in colour."""
MAX_OTHERS = 40
"""Callers drawn in grey."""
MAX_DAYS = 366
MAX_REASONS = 12
_LONGEST_LABEL = 32
_DAY_MILLISECONDS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()
_HOVER_DAY = "%{x|%Y-%m-%d}"
_GREY = "#8a929e"
_SPIKING = ("#d55e00", "#1a80c4", "#009e73", "#b8488a", "#b8860b", "#56b4e9")
_SYMBOLS = ("diamond", "square", "triangle-up", "star", "cross", "hexagon")
# The eight reasons in the order of the recovery table. Colours after Okabe and Ito (2008) and Tol (2021), told apart
# by people with any of the common colour blindnesses.
_REASON_STYLES: dict[str, tuple[str, str]] = {
    "rate_limited": ("#e69f00", ""),
    "context_overflow": ("#56b4e9", "/"),
    "auth_error": ("#aa3377", "x"),
    "network_transient": ("#009e73", "\\"),
    "network_permanent": ("#0072b2", "-"),
    "tool_not_found": ("#bbaa33", "+"),
    "validation": ("#9aa1ab", "."),
    "unknown": ("#d55e00", "|"),
}
_OUTCOME_STYLES: dict[str, tuple[str, str]] = {
    "recovered": ("#009e73", ""),
    "exhausted": ("#d55e00", "x"),
    "surfaced": ("#e69f00", "/"),
    "escalated": ("#aa3377", "+"),
    "aborted": ("#56b4e9", "."),
    "unresolved": ("#9aa1ab", "-"),
}
_OTHER = "other"
_OTHER_STYLE = ("#5f6772", "")
_TRIGGER_STYLES: dict[str, tuple[str, str]] = {
    "auto": ("#0072b2", ""),
    "manual": ("#e69f00", "/"),
    "not said": ("#9aa1ab", "."),
}


def label(text: object) -> str:
    """A text from a log as plotly shows it literally, on one line and not too long."""
    flat = " ".join("".join(char if char.isprintable() else "\ufffd" for char in str(text)).split())
    short = flat if len(flat) <= _LONGEST_LABEL else flat[: _LONGEST_LABEL - 1] + "…"
    # A brace would open a placeholder of a hover template.
    return html.escape(short, quote=False).replace("{", "&#123;")


def unknown_share_chart(spikes: Spikes) -> go.Figure:
    """Unknown share by day: callers with a spike in colour, their spikes marked, all others in grey."""
    series: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in spikes.share.frame.iter_rows(named=True):
        series[row["caller"]].append(row)
    spiking = [caller for caller in spikes.callers if caller in series]
    others = sorted(
        series.keys() - set(spiking), key=lambda caller: (-sum(row["errors"] for row in series[caller]), caller)
    )
    drawn, grey = spiking[:MAX_SPIKING], others[:MAX_OTHERS]
    days = [row["day"] for rows in series.values() for row in rows]
    figure = go.Figure()
    for place, caller in enumerate(grey):
        figure.add_trace(_share_line(series[caller], caller, _GREY, 1, name="callers without a spike", shown=not place))
    for place, caller in enumerate(drawn):
        colour = _SPIKING[place]
        figure.add_trace(
            _share_line(series[caller], caller, colour, 2.5, name=label(caller), shown=True, group=str(place))
        )
        own = [spike for spike in spikes.found if spike.caller == caller]
        figure.add_trace(_spike_marks(own, caller, colour, _SYMBOLS[place], str(place)))
        worst = max(own, key=lambda spike: spike.unknown_share)
        figure.add_annotation(
            x=worst.day.isoformat(),
            y=worst.unknown_share,
            text=f"<b>{label(caller)} {worst.unknown_share:.0%}</b>",
            font={"color": colour, "size": 12},
            showarrow=True,
            arrowcolor=colour,
            arrowwidth=1,
            arrowhead=0,
            ax=0,
            xanchor=_towards_middle(worst.day, days),
            # Labels of one day stand above each other.
            ay=-26 - 16 * sum(shown.x == worst.day.isoformat() for shown in figure.layout.annotations),
            standoff=8,
        )
    notes = []
    if len(spiking) > len(drawn):
        notes.append(f"{len(drawn)} of {len(spiking)} callers with a spike")
    if len(others) > len(grey):
        notes.append(f"{len(grey)} of {len(others)} without one are drawn")
    _finish(figure, "Unknown share of errors by day", "; ".join(notes), "", "unknown share (%)")
    _day_axis(figure, days)
    figure.update_yaxes(range=[0, 1.12], tickvals=[0, 0.25, 0.5, 0.75, 1], tickformat=".0%", zeroline=True)
    return figure


def _share_line(
    rows: Sequence[Mapping[str, Any]],
    caller: str,
    colour: str,
    width: float,
    *,
    name: str,
    shown: bool,
    group: str = "others",
) -> go.Scatter:
    return go.Scatter(
        x=[row["day"].isoformat() for row in rows],
        y=[row["unknown_share"] for row in rows],
        customdata=[(row["unknown_errors"], row["errors"]) for row in rows],
        mode="lines+markers",
        line={"color": colour, "width": width},
        marker={"size": 3 + width, "color": colour},
        opacity=0.6 if group == "others" else 1,
        name=name,
        legendgroup=group,
        showlegend=shown,
        hovertemplate=f"{label(caller)}<br>{_HOVER_DAY}: %{{customdata[0]}} of %{{customdata[1]}}<extra></extra>",
    )


def _towards_middle(day: date, days: Sequence[date]) -> str:
    """The end of a label that stands at the day, so that the label does not leave the plot."""
    place = (day - min(days)).days / max(1, (max(days) - min(days)).days)
    return "left" if place < 0.3 else "right" if place > 0.7 else "center"


def _spike_marks(own: Iterable[Spike], caller: str, colour: str, symbol: str, group: str) -> go.Scatter:
    marks = list(own)
    return go.Scatter(
        x=[spike.day.isoformat() for spike in marks],
        y=[spike.unknown_share for spike in marks],
        mode="markers",
        marker={"symbol": symbol, "size": 13, "color": colour, "line": {"width": 1.5, "color": "white"}},
        name=f"spikes of {label(caller)}",
        legendgroup=group,
        customdata=[(spike.unknown_errors, spike.errors, f"{spike.baseline_share:.0%}") for spike in marks],
        hovertemplate="%{customdata[0]} of %{customdata[1]} unknown, before %{customdata[2]}<extra>spike</extra>",
    )


def errors_timeline_chart(table: Table) -> go.Figure:
    """Errors by day, stacked by reason."""
    days = sorted(set(table.frame["day"]))
    kept = days[-MAX_DAYS:]
    counts: dict[str, Counter[date]] = defaultdict(Counter)
    strange: set[str] = set()
    for row in table.frame.iter_rows(named=True):
        if row["reason"] not in _REASON_STYLES:
            strange.add(row["reason"])
        if row["day"] >= kept[0]:
            counts[row["reason"] if row["reason"] in _REASON_STYLES else _OTHER][row["day"]] += row["errors"]
    figure = go.Figure()
    for name in (name for name in (*_REASON_STYLES, _OTHER) if name in counts):
        figure.add_trace(_day_bars(counts[name], name, _REASON_STYLES.get(name, _OTHER_STYLE)))
    notes = [f"the latest {len(kept)} of {len(days)} days"] if len(days) > len(kept) else []
    if strange:
        notes.append(f"{_OTHER} stands for {len(strange)} beyond the eight reasons")
    _finish(figure, "Errors by day and reason", "; ".join(notes), "", "errors", stacked=True)
    _day_axis(figure, kept)
    return figure


def outcomes_chart(table: Table) -> go.Figure:
    """Errors by reason, split by what became of them; callers added up."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in table.frame.iter_rows(named=True):
        outcome = row["outcome"] if row["outcome"] in _OUTCOME_STYLES else _OTHER
        counts[row["reason"] or "(none)"][outcome] += row["errors"]
    totals = {reason: outcomes.total() for reason, outcomes in counts.items()}
    return _outcome_bars(
        "What became of the errors, by reason", counts, "errors", {name: f"{total:,}" for name, total in totals.items()}
    )


def retries_chart(table: Table) -> go.Figure:
    """Retry chains by reason, split by how they ended, with the share that recovered."""
    counts: dict[str, Counter[str]] = {}
    ends: dict[str, str] = {}
    for row in table.frame.iter_rows(named=True):
        reason = row["reason"] or "(none)"
        counts[reason] = Counter({outcome: row[outcome] for outcome in _OUTCOME_STYLES})
        share = row["recovery_share"]
        ends[reason] = "–" if share is None else f"{share:.0%}"
    return _outcome_bars(
        "How retry chains ended, by reason, and the share that recovered", counts, "retry chains", ends
    )


def relays_chart(by_day: Table) -> go.Figure:
    """Hand-offs by day, stacked by what caused them, with the ones that were given up."""
    rows = list(by_day.frame.iter_rows(named=True))
    kept = rows[-MAX_DAYS:]
    counts: dict[str, dict[date, int]] = defaultdict(dict)
    for row in kept:
        other = row["relays"] - row["auto_relays"] - row["manual_relays"]
        for name, number in (("auto", row["auto_relays"]), ("manual", row["manual_relays"]), ("not said", other)):
            if number:
                counts[name][row["day"]] = number
    figure = go.Figure()
    for name in (name for name in _TRIGGER_STYLES if name in counts):
        figure.add_trace(_day_bars(counts[name], name, _TRIGGER_STYLES[name]))
    halted = [row for row in kept if row["halted"]]
    if halted:
        highest = max(row["relays"] for row in kept)
        figure.add_trace(
            go.Scatter(
                x=[row["day"].isoformat() for row in halted],
                # Above the bar: inside it, the mark would look like a height.
                y=[row["relays"] + 0.06 * highest for row in halted],
                mode="markers+text",
                text=[f" {row['halted']:,}" for row in halted],
                textposition="middle right",
                customdata=[row["halted"] for row in halted],
                cliponaxis=False,
                marker={"symbol": "x", "size": 10, "color": "#d55e00", "line": {"width": 1, "color": "white"}},
                name="given up",
                hovertemplate=f"{_HOVER_DAY}: %{{customdata:,}} given up<extra></extra>",
            )
        )
    note = f"the latest {len(kept)} of {len(rows)} days" if len(rows) > len(kept) else ""
    _finish(figure, "Hand-offs by day and cause", note, "", "hand-offs", stacked=True)
    _day_axis(figure, [row["day"] for row in kept])
    return figure


def utilization_chart(table: Table) -> go.Figure:
    """How full the context was at hand-off, by what caused it: percent where logs say it, else tokens."""
    rows = list(table.frame.iter_rows(named=True))
    by_percent = any(row["token_usage_percent"] is not None for row in rows)
    measure = "token_usage_percent" if by_percent else "pre_tokens"
    known = [row for row in rows if row[measure] is not None]
    top = max((float(row[measure]) for row in known), default=0.0)
    size = 5.0 if by_percent else _round_step(top / 20)
    last = 120.0 if by_percent else top
    bins: dict[str, Counter[float]] = defaultdict(Counter)
    for row in known:
        place = min(max(float(row[measure]), 0.0), last) // size * size
        bins[row["trigger"] if row["trigger"] in _TRIGGER_STYLES else "not said"][place] += 1
    figure = go.Figure()
    for name in (name for name in _TRIGGER_STYLES if name in bins):
        starts = sorted(bins[name])
        figure.add_trace(
            go.Bar(
                x=[start + size / 2 for start in starts],
                y=[bins[name][start] for start in starts],
                width=[size * 0.92] * len(starts),
                customdata=[(f"{start:,.0f}", f"{start + size:,.0f}") for start in starts],
                name=name,
                marker=_marker(_TRIGGER_STYLES[name]),
                hovertemplate=f"%{{customdata[0]}} to %{{customdata[1]}}: %{{y:,}} {name}<extra></extra>",
            )
        )
    if by_percent:
        thresholds = Counter(row["threshold_percent"] for row in known if row["threshold_percent"] is not None)
        for threshold, _ in thresholds.most_common(3):
            figure.add_vline(
                x=threshold,
                line={"dash": "dash", "width": 1.5, "color": "#d55e00"},
                annotation={"text": f"threshold {threshold:g}%", "font": {"color": "#d55e00", "size": 12}},
                annotation_position="top left",
            )
    note = f"{len(known):,} of {len(rows):,} hand-offs whose logs say it" if len(known) < len(rows) else ""
    axis = "context in use at hand-off (%)" if by_percent else "tokens in the context before the hand-off"
    _finish(figure, "How full the context was at hand-off", note, axis, "hand-offs", stacked=True)
    if by_percent:
        figure.update_xaxes(range=[0, 125 if top > 100 else 102], dtick=20)
    else:
        figure.update_xaxes(rangemode="tozero", tickformat="~s")
    return figure


def _day_bars(counts: Mapping[date, int], name: str, style: tuple[str, str]) -> go.Bar:
    days = sorted(counts)
    return go.Bar(
        x=[day.isoformat() for day in days],
        y=[counts[day] for day in days],
        # Without a width a single day would be one hair or one wall.
        width=[_DAY_MILLISECONDS * 0.8] * len(days),
        name=name,
        marker=_marker(style),
        hovertemplate=f"{_HOVER_DAY}: %{{y:,}} {name}<extra></extra>",
    )


def _outcome_bars(title: str, counts: Mapping[str, Counter[str]], unit: str, ends: Mapping[str, str]) -> go.Figure:
    """Horizontal bars by reason, the longest on top, with a text at each end."""
    ranked = sorted(counts, key=lambda name: (-counts[name].total(), name))
    kept = ranked[:MAX_REASONS]
    figure = go.Figure()
    present = {name for counter in counts.values() for name in counter if counter[name]}
    for outcome in (name for name in (*_OUTCOME_STYLES, _OTHER) if name in present):
        figure.add_trace(
            go.Bar(
                y=[label(reason) for reason in kept],
                x=[counts[reason][outcome] for reason in kept],
                orientation="h",
                name=outcome,
                marker=_marker(_OUTCOME_STYLES.get(outcome, _OTHER_STYLE)),
                hovertemplate=f"%{{y}}: %{{x:,}} {outcome}<extra></extra>",
            )
        )
    longest = max((counts[name].total() for name in kept), default=1)
    for reason in kept:
        figure.add_annotation(
            y=label(reason),
            x=counts[reason].total(),
            text=ends[reason],
            showarrow=False,
            xanchor="left",
            xshift=6,
            font={"size": 12},
        )
    note = f"{len(kept)} of {len(ranked)} reasons" if len(ranked) > len(kept) else ""
    _finish(figure, title, note, unit, "", stacked=True)
    figure.update_layout(height=170 + 34 * len(kept), bargap=0.35)
    figure.update_xaxes(range=[0, longest * 1.2], tickformat=",d", nticks=6)
    figure.update_yaxes(autorange="reversed", type="category", showgrid=False)
    return figure


def _marker(style: tuple[str, str]) -> dict[str, Any]:
    colour, shape = style
    pattern = {"shape": shape, "fgcolor": "rgba(255,255,255,.75)", "fgopacity": 1, "size": 6, "solidity": 0.25}
    return {"color": colour, "line": {"width": 0}, "pattern": pattern if shape else {}}


def _finish(figure: go.Figure, title: str, note: str, x_title: str, y_title: str, *, stacked: bool = False) -> None:
    """What all figures share: quiet, transparent, readable on light and dark, still under a finger that scrolls."""
    figure.update_layout(
        template={},
        title={"text": title, "subtitle": {"text": note}, "x": 0, "xref": "paper", "y": 0.98, "yanchor": "top"},
        barmode="stack" if stacked else None,
        height=340,
        margin={"l": 8, "r": 12, "t": 96, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13, "color": "#78808c"},
        legend={
            "orientation": "h",
            "y": 1.03,
            "yanchor": "bottom",
            "x": 0,
            "traceorder": "normal",
            "font": {"size": 12},
        },
        hoverlabel={"font": {"family": "system-ui, sans-serif"}},
        dragmode=False,
        showlegend=True,
    )
    axis = {"automargin": True, "fixedrange": True, "gridcolor": "rgba(128,136,148,.25)", "zeroline": False}
    small = {"font": {"size": 12}, "standoff": 8}
    figure.update_xaxes(title={"text": x_title, **small}, showgrid=False, **axis)
    figure.update_yaxes(title={"text": y_title, **small}, **axis)
    if stacked and y_title:
        figure.update_yaxes(rangemode="tozero", tickformat=",d")


def _day_axis(figure: go.Figure, days: Sequence[date]) -> None:
    """Whole days: half a day of room on both sides, and never a tick between two midnights."""
    if not days:
        return
    first, last = min(days), max(days)
    span = (last - first).days
    room = max(0.6, (7 - span) / 2)
    figure.update_xaxes(
        type="date",
        range=[_milliseconds(first, -room), _milliseconds(last, room)],
        tickformat="%-d %b\n%Y",
        title={"text": "day", "font": {"size": 12}, "standoff": 8},
        **({"dtick": _DAY_MILLISECONDS} if span < 8 else {"nticks": 9}),
    )


def _milliseconds(day: date, days: float) -> float:
    """A moment so many days after a day begins, as plotly takes it: any date that there is, and no time zone."""
    return (day.toordinal() - _EPOCH + days) * _DAY_MILLISECONDS


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5, 10, … that is not below."""
    return next(
        step for power in range(25) for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power) if step >= least
    )
