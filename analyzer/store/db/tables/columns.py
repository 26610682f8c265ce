"""Define the typed columns of events and facts: JSON values, decoded when a row is inserted.

Invariant: their names, types and rules are only here. The tables, every statement that inserts
rows, and the migration of older stores are made of them; no view reads JSON.
"""

from __future__ import annotations

from analyzer.frozen import frozen
from analyzer.store.db.frames import sql

_RULES = {
    "text": ("varchar", "{0}"),
    # Smaller and faster than DuckDB's own choice; for a column of nulls it would be much larger.
    "long": ("varchar using compression zstd", "{0}"),
    "whole": ("bigint", "internal.whole({0})"),
    "amount": ("double", "internal.amount({0})"),
    "moment": ("timestamp", "internal.moment({0})"),
    "number": ("integer", "try_cast({0} as integer)"),
    "flag": ("boolean", "try_cast({0} as boolean)"),
    "day": ("date", "try_cast({0} as date)"),
    "counts": ("map(varchar, bigint)", "try_cast(try_cast({0} as json) as map(varchar, bigint))"),
    "items": ("bigint", "case when starts_with({0}, '[') and json_valid({0}) then json_array_length({0}) end"),
}
"""Rules → SQL type, and the expression over the value's text.

A value that cannot be cast becomes null.
"""


@frozen
class _Column:
    """A column whose value is one key of a JSON object."""

    name: str
    rule: str
    """A key of `_RULES`."""
    paths: tuple[str, ...]
    """Paths of the value; the first one that holds something counts."""

    @property
    def definition(self) -> str:
        return f"{self.name} {_RULES[self.rule][0]}"

    def value(self, texts: list[str]) -> str:
        return _RULES[self.rule][1].format(f"coalesce({', '.join(texts)})" if len(texts) > 1 else texts[0])


@frozen
class _Group:
    """Columns that are decoded by one look into the JSON of a row."""

    columns: tuple[_Column, ...]
    name: str = ""
    """The name of the column that holds them all as a struct in a list of at most one, if any.

    DuckDB takes its time over each column of each row, nulls included, but over the fields of no struct none.
    """
    condition: str = ""
    """Selects the rows that have them, as each path costs time.

    Groups of one condition share a look.
    """


def _columns(**rules: str) -> tuple[_Column, ...]:
    """Make columns by rule; `name=a.b|c` is one with another name than its key, or with two keys."""
    columns: list[_Column] = []
    for rule, names in rules.items():
        for item in names.split():
            name, _, keys = item.partition("=")
            columns.append(_Column(name, rule, tuple(f"$.{key}" for key in (keys or name).split("|"))))
    return tuple(columns)


