"""Tell drifts of traffic, classifier and wording apart, which look alike in a chart."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta

import polars as pl

from analyzer.analysis.kinds.detection import Detection, ordered
from analyzer.analysis.kinds.finding import KINDS, Evidence, Finding, Kind, scope_of
from analyzer.analysis.kinds.scope import Identity, finding_id
from analyzer.analysis.kinds.statistics.tails import (
    beta_binomial_tail,
    negative_binomial_tail,
)
from analyzer.analysis.observations import Observations, drawn, end_of, start_of
from analyzer.analysis.periods import (
    BASELINE_DAYS,
    RECENT_DAYS,
)
from analyzer.analysis.tables import Table, Window, table
from analyzer.frozen import frozen
from analyzer.readable import counted
from analyzer.store import CallerDays, Store

MIN_SESSIONS = 3
_PERIODS = ("before", "after")
_COLUMNS = ("period", "session", "template", "reason", "rule", "old_reason")


@frozen
class Flip:
    """Errors that two rulesets judge differently."""

    old_reason: str
    reason: str
    groups: int
    sessions: int


def causes(errors: pl.DataFrame, *, day: date, caller: str | None = None, alpha: float = 0.001) -> list[Detection]:
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
        return []
    findings = [*_classifier(errors, day, caller), *_traffic(errors, day, caller, alpha)]
    return ordered([*findings, *_wording(errors, day, caller, alpha)])


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
            note=(f"{counted(flip.groups, 'message')} logged as {flip.old_reason}; today's rules say {flip.reason}"),
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
    shift = f"{shown:,} of {after:,} sessions met {reason} errors (normally {expected:,.1f})"
    return [
        Detection(
            day=day,
            caller=caller,
            finding="traffic_changed",
            p_value=p_value,
            q_value=p_value,
            statistic=shown / expected,
            sessions=after,
            note=f"the mix of errors changed; the rules did not: {shift}",
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


MAX_ASKED = 5
"""New findings of a night whose causes are looked for: the gravest."""
MAX_SESSIONS = 1_000
"""Sessions that take part; of more, so many are drawn by their names."""


def with_causes(seen: Observations, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Add the causes of new findings to their parts."""
    asked = [finding for finding in findings if finding.state == "new" and finding.kind.asked][:MAX_ASKED]
    ids = [finding.id for finding in asked]
    seen = seen.holding(
        CallerDays(finding.scope.caller, finding.onset - timedelta(days=BASELINE_DAYS), seen.night) for finding in asked
    )
    return tuple(
        replace(finding, parts=(*finding.parts, *_causes(seen, finding))) if finding.id in ids else finding
        for finding in findings
    )


def _causes(seen: Observations, head: Finding) -> list[Finding]:
    # What came after its last day is no part of it.
    rows = _sampled(seen.around(head.onset, head.last_on, head.scope.caller))
    recent = [
        detection
        for detection in causes(distinct(rows), day=head.last_on, caller=head.scope.caller)
        if detection.finding != "classifier_changed" or _is_recent(rows, detection.scope)
    ]
    # A new unknown text is a finding of its own kind already.
    kept = [
        detection
        for detection in recent
        if not (detection.finding == "wording_changed" and detection.scope == "unknown")
    ]
    if any(detection.finding == "wording_changed" for detection in kept):
        # A change of wording changes the mix as well.
        kept = [detection for detection in kept if detection.finding != "traffic_changed"]
    return [
        _part(replace(detection, onset=detection.onset or head.onset))
        for detection in sorted(kept, key=lambda detection: list(KINDS).index(detection.finding))
    ]


def _is_recent(rows: pl.DataFrame, pair: str | None) -> bool:
    """Return whether a pair of verdicts came with the change, and was not there as often before."""
    shares, sessions = [], 0
    for period in ("before", "after"):
        side = rows.filter(pl.col("period") == period)
        flip = next((row for row in flips(side) if f"{row.old_reason} → {row.reason}" == pair), None)
        shares.append(flip.groups / side.height if flip else 0.0)
        sessions = flip.sessions if flip else 0
    return sessions >= MIN_SESSIONS and shares[1] > 2 * shares[0]


def _sampled(rows: pl.DataFrame) -> pl.DataFrame:
    sessions = rows["session"].unique().to_list()
    if len(sessions) <= MAX_SESSIONS:
        return rows
    return rows.filter(pl.col("session").is_in(drawn(sessions, MAX_SESSIONS)))


