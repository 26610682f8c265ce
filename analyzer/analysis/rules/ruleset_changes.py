"""Compare rulesets: find the past errors and alarms that another ruleset changes.

Invariants: nothing is written to the store; an error that was logged without facts keeps its reason
on both sides. Both sides are judged by the same tests with the same settings; only the verdicts
differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl

from analyzer.analysis.kinds.families.shares import detect
from analyzer.analysis.kinds.finding import Finding, family_of
from analyzer.analysis.nightly.incidents import incidents
from analyzer.analysis.tables import Window, json_fields, json_ready, table
from analyzer.classifier.fingerprint import fingerprint_of
from analyzer.classifier.recovery_table import UNCOUNTED
from analyzer.classifier.rules.loading import Rules, ruleset_for
from analyzer.frozen import frozen
from analyzer.store import Store, counts_of, templates_of
from analyzer.store.shown import ShownRows

MAX_SAMPLES = 2


@frozen
class Rejudged:
    """The errors of one template that change from one reason to another."""

    fingerprint: str
    template: str
    before: str
    after: str
    rule: str
    """The rule that gives the new reason."""
    events: int
    """Errors."""
    groups: int
    """Distinct pairs of session and template."""
    sessions: int
    samples: tuple[str, ...]
    """Texts, redacted."""


@frozen
class ChangedShare:
    """The number of errors, groups or sessions that are judged differently, and of all."""

    changed: int
    total: int

    @property
    def share(self) -> float | None:
        """Return the changed part, 0..1; None if there are none at all."""
        return self.changed / self.total if self.total else None


@dataclass(frozen=True, slots=True, repr=False)
class Churn(ShownRows):
    """The difference between two verdicts on the same history."""

    ruleset: str
    """Digest of the ruleset that was tried."""
    recovered: tuple[Rejudged, ...]
    """Unknown before, known after; as in all three, changes in most sessions first."""
    regressed: tuple[Rejudged, ...]
    """Known before, unknown after."""
    moved: tuple[Rejudged, ...]
    """From one known reason to another."""
    events: ChangedShare
    groups: ChangedShare
    sessions: ChangedShare
    """Sessions with a changed error."""
    sessions_freed: int
    """Sessions with an unknown error before and none after."""
    sessions_spoiled: int
    """Sessions with an unknown error after and none before."""
    p_value: float
    """P-value of the exact McNemar test of these two counts, see `mcnemar`."""
    verdicts: pl.DataFrame
    """One row per error: the columns of `errors-judged`, and `new_reason`, `new_detail`,
    `new_rule`."""

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with one row per change, its `kind` first."""
        rows = [{"kind": kind, **json_ready(change)} for kind in _KINDS for change in getattr(self, kind)]
        return pl.DataFrame(rows, schema=_SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        changes = {kind: json_ready(getattr(self, kind)) for kind in _KINDS}
        rates = {
            name: {**json_ready(rate), "share": rate.share}
            for name, rate in (("events", self.events), ("groups", self.groups), ("sessions", self.sessions))
        }
        test = {"freed": self.sessions_freed, "spoiled": self.sessions_spoiled, "p_value": self.p_value}
        return {"ruleset": self.ruleset, **rates, "mcnemar": test, **changes}

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        counts = {kind: f"{len(getattr(self, kind)):,}" for kind in _KINDS}
        return f"Churn {self.ruleset}", {**counts, "errors": f"{self.events.changed:,} of {self.events.total:,}"}


_KINDS = ("recovered", "regressed", "moved")
_FIELDS = ("fingerprint", "template", "before", "after", "rule", "events", "groups", "sessions", "samples")
_SCHEMA: dict[str, Any] = {
    "kind": pl.String,
    **dict.fromkeys(_FIELDS[:5], pl.String),
    **dict.fromkeys(_FIELDS[5:8], pl.Int64),
    "samples": pl.List(pl.String),
}


def churn(
    store: Store,
    rules: Rules = None,
    window: str | Window | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Churn:
    """Judge a window by rules (a file, a ruleset, None: built in), and compare the reasons.

    Raises:
        RulesError: the rules cannot be used.
    """
    ruleset = ruleset_for(rules)
    frame = verdicts(store, ruleset, window, progress=progress)
    changed = frame.filter(pl.col("reason") != pl.col("new_reason"))
    changes = _changes(store, changed)
    was = set(frame.filter(counted_unknown("reason", "detail"))["session_id"])
    now = set(frame.filter(counted_unknown("new_reason", "new_detail"))["session_id"])
    freed, spoiled = len(was - now), len(now - was)
    return Churn(
        ruleset=ruleset.digest,
        recovered=tuple(change for change in changes if change.before == "unknown"),
        regressed=tuple(change for change in changes if change.after == "unknown"),
        moved=tuple(change for change in changes if "unknown" not in (change.before, change.after)),
        events=ChangedShare(changed.height, frame.height),
        groups=ChangedShare(_groups(changed), _groups(frame)),
        sessions=ChangedShare(changed["session_id"].n_unique(), frame["session_id"].n_unique()),
        sessions_freed=freed,
        sessions_spoiled=spoiled,
        p_value=mcnemar(freed, spoiled),
        verdicts=frame,
    )


def verdicts(
    store: Store,
    rules: Rules = None,
    window: str | Window | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Return the columns of `errors-judged` per error, and the verdict of these rules as `new_*`.

    Raises:
        RulesError: the rules cannot be used.
    """
    judged = table(store, "errors-judged", window).frame
    new = store.verdicts(rules, progress=progress).select(
        "event_id", pl.col("reason", "detail", "rule").name.prefix("new_"), has_facts=pl.lit(True)
    )
    kept = pl.col("has_facts").is_null()
    return judged.join(new, on="event_id", how="left", maintain_order="left").select(
        *judged.columns,
        new_reason=pl.when(kept).then("reason").otherwise("new_reason"),
        new_detail=pl.when(kept).then("detail").otherwise("new_detail"),
        new_rule=pl.col("new_rule"),
    )


def counted_unknown(reason: str, detail: str) -> pl.Expr:
    """Select the verdicts that count as unknown in the unknown share."""
    return (pl.col(reason) == "unknown") & takes_part(detail)


def takes_part(detail: str) -> pl.Expr:
    """Select the verdicts of the unknown share: all but aborts and errors without any detail."""
    return pl.col(detail).fill_null("").is_in(UNCOUNTED).not_()


def mcnemar(freed: int, spoiled: int) -> float:
    """Return the two-sided exact p-value of so many sessions changing in one direction.

    If nothing changed, each changed session is as likely freed as spoiled, so the smaller number is
    a draw of Binomial(freed + spoiled, 1/2) (McNemar 1947; exact form after Cochran).
    """
    changed = freed + spoiled
    tail = sum(math.comb(changed, number) for number in range(min(freed, spoiled) + 1))
    # Integers of any size can be divided; floats would overflow beyond a thousand sessions.
    return min(1.0, 2 * tail / (1 << changed))


def _groups(frame: pl.DataFrame) -> int:
    return int(frame.select(pl.struct("session_id", "template").n_unique()).item())


def _changes(store: Store, changed: pl.DataFrame) -> list[Rejudged]:
    rows = (
        changed.group_by("template", "reason", "new_reason", "new_rule")
        .agg(
            events=pl.len(),
            sessions=pl.col("session_id").n_unique(),
            shown=pl.col("event_id").sort().head(MAX_SAMPLES),
        )
        .sort(
            -pl.col("sessions").cast(pl.Int64),
            -pl.col("events").cast(pl.Int64),
            "template",
            "reason",
            "new_reason",
            "new_rule",
        )
    )
    wanted = json.dumps([event_id for shown in rows["shown"] for event_id in shown])
    texts = {
        row["event_id"]: row["message"] for row in store.query("errors-facts", event_ids=wanted).iter_rows(named=True)
    }
    return [
        Rejudged(
            fingerprint=fingerprint_of(row["template"]),
            template=row["template"],
            before=row["reason"],
            after=row["new_reason"],
            rule=row["new_rule"],
            events=row["events"],
            # One template: its groups are its sessions.
            groups=row["sessions"],
            sessions=row["sessions"],
            samples=tuple(dict.fromkeys(texts[event_id] for event_id in row["shown"] if texts[event_id])),
        )
        for row in rows.iter_rows(named=True)
    ]


@frozen
class Alarm:
    """An incident of the unknown share or of a new unknown message, over all its nights."""

    finding: str
    caller: str | None
    template: str | None
    """The template, for a finding about a message."""
    severity: str
    """The worst severity that it reached."""
    opened_on: date
    last_on: date


@frozen
class AlarmChanges:
    """The past alarms under the verdicts before and after."""

    vanished: tuple[Alarm, ...]
    """Only before; in the order of days, as in all three."""
    appeared: tuple[Alarm, ...]
    """Only after."""
    stayed: tuple[Alarm, ...]
    """On both sides, as they are after."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; days are ISO dates."""
        return json_fields(self)


def alarm_changes(verdicts: pl.DataFrame) -> AlarmChanges:
    """Compare the alarms under two verdicts on every error.

    `verdicts` has a row per error: `day`, `caller`, `session_id`, `template`, `reason`, `detail`,
    `new_reason` and `new_detail`, as `Churn.verdicts`. An alarm stays if both sides have an alarm
    of its kind, caller and message at the same time.
    """
    before = _alarms(verdicts, "reason", "detail")
    after = _alarms(verdicts, "new_reason", "new_detail")
    return AlarmChanges(
        vanished=tuple(alarm for alarm in before if not any(_alike(alarm, other) for other in after)),
        appeared=tuple(alarm for alarm in after if not any(_alike(alarm, other) for other in before)),
        stayed=tuple(alarm for alarm in after if any(_alike(alarm, other) for other in before)),
    )


def _alarms(verdicts: pl.DataFrame, reason: str, detail: str) -> list[Alarm]:
    groups = (
        verdicts.filter((pl.col(reason) != "unknown") | takes_part(detail))
        .group_by("day", "caller", pl.col("session_id").alias("session"), "template", pl.col(reason).alias("reason"))
        .agg(pl.len().cast(pl.Int64).alias("events"))
        .with_columns(was_unknown=pl.lit(False), judged=pl.lit(True), rule=pl.lit(None, dtype=pl.String))
        .sort("day", "caller", "session", "template")
    )
    if groups.is_empty():
        return []
    counts = counts_of(groups)
    detections = detect(counts, templates_of(groups))
    traffic: dict[str, list[date]] = {}
    for day, caller in counts.select("day", "caller").iter_rows():
        traffic.setdefault(caller, []).append(day)
    findings: dict[str, Finding] = {}
    for day in sorted({finding.day for finding in detections}):
        findings.update(
            {
                finding.id: finding
                for finding in incidents(detections, traffic, day)
                if finding.opened_on <= day == finding.last_on
            }
        )
    alarms = [
        Alarm(
            finding.finding,
            finding.scope.caller,
            finding.scope.template,
            finding.severity,
            finding.opened_on,
            finding.last_on,
        )
        for finding in findings.values()
    ]
    return sorted(alarms, key=lambda alarm: (alarm.opened_on, alarm.caller or "", alarm.finding, alarm.template or ""))


def _alike(alarm: Alarm, other: Alarm) -> bool:
    alike = family_of(alarm.finding) == family_of(other.finding)
    overlap = alarm.opened_on <= other.last_on and other.opened_on <= alarm.last_on
    return alike and overlap and (alarm.caller, alarm.template) == (other.caller, other.template)
