"""Group unknown errors by template: their texts, their spread, and the nearest known error.

Invariant: each unknown error of the window is in exactly one group; the id of a group is the hash
of its template.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, partial
from typing import Any, Unpack

import polars as pl

from analyzer.analysis.rules.drafts import Group, Recoveries, RuleDraft, Taken, draft
from analyzer.analysis.rules.similar_templates import KnownTemplate, Near, Neighbours, merge, proposed
from analyzer.analysis.rules.word_patterns import WordIndex, shortest
from analyzer.analysis.tables import Window, WindowWords, as_window, json_fields, json_ready, table
from analyzer.classifier import Rules, Ruleset, ruleset_for
from analyzer.classifier.fingerprint import fingerprint_of, template
from analyzer.classifier.reading.extract import extract
from analyzer.classifier.reading.facts import Facts
from analyzer.classifier.rules.explain import explain
from analyzer.frozen import frozen
from analyzer.readable import counted, percent
from analyzer.store import Store
from analyzer.store.shown import ShownRows

MAX_SAMPLES = 3
MAX_MESSAGES = 50
"""Most texts of a group that a draft is checked against."""
MAX_NEAR = 5


@frozen
class Neighbour:
    """The nearest known error, and why its rule does not match the unknown one."""

    rule: str
    reason: str
    text: str
    """A template of the store, or an example of the rule."""
    likeness: float
    """0..1."""
    why: str
    """One sentence."""


@frozen
class UnknownGroup:
    """Unknown errors with the same template."""

    fingerprint: str
    template: str
    count: int
    """Errors."""
    sessions: int
    callers: int
    first_seen_at: datetime
    last_seen_at: datetime
    samples: tuple[str, ...]
    """Texts, redacted; if possible they differ in more than digits."""
    suggestion: RuleDraft | None
    """A draft of a rule; None if none was requested or none could be made."""
    caller_names: tuple[str, ...]
    """The names of up to five callers, most errors first."""
    by_day: tuple[tuple[date, int], ...]
    """The day and its errors, for each day with any."""
    fingerprints: tuple[str, ...]
    """Ids of the templates that were merged into it, as in the view `errors`."""
    nearest: Neighbour | None
    """None if no known error is near."""
    recoveries: Recoveries | None
    """The outcomes after its errors; None if no retry chain with one has ended."""
    suggested_reason: str | None
    """The reason that its recoveries suggest, or None. It is only a hint."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            **json_fields(self),
            "by_day": [{"day": day.isoformat(), "errors": errors} for day, errors in self.by_day],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Unknowns(ShownRows):
    """The unknown errors of a window, grouped."""

    groups: tuple[UnknownGroup, ...]
    """Groups in most sessions first, then groups with most errors."""
    errors: int
    """Unknown errors, including groups beyond the limit."""
    sessions: int
    """Sessions with an unknown error."""
    templates: int
    """Number of groups, including those beyond the limit."""
    window: Window

    @property
    def headline(self) -> str:
        """Return a sentence on how few templates make most of the errors."""
        if not self.errors:
            return "No unknown errors."
        errors = counted(self.errors, "unknown error")
        if self.templates == 1:
            return f"One template makes all of {errors}."
        counts = sorted((group.count for group in self.groups), reverse=True)
        total = 0
        for number, count in enumerate(counts, 1):
            total += count
            # The fewest that make most of the errors, five at most: more are no summary.
            if total >= 0.8 * self.errors or number == 5:
                break
        return f"{number} of {self.templates:,} templates make {percent(total / self.errors)} of {errors}."

    def to_polars(self) -> pl.DataFrame:
        """Return a frame with one row per group."""
        rows = [{name: getattr(group, name) for name in _SCHEMA} for group in self.groups]
        return pl.DataFrame(rows, schema=_SCHEMA)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict."""
        return {
            "schema": "analyzer.unknowns/1",
            "window": json_ready(self.window),
            "headline": self.headline,
            "errors": self.errors,
            "sessions": self.sessions,
            "templates": self.templates,
            "groups": json_ready(self.groups),
        }

    def _shown(self) -> tuple[str, Mapping[str, str]]:
        counts = {name: f"{getattr(self, name):,}" for name in ("errors", "sessions", "templates")}
        return f"Unknowns {self.headline!r}", counts


_SCHEMA: dict[str, Any] = {
    "fingerprint": pl.String,
    "template": pl.String,
    "count": pl.Int64,
    "sessions": pl.Int64,
    "callers": pl.Int64,
    "first_seen_at": pl.Datetime("us"),
    "last_seen_at": pl.Datetime("us"),
    "samples": pl.List(pl.String),
}


def unknowns(
    store: Store,
    window: str | Window | None = None,
    *,
    caller: str | None = None,
    limit: int | None = 20,
    suggest: bool = False,
    rules: Rules = None,
    **words: Unpack[WindowWords],
) -> Unknowns:
    """Group the unknown errors of a window by template, at most `limit` groups (None: all).

    With `suggest` each group gets a draft of a rule, if one can be made. The nearest errors are
    searched in the store and in `rules`: a file, a ruleset, or None for the built-in ones.

    Raises:
        AnalyzerError: a window that cannot be read, rules that cannot be used.
    """
    chosen = as_window(window, **words)
    seen = sightings(store, chosen, caller)
    sizes = (
        seen.group_by("group")
        .agg(
            count=pl.col("errors").sum(),
            sessions=pl.col("session_id").n_unique(),
            callers=pl.col("caller").n_unique(),
            first_seen_at=pl.col("first_at").min(),
            last_seen_at=pl.col("last_at").max(),
        )
        .sort(["sessions", "count", "last_seen_at", "group"], descending=[True, True, True, False])
    )
    shown = sizes if limit is None else sizes.head(limit)
    ruleset = ruleset_for(rules)
    known_errors = [*known_templates(store), *_examples(ruleset)]
    neighbours = Neighbours(known_errors)
    members = _members(seen)
    facts = _latest_facts(store, [members[name] for name in shown["group"]])
    outcomes = _recoveries(store, chosen, seen, caller)
    drafts = _drafts(shown["group"], outcomes, members, known_errors, neighbours, ruleset) if suggest else {}
    groups = tuple(
        _group(
            row, members[row["group"]], neighbours, ruleset, facts, outcomes.get(row["group"]), drafts.get(row["group"])
        )
        for row in shown.iter_rows(named=True)
    )
    return Unknowns(groups, int(seen["errors"].sum()), seen["session_id"].n_unique(), sizes.height, chosen)


def drafted(
    store: Store, window: Window, fingerprint: str, rules: Rules = None, reason: str | None = None
) -> RuleDraft | None:
    """Draft a rule for the group with a fingerprint, its own or that of a message, if possible.

    A `reason` becomes the reason of the draft, whatever the evidence is.

    Raises:
        AnalyzerError: rules that cannot be used.
    """
    seen = sightings(store, window)
    members = _members(seen)
    names = [
        name for name, rows in members.items() if fingerprint in map(fingerprint_of, (name, *rows["template"].unique()))
    ]
    ruleset = ruleset_for(rules)
    known_errors = [*known_templates(store), *_examples(ruleset)]
    outcomes = _recoveries(store, window, seen)
    return next(
        iter(_drafts(names, outcomes, members, known_errors, Neighbours(known_errors), ruleset, reason).values()), None
    )


def helped_by_retries(store: Store, excluded: Collection[str] = ()) -> list[tuple[str, Recoveries]]:
    """Return the groups of unknown errors that recover on a retry, most recoveries first.

    Groups with a template of `excluded` are left out: another ruleset gives them a reason.
    """
    seen = sightings(store, as_window(None))
    left_out = set(seen.filter(pl.col("template").is_in(list(excluded)))["group"])
    helped = [
        (name, outcome)
        for name, outcome in _recoveries(store, as_window(None), seen).items()
        if outcome.reason is not None and name not in left_out
    ]
    return sorted(helped, key=lambda pair: (-pair[1].recovered, pair[0]))


def _members(seen: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Split sightings into the rows of each group."""
    return {str(key[0]): rows for key, rows in seen.partition_by("group", as_dict=True).items()}


