"""List what happened in a session, a chain of retries or the sessions of a finding, in order.

The excerpts are read from the logs if these still exist: a store keeps the meaning of their lines,
not the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import MISSING, fields, replace
from datetime import datetime
from typing import Any, NoReturn

from analyzer.agent_stream import count, mapping, text
from analyzer.analysis.nightly.decisions import findings
from analyzer.analysis.nightly.evidence import events_of
from analyzer.analysis.tables import json_fields
from analyzer.command_lines import command_line
from analyzer.errors import AnalyzerError, nearest
from analyzer.events import Event
from analyzer.frozen import frozen
from analyzer.importers.programs import resuming
from analyzer.importers.records import moment_of
from analyzer.recovery.relay.config import STRATEGIES
from analyzer.store import Selection, Store

MOST_CANDIDATES = 5
_LEAST_CHARACTERS = 4
"""Least characters of the beginning of an id that a person has to type."""


@frozen
class Happening:
    """An event, with the line of the log from which it was read."""

    event_id: str
    occurred_at: datetime
    """Naive UTC."""
    type: str
    session_id: str | None
    operation: str | None
    caller: str | None
    reason: str | None
    outcome: str | None
    attempt: int | None
    attempts: int | None
    delay_seconds: float | None
    waited_seconds: float | None
    tokens_before: int | None
    tokens_after: int | None
    tool: str | None
    message: str | None
    reset_at: datetime | None
    source_format: str | None
    source_path: str | None
    source_line: int | None
    agent: str | None
    cwd: str | None
    compaction: bool = False
    """Whether a hand-off is none: the agent shortened its own context, and went on in the same session."""
    excerpt: str | None = None
    """The line, redacted and cut; None if it no longer exists."""


@frozen
class Timeline:
    """The events of a session, finding or operation, in order."""

    kind: str
    """`session`, `finding` or `operation`."""
    id: str
    said: str
    """A sentence: the explanation of a finding, or how the session or operation ended."""
    happenings: tuple[Happening, ...]
    resume: tuple[str, ...]
    """The commands that resume its sessions; none for agents without such a command."""
    gone: tuple[str, ...]
    """Log files that no longer exist, or have other content in these lines."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict, as `analyzer show --json` prints it."""
        return {"schema": "analyzer.show/1", **json_fields(self)}


def timeline(store: Store, name: str) -> Timeline:
    """Return the timeline of the session, finding or operation whose id is or begins with `name`.

    Raises:
        AnalyzerError: no id matches, or several do.
        QueryError: the store cannot be asked.
    """
    kind, whole = identified(store, name) or refuse(store, name)
    return timeline_of(store, kind, whole)


def timeline_of(store: Store, kind: str, whole: str, near: Store | None = None) -> Timeline:
    """Return the timeline of what `identified` has found.

    `near` is the part of the store with the session, if there is one already.

    Raises:
        QueryError: the store cannot be asked.
    """
    sentence, parameters = "", {kind: whole}
    if kind == "finding":
        finding = next(finding for finding in findings(store, every=True) if finding.id == whole)
        ruleset = store.query("detection-latest").filter(finding_id=whole)["ruleset"].item()
        # The verdicts of a ruleset may be gone; then the events that the night recorded are left.
        event_ids = events_of(store, finding, ruleset) or finding.evidence
        sentence, parameters = finding.explanation, {"event_ids": json.dumps(event_ids)}
    with store.part([whole]) if kind == "session" and near is None else nullcontext(near or store) as asked:
        rows = [Happening(**row) for row in asked.query("timeline-events", **parameters).iter_rows(named=True)]
    rows = sorted([*rows, *_changes_between(store, rows)], key=lambda happening: happening.occurred_at)
    texts = store.excerpts(
        {
            (happening.source_path, happening.source_line)
            for happening in rows
            if happening.source_path and happening.source_line
        }
    )
    shown = tuple(_with_excerpt(happening, texts) for happening in rows)
    gone = {
        happening.source_path
        for happening in shown
        if happening.source_path and happening.source_line and happening.excerpt is None
    }
    sessions = {happening.session_id: happening for happening in rows if happening.session_id and happening.agent}
    commands = dict.fromkeys(
        resuming(happening.agent, name, happening.cwd) for name, happening in sessions.items() if name
    )
    return Timeline(
        kind,
        whole,
        sentence or _last_outcome(shown),
        shown,
        tuple(filter(None, commands)),
        tuple(sorted(filter(None, gone))),
    )


def _changes_between(store: Store, rows: list[Happening]) -> list[Happening]:
    """Return the changes that people wrote down between the first and the last of some events."""
    if not rows:
        return []
    nothing = dict.fromkeys(field.name for field in fields(Happening) if field.default is MISSING)
    ends = {"since": rows[0].occurred_at, "until": rows[-1].occurred_at}
    return [
        Happening(**{**nothing, "event_id": event, "occurred_at": at, "type": "change.noted", "message": text})
        for at, text, event in store.query("changes-noted", **ends).select("changed_at", "change", "id").iter_rows()
    ]


