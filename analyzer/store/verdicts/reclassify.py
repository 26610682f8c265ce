"""Replay: judge the facts of all history under another ruleset, and compare.

Verdicts are appended by facts and ruleset, never overwritten; an interrupted ruleset goes on where
it stopped.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from analyzer.classifier import Rules, Ruleset, ruleset_for
from analyzer.events import EventLog
from analyzer.frozen import frozen
from analyzer.store.db.connection import store_errors, transaction
from analyzer.store.db.engine import Connection, duckdb, execute, first_value
from analyzer.store.db.frames import ask
from analyzer.store.db.location import MEMORY
from analyzer.store.db.tables.schema import remember, setting
from analyzer.store.journal import decide_all
from analyzer.store.verdicts.rulesets import activate, add_verdicts, keep_rules

if TYPE_CHECKING:
    import polars as pl

SAMPLES = 3
"""Messages shown for each changed cell of the matrix."""
_ROOM = "500MB"
"""Memory limit of the database while history is judged and compared."""
_DIGITS = re.compile(r"\d+")


@frozen
class Change:
    """A cell of a matrix: the number of errors with one reason or action before and one now."""

    before: str
    after: str
    count: int
    samples: tuple[str, ...] = ()
    """Redacted messages of errors in it; only of changed cells."""


@frozen
class Reclassification:
    """The verdicts of a ruleset on all history, compared with the recorded ones."""

    rulesets: tuple[str, ...]
    """Digests of the rulesets that the recorded verdicts came from."""
    ruleset: str
    """Digest of the ruleset that judged again."""
    examined: int
    """Errors with facts."""
    without_facts: int
    """Errors that cannot be judged again; they keep their reason."""
    changed: int
    """Errors whose reason is different now."""
    matrix: tuple[Change, ...]
    """Recorded reason → reason, most frequent first."""
    actions: tuple[Change, ...]
    """Recorded action → action, of errors whose action is different now."""
    unknown_before: float | None
    """Share of unknown errors among those that count, 0..1."""
    unknown_after: float | None
    judged: int
    """Distinct facts that had no verdict of this ruleset before."""
    active: str | None
    """Digest of the ruleset that was active before; None if the recorded verdicts were in force."""
    applied: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        return {
            "schema": "analyzer.reclassify/1",
            "from": list(self.rulesets),
            "to": self.ruleset,
            "examined": self.examined,
            "changed": self.changed,
            "without_facts": self.without_facts,
            "matrix": [
                {"from": item.before, "to": item.after, "count": item.count, "samples": list(item.samples)}
                for item in self.matrix
            ],
            "actions": [{"from": item.before, "to": item.after, "count": item.count} for item in self.actions],
            "unknown_share_before": self.unknown_before,
            "unknown_share_after": self.unknown_after,
            "judged": self.judged,
            "active": self.active,
            "applied": self.applied,
        }


def reclassify(
    connection: Connection,
    rules: Rules,
    *,
    store_path: str = MEMORY,
    journal: EventLog | None = None,
    apply: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Reclassification:
    """Judge all facts that have no verdict of these rules yet, and compare.

    A dry run keeps its verdicts in a temporary table. With `apply` they are appended to the store, the ruleset becomes
    the active one, and `ruleset.applied` is logged.

    Raises:
        RulesError: the rules cannot be used.
        StoreError: the store cannot be written.
        QueryError: the database refuses.
    """
    ruleset = ruleset_for(rules)
    with store_errors(), _bounded(connection, store_path):
        target = "internal.verdict_v1" if apply else trial(connection, ruleset)
        before = setting(connection, "active_ruleset")
        judged = add_verdicts(connection, ruleset, target, progress)
        if apply:
            apply_ruleset(connection, ruleset, rules, store_path, journal)
        return compare(connection, ruleset.digest, target, judged, active=before, applied=apply)


@contextmanager
def _bounded(connection: Connection, store_path: str) -> Iterator[None]:
    """Limit the database of a store in a file to `_ROOM` of memory.

    The rest goes to disk meanwhile.
    """
    locked = first_value(connection, "select current_setting('lock_configuration')")
    if locked or store_path == MEMORY:
        yield
        return
    execute(connection, f"set memory_limit = '{_ROOM}'")
    try:
        yield
    finally:
        with suppress(duckdb.Error):  # the connection may have ended
            execute(connection, "reset memory_limit")


def verdicts(
    connection: Connection,
    rules: Rules,
    progress: Callable[[int, int], None] | None = None,
) -> pl.DataFrame:
    """Judge each error that has facts: `event_id, reason, detail, action, rule`. Nothing is kept.

    Raises:
        RulesError: the rules cannot be used.
        QueryError: the database refuses.
    """
    ruleset = ruleset_for(rules)
    with store_errors():
        target = trial(connection, ruleset)
        add_verdicts(connection, ruleset, target, progress)
        return ask(
            connection,
            "select e.event_id, v.reason, v.detail, v.action, v.rule from internal.event_v1 as e"
            " inner join trial_verdict as v on e.facts_id = v.facts_id where e.type = 'error.classified'",
        )


def trial(connection: Connection, ruleset: Ruleset) -> str:
    """Make a temporary table with the verdicts that this ruleset already has; return its name."""
    connection.execute("create or replace temp table trial_verdict as from internal.verdict_v1 limit 0")
    connection.execute("insert into trial_verdict from internal.verdict_v1 where ruleset = $1", [ruleset.digest])
    return "trial_verdict"


def apply_ruleset(
    connection: Connection,
    ruleset: Ruleset,
    rules: Rules,
    store_path: str,
    journal: EventLog | None,
) -> None:
    """Make a ruleset the active one and keep its rules beside the journal.

    The decision is recorded if another ruleset was active.
    """
    previous = setting(connection, "active_ruleset")
    where = None if rules is None or isinstance(rules, Ruleset) else os.path.abspath(rules)
    keep_rules(store_path, ruleset)
    if previous == ruleset.digest:
        remember(connection, active_rules=where)
        return
    payload = {"ruleset": ruleset.digest, **({} if previous is None else {"previous": previous})}
    with transaction(connection):
        decide_all(connection, journal, [("ruleset.applied", payload)])
        activate(connection, ruleset.digest, where)


def compare(
    connection: Connection, digest: str, target: str, judged: int, *, active: str | None, applied: bool
) -> Reclassification:
    """Compare the verdicts in a table. History is scanned once, and counted by distinct combinations."""
    connection.execute(
        f"create or replace temp table replayed as {_REPLAYED.format(target=target)}",
        {"ruleset": digest},
    )
    totals = execute(connection, _TOTALS)[0]
    rulesets = execute(
        connection, "select distinct recorded_ruleset from replayed where recorded_ruleset is not null order by 1"
    )
    return Reclassification(
        rulesets=tuple(str(row[0]) for row in rulesets),
        ruleset=digest,
        examined=totals[0],
        without_facts=totals[1],
        changed=totals[2],
        matrix=_cells(connection, _MATRIX),
        actions=_cells(connection, _ACTIONS),
        unknown_before=totals[3],
        unknown_after=totals[4],
        judged=judged,
        active=active,
        applied=applied,
    )


# The samples are the facts with the smallest ids, so that every run shows the same.
_REPLAYED = """
select
  coalesce(r.reason, '(none)') as recorded_reason,
  r.detail as recorded_detail,
  r.action as recorded_action,
  r.ruleset as recorded_ruleset,
  v.reason,
  v.detail,
  v.action,
  count(*) as errors,
  case when v.reason is distinct from r.reason then min(r.facts_id, 24) else [] end as samples
