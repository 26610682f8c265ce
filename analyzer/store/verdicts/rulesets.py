"""The active ruleset: what later events are judged by, and where its rules are kept for good."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

import duckdb

from analyzer.errors import RulesError, StoreError
from analyzer.store.db.replacement import sync
from analyzer.store.db.sql_text import sql
from analyzer.store.journal import DECIDED, journal_of

if TYPE_CHECKING:
    from analyzer.classifier import Rules, Ruleset


def keep_up(connection: duckdb.DuckDBPyConnection, store_path: str) -> int:
    """Judge facts that came after a ruleset was applied; how many could not be, as its rules are no longer at hand."""
    rows = connection.execute(
        "select a.value, p.value from internal.store_v1 as a"
        " left join internal.store_v1 as p on p.key = 'active_rules' where a.key = 'active_ruleset'"
    ).fetchall()
    if not rows:
        return 0
    digest, rules_path = rows[0]
    unjudged = "select count(*) from internal.facts_v1 anti join (from internal.verdict_v1 where ruleset = $1)"
    unjudged += " using (facts_id)"
    waiting = int(connection.execute(unjudged, [digest]).fetchall()[0][0])
    if waiting and judge_with(connection, digest, (kept_rules(store_path, digest), rules_path)):
        waiting = int(connection.execute(unjudged, [digest]).fetchall()[0][0])
    return waiting


def judge_history(connection: duckdb.DuckDBPyConnection, store_path: str, rules: Rules, *, judging: bool) -> str:
    """The digest of the ruleset in force; with `judging`, after its verdicts for all facts that lack one.

    In force is the active one, else `rules`; those do not become active by it.

    Raises:
        RulesError: the rules cannot be used.
    """
    active = connection.execute("select value from internal.store_v1 where key = 'active_ruleset'").fetchall()
    if active:
        if judging:
            keep_up(connection, store_path)
        return str(active[0][0])
    from analyzer.classifier import ruleset_for
    from analyzer.store.verdicts.judging import add_verdicts

    ruleset = ruleset_for(rules)
    if judging:
        add_verdicts(connection, ruleset, "internal.verdict_v1", None)
    return ruleset.digest


def judge_with(
    connection: duckdb.DuckDBPyConnection, digest: str, places: Iterable[str | None], before: datetime | None = None
) -> bool:
    """Verdicts of this ruleset for the facts that lack one, of errors before a moment or of all; whether one of the
    places still gives these rules.
    """
    from analyzer.classifier import ruleset_for
    from analyzer.store.verdicts.judging import add_verdicts

    for path in places:
        try:
            ruleset = ruleset_for(path)
        except RulesError:
            continue
        if ruleset.digest == digest:
            add_verdicts(connection, ruleset, "internal.verdict_v1", None, before)
            return True
    return False


def kept_rules(store_path: str, digest: str) -> str | None:
    """The file beside the journal's events that keeps the rules of an applied ruleset for good."""
    folder = journal_of(store_path)
    return None if folder is None else os.path.join(folder, "rulesets", f"{digest}.toml")


def activate(connection: duckdb.DuckDBPyConnection, digest: str, rules_path: str | None) -> None:
    """Make a ruleset the active one."""
    connection.execute("delete from internal.store_v1 where key in ('active_ruleset', 'active_rules')").fetchall()
    connection.execute(
        "insert into internal.store_v1 values ('active_ruleset', $1), ('active_rules', $2)", [digest, rules_path]
    ).fetchall()


def applied(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, datetime]]:
    """The rulesets that were applied to this store, by digest and moment (naive UTC), in their order."""
    return connection.execute(
        sql(
            "select ruleset, occurred_at from internal.event_v1"
            " where type = 'ruleset.applied' and {decided} order by occurred_at, event_id",
            decided=DECIDED,
        )
    ).fetchall()


def restore_active(connection: duckdb.DuckDBPyConnection) -> str | None:
    """Make the last ruleset that was applied the active one, as decisions say; its digest, None where none was."""
    rulesets = applied(connection)
    if not rulesets:
        return None
    digest = rulesets[-1][0]
    places = connection.execute("select value from internal.store_v1 where key = 'active_rules'").fetchall()
    activate(connection, digest, places[0][0] if places else None)
    return digest


def keep_rules(store_path: str, ruleset: Ruleset) -> None:
    """Put the rules beside the journal, complete, so that history can be judged with them for good."""
    from analyzer.classifier.rules.ruleset import ruleset_text

    path = kept_rules(store_path, ruleset.digest)
    if path is None or os.path.exists(path):
        return
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), encoding="utf-8", delete=False) as handle:
            handle.write(ruleset_text(ruleset))
        sync(handle.name)
        os.replace(handle.name, path)
        sync(os.path.dirname(path))
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror}", "free space, or check its permissions"
        ) from None
