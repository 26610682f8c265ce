"""Create the tables, macros and views of a store, and bring those of an earlier version up to date.

Invariant: a migrated store gives the same rows in all views as before; a process that dies on the
way leaves it as it was. Every function of this module runs in a transaction of its caller.

Listings, docs and comments take their descriptions only from the comment header of a .sql file; the
classifier's tables become SQL macros.

New stores are copies of an empty store in the user's cache folder, as making one costs four times
as much. This version of DuckDB made it out of today's statements, and its name holds the digest of
its content.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from analyzer.classifier.fingerprint import MAX_CHARS, MAX_TEMPLATE_CHARS, PASSES, VERSION, Pass
from analyzer.classifier.recovery_table import ANSWERED, PARTY_OF_DETAILS, RECOVERY, UNCOUNTED
from analyzer.errors import QueryError
from analyzer.frozen import frozen
from analyzer.store.db.engine import Connection, duckdb, execute
from analyzer.store.db.frames import quoted, sql
from analyzer.store.db.location import CATALOG, STORAGE_VERSION, WAL

_STATEMENTS = Path(__file__).resolve().parents[1]
"""The folder of the statements that make a store."""
_SPACES = "\t\n\v\f\r"


_REQUEST_ID = (
    r"coalesce(nullif(regexp_extract(message, '(?i)\brequest[-_ ]?id\W{1,6}([a-z0-9][\w:.-]{7,99})', 1), ''),"
    r" nullif(regexp_extract(message, '\breq_\w{8,99}'), ''))"
)
"""SQL for the id of a request in the words of an error."""


def macros() -> tuple[str, ...]:
    """Return the SQL statements that create the macros."""
    needed = sorted({mask.needs for mask in PASSES if mask.needs})
    always = [mask for mask in PASSES if not mask.needs]
    # Most messages need no tidying and not half of the passes; checking that costs little.
    rare = " or ".join(
        (
            f"strlen(message) > {MAX_CHARS} or starts_with(message, ' ') or ends_with(message, ' ')",
            *(f"contains(message, {quoted(text)})" for text in ("  ", *_SPACES, *needed)),
        )
    )
    line = f"trim(regexp_replace(left(message, {MAX_CHARS}), '[{_SPACES} ]{{2,}}|[{_SPACES}]', ' ', 'g'), ' ')"
    masked = f"case when {rare} then {_masked(line, PASSES)} else {_masked('message', always)} end"
    text = f"left({masked}, {MAX_TEMPLATE_CHARS})"
    counts = f"coalesce(detail, '') not in ({', '.join(map(quoted, UNCOUNTED))})"
    compaction = "step_id is null and strategy <> 'summarize_to_checkpoint'"
    return (
        # Of an error's reason and detail: does it count as unknown, and does it take part in the unknown share at all?
        f"create or replace macro is_unknown(reason, detail) as (reason = 'unknown' and {counts})",
        f"create or replace macro is_counted(reason, detail) as (coalesce(reason, 'unknown') <> 'unknown' or {counts})",
        f"create or replace macro party_of(reason, detail, status) as ({_party()})",
        f"create or replace macro internal.request_id(message) as ({_REQUEST_ID})",
        # Of a hand-off: did an agent shorten its own context, and go on in the same session?
        f"create or replace macro is_compaction(step_id, strategy) as ({compaction})",
        f"create or replace macro internal.template(message) as ({text})",
        f"create or replace macro internal.fingerprint(template) as ('{VERSION}-' || left(sha256(template), 12))",
    )


def _party() -> str:
    """Return the SQL for the party of an error, as `recovery_table.party` names it in Python."""
    named = {f"detail = {quoted(detail)}": party for detail, party in PARTY_OF_DETAILS.items()}
    named |= {
        f"reason = {quoted(row.reason)} and status >= {ANSWERED}": "provider"
        for row in RECOVERY.values()
        if row.party == "network"
    }
    named |= {f"reason = {quoted(row.reason)}": row.party for row in RECOVERY.values()}
    return "case " + " ".join(f"when {test} then {quoted(party)}" for test, party in named.items()) + " end"


def _masked(text: str, passes: Iterable[Pass]) -> str:
    for pattern, replacement, _ in passes:
        text = f"regexp_replace({text}, {quoted(pattern)}, {quoted(replacement)}, 'g')"
    return text


_LINE = re.compile(r"^-- (title|description|view|param|column)\b:?\s*(.*)$")
_PARAM = re.compile(r"^(\w+) ([A-Z]+)\s*=\s*(\S+)\s*: (.+)$")
_COLUMN = re.compile(r"^(\w+) ([A-Z]+): (.+)$")
_VIEW = re.compile(r"^(\w+)(?:\(([\w, ]+)\))?: (.+)$")
_ARGUMENT = re.compile(r"^(\w+) ([A-Z]+)$")


@frozen
class Param:
    """A named parameter of a query."""

    name: str
    type: str
    """SQL type."""
    default: str
    """`null`, `now`, `now-7d`, or a literal."""
    description: str


@frozen
class Column:
    """A column of a query or a view."""

    name: str
    type: str
    """SQL type."""
    description: str


@frozen
class Header:
    """The header and the statement of a .sql file."""

    title: str
    description: str
    params: tuple[Param, ...]
    """Parameters; of a view its arguments, as `errors_under(ruleset)`; most views have none."""
    columns: tuple[Column, ...]
    body: str
    """The statement, without the header."""


def parse_header(text: str, where: str) -> Header:
    """Parse the header and the statement of a .sql file.

    Raises:
        QueryError: a header line cannot be read, or title or columns are missing.
    """
    title, description = "", ""
    params: list[Param] = []
    columns: list[Column] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _LINE.match(line)
        if match is None:
            if line.startswith("--") and not columns:
                raise QueryError(f"{where}:{number + 1}: a header line that cannot be read: {line}")
            if not line.startswith("--"):
                body = "\n".join(lines[number:]).strip()
                break
            continue
        kind, rest = match.groups()
        if kind == "title":
            title = rest
        elif kind == "description":
            description = rest
        elif kind == "view":
            title, arguments, description = _fields(_VIEW, rest, where, number)
            for argument in arguments.split(", ") if arguments else ():
                name, sql_type = _fields(_ARGUMENT, argument, where, number)
                params.append(Param(name, sql_type, "null", ""))
        elif kind == "param":
            params.append(Param(*_fields(_PARAM, rest, where, number)))
        else:
            columns.append(Column(*_fields(_COLUMN, rest, where, number)))
    else:
        raise QueryError(f"{where}: there is no statement below the header")
    if not title or not columns:
        raise QueryError(f"{where}: the header needs a title and its columns")
    return Header(title, description, tuple(params), tuple(columns), body.rstrip(";").strip())


def _fields(pattern: re.Pattern[str], text: str, where: str, number: int) -> tuple[str, ...]:
    match = pattern.match(text)
    if match is None:
        raise QueryError(f"{where}:{number + 1}: a header line that cannot be read: {text}")
    return match.groups()


SCHEMA_VERSION = "29"
MIGRATED = frozenset({"4", *map(str, range(6, int(SCHEMA_VERSION)))})
"""The earlier versions that a store is brought up to date from: 4 had no typed columns, 6 none of the work, 7 no
confidence; 8 counted what an agent's log and its telemetry both tell twice; 9 showed the second opinion in one view; 10
counted hand-offs that both tell twice; 11 named no party; 12 kept no tokens of requests; 13 kept no commands of failed
tools and told no endings; 14 told several requests by one event, and no limits; 15 had no prices, 16 none of prompts,
17 no seconds of failed tools and no hollow ends, 18 no project and no host of errors, 19 summed up dollars in the order
of their rows, 20 asked for more of errors to tell ends than a report copies, 21 compared every pair of events within
ten seconds for what is told twice, 22 looked for that also where one log alone tells, 23 folded chains twice for
ends, 24 kept counts of days, 25 counted copies of forks and had no tiers of prices, and 27 took changes that people
write down for events of a log."""


def setting(connection: Connection, key: str) -> str | None:
    """Return what a store keeps under a key; None if there is nothing.

    Raises:
        duckdb.CatalogException: it has no tables of ours.
    """
    rows = execute(connection, "select value from internal.store_v1 where key = $1", [key])
    return rows[0][0] if rows else None


def remember(connection: Connection, **values: object) -> None:
    """Store values by their keys, each replacing the former one: a text as it is, anything else as JSON."""
    for key, value in values.items():
        if not (value is None or isinstance(value, str)):
            import msgspec  # questions to a store do without it

            value = msgspec.json.encode(value).decode()
        execute(connection, "delete from internal.store_v1 where key = $1", [key])
        execute(connection, "insert into internal.store_v1 values ($1, $2)", [key, value])


def create(connection: Connection) -> None:
    """Create all tables, macros and views in an empty database."""
    from analyzer.store import prices

    for statement in statements():
        connection.execute(statement)
    remember(connection, schema_version=SCHEMA_VERSION, prices=prices.digest())


def migrate(connection: Connection) -> None:
    """Bring a store up to date.

    Its tables get today's typed columns, its macros and views are replaced, and stored counts of
    days are dropped.

    The tables are written anew: DuckDB would hold an update of all rows in memory.
    """
    from analyzer.store.db.tables.columns import TYPED, filled

    for table in TYPED:
        connection.execute(f"alter table internal.{table} rename to former_{table}")
    connection.execute("alter table internal.verdict_v1 add column if not exists confidence varchar")
    for statement in statements():
        connection.execute(statement)
    for table, typed in TYPED.items():
        untyped = "select columns(lambda name: name not in {typed}) from internal.former_{table}"
        rows = sql(untyped, typed=f"{tuple(typed)}", table=table)
        execute(connection, filled(table, rows))
        connection.execute(f"drop table internal.former_{table}")
    kept = "select table_name from duckdb_tables() where schema_name = 'internal' and starts_with(table_name, 'sum_')"
    for (name,) in execute(connection, kept):
        execute(connection, sql("drop table internal.{name}", name=name))
    leave_out_told_twice(connection)
    remember(connection, schema_version=SCHEMA_VERSION)


LEAVE_OUT_TOLD_TWICE = (
    "create or replace view internal.told_twice as from internal.told_by_both union all from internal.copied"
)


def leave_out_told_twice(connection: Connection, events: str = "internal.event_v1") -> None:
    """Hide events that two logs both tell, once there is a log that may repeat another one, or a fork.

    Call it after every insert of events, with the name of a table or frame that has them.
    """
    repeating = "internal.is_watching(source_format) or contains(payload, '\"forked_from\":')"
    statement = sql("select count(*) from {events} where {repeating}", events=events, repeating=repeating)
    if execute(connection, statement) != [(0,)]:
        connection.execute(LEAVE_OUT_TOLD_TWICE)


def refresh_prices(connection: Connection) -> None:
    """Put this program's list prices into a store; requests are priced when they are asked for."""
    from analyzer.store import prices

    for statement in prices.statements():
        connection.execute(statement)
    remember(connection, prices=prices.digest())


