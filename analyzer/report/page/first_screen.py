"""The key figures that the page says first, with their trends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from analyzer.analysis import Overview
from analyzer.analysis.summary.day_figures import LatestDay
from analyzer.phrases import counted, percent
from analyzer.report.cells import count
from analyzer.report.overview_words import ended_chains, sessions_words
from analyzer.report.page.sparkline import sparkline
from analyzer.report.svg.element import Svg


@dataclass(frozen=True, slots=True)
class Tile:
    """One key figure of the window."""

    anchor: str
    """The section that it leads to."""
    name: str
    figure: str
    more: str
    """What it is a part of."""
    trend: str
    """The compared days against the same days of the week before; empty without any to compare."""
    line: Svg
    """The fortnight; empty where there is nothing to draw."""


def tiles(overview: Overview) -> list[Tile]:
    """The key figures of the window."""
    totals, known, latest = overview.totals, overview.completeness, overview.latest
    recovered, ended = ended_chains(overview)
    still = sum(case.is_open for case in overview.cases)
    return [
        Tile(
            "findings" if overview.cases else "unknown",
            "Open findings",
            count(still),
            f"{count(len(overview.cases) - still)} over by now",
            "",
            Svg(""),
        ),
        Tile(
            "errors",
            "Errors",
            count(totals.errors),
            f"{counted(totals.callers, 'caller')}, {sessions_words(overview)}",
            _count_trend(latest, "errors"),
            _line(latest, "errors", "Errors a day"),
        ),
        Tile(
            "unknown",
            "Unknown share",
            percent(totals.unknown_share),
            f"{count(totals.unknown_errors)} of {count(totals.counted_errors)} that count",
            _share_trend(latest, "unknown_errors", "counted_errors"),
            _share_line(latest, "unknown_errors", "counted_errors", "Unknown share a day"),
        ),
        Tile(
            "retries",
            "Retries recovered",
            percent(recovered / ended if ended else None),
            f"{count(recovered)} of {counted(ended, 'retried call')} that ended",
            _share_trend(latest, "recovered_chains", "ended_chains"),
            _share_line(latest, "recovered_chains", "ended_chains", "Share of retries that recovered a day"),
        ),
        Tile(
            "relays",
            "Handed off or compacted",
            count(totals.relays),
            f"usage limit reached {counted(totals.exhaustions, 'time')}",
            _count_trend(latest, "relays"),
            _line(latest, "relays", "Hand-offs and compactions a day"),
        ),
        Tile(
            "completeness",
            "Lines read",
            count(known.lines - known.quarantined),
            f"of {count(known.lines)}; {count(known.quarantined)} unreadable",
            "",
            Svg(""),
        ),
    ]


def _count_trend(latest: LatestDay | None, name: str) -> str:
    if latest is None:
        return ""
    now, before = latest.weeks(name)
    if before is None:
        return ""
    return _against(latest, count(round(now)), count(round(before)), now - before)


def _share_trend(latest: LatestDay | None, part: str, whole: str) -> str:
    if latest is None:
        return ""
    (now, before), (all_now, all_before) = latest.weeks(part), latest.weeks(whole)
    if not all_now or not all_before or before is None:
        return ""
    here, there = now / all_now, before / all_before
    return _against(latest, percent(here), percent(there), here - there)


def _against(latest: LatestDay, now: str, before: str, change: float) -> str:
    days = "Last day" if latest.compared == 1 else f"Last {latest.compared} days"
    course = "as the week before" if now == before else f"{'up' if change > 0 else 'down'} from {before}"
    # Part of a week is no week.
    had = f" on {counted(latest.days_before, 'day')}" if latest.days_before < latest.compared else ""
    return f"{days}: {now}, {course}{had}"


def _line(latest: LatestDay | None, name: str, said: str) -> Svg:
    return _drawn(latest.course(name), said) if latest else Svg("")


def _share_line(latest: LatestDay | None, part: str, whole: str, said: str) -> Svg:
    if latest is None:
        return Svg("")
    pairs = zip(latest.course(part), latest.course(whole), strict=True)
    return _drawn([a / b if b and a is not None else None for a, b in pairs], said, percent)


def _drawn(values: list[float | None], said: str, shown: Callable[[float], str] | None = None) -> Svg:
    # One day is no course.
    if sum(value is not None for value in values) < 2:
        return Svg("")
    return sparkline(values, f"{said}, of the last 14 days", shown)
