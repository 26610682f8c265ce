"""The tests that tell three drifts apart, which look alike in a chart: of traffic, of the classifier, of wording."""

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
    """Findings `traffic_changed`, `classifier_changed` and `wording_changed`, each with its own evidence.

    `errors`: distinct rows in any order, one a (session, template) and verdict: `period` (`before` or `after`),
    `session`, `template`, `reason` and `rule` (null where none matched) under today's ruleset, `old_reason` under the
    one it was first judged with (null: not known). Where one period has no error, nothing is found.

    classifier: the same facts got other verdicts (`scope` is `old → new`, `observed` the share of groups that flipped).
    traffic: judged by one and the same ruleset, more of the sessions with errors show some reason than before (upper
    tail of the beta-binomial predictive, times the number of reasons).
    wording: a template new in its reason (`scope` is the reason), or a rule (`scope`) that matched before and no
    longer does although its caller's traffic goes on, while new unknown templates came.
    """
    if errors["period"].n_unique() < 2:
        return frame([])
    found = [*_classifier(errors, day, caller), *_traffic(errors, day, caller, alpha)]
    return frame([*found, *_wording(errors, day, caller, alpha)])


def distinct(errors: pl.DataFrame) -> pl.DataFrame:
    """The rows that `causes` takes, out of rows that repeat them, by day for instance."""
    return errors.select(_COLUMNS).unique()


def flips(errors: pl.DataFrame) -> tuple[Flip, ...]:
    """Pairs of different verdicts over the same facts, the most groups first; from the columns of `causes`."""
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
    """The reason that more sessions show than before, at odds that chance explains worst of all reasons."""
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
    known = set(before["reason"].unique())
    # The first of the sessions is why the template is looked at, so it is no evidence.
    success = sessions[0] / sum(sessions)
    found, unknown_new = [], False
    news = (
        after.join(before.select("template").unique(), on="template", how="anti")
        .group_by("template", "reason")
        .agg(pl.col("session").n_unique())
    )
    for template, reason, seen in news.sort("template", "reason").iter_rows():
        p_value = negative_binomial_tail(seen - 1, 0.5, success)
        if seen < MIN_SESSIONS or p_value > alpha:
            continue
        unknown_new = unknown_new or reason == "unknown"
        if reason in known:
            found.append(
                _worded(day, caller, seen, p_value, reason, template, f"a new text under {reason}, in {seen} sessions")
            )
    if unknown_new:
        found += _silent_rules(before, after, sessions, day, caller, alpha)
    return found


def _silent_rules(
    before: pl.DataFrame, after: pl.DataFrame, sessions: tuple[int, int], day: date, caller: str | None, alpha: float
) -> list[Detection]:
    still = after.filter(pl.col("rule").is_not_null()).group_by("rule").agg(pl.col("session").n_unique())
    matches_now = dict(still.iter_rows())
    found = []
    had = before.filter(pl.col("rule").is_not_null()).group_by("rule").agg(pl.col("session").n_unique()).sort("rule")
    for rule, matched in had.iter_rows():
        now = matches_now.get(rule, 0)
        share = (matched + 0.5) / (sessions[0] + 1)
        # As few matches or fewer, when the baseline's share still held.
        p_value = beta_binomial_tail(sessions[1] - now, sessions[1], 1 - share, 1 / (sessions[0] + 2))
        if p_value <= alpha and now <= 0.2 * share * sessions[1]:
            change = f"rule {rule} matched in {matched} of {sessions[0]} sessions, now in {now} of {sessions[1]}"
            note = f"{change}, while new unknown texts came"
            found.append(_worded(day, caller, now, p_value, str(rule), None, note))
    return found


def _worded(
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