def has_prices(connection: Connection) -> bool:
    """Say whether the store has this program's list prices."""
    from analyzer.store import prices

    return setting(connection, "prices") == prices.digest()


def statements(prices: Iterable[str] | None = None) -> Iterator[str]:
    """Yield the statements that make tables, macros and views, in the order of their dependencies.

    `prices` replaces the statements that make the list prices.
    """
    from analyzer.store.prices import statements as prices_statements

    yield from _tables()
    yield from _definitions(prices_statements() if prices is None else prices)


def _tables() -> Iterator[str]:
    """Return the statements of `tables.sql`, with the typed columns."""
    from analyzer.store.db.tables.columns import TYPED, definitions

    text = (_STATEMENTS / "tables.sql").read_text("utf-8")
    for table in TYPED:
        text = text.replace(f"{{typed columns of {table}}}", definitions(table))
    return (statement.strip() for statement in text.split(";\n") if statement.strip())


def _definitions(prices: Iterable[str]) -> Iterator[str]:
    """Yield the statements that make or replace macros and views."""
    from analyzer.store.journal import DECISIONS

    yield from macros()
    decisions = ", ".join(map(quoted, DECISIONS))
    yield f"create or replace macro is_decision(type) as (type in ({decisions}))"
    yield from prices
    for name, header in views().items():
        if inner := _INNER.get(name):
            yield f"create or replace view internal.{inner} as {folded(inner)}"
        if header.params:
            arguments = ", ".join(param.name for param in header.params)
            yield f"create or replace macro {name}({arguments}) as table {header.body}"
            yield f"comment on macro table {name} is {quoted(header.description)}"
            continue
        yield f"create or replace view {name} as {header.body}"
        yield f"comment on view {name} is {quoted(header.description)}"
        for column in header.columns:
            yield f'comment on column {name}."{column.name}" is {quoted(column.description)}'