def identified(store: Store, name: str) -> tuple[str, str] | None:
    """Return the kind and the whole id of what `name` matches; None if nothing does.

    Raises:
        AnalyzerError: several ids begin with it.
        QueryError: the store cannot be asked.
    """
    matches = list(store.query("timeline-names", begins=name).iter_rows())
    for kind, whole in matches:
        if whole == name:
            return kind, whole
    if len(matches) == 1 and len(name) >= _LEAST_CHARACTERS:
        return matches[0]
    if matches and len(name) >= _LEAST_CHARACTERS:
        raise AnalyzerError(f"several ids begin with {name}", f"type more of it: {_list_of(matches[:MOST_CANDIDATES])}")
    return None


def refuse(store: Store, name: str) -> NoReturn:
    """Raise an error for an id that does not exist, with the nearest ids as a hint."""
    ids = list(store.query("timeline-names").iter_rows())
    close = nearest(name, (whole for _, whole in ids), MOST_CANDIDATES)
    kinds = {whole: kind for kind, whole in reversed(ids)}
    every = "select session_id as id from sessions union all select finding_id from findings"
    hint = (
        f"did you mean {_list_of((kinds[whole], whole) for whole in close)}?"
        if close
        else f"list them: {command_line('sql', every, store=store.path)}"
    )
    raise AnalyzerError(f"no session, finding or operation {name}", hint)


def _list_of(names: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} {name}" for kind, name in names)


def _with_excerpt(happening: Happening, texts: dict[tuple[str, int], str]) -> Happening:
    if happening.source_path is None or happening.source_line is None:
        return happening
    return replace(happening, excerpt=texts.get((happening.source_path, happening.source_line)))


def _last_outcome(happenings: tuple[Happening, ...]) -> str:
    """Say how it ended, by its last chain, hand-off, limit or error."""
    for happening in reversed(happenings):
        if happening.type == "retry.settled":
            return f"The last chain of retries ended {happening.outcome or 'unresolved'}."
        if happening.type in ("relay.halted", "agent.exhausted", "agent.restored"):
            return {
                "relay.halted": "Its compaction failed." if happening.compaction else "It was halted at a hand-off.",
                "agent.exhausted": "It ran into a usage limit, and no log says that it is back.",
                "agent.restored": "Its usage limit is over.",
            }[happening.type]
        if happening.type == "error.classified":
            return f"The last error is {happening.outcome or 'unresolved'}."
    return "No error, retry or limit is in its logs."


WATCHED = (
    "error.classified",
    "retry.scheduled",
    "retry.settled",
    "relay.triggered",
    "relay.checkpointed",
    "relay.resumed",
    "relay.halted",
    "relay.skipped",
    "context.recovered",
    "context.unrecovered",
    "agent.exhausted",
    "agent.restored",
)
"""The types of events that a watch prints. Failures of tools are left out: agents go on after
them."""
_NO_CALLER = "(none)"


def happening_of(event: Event, compactions: set[str] | None = None) -> Happening:
    """Return an event with the fields of a timeline; a value of an unexpected type is None.

    `compactions` holds those that earlier events began, and takes in what this event begins: only
    the first event of a compaction says that it is one.
    """
    payload = event.payload
    relay, begun = text(payload.get("relay")) or event.id, set() if compactions is None else compactions
    strategy = text(payload.get("strategy"))
    if event.type == "relay.triggered" and strategy not in {None, *STRATEGIES} and payload.get("step_id") is None:
        begun.add(relay)
    facts, origin = mapping(payload.get("facts")), event.origin
    texts = (*(facts.get(name) for name in ("message", "stderr", "stdout")), payload.get("message"))
    return Happening(
        event_id=event.id,
        occurred_at=event.occurred_at,
        type=event.type,
        session_id=event.session_id,
        **{name: text(payload.get(name)) for name in ("operation", "caller", "reason", "outcome")},
        attempt=count(payload.get("attempt")),
        attempts=count(payload.get("attempts")),
        delay_seconds=_amount(payload.get("delay_seconds")),
        waited_seconds=_amount(payload.get("waited_seconds")),
        tokens_before=count(payload.get("pre_tokens")),
        tokens_after=count(payload.get("post_tokens")),
        tool=None,
        message=next(filter(None, map(text, (*texts, payload.get("reason_text")))), None),
        reset_at=moment_of(payload.get("reset_at") or facts.get("reset_at")),
        source_format=origin.format if origin else None,
        source_path=origin.path if origin else None,
        source_line=origin.line if origin else None,
        agent=text(payload.get("agent")),
        cwd=text(payload.get("cwd")),
        compaction=event.type.startswith("relay.") and relay in begun,
    )


def is_about(event: Event, only: Selection) -> bool:
    """Return whether an event matches a selection; its caller is `(none)` if it has none."""
    return all(
        (event.payload.get(name) or (_NO_CALLER if name == "caller" else None)) == value
        for name, value in only.given.items()
    )


def _amount(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < float("inf") else None
