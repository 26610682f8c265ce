"""What a report shows and in which order, once for HTML and Markdown: sections of tables, some with a chart.

Invariant: every table of the overview stands in exactly one section, beside the name of its catalogue query.
"""

from __future__ import annotations

from analyzer.analysis import Overview
from analyzer.report.cells import counted, percent
from analyzer.report.page.rules_section import rules_section
from analyzer.report.page.section_parts import Section, part_of
from analyzer.report.words import alarms


def sections(overview: Overview) -> tuple[Section, ...]:
    """The report's sections in their order."""
    return (
        Section(
            "unknown",
            "Unknown errors",
            _unknown(overview),
            (part_of(overview, "unknown-share", "unknown_share_chart"), part_of(overview, "unknown-messages")),
        ),
        Section(
            "errors",
            "Errors",
            _errors(overview),
            (
                part_of(overview, "errors-timeline", "errors_timeline_chart"),
                part_of(overview, "errors-by-reason"),
                part_of(overview, "errors-by-caller"),
                part_of(overview, "errors-by-reason-caller-outcome", "outcomes_chart"),
            ),
        ),
        Section(
            "retries",
            "Retries",
            _retries(overview),
            (part_of(overview, "retries-outcomes", "retries_chart"), part_of(overview, "retries-by-caller")),
        ),
        Section(
            "relays",
            "Relays",
            _relays(overview),
            (
                part_of(overview, "relays-by-day", "relays_chart"),
                part_of(overview, "relays-by-step"),
                part_of(overview, "relays-by-session"),
                part_of(overview, "relays-utilization", "utilization_chart"),
            ),
        ),
        Section(
            "exhaustions", "Usage-limit exhaustions", _exhaustions(overview), (part_of(overview, "exhaustions-list"),)
        ),
        rules_section(overview),
        Section(
            "completeness",
            "Completeness",
            f"{completeness(overview)} {alarms(overview)}",
            (part_of(overview, "sources-completeness"), part_of(overview, "quarantine-lines")),
        ),
    )


def completeness(overview: Overview) -> str:
    """How much of the logs the report rests on, without the formats that are not read yet."""
    known = overview.completeness
    others = f"{counted(known.other_files, 'file')} of no known log format" if known.other_files else ""
    if not known.lines:
        return f"No line has been read{f'; {others}' if others else ''}."
    read = counted(known.lines - known.quarantined, "line")
    said = f"{read} read of {known.lines:,} in {counted(known.sources, 'file')}"
    if known.damaged_sources:
        said += f"; {counted(known.damaged_sources, 'file')} with damaged compressed data"
    if known.pending_sources:
        said += f"; {counted(known.pending_sources, 'file')} with an unfinished last line"
    if others:
        said += f"; {others}"
    if known.quarantined:
        said += f"; {counted(known.quarantined, 'line')} in quarantine"
    return said + "."


def ended_chains(overview: Overview) -> tuple[int, int]:
    """Retry chains that recovered, and all that ended on their own: neither aborted nor without an end in the logs."""
    frame = overview.tables["retries-outcomes"].frame
    ends = [int(frame[name].sum()) for name in ("recovered", "exhausted", "surfaced", "escalated")]
    return ends[0], sum(ends)


def _unknown(overview: Overview) -> str:
    totals = overview.totals
    if not totals.counted_errors:
        return "No error in this window takes part in the unknown share."
    said = (
        f"{totals.unknown_errors:,} of {counted(totals.counted_errors, 'error')} that count are unknown "
        f"({percent(totals.unknown_share)})."
    )
    if unjudged := overview.spikes.unjudged:
        said += f" Too little history to judge {counted(unjudged, 'day')} of callers with many unknown errors."
    return said


def _errors(overview: Overview) -> str:
    totals = overview.totals
    if not totals.errors:
        return "No error in this window."
    said = f"{counted(totals.errors, 'classified error')} by {counted(totals.callers, 'caller')}."
    if totals.without_facts:
        said += f" {totals.without_facts:,} of them cannot be judged again: their events carry no facts."
    return said


def _retries(overview: Overview) -> str:
    totals = overview.totals
    if not totals.retry_chains:
        return "No retry chain began in this window."
    recovered, ended = ended_chains(overview)
    share = percent(recovered / ended if ended else None)
    said = f"{recovered:,} of {counted(ended, 'retry chain')} that ended recovered ({share})"
    if others := totals.retry_chains - ended:
        said += f"; {others:,} more were aborted or show no end in the logs"
    return said + "."


def _relays(overview: Overview) -> str:
    totals = overview.totals
    if not totals.relays:
        return "No hand-off to a fresh context in this window."
    said = f"{counted(totals.relays, 'hand-off')} to a fresh context."
    if totals.requests:
        said += f" The logs that count them show {counted(totals.requests, 'model request')}."
    return said


def _exhaustions(overview: Overview) -> str:
    number = overview.totals.exhaustions
    return (
        f"Agents ran into their usage limit {counted(number, 'time')}."
        if number
        else "No agent ran into its usage limit."
    )