def sightings(store: Store, window: Window, caller: str | None = None) -> pl.DataFrame:
    """Return the rows of `unknown-sightings` with the template of their `group`."""
    frame = table(store, "unknown-sightings", window, caller=caller).frame
    merged = merge(frame["template"].unique())
    return frame.with_columns(group=pl.col("template").replace_strict(merged, return_dtype=pl.String))


def known_templates(store: Store) -> list[KnownTemplate]:
    """Return the templates of the store's known errors, with their rules."""
    rows = store.query("errors-known-templates").iter_rows(named=True)
    return [
        KnownTemplate(row["template"], row["message"], row["reason"], row["rule"] or "none", row["errors"])
        for row in rows
    ]


def messages(member_rows: pl.DataFrame) -> list[str]:
    """Return different texts of one group, latest first, at most `MAX_MESSAGES`."""
    texts = member_rows.sort("last_at", descending=True)["message"].drop_nulls().unique(maintain_order=True)
    return texts.head(MAX_MESSAGES).to_list()


def _examples(rules: Ruleset) -> Iterable[KnownTemplate]:
    for rule in rules.rules:
        for example in rule.examples:
            facts = extract(example)
            if text := facts.message or facts.stderr or facts.stdout:
                yield KnownTemplate(template(text), text, rule.reason, rule.id, 0)


