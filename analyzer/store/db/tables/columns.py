"""The typed columns of events and facts: what of their JSON is decoded, once, when a row enters the store.

Invariant: this is the only home of their names, types and rules. The tables, every statement that inserts rows, and
the migration of older stores are made of it; no view reads JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

_RULES = {
    "text": ("varchar", "{}"),
    "whole": ("bigint", "internal.whole({})"),
    "amount": ("double", "internal.amount({})"),
    "moment": ("timestamp", "internal.moment({})"),
    "number": ("integer", "try_cast({} as integer)"),
    "flag": ("boolean", "try_cast({} as boolean)"),
    "day": ("date", "try_cast({} as date)"),
}
"""Rules → SQL type, and what is made of the value's text. What cannot be cast, or is out of bounds, is null."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column whose value is one key of a JSON object."""

    name: str
    rule: str
    """A key of `_RULES`."""
    paths: tuple[str, ...]
    """Where it stands; the first one that holds something counts."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Columns that are decoded by one look into the JSON of a row."""

    condition: str | None
    """The rows that have them, None for all: each path costs time, whether it is there or not."""
    columns: tuple[_Column, ...]


def _columns(**rules: str) -> tuple[_Column, ...]:
    """Columns by rule; `name=a.b` is one of another name than its key."""
    found = []
    for rule, names in rules.items():
        for each in names.split():
            name, _, keys = each.partition("=")
            found.append(_Column(name, rule, tuple(f"$.{key}" for key in (keys or name).split("|"))))
    return tuple(found)


_CHAINS = "type in ('error.classified', 'retry.scheduled', 'retry.settled')"
_EVENT_GROUPS = (
    _Group(
        None,
        _columns(
            text="caller operation reason detail outcome action rule ruleset message provider model failure_reason"
            " remediation",
            flag="retryable",
            whole="attempt attempts max_attempts current_tokens max_tokens input_tokens output_tokens tokens_used",
            amount="delay_seconds waited_seconds retry_after_seconds",
            moment="reset_at",
        ),
    ),
    _Group(
        f"not {_CHAINS}",
        _columns(
            text="relay step_id worker_id trigger strategy agent reason_text part retry_visibility",
            flag="post_tokens_estimated",
            whole="pre_tokens post_tokens checkpoint_tokens relay_count removed_messages truncated_messages requests",
            number="exit_code",
            amount="token_usage_percent threshold_percent duration_seconds",
            moment="started_at ended_at",
        ),
    ),
    _Group(
        "is_decision(type)",
        _columns(
            text="night finding_id finding state severity resolution explanation scope scope_caller=scope.caller"
            " scope_reason=scope.reason scope_template=scope.template window_timezone=window.timezone previous",
            whole="place part_of sessions findings_count reported_count",
            amount="observed expected p_value",
            day="window_since=window.since onset resolved_on",
            moment="pruned_before=before",
        ),
    ),
)
_FACTS_GROUP = _Group(
    None,
    _columns(text="message=message|stderr|stdout code error_type=type provider model", number="status"),
)
_LISTED = "case when json_type(payload, '$.findings') = 'ARRAY' then json_array_length(payload, '$.findings') end"
_COUNTED = f"case when type = 'night.judged' then {_LISTED} end as findings_listed"
_MASKED = (
    "case when message is not null then internal.template(message) end as template",
    "internal.fingerprint(template) as fingerprint",
)


@dataclass(frozen=True, slots=True)
class _Typed:
    """The typed columns of one table."""

    json: str
    """The column that they are decoded from."""
    groups: tuple[_Group, ...]
    made: dict[str, str]
    """Columns that are made in another way, with their types."""
    made_by: tuple[str, ...]

    @property
    def types(self) -> dict[str, str]:
        columns = (column for group in self.groups for column in group.columns)
        return {column.name: _RULES[column.rule][0] for column in columns} | self.made


_TABLES = {
    "event_v1": _Typed(
        "payload",
        _EVENT_GROUPS,
        {"findings_listed": "bigint", "template": "varchar", "fingerprint": "varchar"},
        (_COUNTED, *_MASKED),
    ),
    "facts_v1": _Typed("facts", (_FACTS_GROUP,), {"template": "varchar", "fingerprint": "varchar"}, _MASKED),
}
TYPED = {table: frozenset(typed.types) for table, typed in _TABLES.items()}
"""Tables → the names of their typed columns."""


def definitions(table: str) -> str:
    """The typed columns of a table as its definition names them."""
    return ",\n  ".join(f"{name} {kind}" for name, kind in _TABLES[table].types.items())


def filled(table: str, rows: str) -> str:
    """The statement that inserts rows into a table, with their typed columns.

    `rows` is a query of its other columns by name, JSON and, of events, type among them.
    """
    typed = _TABLES[table]
    looks, values = [], []
    for number, group in enumerate(typed.groups):
        said = f"said{number}"
        paths = [path for column in group.columns for path in column.paths]
        look = f"json_extract_string({typed.json}, [{', '.join(map(repr, paths))}])"
        looks.append(f"{look if group.condition is None else f'case when {group.condition} then {look} end'} as {said}")
        texts = (f"{said}[{place}]" for place in range(1, len(paths) + 1))
        for column in group.columns:
            text = ", ".join(islice(texts, len(column.paths)))
            text = f"coalesce({text})" if len(column.paths) > 1 else text
            values.append(f"{_RULES[column.rule][1].format(text)} as {column.name}")
    said = ", ".join(f"said{number}" for number in range(len(typed.groups)))
    return (
        f"insert into internal.{table} by name"  # noqa: S608 - names from this file alone
        f" select * exclude ({said}), {', '.join((*values, *typed.made_by))}"
        f" from (select *, {', '.join(looks)} from ({rows}))"
    )
