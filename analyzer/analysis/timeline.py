"""`timeline`: what happened in one session, one chain of retries, or behind one finding, in order; single events too.

The lines of logs are read where they still are: a store keeps what was understood of them, not their text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, NoReturn

from analyzer.agent_stream import count, mapping, text
from analyzer.analysis.nightly.decisions import findings
from analyzer.analysis.nightly.evidence import events_of
from analyzer.analysis.tables import json_value
from analyzer.command_lines import command_line
from analyzer.errors import AnalyzerError, nearest
from analyzer.events import Event
from analyzer.importers.programs import resuming
from analyzer.importers.records import moment_of
from analyzer.recovery.relay.config import STRATEGIES
from analyzer.store import Selection, Store

MOST_CANDIDATES = 5
_SHORTEST = 4
"""Characters of an id that a person has to type, where they are not all of it."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One event, with the line of the log that it was read from."""

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
    """The line, redacted and cut; None where it is not there any more."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened, in order, to one thing."""

    kind: str
    """`session`, `finding` or `operation`."""
    id: str
    said: str
    """A sentence: of a finding its explanation, of the others how they ended."""
    happenings: tuple[Happening, ...]
    resume: tuple[str, ...]
    """The commands that take up its sessions again; none where no command of their agent is known."""
    gone: tuple[str, ...]
    """Files of logs that are not there any more, or hold something else in these lines."""

    def to_dict(self) -> dict[str, Any]:
        """The contract's JSON."""
        rows = [{name: json_value(cell) for name, cell in asdict(one).items()} for one in self.happenings]
        return {"schema": "analyzer.show/1", **asdict(self), "happenings": rows}


def timeline(store: Store, name: str) -> Timeline:
    """The timeline of the session, finding or operation whose id is this or begins so.

    Raises:
        AnalyzerError: none has such an id, or several.
        QueryError: the store cannot be asked.
    """
    kind, whole = identified(store, name) or _refuse(store, name)
    said, given = "", {kind: whole}
    if kind == "finding":
        one = next(each for each in findings(store, every=True) if each.id == whole)
        ruleset = store.query("detection-latest").filter(finding_id=whole)["ruleset"].item()
        # A ruleset may have no verdicts any more; what the night named is left then.
        known = events_of(store, one, ruleset) or one.evidence
        said, given = one.explanation, {"event_ids": json.dumps(known)}
    rows = [Happening(**row) for row in store.query("timeline-events", **given).iter_rows(named=True)]
    texts = store.excerpts({(one.source_path, one.source_line) for one in rows if one.source_path and one.source_line})
    shown = tuple(_with_excerpt(one, texts) for one in rows)
    gone = {one.source_path for one in shown if one.source_path and one.source_line and one.excerpt is None}
    sessions = {one.session_id: one for one in rows if one.session_id and one.agent}
    commands = dict.fromkeys(resuming(one.agent, name, one.cwd) for name, one in sessions.items() if name)
    return Timeline(
        kind, whole, said or _ended(shown), shown, tuple(filter(None, commands)), tuple(sorted(filter(None, gone)))
    )


def identified(store: Store, name: str) -> tuple[str, str] | None:
    """The kind and the whole id of what is named; None where nothing is.

    Raises:
        AnalyzerError: several ids begin so.
        QueryError: the store cannot be asked.
    """
    found = list(store.query("timeline-names", begins=name).iter_rows())
    for kind, whole in found:
        if whole == name:
            return kind, whole
    if len(found) == 1 and len(name) >= _SHORTEST:
        return found[0]
    if found and len(name) >= _SHORTEST:
        raise AnalyzerError(f"several ids begin with {name}", f"type more of it: {_listed(found[:MOST_CANDIDATES])}")
    return None


def _refuse(store: Store, name: str) -> NoReturn:
    """Refuse a name that nothing has, with those that are near."""
    known = list(store.query("timeline-names").iter_rows())
    close = nearest(name, (whole for _, whole in known), MOST_CANDIDATES)
    kinds = {whole: kind for kind, whole in reversed(known)}
    every = "select session_id as id from sessions union all select finding_id from findings"
    hint = (
        f"did you mean {_listed((kinds[each], each) for each in close)}?"
        if close
        else f"list them: {command_line('sql', every, store=store.path)}"
    )
    raise AnalyzerError(f"no session, finding or operation {name}", hint)


def _listed(found: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{kind} {name}" for kind, name in found)


def _with_excerpt(one: Happening, texts: dict[tuple[str, int], str]) -> Happening:
    if one.source_path is None or one.source_line is None:
        return one
    return replace(one, excerpt=texts.get((one.source_path, one.source_line)))


def _ended(happenings: tuple[Happening, ...]) -> str:
    """How it ended, as far as the last chain, hand-off or limit says."""
    for one in reversed(happenings):
        if one.type == "retry.settled":
            return f"The last chain of retries ended {one.outcome or 'unresolved'}."
        if one.type in ("relay.halted", "agent.exhausted", "agent.restored"):
            return {
                "relay.halted": "Its compaction failed." if one.compaction else "It was halted at a hand-off.",
                "agent.exhausted": "It ran into a usage limit, and no log says that it is back.",
                "agent.restored": "Its usage limit is over.",
            }[one.type]
        if one.type == "error.classified":
            return f"The last error is {one.outcome or 'unresolved'}."
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
"""The types of events that a watch tells. Tools fail all day, and agents go on."""
_NO_CALLER = "(none)"


def happening_of(event: Event, compactions: set[str] | None = None) -> Happening:
    """The event with the names of a timeline; what its log has under a name in another shape is not there.

    `compactions` holds those that earlier events began, and takes in what this one begins: only the first event of a
    compaction says that it is one.
    """
    payload = event.payload
    relay, begun = text(payload.get("relay")) or event.id, set() if compactions is None else compactions
    strategy = text(payload.get("strategy"))
    if event.type == "relay.triggered" and strategy not in {None, *STRATEGIES} and payload.get("step_id") is None:
        begun.add(relay)
    facts, origin = mapping(payload.get("facts")), event.origin
    said = (*(facts.get(name) for name in ("message", "stderr", "stdout")), payload.get("message"))
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
        message=next(filter(None, map(text, (*said, payload.get("reason_text")))), None),
        reset_at=moment_of(payload.get("reset_at") or facts.get("reset_at")),
        source_format=origin.format if origin else None,
        source_path=origin.path if origin else None,
        source_line=origin.line if origin else None,
        agent=text(payload.get("agent")),
        cwd=text(payload.get("cwd")),
        compaction=event.type.startswith("relay.") and relay in begun,
    )


def is_about(event: Event, only: Selection) -> bool:
    """Whether an event says for itself that it belongs to that part; one without a caller is of `(none)`."""
    return all(
        (event.payload.get(name) or (_NO_CALLER if name == "caller" else None)) == value
        for name, value in only.given.items()
    )


def _amount(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < float("inf") else None
