"""Compare two groups of sessions: two windows, or two versions, models, projects or callers.

Sessions are the unit, so a session that repeats an error counts once. A change is worse or better
exactly if its interval leaves out zero. Chances and intervals are corrected for how many figures
are compared (Benjamini & Hochberg 1995, Benjamini & Yekutieli 2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import NormalDist
from typing import Any, Unpack

import polars as pl

from analyzer.analysis.kinds.statistics.tails import (
    chance_of_shares,
    false_discovery,
    log_binomial_coefficient,
    two_sided,
    wilson_interval,
)
from analyzer.analysis.tables import Window, WindowWords, json_fields, json_ready, table, window
from analyzer.errors import AnalyzerError
from analyzer.events.times import format_time, now
from analyzer.frozen import frozen
from analyzer.readable import counted
from analyzer.store import Store
from analyzer.store.shown import ShownRows

DIMENSIONS = ("agent", "agent_version", "model", "provider", "project", "branch", "caller")
"""The fields that can tell two groups of sessions apart, other than time."""
LEAST_SESSIONS = 10
"""Least sessions of each side; with fewer, a figure is shown but not judged."""
CHANCE = 0.05
DEFAULT_SPAN = "7d"
_Interval = Callable[[float], tuple[float, float]]
"""Returns the least and greatest change of a figure that are left out with a probability."""


@frozen
class ComparedSide:
    """One of the two groups of sessions."""

    name: str
    """Its name for people: `agent_version 2.1.108`, or its first and last moment."""
    window: Window
    """The window in which its sessions began."""
    value: str | None
    """The value of the dimension; null if the sides differ only in time."""
    sessions: int


@frozen
class ComparedFigure:
    """A figure of both sides, and its change."""

    figure: str
    """Its name, such as `failed_sessions` or `tool_failures`."""
    title: str
    """Its name for people."""
    unit: str
    """`share` (0..1), `number`, `seconds` or `usd`."""
    before: float | None
    """Null if there is nothing to divide by."""
    after: float | None
    low: float | None
    """Least change (after minus before): lower end of the 95 % interval, corrected for all
    figures."""
    high: float | None
    """Greatest change: upper end of the same interval."""
    p_value: float | None
    """Chance of so great a difference if nothing had changed; null with too few sessions."""
    q_value: float | None
    """The p-value corrected for all figures."""
    verdict: str
    """`worse`, `better`, `other` (neither good nor bad), `noise` or `too_few`."""

    @property
    def change(self) -> float | None:
        """Return after minus before; None if either is None."""
        return None if self.before is None or self.after is None else self.after - self.before


@frozen
class OneSidedMessage:
    """A message of errors that only one side has."""

    fingerprint: str
    reason: str
    message: str
    sessions: int
    errors: int
    first_at: str
    """ISO 8601, UTC."""
    p_value: float
    """Chance that all of these sessions are on one side if they were distributed at random."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(ShownRows):
    """The changes from one side to the other."""

    dimension: str | None
    before: ComparedSide
    after: ComparedSide
    figures: tuple[ComparedFigure, ...]
    came: tuple[OneSidedMessage, ...]
    """Messages that only the second side has, in two sessions or more; most sessions first."""
    went: tuple[OneSidedMessage, ...]
    """Messages that only the first side has, likewise."""

    @property
    def clear(self) -> tuple[ComparedFigure, ...]:
        """Return the figures whose change is more than noise, worse ones first."""
        order = ("worse", "better", "other")
        return tuple(
            sorted(
                (figure for figure in self.figures if figure.verdict in order),
                key=lambda figure: order.index(figure.verdict),
            )
        )

    @property
    def enough(self) -> bool:
        """Return whether both sides have enough sessions for a judgement."""
        return min(self.before.sessions, self.after.sessions) >= LEAST_SESSIONS

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with one row per figure."""
        return pl.DataFrame(self._figures, infer_schema_length=None)

    @property
    def _figures(self) -> list[dict[str, Any]]:
        return [{**json_ready(figure), "change": figure.change} for figure in self.figures]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict, as `analyzer compare --json` prints it."""
        return {"schema": "analyzer.compare/1", **json_fields(self), "figures": self._figures}

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        verdicts = ", ".join(f"{figure.title} {figure.verdict}" for figure in self.clear)
        facts = {"before": counted(self.before.sessions, "session"), "after": counted(self.after.sessions, "session")}
        return "Comparison", {**facts, "clear": verdicts or "nothing"}