_INNER = {"retries": "chain", "sessions": "session"}
"""Views → the internal views that they are made of."""


def folded(name: str) -> str:
    """Return the statement of an internal view: `chain` or `session`."""
    return (_STATEMENTS / f"{name}.sql").read_text("utf-8")


@cache
def views() -> Mapping[str, Header]:
    """Return the views by name, in the order of their dependencies.

    With parameters they are table macros.
    """
    paths = sorted((_STATEMENTS / "views").glob("*.sql"))
    headers = [parse_header(path.read_text("utf-8"), path.name) for path in paths]
    return {header.title: header for header in headers}


_KEPT = 8
"""Ready stores that are kept: several versions of this program may take turns."""


def ready_store() -> str | None:
    """Return the path of an empty store, made if there is none; None if it cannot be kept."""
    try:
        folder = _cache_folder()
        if folder is None:
            return None
        start = f"empty-{_key()}-"
        for name in sorted(os.listdir(folder)):
            if name.startswith(start):
                path = os.path.join(folder, name)
                if name == start + _digest(path):
                    return path
                os.unlink(path)
        return _make(folder, start)
    except (OSError, duckdb.Error):
        return None


def _cache_folder() -> str | None:
    """Return this program's folder in the user's cache folder; None if others may write there."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    base = cache_home if os.path.isabs(cache_home) else os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(base, "analyzer")
    for name in (base, folder):
        if not os.path.isdir(name):
            if not _own(os.path.dirname(name)):
                return None  # root must not leave folders in a user's home that the user cannot write
            os.makedirs(name, 0o700, exist_ok=True)
    return folder if _own(folder) and not os.stat(folder).st_mode & 0o022 else None


def _own(folder: str) -> bool:
    return not hasattr(os, "geteuid") or os.stat(folder).st_uid == os.geteuid()


def _key() -> str:
    """Return the digest of everything that a store is made of.

    List prices count by their own digest: making their statements takes ten times as long.
    """
    import hashlib

    from analyzer.store import prices

    made_of = (duckdb.__version__, STORAGE_VERSION, SCHEMA_VERSION, *statements([prices.digest()]))
    return hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:16]


def _digest(path: str) -> str:
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _make(folder: str, start: str) -> str:
    """Make a store under a temporary name, and rename it when it is complete."""
    work = os.path.join(folder, f"making-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        with duckdb.connect() as connection:
            attach = f"attach {quoted(work)} as {CATALOG} (storage_version '{STORAGE_VERSION}')"
            execute(connection, attach)
            execute(connection, f"use {CATALOG}")
            connection.execute("begin")
            create(connection)
            connection.execute("commit")
        path = os.path.join(folder, start + _digest(work))
        os.replace(work, path)
    finally:
        for name in (work, work + WAL):
            with contextlib.suppress(OSError):
                os.unlink(name)
    # Files of processes that died are among the oldest at some time.
    for entry in sorted(os.scandir(folder), key=lambda entry: -entry.stat().st_mtime_ns)[_KEPT:]:
        os.unlink(entry.path)
    return path