_REQUEST_HEADERS = ("request-id", "x-request-id", "x-amzn-requestid", "apim-request-id", "x-ms-request-id")
_JSON = {"event_v1": "payload", "facts_v1": "facts"}
"""Tables → the JSON column that their typed columns are decoded from."""
_GROUPS: dict[str, tuple[_Group, ...]] = {
    "event_v1": (
        _Group(
            _columns(
                text="caller operation reason detail outcome action rule ruleset message provider model"
                " failure_reason remediation relay step_id confidence",
                flag="retryable",
                whole="attempt attempts max_attempts current_tokens max_tokens input_tokens output_tokens tokens_used",
                amount="delay_seconds waited_seconds retry_after_seconds",
                moment="reset_at",
            )
        ),
        _Group(
            _columns(
                text="worker_id trigger strategy reason_text part retry_visibility tool tool_kind=kind command plan",
                flag="post_tokens_estimated",
                whole="pre_tokens post_tokens checkpoint_tokens relay_count removed_messages truncated_messages"
                " requests recorded window_minutes",
                number="exit_code",
                amount="token_usage_percent threshold_percent duration_seconds used_share",
                moment="started_at ended_at",
                counts="tools",
            ),
            name="seen",
            condition="type not in ('error.classified', 'retry.scheduled', 'retry.settled', 'usage.recorded')"
            " and not is_decision(type)",
        ),
        _Group(
            _columns(
                text="request tier region",
                whole="input_tokens output_tokens cache_read_tokens cache_write_tokens cache_write_hour_tokens"
                " reasoning_tokens web_searches longest_prompt",
                amount="cost_usd",
                flag="whole_run",
            ),
            name="used",
            condition="type = 'usage.recorded'",
        ),
        _Group(
            _columns(text="agent agent_version project cwd branch forked_from"),
            name="work",
            # They are looked for in every row: searching for their names first would cost more.
        ),
        _Group(
            _columns(text="request_id asked_model served_model=served_model|fallback_model service_tier effort"),
            name="answered",
        ),
        _Group(
            _columns(
                text="night finding_id finding severity resolution explanation scope scope_caller=scope.caller"
                " scope_reason=scope.reason scope_template=scope.template window_timezone=window.timezone",
                whole="place sessions findings_count reported_count",
                items="findings_listed=findings",
                amount="observed expected p_value",
                day="window_since=window.since onset resolved_on",
                moment="pruned_before=before",
            ),
            name="decided",
            condition="is_decision(type)",
        ),
    ),
    "facts_v1": (
        _Group(
            _columns(
                long="message=message|stderr|stdout",
                text="code error_type=type provider model request_id="
                + "|".join(f'headers."{name}"' for name in _REQUEST_HEADERS),
                number="status",
            )
        ),
    ),
}
_MASKED = {
    "template": "case when message is not null then internal.template(message) end",
    "fingerprint": "internal.fingerprint(template)",
}
"""Columns of either table that are made of `message`."""


def _defined(table: str) -> dict[str, str]:
    columns: dict[str, str] = {}
    for group in _GROUPS[table]:
        fields = {column.name: column.definition for column in group.columns}
        columns |= {group.name: f"{group.name} struct({', '.join(fields.values())})[]"} if group.name else fields
    return columns | {name: f"{name} varchar" for name in _MASKED}


TYPED = {table: frozenset(_defined(table)) for table in _GROUPS}
"""Tables → the names of their typed columns."""


def definitions(table: str) -> str:
    """Return the typed columns of a table as its definition names them."""
    return ",\n  ".join(_defined(table).values())


def filled(table: str, rows: str) -> str:
    """Build the statement that inserts rows into a table, with their typed columns.

    `rows` is a query of the other columns by name, with the JSON and, of events, the type.
    """
    json, groups = _JSON[table], _GROUPS[table]
    paths: dict[str, list[str]] = {}
    values: list[str] = []
    for group in groups:
        looked = paths.setdefault(group.condition, [])
        texts = f"said{list(paths).index(group.condition)}"
        columns: dict[str, str] = {}
        for column in group.columns:
            columns[column.name] = column.value(
                [f"{texts}[{index}]" for index in range(len(looked) + 1, len(looked) + len(column.paths) + 1)]
            )
            looked += column.paths
        if group.name:
            is_present = f"coalesce({', '.join(columns.values())}) is not null"
            if group.condition:
                is_present = f"{texts} is not null"
            fields = ", ".join(f"{name} := {value}" for name, value in columns.items())
            values.append(f"case when {is_present} then [struct_pack({fields})] end as {group.name}")
        else:
            values += (f"{value} as {name}" for name, value in columns.items())
    values += (f"{value} as {name}" for name, value in _MASKED.items())
    looks = [
        f"case when {condition or 'true'} then json_extract_string({json}, [{', '.join(map(repr, looked))}]) end"
        f" as said{number}"
        for number, (condition, looked) in enumerate(paths.items())
    ]
    text_columns = ", ".join(f"said{number}" for number in range(len(paths)))
    return sql(
        "insert into internal.{table} by name select * exclude ({said}), {values}"
        " from (select *, {looks} from ({rows}))",
        table=table,
        said=text_columns,
        values=", ".join(values),
        looks=", ".join(looks),
        rows=rows,
    )
