"""What changes a lake beside logs: decisions, verdicts, another ruleset, retention, and the whole made again.

Each is one batch, by the statements of a store beside the lake. Who changes what is there already holds the lease.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.dataset as ds

from analyzer.classifier import Rules, Ruleset, ruleset_for
from analyzer.command_lines import LAKE
from analyzer.errors import StoreError
from analyzer.lake.batch import SETTINGS, LakeBatch, again, make_where_none_is
from analyzer.lake.beside import Beside
from analyzer.lake.connection import Snapshot, connected, relation, snapshot
from analyzer.lake.former import brought_up_to_date, settings
from analyzer.lake.layout import JOURNAL, rows, tables
from analyzer.lake.location import Lake
from analyzer.lake.log import Conflict, Entry, Lease, State
from analyzer.lake.moving import fill, fill_batch, write_journal
from analyzer.lake.push import EVENTS, FACTS, QUARANTINE, SOURCES, SUMMED, VERDICTS
from analyzer.store import Problem, Prune, Rebuild
from analyzer.store.db.connection import connect, private_files, store_errors, transaction
from analyzer.store.db.frames import ArrowStream, OnlyStream
from analyzer.store.journal import DECISIONS, decide_all, journal_of, open_journal
from analyzer.store.upkeep.prune import OLD_EVENTS, count_old, horizon_of, move_horizon, nanoseconds
from analyzer.store.upkeep.rebuild import rebuild as rebuild_file
from analyzer.store.verdicts.reclassify import Reclassification, apply_ruleset, compare, trial, tried
from analyzer.store.verdicts.rulesets import add_suggestions, add_verdicts, judge_with, kept_rules

if TYPE_CHECKING:
    import polars as pl

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
            beside.batch.commit(_whatever)

    with private_files(), store_errors():
        again(lake, once)


def _whatever(_: list[Entry], __: State) -> None:
    """Decisions rest on no row of a table: what others add changes nothing of them."""


def judge(lake: Lake, token: str, ruleset: Ruleset | None, progress: Counted | None = None) -> int:
    """Keep the verdicts of rules (None: of the active ones, if they are at hand) for the facts of a lake that lack one;
    how many these were.
    """

    def once(now: State) -> int:
        with Beside(lake, now, token) as beside:
            count = _judged(beside, ruleset, progress) if ruleset is not None else _in_force(beside)
            beside.add(VERDICTS, f"from internal.{VERDICTS}")
            beside.batch.commit()
            return count

    with private_files(), store_errors():
        return again(lake, once)


def _in_force(beside: Beside) -> int:
    digest = str(beside.settings["active_ruleset"])
    waiting = _wait(beside, digest)
    if waiting:
        beside.keep_rules()
        judge_with(beside.connection, digest, (kept_rules(beside.path, digest), beside.settings.get("active_rules")))
    return waiting


def _wait(beside: Beside, digest: str) -> int:
    """Hold the facts of the lake that lack a verdict of a ruleset; how many there are."""
    connection, files = beside.connection, beside.at.files
    if not files[FACTS]:
        return 0
    judged = ""
    if files[VERDICTS]:
        held = relation(connection, beside.lake, VERDICTS, files[VERDICTS])
        judged = f" anti join (select facts_id from {held} where ruleset = $1) as v using (facts_id)"
    columns = ", ".join(f'f."{name}"' for name in tables()[FACTS].columns.names)
    found = connection.execute(
        f"insert into internal.{FACTS} by name select {columns}"
        f" from {relation(connection, beside.lake, FACTS, files[FACTS])} as f{judged}",
        [digest] if judged else [],
    ).fetchall()
    return int(found[0][0])


def _judged(beside: Beside, ruleset: Ruleset, progress: Counted | None) -> int:
    waiting = _wait(beside, ruleset.digest)
    return add_verdicts(beside.connection, ruleset, f"internal.{VERDICTS}", progress) if waiting else 0


def reclassify(
    lake: Lake, rules: Rules, token: str | None, *, apply: bool, progress: Counted | None = None
) -> Reclassification:
    """Judge all facts that have no verdict of these rules yet, and compare, as a store in a file does.

    Raises:
        RulesError: the rules cannot be used.
        StoreError: the lake cannot be read or written; then nothing of it is applied.
    """
    ruleset = ruleset_for(rules)
    with private_files(), store_errors():
        if not apply:
            shown = snapshot(lake)
            with closing(connected(shown)) as connection:
                count = _tried(shown, connection, ruleset, progress)
                active = settings(lake, shown.at).get("active_ruleset")
                return compare(connection, ruleset.digest, "trial_verdict", count, active=active, applied=False)
        assert token is not None
        # Most of the work, which changes nothing that anybody sees yet.
        count = judge(lake, token, ruleset, progress)
        before, late = again(lake, lambda now: _apply(lake, now, token, ruleset, rules))
        with closing(connected(snapshot(lake))) as connection:
            target = f"internal.{VERDICTS}"
            return compare(connection, ruleset.digest, target, count + late, active=before, applied=True)


def verdicts(shown: Snapshot, connection: Any, rules: Rules, progress: Counted | None) -> pl.DataFrame:
    """What rules say of each error that has facts; nothing is kept. `connection` shows the lake."""
    with private_files(), store_errors():
        _tried(shown, connection, ruleset_for(rules), progress)
        return tried(connection)


def _tried(shown: Snapshot, connection: Any, ruleset: Ruleset, progress: Counted | None) -> int:
    """Make the table of a trial on a connection that shows a lake; how many facts had to be judged for it."""
    target = trial(connection, ruleset)
    with Beside(shown.lake, shown.at) as beside:
        count = _judged(beside, ruleset, progress)
        connection.register("made", OnlyStream(cast("ArrowStream", beside.connection.sql(f"from internal.{VERDICTS}"))))
        connection.execute(f"insert into {target} by name from made").fetchall()
        connection.unregister("made")
    return count


def _apply(lake: Lake, now: State, token: str, ruleset: Ruleset, rules: Rules) -> tuple[str | None, int]:
    """Make a ruleset the active one; which was it before, and how many facts came since the others were judged."""
    with Beside(lake, now, token) as beside, open_journal(beside.path) as journal:
        connection = beside.connection
        late = _judged(beside, ruleset, None)
        beside.add(VERDICTS, f"from internal.{VERDICTS}")
        apply_ruleset(connection, ruleset, rules, beside.path, journal)
        beside.add(EVENTS, f"from internal.{EVENTS}")
        beside.add_journal()
        beside.put_settings()
        _suggest(beside, ruleset.digest)
        beside.batch.commit(_no_facts)
        return beside.settings.get("active_ruleset"), late


def _no_facts(came: list[Entry], _: State) -> None:
    if any({FACTS, VERDICTS, SETTINGS} & {*one.adds, *one.removes} for one in came):
        raise Conflict


def _suggest(beside: Beside, digest: str) -> None:
    """The second opinion on what a ruleset does not know and nobody was asked about."""
    connection, files = beside.connection, beside.at.files
    if not files[FACTS]:
        return
    run, columns = connection.execute, ", ".join(f'f."{name}"' for name in tables()[FACTS].columns.names)
    if files[VERDICTS]:
        held = relation(connection, beside.lake, VERDICTS, files[VERDICTS])
        run(
            f"insert into internal.{VERDICTS} by name from {held} where ruleset = $1 and reason = 'unknown'", [digest]
        ).fetchall()
    run(f"delete from internal.{FACTS}").fetchall()
    run(
        f"insert into internal.{FACTS} by name"
        f" select {columns} from {relation(connection, beside.lake, FACTS, files[FACTS])} as f"
        f" where suggested_probability is null and facts_id in"
        f" (select facts_id from internal.{VERDICTS} where reason = 'unknown')"
    ).fetchall()
    add_suggestions(connection)
    if ids := beside.ids(f"select facts_id from internal.{FACTS} where suggested_probability is not null"):
        beside.rewrite(FACTS, "facts_id", ids, beside.at)
        beside.add(FACTS, f"from internal.{FACTS} where suggested_probability is not null")


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
    """Take out what lies before a horizon; `connection` shows the lake."""
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
    batch = LakeBatch(shown.lake, shown.at, token)
    with suppress(Conflict), private_files():
        for name, rows_of_it in made.items():
            batch.replace(name, shown.at.files[name], rows_of_it)
        batch.commit(_no_events)


def _no_events(came: list[Entry], _: State) -> None:
    if any({EVENTS, SETTINGS, SUMMED} & {*one.adds, *one.removes} for one in came):
        raise Conflict


def rebuild(lake: Lake, paths: Iterable[str] = (), progress: Callable[[str, int, int], None] | None = None) -> Rebuild:
    """Make a lake again from its journal, the sources that it knows and those below `paths`, by way of a store on this
    machine's disk.

    Raises:
        StoreBusyError: another process writes to it.
        StoreError: there is nothing to make it from, or the lake cannot be read or written; what was there stays.
    """
    named = list(paths)
    if not lake.exists and named:
        make_where_none_is(lake)
    brought_up_to_date(lake)
    with (
        private_files(),
        store_errors(),
        Lease(lake).held() as lease,
        lease.alone(),
        tempfile.TemporaryDirectory(prefix="analyzer-") as folder,
    ):
        at, path = brought_up_to_date(lake), os.path.join(folder, "lake.duckdb")
        journal = str(journal_of(path))
        damaged = _journal_brought_down(lake, at, journal)
        why = _brought_down(lake, at, path)
        if why and not named:
            hint = f"name the logs that it was made from: analyzer rebuild PATH... --store {LAKE}{lake.path}"
            raise StoreError(why, hint)
        result = rebuild_file(path, named or [journal], progress)
        result.store, result.aside = f"{LAKE}{lake.path}", None
        result.problems += damaged
        if why:
            result.former, result.why = "unreadable", why
        batch = LakeBatch(lake, at, lease.token)
        try:
            with closing(connect(path, read_only=True)) as connection:
                fill_batch(batch, connection, journal)
            batch.commit()
        except BaseException:
            batch.discard()
            raise
    return result


def _journal_brought_down(lake: Lake, at: State, folder: str) -> list[Problem]:
    """Make a journal in a folder of all that can be read of a lake's; what cannot."""
    os.makedirs(folder)
    paths, problems = list(at.files[JOURNAL]), []
    for path in list(paths):
        try:
            rows(lake, JOURNAL, [path])
        except StoreError:
            paths.remove(path)
            hint = "bring it back from a backup; events of logs that are gone are in no other place"
            problems.append(Problem(f"{lake.table(JOURNAL)}/{path}", "a damaged part of the journal", hint))
    write_journal(lake, paths, folder)
    return problems


def _brought_down(lake: Lake, at: State, path: str) -> str | None:
    """Make a store of a lake; why there is none where it cannot be read."""
    try:
        fill(path, lake, at)
    except StoreError as error:
        if os.path.exists(path):
            os.unlink(path)
        return error.message
    return None