def _part(detection: Detection) -> Finding:
    return Finding(
        id=finding_id(Identity(detection.finding, scope_of(detection)), detection.day),
        state="new",
        severity="info",
        opened_on=detection.day,
        last_on=detection.day,
        latest=replace(detection, onset=detection.onset or detection.day),
    )


CAUSES = {
    "classifier_changed": Kind(
        title="The classifier changed",
        metric="share of distinct errors whose reason differs from the recorded one, 0..1",
        advice="list what is classified differently",
        asks=("query", "ruleset-drift"),
        scope="reason",
        cause=True,
        explains=True,
        evidence=Evidence(reason=lambda finding: (finding.scope.reason or "").rpartition(" → ")[2]),
    ),
    "traffic_changed": Kind(title="The traffic changed", cause=True, explains=True),
}


@frozen
class Drift:
    """A drift, with its evidence."""

    drift: str
    """`traffic`, `classifier` or `wording`."""
    about: str | None
    """A reason, a rule, or `old reason → reason`."""
    said: str
    """The evidence in words."""
    message: str | None
    """The new text, redacted; where it is about one."""
    sessions: int
    """Distinct sessions that show it."""
    p_value: float | None
    """None where nothing is left to chance."""

    @classmethod
    def of(cls, detection: Detection, message: str | None) -> Drift:
        """Build the drift of a detection of `causes`; `message` is the text of its template."""
        name = detection.finding.removesuffix("_changed")
        return cls(name, detection.scope, detection.note or "", message, detection.sessions or 0, detection.p_value)


@frozen
class Drifts:
    """The changes under the errors of the fleet in a window."""

    days: pl.DataFrame
    """A row a day of the window: `day`, `errors` that count, and of these the share 0..1 that was recorded as unknown
    (`recorded_share`) and that is unknown to the rules in force (`unknown_share`)."""
    applied: Table
    """Rulesets that became the active one in the window."""
    ruleset: str | None
    """Digest of the ruleset in force."""
    split: date | None
    """The first of the recent days; None where there is nothing before it to compare them with."""
    found: tuple[Drift, ...]
    """The drifts between the recent days and the baseline before them."""


def drifts(store: Store, seen: Observations, first: date, last: date | None, window: Window) -> Drifts:
    """Return the drifts of the whole fleet in a window with these first and last days.

    Without a last day there is nothing to judge.

    Raises:
        QueryError: the store cannot be asked.
    """
    split = None if last is None else last - timedelta(days=RECENT_DAYS - 1)
    if split and not seen.counts["day"].is_between(_first(split), split, closed="left").any():
        split = None
    return Drifts(
        days=_days(seen.counts.filter(pl.col("day") >= first)),
        applied=table(store, "ruleset-applied", window),
        ruleset=seen.ruleset,
        split=split,
        found=_of_fleet(store, seen, split, last) if split and last else (),
    )


def caller_drifts(seen: Observations, split: date, until: date, caller: str | None) -> list[Detection]:
    """Return what tells a caller's days from `split` to `until` from the baseline before them.

    These are detections of `causes`.
    """
    return causes(distinct(seen.around(split, until, caller)), day=until, caller=caller)


def _of_fleet(store: Store, seen: Observations, split: date, until: date) -> tuple[Drift, ...]:
    span = {"since": start_of(_first(split), seen.timezone), "until": end_of(until, seen.timezone)}
    rows = store.query("ruleset-groups", **span, split=start_of(split, seen.timezone), ruleset=seen.ruleset)
    detections = causes(rows, day=until, caller=None)
    templates = sorted({detection.template for detection in detections if detection.template is not None})
    messages: dict[str | None, str | None] = {}
    if templates:
        texts = store.query("detection-messages", **span, templates=json.dumps(templates))
        for template, message, masked in texts.select("template", "message", "masked").iter_rows():
            messages[template] = message if messages.get(template, message) == message else masked
    return tuple(Drift.of(detection, messages.get(detection.template)) for detection in detections)


def _first(split: date) -> date:
    """Return the first day of a baseline."""
    return split - timedelta(days=BASELINE_DAYS)


def _days(counts: pl.DataFrame) -> pl.DataFrame:
    summed = counts.group_by("day").agg(pl.col("events", "unknown_events", "unknown_events_replayed").sum()).sort("day")
    return summed.select(
        "day",
        pl.col("events").alias("errors"),
        (pl.col("unknown_events") / pl.col("events")).alias("recorded_share"),
        (pl.col("unknown_events_replayed") / pl.col("events")).alias("unknown_share"),
    )
