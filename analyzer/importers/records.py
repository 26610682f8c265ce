"""What readers of records share: lines into records, sessions as they are seen, and what an event says beside its own.

Invariant: whatever a record holds, nothing raises; a line that is no record is told with its place.
"""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, ClassVar

import msgspec

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event, Reject
from analyzer.events.codec import WHYS
from analyzer.events.model import derived_id, present
from analyzer.events.payloads import EVENT_TYPES
from analyzer.events.times import format_time, parse_time
from analyzer.importers.base import (
    MOST_OPEN,
    Block,
    Chains,
    Hit,
    Line,
    LineFinder,
    Reader,
    Source,
    all_lines,
    broken_lines,
    forget_oldest,
    objects_in,
)
from analyzer.importers.commands import answers_by_one, command_head
from analyzer.importers.failures import MOST_TOOLS, classify_foreign, failure
from analyzer.importers.programs import DIMENSIONS, Author, caller_of, place_of

MAIN = "main"
"""The chain of a log that is of one conversation."""
ANTHROPIC = "input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens"
"""The names of tokens as Anthropic's interface has them, in the order of `spent_as`."""
_SPENT = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_IN_HAND = 64
"""Calls of tools that are remembered until their results come."""


def moment_of(value: object) -> datetime | None:
    """Parse the moment that a record names, as naive UTC; None where it names none, or one that cannot be."""
    try:
        return parse_time(value)
    except ValueError:
        return None


def moment_here(value: object) -> datetime | None:
    """The moment of a clock time without a zone, as naive UTC: it is taken for this machine's, as logs mostly are."""
    if not isinstance(value, str) or moment_of(value) is None:
        return None
    try:
        return moment_of(datetime.fromisoformat(value).astimezone().isoformat())
    except (ValueError, OverflowError):
        return None


def miscounted(name: str, value: object) -> str:
    """Say what stands in the place of a count of tokens."""
    shown = value if type(value) in (int, float) else f"of type {type(value).__name__}"
    return f"`{name}` is {shown}, no number of tokens"


def identity_of(value: object) -> str:
    """Derive a name from any JSON value, whatever the order of its keys."""
    if type(value) is str and len(value) <= _OFTEN:
        return _named(value)
    if isinstance(value, Mapping):
        value = sorted((str(key), identity_of(inner)) for key, inner in value.items())
    elif isinstance(value, list):
        value = [identity_of(inner) for inner in value]
    return derived_id(value)


_OFTEN = 40
"""Characters of words that come again and again, as types and roles do."""
_named = lru_cache(4_096)(derived_id)


def folder_of(path: str, above: int) -> str | None:
    """The name of a folder that a file lies in, so many `above` it (1: its own); None where there are not so many."""
    folders = path.replace("\\", "/").split("/")[:-1]
    return (folders[-above] or None) if len(folders) >= above else None


def session_of(path: str) -> str:
    """The name of a session that no record tells: of its file, or of the folder where its file's name is any one's."""
    name = path.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    return (folder_of(path, 1) or name) if name in _ANYONES else name


_ANYONES = frozenset({"messages", "transcript", "trajectory"})


def cursor_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """The cursor that a reader has remembered, as its own."""
    return {table: [changed, [*names]] for table, (changed, names) in mapping(state.get("cursor")).items()}


def moved_on(cursor: dict[str, Any], record: Mapping[str, Any]) -> None:
    """Move a cursor behind the row that a record was made of."""
    place = record.get("$row")
    if isinstance(place, list) and len(place) == 3 and isinstance(place[0], str):
        table, changed, name = place
        before = cursor.get(table)
        if before and before[0] == changed:
            before[1].append(name)
        else:
            cursor[table] = [changed, [name]]


def refused(record: Mapping[str, Any]) -> Reject | None:
    """Why the row of a database could not be read that a record stands for; None of any other record."""
    match record:
        case {"$row": [*_], "$refused": [str(why), str(detail)]} if why in WHYS:
            return Reject(why, detail)
    return None


@dataclass(frozen=True, slots=True)
class _Kept:
    value: Any


def kept(value: Any = None) -> Any:
    """An attribute, named with a `_`, that a reader remembers from one part of a log to the next; a log begins with
    this value."""
    return _Kept(value)