def dimension_values(text: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the dimension and both values of a text like `agent_version=2.1.108..2.1.114`.

    None has neither.

    Raises:
        AnalyzerError: the text is not NAME=OLD..NEW.
    """
    if text is None:
        return None, ()
    name, equals, values = text.partition("=")
    before, dots, after = values.partition("..")
    if not equals or not dots:
        raise AnalyzerError(f"not NAME=OLD..NEW: {text!r}", "write agent_version=2.1.108..2.1.114")
    return name, (before, after)


def compare(
    store: Store,
    before: str | Window | None = None,
    after: str | Window | None = None,
    *,
    by: str | None = None,
    values: Sequence[str] = (),
    caller: str | None = None,
    **words: Unpack[WindowWords],
) -> Comparison:
    """Compare two windows, or two `values` of the dimension `by` in one window.

    `words` select that window, such as `last="30d"`. Windows are as everywhere, `7d` or
    `2026-11-01..2026-11-08`; `14d..7d` is the week before the last one. Without any, the last seven
    days are compared with the seven before.

    Raises:
        AnalyzerError: an unknown dimension, windows and a dimension at once, an invalid window, or
            equal sides.
    """
    if by is None:
        if values or words.keys() - {"timezone"}:
            hint = f"give before and after, or one of {', '.join(DIMENSIONS)}"
            raise AnalyzerError("nothing to tell the two sides apart by", hint)
        sides = _windows(before, after, words.get("timezone", "UTC"))
        named: dict[str, str] = {}
    else:
        sides, named = _values(before, after, by, values, words)
    asked = {
        f"{side}_{end}": getattr(chosen, end)
        for side, chosen in zip(("before", "after"), sides, strict=True)
        for end in ("since", "until")
    } | {"caller": caller, **named}
    sessions = table(store, "compare-sessions", **asked).frame
    messages = table(store, "compare-messages", **asked).frame
    first, second = (sessions.filter(pl.col("side") == side) for side in ("before", "after"))
    before_side, after_side = (
        ComparedSide(_named(chosen, by, value), chosen, value, frame.height)
        for chosen, value, frame in zip(sides, (named.get("before"), named.get("after")), (first, second), strict=True)
    )
    came, went = (
        tuple(_messages(messages.filter(pl.col("side") == side), own, other))
        for side, own, other in (("after", second.height, first.height), ("before", first.height, second.height))
    )
    return Comparison(by, before_side, after_side, _figures(first, second), came, went)


def _windows(before: str | Window | None, after: str | Window | None, zone: str) -> tuple[Window, Window]:
    """Return both windows; the first defaults to as long a window before the second."""
    second = _window(after or DEFAULT_SPAN, zone)
    if before is not None:
        first = _window(before, zone)
    elif second.since is None:
        raise AnalyzerError("nothing lies before a window without a beginning", "name --before as well")
    else:
        length = (second.until or now()) - second.since
        first = Window(second.since - length, second.since, zone)
    if first == second:
        raise AnalyzerError("both windows are the same", "name --before 14d..7d and --after 7d")
    return first, second


def _window(span: str | Window, zone: str) -> Window:
    """Return the window of a text; the earlier of two moments is its beginning, in any order."""
    if isinstance(span, Window):
        return span
    since, dots, until = (part.strip() for part in span.partition(".."))
    if not dots:
        return window(last=since, timezone=zone)
    try:
        return window(since or None, until or None, timezone=zone)
    except AnalyzerError:
        if not since or not until:
            raise
        return window(until, since, timezone=zone)


def _values(
    before: object, after: object, by: str, values: Sequence[str], words: WindowWords
) -> tuple[tuple[Window, Window], dict[str, str]]:
    """Return the window of both sides, and their values by parameter of the queries."""
    if by not in DIMENSIONS:
        raise AnalyzerError.unknown_value("dimension", by, DIMENSIONS)
    if before is not None or after is not None:
        raise AnalyzerError("two windows and a dimension at once", "give --last or --since for both sides instead")
    if len(values) != 2 or not all(values) or values[0] == values[1]:
        raise AnalyzerError(f"{by} needs two values that differ", f"write {by}=OLD..NEW")
    chosen = window(**words)
    return (chosen, chosen), {"dimension": by, "before": values[0], "after": values[1]}


def _named(chosen: Window, by: str | None, value: str | None) -> str:
    if by is not None:
        return f"{by} {value}"
    return f"{_minute(chosen.since)} to {_minute(chosen.until)}"


def _minute(moment: datetime | None) -> str:
    return format_time(moment)[:16].replace("T", " ") if moment else "now"


def _figures(first: pl.DataFrame, second: pl.DataFrame) -> tuple[ComparedFigure, ...]:
    """Compute all figures that are not zero or missing on both sides."""
    listed = pl.col("reasons").str.split(",")
    reasons = pl.concat([first, second]).select(listed.explode()).to_series().unique().sort()
    made = [_share("failed_sessions", "sessions with an error", first, second, pl.col("errors") > 0)]
    made += [
        _share(f"sessions_{reason}", f"sessions with {reason}", first, second, listed.list.contains(reason))
        for reason in filter(None, reasons)
    ]
    made += [_ratio(first, second, *row) for row in _RATIOS]
    return _corrected([(figure, interval) for figure, interval in made if figure.before or figure.after])


_RATIOS: tuple[tuple[str, str, str, str, str | None, int], ...] = (
    ("errors", "errors a session", "number", "errors", None, 1),
    ("unknown_share", "errors that are unknown", "share", "unknown_errors", "counted_errors", 1),
    ("recovered_share", "retry chains that recover", "share", "recovered_chains", "chains", -1),
    ("waited_seconds", "seconds waited a session", "seconds", "waited_seconds", None, 1),
    ("tool_failures", "calls of tools that fail", "share", "tool_failures", "tool_calls", 1),
    ("relays", "hand-offs and compactions a session", "number", "relays", None, 1),
    ("requests", "model requests a session", "number", "requests", None, 0),
    ("tool_calls", "calls of tools a session", "number", "tool_calls", None, 0),
    ("tokens", "tokens a session", "number", "tokens", None, 0),
    ("cost_usd", "cost a session", "usd", "cost_usd", None, 0),
)
"""Name, title, unit, dividend, divisor (None: sessions), and 1 if more is worse, -1 if better, 0 if
neither."""
FIGURES = ("failed_sessions", *(row[0] for row in _RATIOS))
"""The names of all figures but `sessions_REASON`, one for each reason."""


def _share(
    name: str, title: str, first: pl.DataFrame, second: pl.DataFrame, test: pl.Expr
) -> tuple[ComparedFigure, _Interval]:
    """Compare a share of sessions by Newcombe's interval (1998, method 10) and a test of shares."""
    hits, totals = [frame.filter(test).height for frame in (first, second)], [first.height, second.height]
    before, after = (hit / total if total else None for hit, total in zip(hits, totals, strict=True))
    if before is None or after is None:
        return _unjudged(name, title, "share", before, after)
    change = after - before

    def interval(outside: float) -> tuple[float, float]:
        low, high = wilson_interval(before, totals[0], 1 - outside)
        low_after, high_after = wilson_interval(after, totals[1], 1 - outside)
        return (
            change - math.hypot(after - low_after, high - before),
            change + math.hypot(high_after - after, before - low),
        )

    p_value = chance_of_shares(hits[0], totals[0], hits[1], totals[1]) if min(totals) >= LEAST_SESSIONS else None
    return ComparedFigure(
        name, title, "share", before, after, *interval(CHANCE), p_value, None, _verdict(p_value, change, 1)
    ), interval


def _ratio(
    first: pl.DataFrame,
    second: pl.DataFrame,
    name: str,
    title: str,
    unit: str,
    dividend: str,
    divisor: str | None,
    worse_sign: int,
) -> tuple[ComparedFigure, _Interval]:
    """Compare a ratio of sums: interval by the variance between sessions (Cochran 1977, 6.3)."""
    sides = [_sums(frame, dividend, divisor) for frame in (first, second)]
    before, after = map(_rate, sides)
    if before is None or after is None or min(side.height for side in sides) < LEAST_SESSIONS:
        return _unjudged(name, title, unit, before, after)
    # The interval uses each side's own rate; the test assumes the same rate and the same spread for
    # both: a few sessions that are all zero would have no spread of their own.
    separate = math.hypot(*(_standard_error(side, rate) for side, rate in zip(sides, (before, after), strict=True)))
    both = pl.concat(sides)
    common = _rate(both) or 0.0
    pooled = _standard_error(both, common) * math.sqrt(
        sum(_unit_variance(side) for side in sides) / _unit_variance(both)
    )
    change = after - before
    larger = max(pooled, separate)
    p_value = two_sided(change / larger) if larger > 0 else 1.0

    def interval(outside: float) -> tuple[float, float]:
        reach = NormalDist().inv_cdf(1 - outside / 2) * separate
        return change - reach, change + reach

    verdict = _verdict(p_value, change, worse_sign)
    return ComparedFigure(name, title, unit, before, after, *interval(CHANCE), p_value, None, verdict), interval


def _sums(frame: pl.DataFrame, dividend: str, divisor: str | None) -> pl.DataFrame:
    """Select the sessions with both columns: the dividend as `y`, and the divisor (or 1) as `x`."""
    counted_in = frame.drop_nulls([dividend, *([divisor] if divisor else [])])
    size = pl.col(divisor) if divisor else pl.lit(1)
    return counted_in.select(y=pl.col(dividend).cast(pl.Float64), x=size.cast(pl.Float64)).filter(pl.col("x") > 0)


def _rate(sums: pl.DataFrame) -> float | None:
    whole = float(sums["x"].sum())
    return float(sums["y"].sum()) / whole if whole else None


def _standard_error(sums: pl.DataFrame, rate: float) -> float:
    """Return the standard error of a rate between sessions."""
    rest = sums.select(((pl.col("y") - rate * pl.col("x")) ** 2).sum()).item()
    return math.sqrt(rest * sums.height / max(1, sums.height - 1)) / float(sums["x"].sum())


def _unit_variance(sums: pl.DataFrame) -> float:
    """Return the variance of a rate, relative to one session: 1 / n for sessions of equal size."""
    return sums.height / float(sums["x"].sum()) ** 2


def _unjudged(
    name: str, title: str, unit: str, before: float | None, after: float | None
) -> tuple[ComparedFigure, _Interval]:
    figure = ComparedFigure(name, title, unit, before, after, None, None, None, None, "too_few")
    return figure, lambda _: (-math.inf, math.inf)


def _verdict(p_value: float | None, change: float, worse_sign: int) -> str:
    """Return the verdict on a change that is no noise."""
    if p_value is None:
        return "too_few"
    if worse_sign == 0:
        return "other"
    return "worse" if change * worse_sign > 0 else "better"


def _corrected(figures: Sequence[tuple[ComparedFigure, _Interval]]) -> tuple[ComparedFigure, ...]:
    """Correct chances and intervals for all figures; a figure with zero in its interval is noise.

    Figures of too few sessions stay as they are.
    """
    chances = {index: figure.p_value for index, (figure, _) in enumerate(figures) if figure.p_value is not None}
    q_values = dict(zip(chances, false_discovery([*chances.values()]), strict=True))
    selected = sum(value <= CHANCE for value in q_values.values())
    allowed = CHANCE * max(1, selected) / max(1, len(chances))
    corrected = []
    for index, (figure, interval) in enumerate(figures):
        if index in q_values:
            low, high = interval(allowed)
            if q_values[index] > CHANCE:  # the test of zero is exact, the interval an approximation
                low, high = min(low, 0.0), max(high, 0.0)
            verdict = "noise" if low <= 0 <= high else figure.verdict
            figure = replace(figure, low=low, high=high, q_value=q_values[index], verdict=verdict)
        corrected.append(figure)
    return tuple(corrected)


def _messages(frame: pl.DataFrame, own: int, other: int) -> Iterable[OneSidedMessage]:
    for row in json_ready(frame.drop("side")):
        seen = row["sessions"]
        chance = math.exp(log_binomial_coefficient(own, seen) - log_binomial_coefficient(own + other, seen))
        yield OneSidedMessage(**row, p_value=min(1.0, chance))
