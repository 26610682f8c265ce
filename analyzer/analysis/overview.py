"""`Overview`: everything that a report says, as data: the verdict first, then the tables that it rests on."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from analyzer.analysis.spikes import Spike, Spikes, spikes
from analyzer.analysis.tables import Table, json_rows, table
from analyzer.analysis.window import Window
from analyzer.events.times import format_time, now
from analyzer.store import NOT_LOGS, Store

TABLES = (
    "errors-by-reason",
    "errors-by-caller",
    "errors-by-reason-caller-outcome",
    "errors-timeline",
    "unknown-share",
    "unknown-messages",
    "retries-outcomes",
    "relays-by-step",
    "relays-by-session",
    "relays-by-day",
    "relays-utilization",
    "exhaustions-list",
    "quarantine-lines",
    "sources-completeness",
)
"""The catalogue queries that a report shows, in its order."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The figures that a report opens with; counts of the window."""

    first_at: datetime | None
    last_at: datetime | None
    events: int
    sessions: int
    callers: int
    errors: int
    counted_errors: int
    """Errors that take part in the unknown share."""
    unknown_errors: int
    unknown_share: float | None
    without_facts: int
    """Errors that cannot be judged again."""
    retry_chains: int
    recovered_chains: int
    relays: int
    exhaustions: int
    requests: int | None
    """Model requests, where logs count them."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """How much of the logs could be read; of all sources, whatever the window."""

    sources: int
    lines: int
    quarantined: int
    pending_sources: int
    """Sources whose last line is unfinished."""
    damaged_sources: int
    """Sources whose compressed data breaks off or is wrong."""
    unsupported: dict[str, int]
    """Files of formats that are not read yet, by format."""
    other_files: int
    """Files that were looked at and are no agent's log: texts, binaries, other JSON."""

    @property
    def read_share(self) -> float | None:
        """Lines that are not in quarantine / lines, 0..1; None without any line."""
        return 1 - self.quarantined / self.lines if self.lines else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to take away."""

    level: str
    """`spike`, `unjudged`, `quiet` or `empty`."""
    headline: str
    details: tuple[str, ...]
    """One sentence each."""


@dataclass(frozen=True, slots=True)
class Overview:
    """A report's content."""

    generated_at: datetime
    """Naive UTC."""
    window: Window
    totals: Totals
    completeness: Completeness
    spikes: Spikes
    tables: dict[str, Table]
    """By catalogue name."""

    @property
    def verdict(self) -> Verdict:
        """Follows from the rest."""
        return _verdict(self)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        totals = {name: getattr(self.totals, name) for name in Totals.__slots__}
        for name in ("first_at", "last_at"):
            totals[name] = format_time(totals[name]) if totals[name] else None
        return {
            "schema": "analyzer.report/1",
            "generated_at": format_time(self.generated_at),
            "window": self.window.to_dict(),
            "verdict": {
                "level": self.verdict.level,
                "headline": self.verdict.headline,
                "details": list(self.verdict.details),
            },
            "totals": totals,
            "completeness": {
                **{name: getattr(self.completeness, name) for name in Completeness.__slots__},
                "read_share": self.completeness.read_share,
            },
            "spikes": self.spikes.to_dict()["spikes"],
            "unjudged": self.spikes.unjudged,
            "tables": {name: item.to_dict() for name, item in self.tables.items()},
        }


def overview(store: Store, window: Window) -> Overview:
    """Everything a report says about a window of a store."""
    row = next(table(store, "overview-totals", window).frame.iter_rows(named=True))
    return Overview(
        generated_at=now(),
        window=window,
        totals=Totals(**row),
        completeness=_completeness(store, window),
        spikes=spikes(store, within=window),
        tables={name: table(store, name, window) for name in TABLES},
    )


def _completeness(store: Store, window: Window) -> Completeness:
    rows = json_rows(table(store, "sources-completeness", window).frame)
    unread = [row["source_format"] for row in rows if row["status"] == "unsupported"]
    read = [row for row in rows if row["status"] != "unsupported"]
    return Completeness(
        sources=len(read),
        lines=sum(row["lines"] for row in read),
        quarantined=sum(row["quarantined"] for row in read),
        pending_sources=sum(row["pending_bytes"] > 0 for row in read),
        damaged_sources=sum(row["status"] == "damaged" for row in read),
        unsupported=dict(sorted(Counter(name for name in unread if name not in NOT_LOGS).items())),
        other_files=sum(name in NOT_LOGS for name in unread),
    )


def _verdict(report: Overview) -> Verdict:
    found, totals = report.spikes, report.totals
    if not totals.events:
        return Verdict("empty", "There is nothing in this window.", ())
    if not found.found and found.unjudged:
        said = (
            f"{totals.unknown_share or 0:.1%} of the errors are unknown; {found.unjudged} days of callers with many of "
            "them have too little history before them to call that unusual."
        )
        return Verdict("unjudged", "Too little history to tell a spike.", (said,))
    if not found.found:
        return Verdict("quiet", "No spike of unknown errors.", (_error_sentence(totals),))
    callers = found.callers
    who = callers[0] if len(callers) == 1 else f"{len(callers)} callers"
    return Verdict("spike", f"Unknown errors spiked for {who}.", tuple(_sentence(found, caller) for caller in callers))


def _error_sentence(totals: Totals) -> str:
    if not totals.errors:
        return "No errors."
    errors = f"{totals.errors:,} error" + ("s" if totals.errors != 1 else "")
    if totals.unknown_share is None:
        return f"{errors}, all of them aborts or without any detail."
    return f"{errors}, {totals.unknown_share:.1%} of them unknown."


def _sentence(found: Spikes, caller: str) -> str:
    """One sentence a caller, however many of its days are spikes."""
    own: list[Spike] = [spike for spike in found.found if spike.caller == caller]
    if len(own) == 1:
        return own[0].sentence + "."
    unknown, errors = sum(spike.unknown_errors for spike in own), sum(spike.errors for spike in own)
    return (
        f"{caller}: {unknown} of {errors} errors on {len(own)} days from {own[0].day} to {own[-1].day} are unknown "
        f"({unknown / errors:.0%}, before: {own[0].baseline_share:.0%})."
    )