class RecordReader(Reader):
    """Reads a log whose lines are records. Those who inherit say what a record's events are."""

    name: ClassVar[str]
    """The first part of the ids of its events."""
    agent: str
    """The program at work, where nothing says it better: a class has its format's own, a log may be a fork's."""
    visibility: ClassVar[str]
    """`full`, `terminal` or `none`: what such a log shows of retries."""
    folder: ClassVar[int | None] = None
    """How far above the file the folder stands that names the session (1: its own), 0 where the file or its folder does
    as in `session_of`; None where records name it."""
    telling: ClassVar[Any] = None
    """A pattern of the lines that matter; None where all of them do."""
    glance: ClassVar[Any] = None
    """Decodes the few fields that most records are done with; None where each line is decoded wholly."""
    openings: ClassVar[Sequence[bytes]] = ()
    """How an intact record may begin behind a torn one."""
    own_state: ClassVar[Mapping[str, Any]] = {}
    """What it remembers beside what every reader does: names in a checkpoint, and their values at the beginning of a
    log. Each is an attribute that is `kept`, without its `_`."""

    def __init_subclass__(
        cls,
        name: str | None = None,
        agent: str | None = None,
        visibility: str | None = None,
        folder: int | None = None,
    ) -> None:
        """Take what tells the reader of a format from others out of the class statement."""
        super().__init_subclass__()
        told = {"name": name, "agent": agent, "visibility": visibility, "folder": folder}
        for key, value in present(told).items():
            setattr(cls, key, value)
        own = {key[1:]: value.value for key, value in vars(cls).items() if isinstance(value, _Kept)}
        cls.own_state = {**cls.own_state, **own}

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        self.source = source
        self.session: str | None = (
            state.get("session")
            if self.folder is None
            else (folder_of(source.path, self.folder) if self.folder else session_of(source.path))
        )
        """The session that the records in hand belong to."""
        self.line = Line(0, b"")
        """The line in hand."""
        self._near = moment_of(state.get("near"))
        """The last time that the log has named."""
        self.at = source.stand_in(self._near)[0]
        self.timed = False
        """Whether the record in hand names its own time."""
        self.known: dict[str, Any] = dict(mapping(state.get("known")))
        """What is known of that session, by the names of `DIMENSIONS`."""
        self._author = Author(self.name, source.path, state.get("fork"))
        self.agent = self._author.fork or self.agent
        self.program: str = state.get("program") or self.agent
        """Who makes the calls."""
        self.role: str | None = state.get("role")
        """The part that it plays in that session, such as `subagent`; None for the main one."""
        self.chains = Chains(state.get("chains"))
        self._calls: dict[str, str] = dict(mapping(state.get("calls")))
        """The tools of the last calls, by the calls' names: a result mostly names its call alone."""
        self._seen: dict[str, dict[str, Any]] = {
            key: dict(mapping(found)) for key, found in mapping(state.get("seen")).items()
        }
        if self.folder is not None:
            self.known |= {"agent": self.agent}
        for name, value in self.own_state.items():
            # A copy: where reading fails, the checkpoint holds what it held before.
            setattr(self, f"_{name}", deepcopy(state.get(name, value)))
        self._left: list[Event] = []
        self._refused: Reject | None = None
        """What of the line in hand could not be read."""
        self._miscounted = False
        """Whether the usage in hand holds what is no count."""
        self._cursor = cursor_of(state)
        """Up to where the rows of a database were read."""

    @abstractmethod
    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """The events of one record; most give none."""

    def glanced(self, _record: Mapping[str, Any]) -> Iterable[Event] | None:
        """The events of a record by the fields that a glance shows; None where all of it has to be decoded."""
        return None

    @property
    def caller(self) -> str:
        """The caller of the record in hand."""
        return caller_of(self.program, self.known, self.role)

    def read(self, block: Block) -> Iterator[Hit]:
        """Hits of the block, in order. Records before the first that names a time take its time."""
        early: list[Hit] = []
        for hit in self._hits_of(block):
            if self._near is None:
                early.append(hit)
                continue
            yield from (self._dated_by_next(before) for before in early)
            early = []
            yield hit
        yield from (self._dated_by_next(before) for before in early)

    def _dated_by_next(self, hit: Hit) -> Hit:
        near = self._near
        if near is None:
            return hit
        return replace(
            hit,
            events=[
                event if event.time_source != "file" else replace(event, occurred_at=near, time_source="log")
                for event in hit.events
            ],
        )

    def _hits_of(self, block: Block) -> Iterator[Hit]:
        for line in self._lines(block):
            self.line, self._refused = line, None
            if self.glance is not None and (told := self._glanced(line.text)) is not None:
                if told or self._refused:
                    yield self._hit(told, self._refused)
                continue
            found, reject = self._found(line.text)
            if self._author.may_change:
                for record in found:
                    self._take_author(record)
            events: list[Event] = []
            for record in found:
                moved_on(self._cursor, record)
                if "$refused" in record:
                    reject = refused(record)
                else:
                    events += self._events_of(record)
            if events or reject or self._refused:
                yield self._hit(events, reject or self._refused)

    def _hit(self, events: Iterable[Event], reject: Reject | None) -> Hit:
        why, detail = (reject.why, reject.detail) if reject else ("", "")
        return Hit(self.line.offset, len(self.line.text), tuple(events), why, detail)

    def _found(self, line: bytes) -> tuple[list[dict[str, Any]], Reject | None]:
        """The records of a line, and what could not be read of it."""
        return objects_in(line, self.openings)

    def finish(self) -> Sequence[Event]:
        """What the log shows of each session so far, where anything new was seen of it."""
        left, self._left = self._left, []
        return [*left, *(event for key in list(self._seen) if (event := self._observed(key)))]

    def state(self) -> Mapping[str, Any]:
        """What the reader of what comes later is given: small, as there is one a file."""
        return {key: value for key, value in self.remembered().items() if value}

    def remembered(self) -> dict[str, Any]:
        """The session in hand, what was seen of each one, open chains, calls and rows; empty ones are left out."""
        own = {name: getattr(self, f"_{name}") for name in self.own_state}
        for value in own.values():
            if isinstance(value, dict):
                forget_oldest(value)
        return {
            "session": self.session,
            "known": self.known,
            "fork": self._author.fork,
            "program": self.program if self.program != self.agent else None,
            "role": self.role,
            "seen": self._seen,
            "chains": self.chains.state(),
            "calls": self._calls,
            "cursor": self._cursor,
            "near": format_time(self._near) if self._near else None,
            **own,
        }

    # For those who inherit -------------------------------------------------------------------------------------------

    def time(self, value: object) -> None:
        """Take the time that the record in hand names, or the one that stands in."""
        self.clock(moment_of(value))

    def clock(self, moment: datetime | None) -> None:
        """Take a moment (naive UTC) for the record in hand, or the one that stands in where it names none."""
        self._near = moment or self._near
        self.timed, self.at = moment is not None, moment or self.source.stand_in(self._near)[0]

    @property
    def dated(self) -> str:
        """The `time_source` of the record in hand."""
        return "event" if self.timed else self.source.stand_in(self._near)[1]

    def begin(self, session: str | None, **known: object) -> None:
        """Take a session for the one in hand; nothing else is known of it yet than its program and this, as `learn`."""
        self.session, self.known = session, {"agent": self.agent}
        self.learn(**known)

    def learn(self, **known: object) -> None:
        """Take what is a text of this, by the names of `DIMENSIONS`, for what is known of the session in hand."""
        self.known |= {name: value for name, value in known.items() if text(value)}

    def again(self, *identity: object, chain: str = MAIN) -> list[Event]:
        """The retry that another call after a failed one is; none where no chain is open."""
        return [self.scheduled(*identity, chain=chain)] if chain in self.chains else []

    def work_in(self, folder: object) -> None:
        """Take the working directory that the session began in, and the project that its last name is."""
        if "cwd" not in self.known:
            self.known |= place_of(folder)

    def failed(
        self,
        facts: Mapping[str, Any],
        *identity: object,
        chain: str | None = None,
        numbered: int | None = None,
        begun_by: str = "error.classified",
        **known: Any,
    ) -> Event:
        """A failed call of the service, classified by its facts, of which those that are None are left out.

        It is the next failure of a `chain`, which it begins where it is not open, and has the number that the log gives
        it there (`numbered`, 1-based) where that is higher; a chain is named by the type of event that tells its
        beginning (`begun_by`). Without a chain it was surfaced, unless `known` (fields of the payload) names its
        operation.
        """
        caller = known.get("caller") or self.caller
        place: dict[str, Any] = {"caller": caller}
        if chain is not None:
            operation, attempt = self.chains.failed(chain, self.chain_name(begun_by, *identity))
            attempt = attempt if numbered is None else self.chains.renumber(chain, numbered)
            place |= {"operation": operation, "attempt": attempt}
        elif "operation" not in known:
            place["outcome"] = "surfaced"
        seen = present({"is_error": True, **facts})
        verdict, payload = classify_foreign(seen, self.at, **{**place, **known})
        if chain is not None:
            self.chains.note(chain, verdict.reason, caller)
        return self.event("error.classified", payload, *identity)

    def retried(
        self,
        facts: Mapping[str, Any],
        *identity: object,
        chain: str = MAIN,
        delay_seconds: float | None = None,
        **known: Any,
    ) -> list[Event]:
        """A failed call that a log tells with the retry that follows it: the failure as in `failed`, and the retry."""
        failure = self.failed(facts, *identity, chain=chain, begun_by="retry.scheduled", **known)
        return [failure, self.scheduled(*identity, chain=chain, delay_seconds=delay_seconds)]

    def scheduled(self, *identity: object, chain: str = MAIN, delay_seconds: float | None = None) -> Event:
        """Make the event of the retry that follows an open chain's last failure."""
        return self.event("retry.scheduled", self.chains.scheduled(chain, delay_seconds=delay_seconds), *identity)

    def settled(self, outcome: str, *, chain: str = MAIN, made: int = 0, reason: str | None = None) -> list[Event]:
        """Settle a chain after `made` more calls; no event where none is open or nothing of it was retried."""
        payload = self.chains.settled(chain, outcome, made=made, reason=reason)
        return [self.event("retry.settled", payload, payload["operation"])] if payload else []

    def exhausted(self, failure: Event, *identity: object) -> Event:
        """The end of an agent's usage limit, with the words and the reset of the failure that tells it."""
        facts, reset_at = mapping(failure.payload.get("facts")), failure.payload.get("reset_at")
        said = facts.get("message") or facts.get("stdout")
        payload = {"caller": self.caller, "reason_text": said, "reset_at": reset_at}
        return self.event("agent.exhausted", payload, *identity)

    def relay(self, payload: Mapping[str, Any], *identity: object) -> Event:
        """The beginning of a hand-off, which is named by this event."""
        event = self.event("relay.triggered", {"caller": self.caller, **payload}, *identity)
        return replace(event, payload={"relay": event.id, **event.payload})

    def compacted(
        self, began: Mapping[str, Any], *identity: object, post_tokens: int | None = None, cause: str | None = None
    ) -> list[Event]:
        """Make the events of a compaction that is over: its beginning, and its end or the `cause` why it failed."""
        begun = self.relay({"strategy": "compact", **began}, *identity)
        ended: dict[str, Any] = {"relay": begun.id, "caller": begun.payload["caller"]}
        if cause is not None:
            return [begun, self.event("relay.halted", {**ended, "cause": cause}, *identity)]
        return [begun, self.event("relay.resumed", {**ended, "post_tokens": post_tokens}, *identity)]

    def resumed(self, relay: str, post_tokens: int | None) -> Event:
        """The end of a compaction, told by the first reply after it: that one's tokens are near those it left."""
        done = {"relay": relay, "caller": self.caller, "post_tokens": post_tokens, "post_tokens_estimated": True}
        return self.event("relay.resumed", done, relay)

    def see(self, *, requests: int = 0, aborted: int = 0) -> None:
        """Count the record in hand for its session: so many model requests, so many stops by the user."""
        if self.session is None:
            return
        seen = self._seen.get(self.session)
        if seen is None:
            # Named by its first moment: what is forgotten and comes again is another part, and both are added up.
            first = format_time(self.at) if self.timed else None
            seen = self._seen[self.session] = {"requests": 0, "aborted": 0, "part": f"{self.name}/{first}"}
            if len(self._seen) > MOST_OPEN:
                oldest = next(iter(self._seen))
                self._left += filter(None, [self._observed(oldest)])
                del self._seen[oldest]
        if self.timed:
            at = format_time(self.at)
            if at < seen.setdefault("started_at", at):
                seen["started_at"] = at
            if at > seen.setdefault("ended_at", at):
                seen["ended_at"] = at
        seen["requests"] += requests
        seen["aborted"] += aborted
        seen["known"] = dict(self.known)
        seen["caller"] = self.caller
        seen["new"] = True

    def see_calls(self, *tools: str | None) -> None:
        """Count calls of tools for the session of the record in hand."""
        self.see()
        seen = self._seen.get(self.session or "")
        if seen is None:
            return
        counts = seen.setdefault("tools", {})
        for tool in tools:
            if tool and (tool in counts or len(counts) < MOST_TOOLS):
                counts[tool] = counts.get(tool, 0) + 1

    def called(self, tool: str | None, call: str | None) -> None:
        """Count a call of a tool, and remember the tool by the call's name until its result comes."""
        self.see_calls(tool)
        self.remember_call(tool, call)

    def remember_call(self, tool: str | None, call: str | None) -> None:
        """Remember a tool by its call's name; the oldest call is forgotten."""
        if tool and call:
            self._calls[call] = tool
            if len(self._calls) > _IN_HAND:
                del self._calls[next(iter(self._calls))]

    def tool_of(self, call: str | None) -> str | None:
        """The tool of a call whose result has come."""
        return self._calls.pop(call or "", None)

    def spent(
        self, *identity: object, cost_usd: float | None = None, prompt: int | None = None, **tokens: int | None
    ) -> list[Event]:
        """The tokens of one request, under the names of the payload; none where nothing was counted.

        A `prompt` counts what was read from the cache and written to it, too: what is left of it is input.
        A record that is written again tells the same request; what it has grown to is another event.
        """
        if prompt is not None:
            cached = (tokens.get("cache_read_tokens") or 0) + (tokens.get("cache_write_tokens") or 0)
            tokens = {**tokens, "input_tokens": max(prompt - cached, 0) + (tokens.get("input_tokens") or 0)}
        miscounted, self._miscounted = self._miscounted, False
        if miscounted or not any(tokens.values()):
            return []
        request = derived_id(self.name, "request", *identity)
        payload = {"request": request, "caller": self.caller, **tokens, "cost_usd": cost_usd}
        return [self.event("usage.recorded", payload, request, tokens.get("output_tokens"))]

    def counted(self, usage: object, name: str) -> int | None:
        """A count of tokens of a usage. Where it is none, its line goes to quarantine, and no usage is made of it."""
        value = usage.get(name) if isinstance(usage, Mapping) else usage
        found = count(value)
        if found is None and value is not None:
            self._miscounted = True
            self.refuse("bad_count", miscounted(name, value))
        return None if value is usage else found

    def refuse(self, why: str, detail: str) -> None:
        """Send the line in hand to quarantine, whatever else is read of it."""
        self._refused = self._refused or Reject(why, detail)

    def spent_as(
        self, usage: object, names: str, *identity: object, whole: bool = False, cost_usd: float | None = None
    ) -> list[Event]:
        """The tokens of one request by the names that a log has for input, output, the cache read and written, and of
        the output what was thought, as many as it has.

        Where `whole`, input counts those of the cache, too.
        """
        found = dict(zip(_SPENT, (self.counted(usage, name) for name in names.split()), strict=False))
        if whole:
            return self.spent(
                *identity, prompt=found["input_tokens"], cost_usd=cost_usd, **{**found, "input_tokens": None}
            )
        return self.spent(*identity, cost_usd=cost_usd, **found)

    def observed(
        self,
        part: str,
        *identity: object,
        requests: int = 0,
        aborted: int = 0,
        tools: Mapping[str, int] | None = None,
        started_at: str | None = None,
    ) -> Event:
        """Make the event of a part of a session by itself: its rows may come again, and count once by its name.

        It ends at the moment of the record in hand and begins there, too, unless `started_at` names another one, or
        is empty because nobody tells.
        """
        at = format_time(self.at) if self.timed else None
        seen = {"caller": self.caller, "requests": requests, "aborted": aborted, "part": part, "tools": tools or None}
        seen |= {"started_at": (at if started_at is None else started_at) or None, "ended_at": at}
        return self.event("session.observed", self._shown(seen), *identity, at)

    def tool_failed(
        self,
        tool: str | None,
        said: object,
        *identity: object,
        kind: str | None = None,
        hint: str | None = None,
        command: object = None,
        called_at: datetime | None = None,
    ) -> list[Event]:
        """Make the event of a failed call of a tool: what it said, what the log tells of the kind of failure, the
        command that was run, of which the head is kept, and when it was called.

        A command whose exit status is an answer did not fail, and gives no event.
        """
        self.see()
        payload = {
            "caller": self.caller,
            "tool": tool,
            **failure(said, kind=kind, hint=hint, command=command_head(command)),
        }
        if payload.get("exit_code") == 1 and answers_by_one(command, str(said)):
            return []
        if called_at is not None and self.timed and called_at <= self.at:
            payload["duration_seconds"] = round((self.at - called_at).total_seconds(), 3)
        return [self.event("tool.failed", payload, *identity)]

    def event(self, kind: str, payload: Mapping[str, Any], *identity: object) -> Event:
        """Make an event of the record in hand, with what is known of its session."""
        told = dressed(kind, payload, self.known_here())
        return Event(kind, self.at, self.session, told, self.identity(kind, *identity), time_source=self.dated)

    def identity(self, kind: str, *identity: object) -> str:
        """The id of an event of the record in hand."""
        return derived_id(self.name, kind, *identity)

    def chain_name(self, kind: str, *identity: object) -> str:
        """The name of a chain that the record in hand begins with an event of this type."""
        return self.identity(kind, *identity)

    def known_here(self) -> Mapping[str, Any]:
        """What is known of the session where the record in hand stands, by the names of `DIMENSIONS`."""
        return self.known

    # -----------------------------------------------------------------------------------------------------------------

    def _take_author(self, record: Mapping[str, Any]) -> None:
        """Take the name of the fork that a record shows for all that follows."""
        before = self.agent
        if self._author.told_by(record):
            self.agent = self._author.fork or before
            self.program = self.agent if self.program == before else self.program
            if self.known.get("agent") == before:
                self.known["agent"] = self.agent

    def _glanced(self, line: bytes) -> Iterable[Event] | None:
        """As `glanced`; of a line that cannot be read the decoder of all of it says why."""
        try:
            seen = type(self).glance(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        return self.glanced(seen)

    def _lines(self, block: Block) -> Iterator[Line]:
        if self.telling is None:
            yield from all_lines(block)
            return
        places = (match.start() for match in self.telling.finditer(block.data))
        telling = iter(LineFinder(block, places).next, None)
        last = -1
        for line in heapq.merge(telling, broken_lines(block), key=lambda item: item.offset):
            if line.offset != last:
                last = line.offset
                yield line

    def _shown(self, seen: Mapping[str, Any]) -> dict[str, Any]:
        """The payload of what was seen of a session, or of a part of one."""
        kept = {name: seen.get(name) or None for name in ("aborted", "started_at", "ended_at")}
        about = {"retry_visibility": self.visibility, "part": seen["part"], "tools": seen.get("tools")}
        return {"caller": seen.get("caller"), "requests": seen["requests"], **kept, **about}

    def _observed(self, session: str) -> Event | None:
        seen = self._seen[session]
        if not seen.pop("new", False):
            return None
        at = moment_of(seen.get("ended_at"))
        names = session, seen["part"], seen.get("ended_at"), seen["requests"], seen["aborted"]
        calls = [sum(seen["tools"].values())] if seen.get("tools") else []
        stands_in, dated = self.source.stand_in(self._near)
        return Event(
            type="session.observed",
            occurred_at=at or stands_in,
            session_id=session,
            payload=dressed("session.observed", self._shown(seen), mapping(seen.get("known"))),
            id=derived_id(self.name, "session", *names, *calls),
            time_source="event" if at else dated,
        )


def dressed(kind: str, payload: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The payload, and what is known of its session where the type of event has a field for it."""
    told = {key: known.get(key) for key in _dimensions(kind)}
    told.update(payload)
    return present(told)


@cache
def _dimensions(kind: str) -> tuple[str, ...]:
    """What a payload of this type may say of its session."""
    fields = EVENT_TYPES[kind].__annotations__
    return tuple(key for key in DIMENSIONS if key in fields)
