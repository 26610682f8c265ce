"""Hold the active ruleset, which judges later events, and keep the rules of applied ones."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from analyzer.errors import RulesError, StoreError, system_text
from analyzer.events.times import now
from analyzer.store.db.engine import Connection, execute, first_value
from analyzer.store.db.frames import frame_of, register, sql
from analyzer.store.db.location import sync
from analyzer.store.db.tables.schema import remember, setting
from analyzer.store.journal import DECIDED, RULESETS, journal_of

if TYPE_CHECKING:
    import polars as pl

    from analyzer.classifier import Rules, Ruleset
    from analyzer.classifier.batch import Verdict


def keep_up(connection: Connection, store_path: str) -> int:
    """Judge facts that came after a ruleset was applied.

    Returns the number of facts that were not judged because the ruleset's rules are no longer at
    hand.
    """
    digest, rules_path = setting(connection, "active_ruleset"), setting(connection, "active_rules")
    if digest is None:
        return 0
    unjudged = "select count(*) from internal.facts_v1 anti join (from internal.verdict_v1 where ruleset = $1)"
    unjudged += " using (facts_id)"
    waiting = int(first_value(connection, unjudged, [digest]))
    if waiting and judge_with(connection, digest, (kept_rules(store_path, digest), rules_path)):
        waiting = int(first_value(connection, unjudged, [digest]))
    return waiting


def judge_history(connection: Connection, store_path: str, rules: Rules, *, judging: bool) -> str:
    """Return the digest of the ruleset in force; with `judging`, judge the remaining facts first.

    In force is the active one, else `rules`; `rules` do not become active.

    Raises:
        RulesError: the rules cannot be used.
    """
    active = setting(connection, "active_ruleset")
    if active is not None:
        if judging:
            keep_up(connection, store_path)
        return active
    from analyzer.classifier import ruleset_for

    ruleset = ruleset_for(rules)
    if judging:
        add_verdicts(connection, ruleset, "internal.verdict_v1", None)
    return ruleset.digest


def judge_with(
    connection: Connection, digest: str, places: Iterable[str | None], before: datetime | None = None
) -> bool:
    """Judge the facts without a verdict of this ruleset, of errors before a moment (None: all).

    Returns False if none of the places has these rules any more.
    """
    ruleset = ruleset_at_hand(digest, places)
    if ruleset is not None:
        add_verdicts(connection, ruleset, "internal.verdict_v1", None, before)
    return ruleset is not None


def ruleset_at_hand(digest: str, places: Iterable[str | None], texts: Iterable[str] = ()) -> Ruleset | None:
    """Return the ruleset of a digest, out of texts or of files (None: the built-in rules).

    None if none of them has this digest.
    """
    from analyzer.classifier.rules.loading import parse_ruleset, ruleset_for

    ways: Iterator[Callable[[], Ruleset]] = chain(
        (partial(parse_ruleset, text) for text in texts), (partial(ruleset_for, path) for path in places)
    )
    for load in ways:
        with suppress(RulesError):
            if (ruleset := load()).digest == digest:
                return ruleset
    return None


def kept_rules(store_path: str, digest: str) -> str | None:
    """Return the file beside the journal's events that keeps the rules of an applied ruleset for good."""
    folder = journal_of(store_path)
    return None if folder is None else os.path.join(folder, RULESETS, f"{digest}.toml")


def activate(connection: Connection, digest: str, rules_path: str | None) -> None:
    """Make a ruleset the active one."""
    remember(connection, active_ruleset=digest, active_rules=rules_path)


def applied(connection: Connection) -> list[tuple[str, datetime]]:
    """List the rulesets that were applied to this store: digest and moment (naive UTC), in order."""
    return execute(
        connection,
        sql(
            "select ruleset, occurred_at from internal.event_v1"
            " where type = 'ruleset.applied' and {decided} order by occurred_at, event_id",
            decided=DECIDED,
        ),
    )


def restore_active(connection: Connection) -> str | None:
    """Make the ruleset that was applied last the active one.

    Return its digest, or None if there was none.
    """
    rulesets = applied(connection)
    if not rulesets:
        return None
    digest = rulesets[-1][0]
    activate(connection, digest, setting(connection, "active_rules"))
    return digest


def keep_rules(store_path: str, ruleset: Ruleset) -> None:
    """Save the complete rules beside the journal, so that history can be judged with them for good."""

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
            f"{path} cannot be written: {system_text(error)}", "free space, or check its permissions"
        ) from None


CHUNK = 20_000
"""Facts that are judged and saved at a time."""
PAGE = 10 * CHUNK
"""Facts that are read at a time."""


def add_verdicts(
    connection: Connection,
    ruleset: Ruleset,
    target: str,
    progress: Callable[[int, int], None] | None,
    before: datetime | None = None,
) -> int:
    """Judge the facts that lack a verdict, in batches that are saved one by one.

    Return their number.

    No more than a page of facts is in memory, however many wait.
    """
    from analyzer.classifier.batch import judge_json

    moment = now()
    done = 0
    # A checkpoint may move rows, so that some are missed; the next round judges them.
    while waiting := _waiting(connection, ruleset, target, before):
        total = done + waiting
        for ids, texts in _chunks(connection):
            register(connection, "staged_verdict", _frame(ids, ruleset, judge_json(texts, ruleset), moment))
            execute(connection, f"insert into {target} by name from staged_verdict")
            done += len(ids)
            if progress is not None:
                progress(done, total)
    return done


def _frame(ids: list[str], ruleset: Ruleset, verdicts: list[Verdict], moment: datetime) -> pl.DataFrame:
    """Make the rows of verdicts."""
    judged = (list(column) for column in zip(*verdicts, strict=True))
    columns = {
        "facts_id": ids,
        "ruleset": [ruleset.digest] * len(ids),
        **dict(zip(("reason", "detail", "retryable", "action", "rule", "confidence"), judged, strict=True)),
        "judged_at": [moment] * len(ids),
    }
    other = {"retryable": "Boolean", "judged_at": "Datetime"}
    return frame_of({name: other.get(name, "String") for name in columns}, columns)


_Chunk = tuple[list[str], list[str]]
"""Ids and facts."""


def _waiting(connection: Connection, ruleset: Ruleset, target: str, before: datetime | None) -> int:
    """Make the temporary view of facts without a verdict, and return their number."""
    execute(
        connection,
        sql("create or replace temp table judged as select facts_id from {target} where ruleset = $1", target=target),
        [ruleset.digest],
    )
    execute(
        connection,
        "create or replace temp table asked as select distinct facts_id from internal.event_v1 where occurred_at < $1",
        [before],
    )
    facts = _ASKED if before else _ALL
    execute(connection, sql("create or replace temp view waiting as {facts}", facts=facts))
    return int(first_value(connection, "select count(*) from waiting"))


_ALL = "select f.rowid as place, f.facts_id, f.facts from internal.facts_v1 as f anti join judged using (facts_id)"
_ASKED = f"{_ALL} semi join asked using (facts_id)"


def _chunks(connection: Connection) -> Iterator[_Chunk]:
    end = int(first_value(connection, "select coalesce(max(place), -1) from waiting")) + 1
    for begin in range(0, end, PAGE):
        bounds = [begin, begin + PAGE]
        page = execute(connection, "select * from waiting where place >= $1 and place < $2", bounds)
        for start in range(0, len(page), CHUNK):
            chunk = page[start : start + CHUNK]
            yield [facts_id for _, facts_id, _ in chunk], [facts for _, _, facts in chunk]
