"""What another ruleset would change: the reasons of history, template by template, and the alarms of past nights.

Invariants: nothing is kept in the store; an error that was logged without facts keeps its reason on both sides. Both
sides are judged by the same tests with the same settings; only the verdicts differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import polars as pl

from analyzer.analysis.detection import detect
from analyzer.analysis.detection.detection import detections_in
from analyzer.analysis.kinds.finding import Finding, family_of
from analyzer.analysis.nightly.incidents import incidents
from analyzer.analysis.tables import Window, json_ready, table
from analyzer.classifier.fingerprint import fingerprint_of
from analyzer.classifier.recovery_table import UNCOUNTED
from analyzer.classifier.rules.loading import Rules, ruleset_for
from analyzer.store import Store, counts_of, templates_of
from analyzer.store.shown import ShownRows

MAX_SAMPLES = 2


@dataclass(frozen=True, slots=True)
class Rejudged:
    """Errors of one template that go from one reason to another."""

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


@dataclass(frozen=True, slots=True)
class ChangedShare:
    """How many errors, groups or sessions are judged differently, of all of them."""

    changed: int
    total: int

    @property
    def share(self) -> float | None:
        """0..1; None of nothing."""
        return self.changed / self.total if self.total else None


@dataclass(frozen=True, slots=True, repr=False)
class Churn(ShownRows):
    """The difference between two verdicts on the same history."""

    ruleset: str
    """Digest of the ruleset that was tried."""
    recovered: tuple[Rejudged, ...]
    """Unknown before, known after; as all three, those in most sessions first."""
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
    """Exact McNemar test of these two, see `mcnemar`."""
    verdicts: pl.DataFrame
    """One row an error: the columns of `errors-judged`, and `new_reason`, `new_detail`, `new_rule`."""

    def to_polars(self) -> pl.DataFrame:
        """One row a change, its `kind` first."""
        rows = [{"kind": kind, **json_ready(change)} for kind in _KINDS for change in getattr(self, kind)]
        return pl.DataFrame(rows, schema=_SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
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
    """Judge a window of history by rules (a file, a ruleset, None: built in), and compare with the store's reasons.

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
        recovered=tuple(each for each in changes if each.before == "unknown"),
        regressed=tuple(each for each in changes if each.after == "unknown"),
        moved=tuple(each for each in changes if "unknown" not in (each.before, each.after)),
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
    """One row an error: the columns of `errors-judged`, and what these rules say as `new_*`.

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
    """Whether a verdict counts in the unknown share as unknown."""
    return (pl.col(reason) == "unknown") & takes_part(detail)


def takes_part(detail: str) -> pl.Expr:
    """Whether a verdict takes part in the unknown share: aborts and errors without any detail do not."""
    return pl.col(detail).fill_null("").is_in(UNCOUNTED).not_()


def mcnemar(freed: int, spoiled: int) -> float:
    """Two-sided exact p-value: how surprising it is that so many of the changed sessions changed in one direction.

    Under the null each changed session is as likely freed as spoiled, so that the smaller number is a draw of
    Binomial(freed + spoiled, 1/2) (McNemar 1947; exact form after Cochran).
    """
    changed = freed + spoiled
    tail = sum(math.comb(changed, number) for number in range(min(freed, spoiled) + 1))
    # Whole numbers of any size divide; floats would overflow beyond a thousand sessions.
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
    wanted = json.dumps([each for shown in rows["shown"] for each in shown])
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
            samples=tuple(dict.fromkeys(texts[each] for each in row["shown"] if texts[each])),
        )
        for row in rows.iter_rows(named=True)
    ]


@dataclass(frozen=True, slots=True)
class Alarm:
    """An incident of the unknown share or of a new unknown message, over the nights that told it."""

    finding: str
    caller: str | None
    template: str | None
    """The message, for a finding of one."""
    severity: str
    """The worst that it came to."""
    opened_on: date
    last_on: date


@dataclass(frozen=True, slots=True)
class AlarmChanges:
    """The alarms of history under the verdicts of before and after."""

    vanished: tuple[Alarm, ...]
    """Of before, and not of after; as all three in the order of days."""
    appeared: tuple[Alarm, ...]
    """Of after, and not of before."""
    stayed: tuple[Alarm, ...]
    """Of both, as they are after."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; days as ISO dates."""
        sides: dict[str, Any] = json_ready(self)
        return sides


def alarm_changes(verdicts: pl.DataFrame) -> AlarmChanges:
    """The alarms under each of two verdicts on every error, compared.

    `verdicts` has a row an error: `day`, `caller`, `session_id`, `template`, `reason`, `detail`, `new_reason` and
    `new_detail`, as `Churn.verdicts`. An alarm stays where both sides have one of its kind, caller and message at the
    same time.
    """
    before = _alarms(verdicts, "reason", "detail")
    after = _alarms(verdicts, "new_reason", "new_detail")
    return AlarmChanges(
        vanished=tuple(one for one in before if not any(_alike(one, other) for other in after)),
        appeared=tuple(one for one in after if not any(_alike(one, other) for other in before)),
        stayed=tuple(one for one in after if any(_alike(one, other) for other in before)),
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
    found = detections_in(detect(counts, templates_of(groups)))
    traffic: dict[str, list[date]] = {}
    for day, caller in counts.select("day", "caller").iter_rows():
        traffic.setdefault(caller, []).append(day)
    told: dict[str, Finding] = {}
    for day in sorted({one.day for one in found}):
        told.update({one.id: one for one in incidents(found, traffic, day) if one.opened_on <= day == one.last_on})
    alarms = [
        Alarm(one.finding, one.scope.caller, one.scope.template, one.severity, one.opened_on, one.last_on)
        for one in told.values()
    ]
    return sorted(alarms, key=lambda one: (one.opened_on, one.caller or "", one.finding, one.template or ""))


def _alike(one: Alarm, other: Alarm) -> bool:
    alike = family_of(one.finding) == family_of(other.finding)
    overlap = one.opened_on <= other.last_on and other.opened_on <= one.last_on
    return alike and overlap and (one.caller, one.template) == (other.caller, other.template)
