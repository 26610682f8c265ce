"""The tests that tell three drifts apart, which look alike in a chart: of traffic, of the classifier, of wording.

The change of a pooled share is taken apart into members whose own share changed and members that got busier.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import polars as pl

from analyzer.analysis.detection.detection import Detection, frame
from analyzer.analysis.detection.reasons import reason_test
from analyzer.analysis.detection.statistics.tails import beta_binomial_tail, negative_binomial_tail

MIN_SESSIONS = 3
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
    traffic: judged by one and the same ruleset, the mix of reasons differs (session test of `reason_test`).
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
    periods = [_sessions(errors, period) for period in ("before", "after")]
    p_value, statistic, _ = reason_test(*periods)
    if p_value > alpha:
        return []
    return [
        Detection(
            day=day,
            caller=caller,
            finding="traffic_changed",
            p_value=p_value,
            q_value=p_value,
            statistic=statistic,
            sessions=len(periods[1]),
            note="under one and the same ruleset the mix of reasons differs",
        )
    ]


def _sessions(errors: pl.DataFrame, period: str) -> list[frozenset[str]]:
    """The reasons of each session of a period. Sessions can be a million, but those with the same share one set."""
    rows = errors.filter(pl.col("period") == period).group_by("session").agg(pl.col("reason").unique().sort())
    joined = rows.sort("session")["reason"].list.join("\n")
    sets = {reasons: frozenset(reasons.split("\n")) for reasons in joined.unique()}
    return [sets[reasons] for reasons in joined]


def _wording(errors: pl.DataFrame, day: date, caller: str | None, alpha: float) -> list[Detection]:
    before, after = (errors.filter(pl.col("period") == period) for period in ("before", "after"))
    sessions = before["session"].n_unique(), after["session"].n_unique()
    if not all(sessions):
        return []
    old, known = set(before["template"]), set(before["reason"])
    # The first of the sessions is why the template is looked at, so it is no evidence.
    success = sessions[0] / sum(sessions)
    found, unknown_new = [], False
    news = (
        after.filter(~pl.col("template").is_in(list(old)))
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


@dataclass(frozen=True, slots=True)
class Split:
    """The change of a pooled share in three parts that add up to it, in shares."""

    before: float
    after: float
    rate: float
    """By members whose own share changed, at their old weight."""
    mix: float
    """By members that gained or lost weight, at their old share."""
    cross: float
    """By both at once."""
    members: tuple[tuple[str, float, float], ...]
    """(name, rate, mix), the largest effect first."""

    @property
    def change(self) -> float:
        """After minus before."""
        return self.after - self.before

    @property
    def verdict(self) -> str:
        """`rate`, `mix` or `both`: what three quarters of the change come from, or neither alone."""
        if abs(self.change) < 1e-12:
            return "both"
        if self.mix / self.change >= 0.75:
            return "mix"
        return "rate" if (self.rate + self.cross) / self.change >= 0.75 else "both"


def split(before: Mapping[str, tuple[int, int]], after: Mapping[str, tuple[int, int]]) -> Split:
    """Kitagawa's (1955) decomposition of a pooled share over members, such as callers or reasons.

    Both sides give (unknown, all) by member. A member of one side alone has no share on the other: all that it
    brings or takes away is mix. Either side empty gives a change of nothing.
    """
    totals = [sum(n for _, n in side.values()) for side in (before, after)]
    if not all(totals):
        return Split(0.0, 0.0, 0.0, 0.0, 0.0, ())
    pooled = [sum(k for k, _ in side.values()) / total for side, total in zip((before, after), totals, strict=True)]
    rate = mix = cross = 0.0
    members = []
    for name in sorted({*before, *after}):
        k0, n0 = before.get(name, (0, 0))
        k1, n1 = after.get(name, (0, 0))
        w0, w1 = n0 / totals[0], n1 / totals[1]
        # Who was not there before brings its share along: its weight is mix, and so is its distance from the rest.
        p1 = k1 / n1 if n1 else None
        p0 = k0 / n0 if n0 else p1
        if p0 is None:
            continue
        p1 = p0 if p1 is None else p1
        rate += w0 * (p1 - p0)
        # Weights sum to one on both sides, so the pooled share may be taken off without changing the sum.
        mix += (w1 - w0) * (p0 - pooled[0])
        cross += (w1 - w0) * (p1 - p0)
        members.append((name, w1 * (p1 - p0), (w1 - w0) * (p0 - pooled[0])))
    members.sort(key=lambda each: (-abs(each[1]) - abs(each[2]), each[0]))
    return Split(pooled[0], pooled[1], rate, mix, cross, tuple(members))
