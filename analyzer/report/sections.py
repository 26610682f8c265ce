"""The sections of a report in their order, each with the sentence to take away.

Invariant: every table of the overview stands in exactly one section, beside the name of its catalogue query.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from analyzer.analysis import Overview, charts
from analyzer.analysis.detection.settings import BASELINE_DAYS, RECENT_DAYS
from analyzer.command_lines import Asking
from analyzer.plurals import counted, percent
from analyzer.report.overview_words import alarms, completeness, ended_chains
from analyzer.report.parts import DRIFTS, Part, Section, changes_part, part_of


def sections(overview: Overview, asking: Asking) -> tuple[Section, ...]:
    """The report's sections in their order."""
    return tuple(
        replace(section, parts=tuple(part.asked(overview, asking) for part in section.parts))
        for section in _sections(overview)
    )


def _sections(overview: Overview) -> tuple[Section, ...]:
    return (
        Section(
            "unknown",
            "Unknown errors",
            _unknown(overview),
            (part_of(overview, "unknown-share"), part_of(overview, "unknown-messages")),
        ),
        Section(
            "errors",
            "Errors",
            _errors(overview),
            (
                part_of(overview, "errors-timeline", charts.errors_timeline),
                part_of(overview, "errors-by-reason"),
                part_of(overview, "errors-by-caller"),
                part_of(overview, "errors-by-reason-caller-outcome", charts.outcomes),
            ),
        ),
        Section(
            "retries",
            "Retries",
            _retries(overview),
            (part_of(overview, "retries-outcomes", charts.retries), part_of(overview, "retries-by-caller")),
        ),
        Section(
            "relays",
            "Relays",
            _relays(overview),
            (
                part_of(overview, "relays-by-day", charts.relays),
                part_of(overview, "relays-by-step"),
                part_of(overview, "relays-by-session"),
                part_of(overview, "relays-utilization", charts.utilization),
            ),
        ),
        Section(
            "exhaustions", "Usage-limit exhaustions", _exhaustions(overview), (part_of(overview, "exhaustions-list"),)
        ),
        Section(
            "tools",
            "Failed tools",
            _tools(overview),
            (
                part_of(overview, "tools-by-tool"),
                part_of(overview, "tools-by-kind"),
                part_of(overview, "tools-by-project"),
                part_of(overview, "tools-by-day"),
                part_of(overview, "tools-messages"),
            ),
        ),
        _rules(overview),
        Section(
            "completeness",
            "Completeness",
            f"{completeness(overview)} {alarms(overview)}",
            (part_of(overview, "sources-completeness"), part_of(overview, "quarantine-lines")),
        ),
    )


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


def _tools(overview: Overview) -> str:
    totals = overview.totals
    if not totals.tool_failures:
        return "No tool failed."
    said = f"{totals.tools_said} Agents read what tools say, and go on: no error, share or finding rests on these."
    if totals.tool_calls:
        said += f" The logs that count them show {counted(totals.tool_calls, 'call')} of tools."
    return said


def _rules(overview: Overview) -> Section:
    """What changed under the errors of the whole fleet."""
    found = overview.drifts
    return Section(
        "rules",
        "Rules and drift",
        _rules_lead(overview),
        (
            Part(
                "detection-counts",
                "Unknown share of errors by day, as recorded and under the rules in force",
                "Where the two lines part, rules made the difference and not the traffic. "
                "The share is that of all callers together.",
                {
                    "day": "day in the time zone of the window",
                    "errors": "errors that count: aborts and errors without any detail do not",
                    "recorded_share": "of these recorded as unknown, 0..1",
                    "unknown_share": "of these unknown to the rules in force, 0..1",
                },
                found.days,
                partial(charts.rules, found),
            ),
            changes_part(
                found.found,
                f"What the last {RECENT_DAYS} days have that the {BASELINE_DAYS} before them had not",
                "ruleset-groups",
            ),
            part_of(overview, "ruleset-applied"),
        ),
    )


def _rules_lead(overview: Overview) -> str:
    found = overview.drifts
    if overview.judged_until is None:
        return "There is no history to judge."
    if found.split is None:
        said = f"Nothing comes before the last {RECENT_DAYS} days, so there is nothing to tell a drift from."
    else:
        kinds = [name for name in DRIFTS if any(change.drift == name for change in found.found)]
        what = f"a drift of {' and '.join(kinds)}" if kinds else "no drift of traffic, classifier or wording"
        said = f"The days from {found.split} to {overview.judged_until} show {what}."
    if found.ruleset:
        said += f" Ruleset {found.ruleset} is in force."
    if overview.not_replayed:
        said += f" It could not judge {counted(overview.not_replayed, 'error')}, which count as they were recorded."
    return said