from internal.event_v1 as r
left join (from {target} where ruleset = $ruleset) as v
  on r.facts_id = v.facts_id
where r.type = 'error.classified'
group by r.reason, r.detail, r.action, r.ruleset, v.reason, v.detail, v.action
"""
_TOTALS = """
with verdict as (
  select
    *,
    coalesce(reason, recorded_reason) as new_reason,
    if(reason is null, recorded_detail, detail) as new_detail
  from replayed
)
select
  cast(coalesce(sum(errors) filter (where reason is not null), 0) as bigint),
  cast(coalesce(sum(errors) filter (where reason is null), 0) as bigint),
  cast(coalesce(sum(errors) filter (where reason <> recorded_reason), 0) as bigint),
  coalesce(sum(errors) filter (where is_unknown(recorded_reason, recorded_detail)), 0)
  / nullif(sum(errors) filter (where is_counted(recorded_reason, recorded_detail)), 0),
  coalesce(sum(errors) filter (where is_unknown(new_reason, new_detail)), 0)
  / nullif(sum(errors) filter (where is_counted(new_reason, new_detail)), 0)
from verdict
"""
_MATRIX = """
select
  recorded_reason as before,
  reason as after,
  cast(sum(errors) as bigint) as errors,
  list_distinct(flatten(list(samples))) as samples
from replayed
where reason is not null
group by before, after
order by errors desc, before, after
"""
_ACTIONS = """
select
  recorded_action as before,
  action as after,
  cast(sum(errors) as bigint) as errors,
  []::varchar[] as samples
from replayed
where reason is not null
  and recorded_action <> 'record'
  and recorded_action <> action
group by before, after
order by errors desc, before, after
"""
_MESSAGES = """
select coalesce(message, facts)
from internal.facts_v1
where facts_id in (select unnest($ids))
order by facts_id
"""


def _cells(connection: Connection, sql: str) -> tuple[Change, ...]:
    rows = execute(connection, sql)
    return tuple(
        Change(str(before), str(after), count, _samples(connection, ids or [])) for before, after, count, ids in rows
    )


def _samples(connection: Connection, ids: list[str]) -> tuple[str, ...]:
    """Return sample messages that differ in more than their numbers."""
    if not ids:
        return ()
    chosen: dict[str, str] = {}
    for (message,) in execute(connection, _MESSAGES, {"ids": ids}):
        chosen.setdefault(_DIGITS.sub("#", message), message)
    return tuple(list(chosen.values())[:SAMPLES])
