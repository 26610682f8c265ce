"""The same rules as one would write them down without an engine: a loop of `re` searches, and one SQL expression.

Both see the message, the status and the type of an error; causes, headers and streams are beyond them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import duckdb

from analyzer.classifier import Facts, Ruleset
from analyzer.classifier.rules.ruleset import LINE, NOT, ONLY, SIGNAL, TEXT, Rule, normal_name


class _Texts(NamedTuple):
    evidence: list[str]
    only: list[str]
    never: list[str]


def _texts(ruleset: Ruleset, number: int) -> _Texts:
    found: dict[str, list[str]] = {}
    for pattern in ruleset.compiled.patterns:
        for kind, rule in pattern.uses:
            if rule == number:
                found.setdefault(kind, []).append(pattern.text)
    evidence = [text for kind in (LINE, SIGNAL, TEXT) for text in found.get(kind, [])]
    return _Texts(evidence, found.get(ONLY, []), found.get(NOT, []))


def re_loop(ruleset: Ruleset) -> Callable[[Facts], str]:
    """A classifier that tries rule after rule with `re`."""

    def compiled(patterns: list[str]) -> list[re.Pattern[str]]:
        return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]

    steps: list[tuple[Rule, frozenset[str], list[re.Pattern[str]], list[re.Pattern[str]], list[re.Pattern[str]]]] = []
    for number, rule in enumerate(ruleset.rules):
        texts = _texts(ruleset, number)
        wanted = ruleset.compiled.wanted[number]
        steps.append((rule, wanted, compiled(texts.evidence), compiled(texts.only), compiled(texts.never)))

    def classify(facts: Facts) -> str:
        message, status = facts.message or "", facts.status
        names = {normal_name(name) for name in (facts.code, facts.type, facts.exception_class) if name}
        for rule, wanted, evidence, only, never in steps:
            if (rule.only_status and status not in rule.only_status) or status in rule.not_status:
                continue
            if not (
                status in rule.statuses
                or not names.isdisjoint(wanted)
                or any(pattern.search(message) for pattern in evidence)
            ):
                continue
            if only and not any(pattern.search(message) for pattern in only):
                continue
            if not any(pattern.search(message) for pattern in never):
                return rule.reason
        return "unknown"

    return classify


def sql_case(ruleset: Ruleset) -> str:
    """The rules as one expression over the columns `message`, `status` and `name`."""
    branches = []
    for number, rule in enumerate(ruleset.rules):
        texts = _texts(ruleset, number)
        evidence = [_matches(text) for text in texts.evidence]
        if rule.statuses:
            evidence.append(f"status in ({', '.join(map(str, rule.statuses))})")
        if ruleset.compiled.wanted[number]:
            evidence.append(f"name in ({', '.join(map(_quoted, sorted(ruleset.compiled.wanted[number])))})")
        if not evidence:
            continue
        guards = [f"({' or '.join(evidence)})"]
        if rule.only_status:
            guards.append(f"coalesce(status in ({', '.join(map(str, rule.only_status))}), false)")
        if rule.not_status:
            guards.append(f"not coalesce(status in ({', '.join(map(str, rule.not_status))}), false)")
        guards += [_matches(text) for text in texts.only]
        guards += [f"not {_matches(text)}" for text in texts.never]
        branches.append(f"when {' and '.join(guards)} then {_quoted(rule.reason)}")
    return f"case {' '.join(branches)} else 'unknown' end"


def sql_table(facts: Sequence[Facts]) -> duckdb.DuckDBPyConnection:
    """A DuckDB of one thread with the columns in a table `errors`."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("create table errors (row_number bigint, message varchar, status integer, name varchar)")
    rows: list[tuple[Any, ...]] = [
        (number, each.message or "", each.status, normal_name(each.type or each.code or each.exception_class or ""))
        for number, each in enumerate(facts)
    ]
    for start in range(0, len(rows), 2_000):
        part = rows[start : start + 2_000]
        marks = ", ".join(["(?, ?, ?, ?)"] * len(part))
        connection.execute(f"insert into errors values {marks}", [value for row in part for value in row])  # noqa: S608 - marks only
    return connection


def sql_reasons(connection: duckdb.DuckDBPyConnection, case: str) -> list[str]:
    """The reasons of all rows, in order."""
    rows = connection.execute(f"select {case} from errors order by row_number").fetchall()  # noqa: S608 - our own rules
    return [row[0] for row in rows]


def _matches(pattern: str) -> str:
    return f"regexp_matches(message, {_quoted(pattern)}, 'i')"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