def _recoveries(store: Store, window: Window, seen: pl.DataFrame, caller: str | None = None) -> dict[str, Recoveries]:
    """Count the recoveries of each group that has an ended retry chain."""
    groups = seen.select("template", "group").unique()
    chains = table(store, "unknown-recoveries", window, caller=caller).frame.join(groups, on="template")
    helped = pl.col("retried") & pl.col("recovered")
    counts = (
        chains.unique(["group", "operation"])
        .group_by("group")
        .agg(
            retried=pl.col("retried").sum(),
            sessions=pl.col("session_id").filter(pl.col("retried")).n_unique(),
            recovered=helped.sum(),
            recovered_sessions=pl.col("session_id").filter(helped).n_unique(),
            unretried=(~pl.col("retried") & pl.col("recovered")).sum(),
        )
    )
    return {name: Recoveries(*numbers) for name, *numbers in counts.iter_rows()}


def _drafts(
    names: Iterable[str],
    outcomes: Mapping[str, Recoveries],
    members: dict[str, pl.DataFrame],
    known_errors: Sequence[KnownTemplate],
    neighbours: Neighbours,
    rules: Ruleset,
    reason: str | None = None,
) -> dict[str, RuleDraft]:
    by_name = _groups(members)
    groups = list(by_name.values())
    ids = {rule.id for rule in rules.rules}
    texts = [(error.sample, Taken(error.text, error.reason, error.rule, error.errors)) for error in known_errors]
    # A draft is tried only on the texts with its words: trying all texts would take quadratic time.
    in_groups, in_known = WordIndex(group.texts for group in groups), WordIndex([text] for text, _ in texts)
    reasons = [taken.reason for _, taken in texts]

    def others_of(name: str, constants: Sequence[str]) -> Iterable[Group]:
        candidates = (groups[number] for number in in_groups.may_match(constants))
        return (group for group in candidates if group.template != name)

    @cache
    def leaning(template: str) -> str | None:
        own = outcomes.get(template)
        near = None if own and own.reason else proposed(neighbours.near(template, MAX_NEAR))
        if own and own.reason:
            return own.reason
        return near[0] if near else None

    def shortest_of(name: str, own: Sequence[str], meant: str) -> Iterable[tuple[str, list[Group]]]:
        for wording in shortest(own, meant, in_known, reasons):
            taken = (groups[number] for number in in_groups.owners(wording))
            yield wording.pattern, [group for group in taken if group.template != name]

    drafts: dict[str, RuleDraft] = {}
    for name in names:
        rows = members[name]
        first, last = min(rows["day"]), max(rows["day"])
        made = draft(
            by_name[name],
            others=partial(others_of, name),
            known_texts=lambda constants: (texts[number] for number in in_known.may_match(constants)),
            shortest=partial(shortest_of, name),
            near=neighbours.near(name, MAX_NEAR),
            leaning=lambda group: leaning(group.template),
            recoveries=outcomes.get(name),
            source=(
                f"drafted from the unknown errors of {first} to {last}: errors {by_name[name].errors:,},"
                f" sessions {rows['session_id'].n_unique():,}"
            ),
            rules=rules,
            taken_ids=ids,
            reason=reason,
        )
        if made is not None:
            drafts[name] = made
    return drafts


