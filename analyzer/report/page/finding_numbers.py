"""The numbers under the chart of a finding: what each of its columns means, by kind of finding."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analyzer.analysis import Case
from analyzer.report.page.section_parts import Part

_DAY = {"day": "day in the time zone of the window"}
_FROM = "From 42 days before the onset on."


@dataclass(frozen=True, slots=True)
class _Kind:
    title: str
    description: str
    columns: dict[str, str]
    """Column name → what it means."""


_SHARE = _Kind(
    "Days of the caller",
    f"{_FROM} Repeats of one message in one session count once. The interval says how well these days fix the expected "
    "share; single days scatter more.",
    {
        **_DAY,
        "unknown_share": "unknown_groups / groups, 0..1",
        "unknown_groups": "distinct errors (pairs of session and message) that are unknown to the rules in force",
        "groups": "distinct errors",
        "unknown_sessions": "distinct sessions with an unknown error",
        "sessions": "distinct sessions with an error",
    },
)
_RECOVERY = _Kind(
    "Days of the caller and reason",
    f"{_FROM} Days without a chain are left out. Chains that a person ended count nowhere.",
    {
        **_DAY,
        "recovered_share": "week_recovered / week_chains, 0..1",
        "week_recovered": "chains that recovered in the 7 days up to this one",
        "week_chains": "chains with a retry in the 7 days up to this one",
        "recovered": "chains that recovered on this day",
        "chains": "chains with a retry that were settled on this day",
        "untried": "errors that were given up without a retry",
    },
)
_KINDS = {
    "spike": _SHARE,
    "drift": _SHARE,
    "template": _Kind(
        "Days of the message",
        _FROM,
        {
            **_DAY,
            "message_sessions": "distinct sessions that show the message",
            "message_events": "errors with the message",
            "sessions": "distinct sessions with an error",
        },
    ),
    "burst": _Kind(
        "The burst",
        "Stretches without a repeat are left out.",
        {
            "begins_at": "beginning of a stretch",
            "seconds": "how long the stretch is",
            "repeats": "errors with the message in the session",
        },
    ),
    "reasons": _Kind(
        "The two mixes",
        "Each session counts once for each reason that it shows. Errors that were unknown when they came have no part.",
        {
            "reason": "reason under the rules in force",
            "before_share": "of all pairs of session and reason in the 42 days before, 0..1",
            "before_low_share": "lower end of its 95 % interval (Wilson)",
            "before_high_share": "upper end of it",
            "before_sessions": "distinct sessions with the reason in these days",
            "after_share": "of all pairs of session and reason in the last 7 days, 0..1",
            "after_low_share": "lower end of its 95 % interval (Wilson)",
            "after_high_share": "upper end of it",
            "after_sessions": "distinct sessions with the reason in these days",
        },
    ),
    "relays": _Kind(
        "Days of the caller and step",
        f"{_FROM} What is expected follows the sessions at work and the rates of weekdays and weekends.",
        {
            **_DAY,
            "hand_offs": "hand-offs to a fresh context in the step",
            "expected": "hand-offs expected; none where there is too little history",
            "high": "the count that such a day stays within in 39 of 40 cases",
            "unusual": "whether the day alone would be a finding; such days are no part of what is expected of others",
            "relay_sessions": "distinct sessions with a hand-off in the step",
            "sessions": "distinct sessions at work: with an error or any hand-off",
        },
    ),
    "recovery_fell": _RECOVERY,
    "retry_in_vain": _RECOVERY,
    "retry_would_pay": _RECOVERY,
}


def numbers_part(case: Case) -> Part:
    """The numbers of the chart of a finding that has one; of days the latest first."""
    kind = _KINDS[case.finding.finding]
    frame = case.numbers
    if "day" in frame.columns:
        frame = frame.reverse()
    if "begins_at" in frame.columns:
        frame = frame.with_columns(pl.col("begins_at").dt.strftime("%Y-%m-%d %H:%M:%S"))
    return Part("", kind.title, kind.description, kind.columns, frame)
