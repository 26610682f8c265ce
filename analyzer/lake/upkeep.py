"""Changes of a lake beside new logs: decisions, verdicts, another ruleset, retention, and sums of days.

Each is one batch, by the statements of a store beside the lake. Who changes what is there already holds the lease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from analyzer.classifier import Rules, Ruleset, ruleset_for
from analyzer.classifier.rules.loading import parse_ruleset
from analyzer.errors import RulesError
from analyzer.lake.batch import SETTINGS, LakeBatch, settings
from analyzer.lake.beside import Beside, kept_rules
from analyzer.lake.connection import Snapshot, connected, snapshot
from analyzer.lake.former import again
from analyzer.lake.layout import rows, tables
from analyzer.lake.location import Lake
from analyzer.lake.log import Conflict, Entry, Lease, State
from analyzer.lake.push import EVENTS, FACTS, QUARANTINE, SOURCES, SUMMED, VERDICTS
from analyzer.store import Prune
from analyzer.store.db.connection import private_files, store_errors, transaction
from analyzer.store.journal import DECISIONS, decide_all, open_journal
from analyzer.store.upkeep.prune import OLD_EVENTS, count_old, horizon_of, move_horizon, nanoseconds
from analyzer.store.verdicts.reclassify import apply_ruleset, trial
from analyzer.store.verdicts.rulesets import add_verdicts

Counted = Callable[[int, int], None]


def record(lake: Lake, token: str, decisions: Iterable[tuple[str, Mapping[str, Any]]], at: datetime | None) -> None:
    """Record decisions of one moment (None: now).

    Raises:
        StoreError: the lake does not take them; then it has none of them.
    """
    given = list(decisions)

    def once(now: State) -> None:
        with Beside(lake, now, token) as beside, open_journal(beside.path) as journal:
            decide_all(beside.connection, journal, given, at)
            beside.add(EVENTS, f"from internal.{EVENTS}")
            beside.add_journal()
            # Decisions rest on no row of a table: what others add changes nothing of them.
            beside.batch.commit(lambda _, __: None)

    again(lake, once)


def ruleset_at_hand(lake: Lake, at: State) -> Ruleset | None:
    """The active ruleset: that which the lake keeps, that of the file that it was read from, or the built-in one; None
    where there is none, or it is nowhere any more.
    """
    known = settings(lake, at)
    digest = known.get("active_ruleset")
    if digest is None:
        return None
    ways: list[Callable[[], Ruleset]] = [partial(parse_ruleset, text) for text in kept_rules(lake, at, digest)]
    ways.extend(partial(ruleset_for, place) for place in (known.get("active_rules"), None))
    for load in ways:
        with suppress(RulesError):
            if (ruleset := load()).digest == digest:
                return ruleset
    return None


def judge(lake: Lake, token: str, ruleset: Ruleset, progress: Counted | None = None) -> int:
    """Keep the verdicts of rules for the facts of a lake that lack one; how many these were.

    Raises:
        StoreError: the lake cannot be read or written; then none of them is kept.
    """

    def once(now: State) -> int:
        with LakeBatch(lake, now, token) as batch:
            count = _judge_into(batch, ruleset, progress)
            batch.commit()
            return count

    return again(lake, once)


def _judge_into(batch: LakeBatch, ruleset: Ruleset, progress: Counted | None = None) -> int:
    with closing(connected(snapshot(batch.lake, batch.at))) as connection:
        count = add_verdicts(connection, ruleset, trial(connection, ruleset), progress)
        if count:
            batch.add_from(
                connection, VERDICTS, f"from trial_verdict anti join internal.{VERDICTS} using (facts_id, ruleset)"
            )
    return count


def apply(lake: Lake, rules: Rules, ruleset: Ruleset, token: str) -> tuple[str | None, int]:
    """Make a ruleset the active one; which was it before, and how many facts nobody had judged by it yet.

    Raises:
        StoreError: the lake cannot be read or written; then nothing of it is applied.
    """

    def once(now: State) -> tuple[str | None, int]:
        with Beside(lake, now, token) as beside, open_journal(beside.path) as journal:
            count = _judge_into(beside.batch, ruleset)
            apply_ruleset(beside.connection, ruleset, rules, beside.path, journal)
            beside.add(EVENTS, f"from internal.{EVENTS}")
            beside.add_journal()
            beside.put_settings()
            beside.batch.commit(_no_facts)
            return beside.settings.get("active_ruleset"), count

    return again(lake, once)


def _no_facts(came: list[Entry], _: State) -> None:
    if any({FACTS, VERDICTS, SETTINGS} & {*one.adds, *one.removes} for one in came):
        raise Conflict


def prune(lake: Lake, before: datetime, lease: Lease | None) -> Prune:
    """Delete the events of a lake before a moment (naive UTC), with all that rests on them alone; decisions stay.

    Without a lease it is said what would be deleted.

    Raises:
        StoreError: the lake cannot be read or written; then nothing of it is deleted.
    """
    result = Prune(before, done=lease is not None)
    with private_files(), store_errors():
        if lease is None:
            with closing(connected(snapshot(lake))) as connection:
                result.events, result.quarantined = count_old(connection, before)
            return result
        with lease.alone(), closing(connected(shown := snapshot(lake))) as connection:
            result.events, result.quarantined = count_old(connection, before)
            with Beside(lake, shown.at, lease.token) as beside:
                with open_journal(beside.path) as journal, transaction(beside.connection):
                    move_horizon(beside.connection, journal, before)
                beside.add_journal()
                beside.put_settings()
                _drop(beside, connection, horizon_of(beside.connection) or before)
                beside.add(EVENTS, f"from internal.{EVENTS}")
                beside.batch.commit()
    return result


def _drop(beside: Beside, connection: Any, horizon: datetime) -> None:
    """Take out all rows from before a horizon; `connection` shows the lake."""
    moment, own = ds.field("occurred_at"), ds.field("source_path").is_null()
    old = (moment < pa.scalar(horizon, pa.timestamp("us"))) & ~(own & ds.field("type").isin(DECISIONS))
    beside.rewrite_where(EVENTS, old, beside.at)
    left = f"select facts_id from internal.{EVENTS} where facts_id is not null and not ({OLD_EVENTS})"
    gone = connection.execute(
        f"select facts_id from internal.{FACTS} where facts_id not in ({left})", [horizon]
    ).fetchall()
    if gone:
        for name in (FACTS, VERDICTS):
            beside.rewrite(name, "facts_id", [row[0] for row in gone], beside.at)
    changed = ds.field("mtime_ns")
    sources = rows(beside.lake, SOURCES, beside.at.files[SOURCES], (changed >= 0) & (changed < nanoseconds(horizon)))[
        "source_id"
    ].to_pylist()
    if sources:
        beside.rewrite(QUARANTINE, "source_id", sources, beside.at)
    # Which days the events that went say more of is not asked: all are summed again.
    beside.batch.replace(SUMMED, beside.at.files[SUMMED], tables()[SUMMED].schema.empty_table())


def keep_sums(shown: Snapshot, connection: Any, token: str) -> None:
    """Bring the sums of days that a connection has made into the lake that it shows, unless that has new events."""
    made: dict[str, pa.Table] = {}
    for name in tables():
        if name.startswith(("sum_", "walk_")):
            connection.register("former", shown.rows[name])
            both = (
                f"(from internal.{name} except all from former) union all (from former except all from internal.{name})"
            )
            if connection.execute(f"select 1 from ({both}) limit 1").fetchall():
                made[name] = tables()[name].rows(connection.sql(f"from internal.{name}"))
            connection.unregister("former")
    if not made:
        return
    with suppress(Conflict), private_files(), LakeBatch(shown.lake, shown.at, token) as batch:
        for name, rows_of_it in made.items():
            batch.replace(name, shown.at.files[name], rows_of_it)
        batch.commit(_no_events)


def _no_events(came: list[Entry], _: State) -> None:
    if any({EVENTS, SETTINGS, SUMMED} & {*one.adds, *one.removes} for one in came):
        raise Conflict
