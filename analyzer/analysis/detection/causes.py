"""Tell drifts of traffic, classifier and wording apart, which look alike in a chart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

import polars as pl

from analyzer.analysis.detection.detection import Detection, frame
from analyzer.analysis.detection.statistics.tails import beta_binomial_tail, negative_binomial_tail

MIN_SESSIONS = 3
_PERIODS = ("before", "after")
_COLUMNS = ("period", "session", "template", "reason", "rule", "old_reason")


@dataclass(frozen=True, slots=True)
class Flip:
    """Errors that two rulesets judge differently."""

    old_reason: str
    reason: str
    groups: int
    sessions: int


def causes(errors: pl.DataFrame, *, day: date, caller: str | None = None, alpha: float = 0.001) -> pl.DataFrame:
    """Return the findings `traffic_changed`, `classifier_changed` and `wording_changed`.

    `errors`: distinct rows in any order, one per (session, template) and verdict: `period`
    (`before` or `after`), `session`, `template`, `reason` and `rule` (null where none matched)
    under today's ruleset, and `old_reason` under the ruleset that judged it first (null: not
    recorded). Without errors in both periods there is no finding.

    classifier: the same facts got other verdicts (`scope` is `old → new`, `observed` the share of
    groups that flipped).
    traffic: under one ruleset, more of the sessions with errors show some reason than before (upper
    tail of the beta-binomial predictive, times the number of reasons).
    wording: a template that is new in its reason (`scope` is the reason), or a rule (`scope`) that
    matched before and no longer does although its caller's traffic goes on, while new unknown
    templates came.
    """
    if errors["period"].n_unique() < 2:
        return frame([])
    findings = [*_classifier(errors, day, caller), *_traffic(errors, day, caller, alpha)]
    return frame([*findings, *_wording(errors, day, caller, alpha)])


def distinct(errors: pl.DataFrame) -> pl.DataFrame:
    """Return the distinct rows that `causes` takes, from rows that repeat them by day."""
    return errors.select(_COLUMNS).unique()


def flips(errors: pl.DataFrame) -> tuple[Flip, ...]:
    """Count groups by pair of old and new reason, most groups first; `errors` as in `causes`."""
    pairs = (
        errors.filter(pl.col("old_reason").is_not_null() & (pl.col("old_reason") != pl.col("reason")))
        .group_by("old_reason", "reason")
        .agg(
            pl.struct("session", "template").n_unique().alias("groups"), pl.col("session").n_unique().alias("sessions")
        )
        .sort("groups", "old_reason", "reason", descending=[True, False, False])
    )
    return tuple(Flip(*row) for row in pairs.iter_rows())


def _classifier(errors: pl.DataFrame, day: date, caller: str | None) -> list[Detection]:
    judged = errors.filter(pl.col("old_reason").is_not_null()).height
    return [
        Detection(
            day=day,
            caller=caller,
            finding="classifier_changed",
            observed=flip.groups / judged,
            expected=0.0,
            statistic=float(flip.groups),
            sessions=flip.sessions,
            groups=flip.groups,
            scope=f"{flip.old_reason} → {flip.reason}",
            note=f"{flip.groups} groups once judged {flip.old_reason} are {flip.reason} under today's rules",
        )
        for flip in flips(errors)
    ]


def _traffic(errors: pl.DataFrame, day: date, caller: str | None, alpha: float) -> list[Detection]:
    """Return a detection of the reason least likely to be in so many sessions by chance, if any."""
    both = errors.select("period", "session", "reason").unique()
    counts = both.group_by("reason").agg((pl.col("period") == period).sum().alias(period) for period in _PERIODS)
    before, after = (errors.filter(period=period)["session"].n_unique() for period in _PERIODS)
    tails = []
    for reason, old, new in counts.sort("reason").iter_rows():
        share = (old + 0.5) / (before + 1)
        tails.append((beta_binomial_tail(new, after, share, 1 / (before + 2)), reason, new, share * after))
    p_value, reason, shown, expected = min(tails)
    p_value = min(1.0, p_value * len(tails))
    if p_value > alpha:
        return []
    shift = f"{reason} in {shown:,} of {after:,} sessions, {expected:,.1f} expected"
    return [
        Detection(
            day=day,
            caller=caller,
            finding="traffic_changed",
            p_value=p_value,
            q_value=p_value,
            statistic=shown / expected,
            sessions=after,
            note=f"under one and the same ruleset the mix of reasons differs: {shift}",
        )
    ]


def _wording(errors: pl.DataFrame, day: date, caller: str | None, alpha: float) -> list[Detection]:
    before, after = (errors.filter(pl.col("period") == period) for period in ("before", "after"))
    sessions = before["session"].n_unique(), after["session"].n_unique()
    if not all(sessions):
        return []
    reasons_before = set(before["reason"].unique())
    # The first session is the reason to look at the template, so it is no evidence.
    success = sessions[0] / sum(sessions)
    findings, has_new_unknown = [], False
    new_templates = (
        after.join(before.select("template").unique(), on="template", how="anti")
        .group_by("template", "reason")
        .agg(pl.col("session").n_unique())
    )
    for template, reason, sessions_with_it in new_templates.sort("template", "reason").iter_rows():
        p_value = negative_binomial_tail(sessions_with_it - 1, 0.5, success)
        if sessions_with_it < MIN_SESSIONS or p_value > alpha:
            continue
        has_new_unknown = has_new_unknown or reason == "unknown"
        if reason in reasons_before:
            findings.append(
                _wording_detection(
                    day,
                    caller,
                    sessions_with_it,
                    p_value,
                    reason,
                    template,
                    f"a new text under {reason}, in {sessions_with_it} sessions",
                )
            )
    if has_new_unknown:
        findings += _silent_rules(before, after, sessions, day, caller, alpha)
    return findings


def _silent_rules(
    before: pl.DataFrame, after: pl.DataFrame, sessions: tuple[int, int], day: date, caller: str | None, alpha: float
) -> list[Detection]:
    matching = after.filter(pl.col("rule").is_not_null()).group_by("rule").agg(pl.col("session").n_unique())
    matches_now = dict(matching.iter_rows())
    findings = []
    matched_before = (
        before.filter(pl.col("rule").is_not_null()).group_by("rule").agg(pl.col("session").n_unique()).sort("rule")
    )
    for rule, matched in matched_before.iter_rows():
        now = matches_now.get(rule, 0)
        share = (matched + 0.5) / (sessions[0] + 1)
        # The chance of as few matches or fewer, if the baseline's share still held.
        p_value = beta_binomial_tail(sessions[1] - now, sessions[1], 1 - share, 1 / (sessions[0] + 2))
        if p_value <= alpha and now <= 0.2 * share * sessions[1]:
            change = f"rule {rule} matched in {matched} of {sessions[0]} sessions, now in {now} of {sessions[1]}"
            note = f"{change}, while new unknown texts came"
            findings.append(_wording_detection(day, caller, now, p_value, str(rule), None, note))
    return findings


def _wording_detection(
    day: date, caller: str | None, sessions: int, p_value: float, scope: str, template: str | None, note: str
) -> Detection:
    return Detection(
        day=day,
        caller=caller,
        finding="wording_changed",
        p_value=p_value,
        q_value=p_value,
        sessions=sessions,
        statistic=float(sessions),
        scope=scope,
        template=template,
        note=note,
    )