def _groups(members: dict[str, pl.DataFrame]) -> dict[str, Group]:
    """Return all groups, each with the texts that `messages` gives, in one pass."""
    if not members:
        return {}
    texts = (
        pl.concat(members.values())
        .sort("last_at", descending=True, maintain_order=True)
        .group_by("group")
        .agg(pl.col("message").drop_nulls().unique(maintain_order=True).head(MAX_MESSAGES), pl.col("errors").sum())
    )
    groups = {name: Group(name, texts_of_group, errors) for name, texts_of_group, errors in texts.iter_rows()}
    return {name: groups[name] for name in members}


def _latest_facts(store: Store, groups: Iterable[pl.DataFrame]) -> dict[str, Facts]:
    """Return the facts of each group's latest error, by event id."""
    latest = json.dumps([_latest(rows) for rows in groups])
    return {
        row["event_id"]: Facts.from_dict(json.loads(row["facts"])) if row["facts"] else extract(row["message"] or "")
        for row in store.query("errors-facts", event_ids=latest).iter_rows(named=True)
    }


def _latest(rows: pl.DataFrame) -> str:
    return str(rows.sort(["last_at", "event_id"], descending=True)["event_id"][0])


def _group(
    row: dict[str, Any],
    rows: pl.DataFrame,
    neighbours: Neighbours,
    rules: Ruleset,
    facts: dict[str, Facts],
    recoveries: Recoveries | None,
    suggestion: RuleDraft | None,
) -> UnknownGroup:
    days = rows.group_by("day").agg(pl.col("errors").sum()).sort("day")
    names = rows.group_by("caller").agg(pl.col("errors").sum()).sort(["errors", "caller"], descending=[True, False])
    return UnknownGroup(
        fingerprint=fingerprint_of(row["group"]),
        template=row["group"],
        count=row["count"],
        sessions=row["sessions"],
        callers=row["callers"],
        first_seen_at=row["first_seen_at"],
        last_seen_at=row["last_seen_at"],
        samples=_samples(rows),
        caller_names=tuple(names["caller"].head(5)),
        by_day=tuple(days.iter_rows()),
        fingerprints=tuple(sorted(fingerprint_of(template_text) for template_text in rows["template"].unique())),
        nearest=_nearest(facts[_latest(rows)], neighbours.near(row["group"], 1), rules),
        suggestion=suggestion,
        recoveries=recoveries,
        suggested_reason=recoveries.reason if recoveries else None,
    )


def _samples(rows: pl.DataFrame) -> tuple[str, ...]:
    """Return sample texts, one of each merged template first."""
    texts = messages(rows.unique("template", keep="last", maintain_order=True)) + messages(rows)
    return tuple(dict.fromkeys(texts))[:MAX_SAMPLES]


def _nearest(facts: Facts, near: Sequence[Near], rules: Ruleset) -> Neighbour | None:
    """Return the rule that a guard held back, else the nearest known text; None without either."""
    for match in explain(facts, rules=rules).matches:
        if match.held_back:
            why = f"rule {match.rule} matches {match.matched!r}, but is held back by {match.held_back}"
            return Neighbour(match.rule, match.reason, match.matched, 1.0, why)
    if not near:
        return None
    nearest = near[0]
    lacking = ", ".join(nearest.missing) or "nothing but its order"
    why = f"rule {nearest.template.rule} knows a text with words that are not here: {lacking}"
    return Neighbour(
        nearest.template.rule, nearest.template.reason, nearest.template.text, round(nearest.likeness, 3), why
    )
