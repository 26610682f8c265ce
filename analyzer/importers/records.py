"""The base class of readers of records.

It makes records of lines, counts sessions, and adds the facts about a session to events.

Invariant: nothing raises, whatever a record holds; a line that is no record becomes a hit with its
place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, ClassVar

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event, Reject
from analyzer.events.codec import WHYS
from analyzer.events.model import derived_id, present
from analyzer.events.payloads import EVENT_TYPES
from analyzer.events.times import format_time, parse_time
from analyzer.frozen import frozen
from analyzer.importers.base import (
    MOST_OPEN,
    WHOLE,
    Block,
    Chains,
    Hit,
    Line,
    Reader,
    Source,
    all_lines,
    forget_oldest,
    objects_in,
    typed_lines,
)
from analyzer.importers.commands import answers_by_one, command_head
from analyzer.importers.failures import BENIGN, MOST_TOOLS, classify_foreign, failure
from analyzer.importers.programs import DIMENSIONS, Author, caller_of, place_of
from analyzer.importers.telemetry.stated import stated

_ANSWERED = frozenset(kind for kind, payload in EVENT_TYPES.items() if "request_id" in payload.__annotations__)
"""Types of events that say who answered."""
MAIN = "main"
"""The name of the chain in a log of one conversation."""
ANTHROPIC = "input_tokens output_tokens cache_read_input_tokens cache_creation_input_tokens"
"""The names of tokens in Anthropic's interface, in the order that `spent_as` takes."""
_SPENT = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_IN_HAND = 64
"""The most calls of tools that are remembered until their results come."""


def moment_of(value: object) -> datetime | None:
    """Parse the moment that a record names, as naive UTC; None if it names no possible one."""
    try:
        return parse_time(value)
    except ValueError:
        return None


def moment_here(value: object) -> datetime | None:
    """Parse a time without a zone, in this machine's zone, as naive UTC; None if it is none."""
    if not isinstance(value, str) or moment_of(value) is None:
        return None
    try:
        return moment_of(datetime.fromisoformat(value).astimezone().isoformat())
    except (ValueError, OverflowError):
        return None


def miscounted(name: str, value: object) -> str:
    """Describe a value that stands where a count of tokens should be."""
    shown = value if type(value) in (int, float) else f"of type {type(value).__name__}"
    return f"`{name}` is {shown}, no number of tokens"


def identity_of(value: object) -> str:
    """Derive a name from any JSON value; the order of keys does not matter."""
    if type(value) is str and len(value) <= _FREQUENT:
        return _cached_id(value)
    if isinstance(value, Mapping):
        value = sorted((str(key), identity_of(inner)) for key, inner in value.items())
    elif isinstance(value, list):
        value = [identity_of(inner) for inner in value]
    return derived_id(value)


_FREQUENT = 40
"""The most characters of words that come again and again, such as types and roles."""
_cached_id = lru_cache(4_096)(derived_id)


def folder_of(path: str, above: int) -> str | None:
    """Return the name of the folder that is `above` levels up from a file (1: its own), or None."""
    folders = path.replace("\\", "/").split("/")[:-1]
    return (folders[-above] or None) if len(folders) >= above else None


def session_of(path: str) -> str:
    """Return the name of a session that no record names: its file's, or the folder's.

    The folder counts if the file, or a folder in it, has a name that all sessions of a format share.
    """
    *folders, file = path.replace("\\", "/").split("/")
    name = file.partition(".")[0]
    if name not in _COMMON_NAMES:
        return name
    return next((folder for folder in reversed(folders) if folder not in _COMMON_FOLDERS), "") or name


_COMMON_NAMES = frozenset({"messages", "transcript", "transcript_full", "trajectory"})
_COMMON_FOLDERS = frozenset({"logs", ".system_generated"})


def cursor_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the cursor of a remembered state."""
    return {table: [changed, [*names]] for table, (changed, names) in mapping(state.get("cursor")).items()}


def moved_on(cursor: dict[str, Any], record: Mapping[str, Any]) -> None:
    """Move a cursor past the row that a record was made of."""
    place = record.get("$row")
    if isinstance(place, list) and len(place) == 3 and isinstance(place[0], str):
        table, changed, name = place
        before = cursor.get(table)
        if before and before[0] == changed:
            before[1].append(name)
        else:
            cursor[table] = [changed, [name]]


def refused(record: Mapping[str, Any]) -> Reject | None:
    """Return why a row of a database could not be read; None for any other record."""
    match record:
        case {"$row": [*_], "$refused": [str(why), str(detail)]} if why in WHYS:
            return Reject(why, detail)
    return None


@frozen
class _Kept:
    value: Any


def kept(value: Any = None) -> Any:
    """Declare an attribute that a reader remembers from one part of a log to the next.

    Its name begins with `_`; `value` is the one at the beginning of a log.
    """
    return _Kept(value)


class RecordReader(Reader):
    """Reads a log whose lines are records; subclasses make the events of a record."""

    name: ClassVar[str]
    """The first part of the ids of its events."""
    agent: str
    """The program at work: of a class its format's own, of a reader perhaps a fork."""
    visibility: ClassVar[str]
    """`full`, `terminal` or `none`: how much such a log shows of retries."""
    folder: ClassVar[int | None] = None
    """Levels from the file up to the folder that names the session (1: its own).

    0: the file or its folder names it, as in `session_of`; None: records name it.
    """
    telling: ClassVar[Any] = None
    """A pattern of the lines that matter; None: all lines do."""
    glance: ClassVar[Any] = None
    """Decodes the few fields that are enough for most records; None: all fields are decoded."""
    openings: ClassVar[Sequence[bytes]] = ()
    """Beginnings of an intact record after a torn one."""
    own_state: ClassVar[Mapping[str, Any]] = {}
    """The `kept` attributes, without their `_`, and their values at the beginning of a log."""

    def __init_subclass__(
        cls,
        name: str | None = None,
        agent: str | None = None,
        visibility: str | None = None,
        folder: int | None = None,
    ) -> None:
        """Set the class attributes that a class statement names, and collect its `kept` ones."""
        super().__init_subclass__()
        settings = {"name": name, "agent": agent, "visibility": visibility, "folder": folder}
        for key, value in present(settings).items():
            setattr(cls, key, value)
        own = {key[1:]: value.value for key, value in vars(cls).items() if isinstance(value, _Kept)}
        cls.own_state = {**cls.own_state, **own}

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        self.source = source
        self.session: str | None = state.get("session")
        """The session of the record in hand."""
        if self.folder is not None:
            path = source.path
            self.session = folder_of(path, self.folder) if self.folder else session_of(path)
        self.line = Line(0, b"")
        """The line in hand."""
        self.record: Mapping[str, Any] = {}
        """The record in hand, which may state who answered."""
        self._near = moment_of(state.get("near"))
        """The last time that the log named."""
        self.at = source.stand_in(self._near)[0]
        self.timed = False
        """True if the record in hand names its own time."""
        self.copied_from: str | None = None
        """The session that the record in hand was copied from, by a fork; None for any other record."""
        self.known: dict[str, Any] = dict(mapping(state.get("known")))
        """The facts about that session, by the names of `DIMENSIONS`."""
        self._author = Author(self.name, source.path, state.get("fork"))
        self.agent = self._author.fork or self.agent
        self.program: str = state.get("program") or self.agent
        """The program that makes the calls."""
        self.role: str | None = state.get("role")
        """The role of the program in that session, such as `subagent`; None for the main one."""
        self.chains = Chains(state.get("chains"))
        self._calls: dict[str, str] = dict(mapping(state.get("calls")))
        """The tools of the last calls, by the calls' names: most results name only their call."""
        self._seen: dict[str, dict[str, Any]] = {
            session: dict(mapping(seen)) for session, seen in mapping(state.get("seen")).items()
        }
        """The counts of each session."""
        if self.folder is not None:
            self.known |= {"agent": self.agent}
        for name, value in self.own_state.items():
            # A copy: if reading fails, the checkpoint keeps its old value.
            setattr(self, f"_{name}", deepcopy(state.get(name, value)))
        self._fork: list[str] = list(state.get("forked") or ())
        """The session that this one is a fork of, and when it began: what is older was copied."""
        self._unseen: str | None = None
        """A recorded request of a session of which no record counts yet."""
        self._left: list[Event] = []
        """Events of sessions that were dropped from `_seen`."""
        self._refused: Reject | None = None
        """Why a part of the line in hand could not be read."""
        self._miscounted = False
        """True if the usage in hand has a value that is no count."""
        self._cursor = cursor_of(state)
        """The rows of a database that were read, as in `cursor_of`."""

    @abstractmethod
    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """Return the events of one record; most have none."""

    def glanced(self, _record: Mapping[str, Any]) -> Iterable[Event] | None:
        """Return the events of a record by the fields of `glance`.

        None means that all of the record has to be decoded.
        """
        return None

    @property
    def caller(self) -> str:
        """Return the caller of the record in hand."""
        return caller_of(self.program, self.known, self.role)

    def read(self, block: Block) -> Iterator[Hit]:
        """Yield the hits of a block, in order.

        Records before the first time in the log take that time.
        """
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
        for offset, end, fields in self._lines(block):
            self.line, self._refused = Line(offset, block.data[offset:end]), None
            self.record = fields or {}
            glanced = None if fields is None else self.glanced(fields)
            if glanced is not None:
                if glanced or self._refused:
                    yield self._hit(glanced, self._refused)
                continue
            records, reject = self._found(self.line.text)
            if self._author.may_change:
                for record in records:
                    self._take_author(record)
            events: list[Event] = []
            for record in records:
                moved_on(self._cursor, record)
                if "$refused" in record:
                    reject = refused(record)
                else:
                    self.record = record
                    events += self._events_of(record)
            if events or reject or self._refused:
                yield self._hit(events, reject or self._refused)

    def _hit(self, events: Iterable[Event], reject: Reject | None) -> Hit:
        why, detail = (reject.why, reject.detail) if reject else ("", "")
        return Hit(self.line.offset, len(self.line.text), tuple(events), why, detail)

    def _found(self, line: bytes) -> tuple[list[dict[str, Any]], Reject | None]:
        """Return the records of a line, and why the rest of it could not be read."""
        return objects_in(line, self.openings)

    def finish(self) -> Sequence[Event]:
        """Return a `session.observed` for each session of which anything new was seen."""
        left, self._left = self._left, []
        return [*left, *(event for key in list(self._seen) if (event := self._observed(key)))]

    def state(self) -> Mapping[str, Any]:
        """Return the state for the next reader; it is small, as each file has one."""
        return {key: value for key, value in self.remembered().items() if value}

    def remembered(self) -> dict[str, Any]:
        """Return what a checkpoint holds; `state` leaves out what is empty."""
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
            "forked": self._fork,
            **own,
        }

    # For subclasses -------------------------------------------------------------------------------

    def time(self, value: object) -> None:
        """Set the time that the record in hand names, or a substitute if it names none."""
        self.clock(moment_of(value))

    def clock(self, moment: datetime | None) -> None:
        """Set the moment (naive UTC) of the record in hand, or a substitute if it is None."""
        self._near = moment or self._near
        self.timed, self.at = moment is not None, moment or self.source.stand_in(self._near)[0]
        if self._fork:
            self.copied_from = self._fork[0] if moment and format_time(moment) < self._fork[1] else None

    @property
    def dated(self) -> str:
        """Return the `time_source` of the record in hand."""
        return "event" if self.timed else self.source.stand_in(self._near)[1]

    def begin(self, session: str | None, **fields: object) -> None:
        """Begin a session, of which only the program and `fields` are known, as in `learn`."""
        self.session, self.known = session, {"agent": self.agent}
        self.learn(**fields)

    def fork(self, origin: str, began: datetime) -> None:
        """Begin a fork: records of an earlier time are copies out of the session `origin`.

        What was first elsewhere counts there: a copy adds nothing to the counts of its session, and its
        events name their origin, so that the store leaves them out if it has the originals.
        """
        self._fork = [origin, format_time(began)]

    def learn(self, **fields: object) -> None:
        """Add facts about the session in hand, by the names of `DIMENSIONS`; only texts count."""
        self.known |= {name: value for name, value in fields.items() if text(value)}

    def again(self, *identity: object, chain: str = MAIN) -> list[Event]:
        """Return the retry that a call after a failed one is; no event if no chain is open."""
        return [self.scheduled(*identity, chain=chain)] if chain in self.chains else []

    def work_in(self, folder: object) -> None:
        """Set the directory in which the session began, and its last name as the project."""
        if "cwd" not in self.known:
            self.known |= place_of(folder)

    def failed(
        self,
        facts: Mapping[str, Any],
        *identity: object,
        chain: str | None = None,
        numbered: int | None = None,
        begun_by: str = "error.classified",
        **fields: Any,
    ) -> Event:
        """Make the event of a failed call of the service, classified by its facts.

        Facts that are None are left out.

        The failure is the next one of a `chain`, which it begins if that is not open. It takes the
        number that the log gives it there (`numbered`, 1-based) if that is higher. A chain is named
        by the type of the event that begins it (`begun_by`). Without a chain the outcome is
        `surfaced`, unless `fields` (of the payload) name an operation.
        """
        caller = fields.get("caller") or self.caller
        place: dict[str, Any] = {"caller": caller}
        if chain is not None:
            operation, attempt = self.chains.failed(chain, self.chain_name(begun_by, *identity))
            attempt = attempt if numbered is None else self.chains.renumber(chain, numbered)
            place |= {"operation": operation, "attempt": attempt}
        elif "operation" not in fields:
            place["outcome"] = "surfaced"
        seen = present({"is_error": True, **facts})
        verdict, payload = classify_foreign(seen, self.at, **{**place, **fields})
        if chain is not None:
            self.chains.note(chain, verdict.reason, caller)
        return self.event("error.classified", payload, *identity)

    def retried(
        self,
        facts: Mapping[str, Any],
        *identity: object,
        chain: str = MAIN,
        delay_seconds: float | None = None,
        **fields: Any,
    ) -> list[Event]:
        """Make the events of a failed call, as in `failed`, and of the retry that follows it."""
        failure = self.failed(facts, *identity, chain=chain, begun_by="retry.scheduled", **fields)
        return [failure, self.scheduled(*identity, chain=chain, delay_seconds=delay_seconds)]

    def scheduled(self, *identity: object, chain: str = MAIN, delay_seconds: float | None = None) -> Event:
        """Make the event of the retry that follows an open chain's last failure."""
        return self.event("retry.scheduled", self.chains.scheduled(chain, delay_seconds=delay_seconds), *identity)

    def settled(self, outcome: str, *, chain: str = MAIN, made: int = 0, reason: str | None = None) -> list[Event]:
        """Settle a chain after `made` more calls; no event if none is open or none was retried."""
        payload = self.chains.settled(chain, outcome, made=made, reason=reason)
        return [self.event("retry.settled", payload, payload["operation"])] if payload else []

    def exhausted(self, failure: Event, *identity: object) -> Event:
        """Make the event of a reached usage limit, with the words and reset of a failure."""
        facts, reset_at = mapping(failure.payload.get("facts")), failure.payload.get("reset_at")
        message = facts.get("message") or facts.get("stdout")
        payload = {"caller": self.caller, "reason_text": message, "reset_at": reset_at}
        return self.event("agent.exhausted", payload, *identity)

    def relay(self, payload: Mapping[str, Any], *identity: object) -> Event:
        """Make the event that begins a hand-off; its id is the name of the hand-off."""
        event = self.event("relay.triggered", {"caller": self.caller, **payload}, *identity)
        return replace(event, payload={"relay": event.id, **event.payload})

    def compacted(
        self, began: Mapping[str, Any], *identity: object, post_tokens: int | None = None, cause: str | None = None
    ) -> list[Event]:
        """Make the events of a finished compaction.

        They are its beginning, and its end or, with the `cause`, its failure.
        """
        begun = self.relay({"strategy": "compact", **began}, *identity)
        ended: dict[str, Any] = {"relay": begun.id, "caller": begun.payload["caller"]}
        if cause is not None:
            return [begun, self.event("relay.halted", {**ended, "cause": cause}, *identity)]
        return [begun, self.event("relay.resumed", {**ended, "post_tokens": post_tokens}, *identity)]

    def resumed(self, relay: str, post_tokens: int | None) -> Event:
        """Make the event of a compaction's end from the prompt of the first reply after it."""
        done = {"relay": relay, "caller": self.caller, "post_tokens": post_tokens, "post_tokens_estimated": True}
        return self.event("relay.resumed", done, relay)

    def count_session(self, *, requests: int = 0, aborted: int = 0) -> None:
        """Count the record in hand for its session, with its requests and stops by the user."""
        if self.session is None:
            return
        seen = self._seen.get(self.session)
        if seen is None:
            # The part is named by its first moment: a session that was dropped and comes again is
            # another part, and both are added up.
            first = format_time(self.at) if self.timed else None
            counts = {"requests": 0, "recorded": 0, "aborted": 0}
            seen = self._seen[self.session] = {**counts, "part": f"{self.name}/{first}"}
            if self._unseen is not None:
                seen |= {"request": self._unseen, "recorded": 1}
                self._unseen = None
            if len(self._seen) > MOST_OPEN:
                oldest = next(iter(self._seen))
                self._left += filter(None, [self._observed(oldest)])
                del self._seen[oldest]
        seen["known"] = dict(self.known)
        seen["caller"] = self.caller
        seen["new"] = True
        if self.copied_from is not None:
            seen["forked_from"] = self.copied_from
            return
        if self.timed:
            at = format_time(self.at)
            if at < seen.setdefault("started_at", at):
                seen["started_at"] = at
            if at > seen.setdefault("ended_at", at):
                seen["ended_at"] = at
        seen["requests"] += requests
        seen["aborted"] += aborted

    def count_calls(self, *tools: str | None) -> None:
        """Count calls of tools for the session of the record in hand."""
        self.count_session()
        seen = self._seen.get(self.session or "")
        if seen is None or self.copied_from is not None:
            return
        counts = seen.setdefault("tools", {})
        for tool in tools:
            if tool and (tool in counts or len(counts) < MOST_TOOLS):
                counts[tool] = counts.get(tool, 0) + 1

    def called(self, tool: str | None, call: str | None) -> None:
        """Count a call of a tool, and remember the tool until the result comes."""
        self.count_calls(tool)
        self.remember_call(tool, call)

    def remember_call(self, tool: str | None, call: str | None) -> None:
        """Remember a tool by its call's name, and forget the oldest call."""
        if tool and call:
            self._calls[call] = tool
            if len(self._calls) > _IN_HAND:
                del self._calls[next(iter(self._calls))]

    def tool_of(self, call: str | None) -> str | None:
        """Return the tool of a call whose result has come, and forget the call."""
        return self._calls.pop(call or "", None)

    def count_recorded(self, request: str) -> None:
        """Count a request whose tokens have an event; a reply that grows has several in a row."""
        seen = self._seen.get(self.session or "")
        if self.copied_from is not None:
            return
        if seen is None:
            self._unseen = request
        elif seen.get("request") != request:
            seen |= {"request": request, "recorded": seen.get("recorded", 0) + 1, "new": True}

    def spent(
        self,
        *identity: object,
        cost_usd: float | None = None,
        prompt: int | None = None,
        fields: Mapping[str, Any] = {},
        **tokens: int | None,
    ) -> list[Event]:
        """Make the event of the tokens of one request; no event if all are 0.

        `tokens` have the names of the payload, and so have other `fields`.

        A `prompt` includes the tokens that were read from the cache and written to it: the rest is
        input. A record that is written again has the same request; if its output has grown, it is
        another event.
        """
        if prompt is not None:
            cached = (tokens.get("cache_read_tokens") or 0) + (tokens.get("cache_write_tokens") or 0)
            tokens = {**tokens, "input_tokens": max(prompt - cached, 0) + (tokens.get("input_tokens") or 0)}
        miscounted, self._miscounted = self._miscounted, False
        if miscounted or not any(tokens.values()):
            return []
        request = derived_id(self.name, "request", *identity)
        if not fields.get("whole_run"):
            self.count_recorded(request)
        payload = {"request": request, "caller": self.caller, **tokens, "cost_usd": cost_usd, **fields}
        return [self.event("usage.recorded", payload, request, tokens.get("output_tokens"))]

    def counted(self, usage: object, name: str) -> int | None:
        """Return a count of tokens of a usage.

        A value that is no count sends the line to quarantine, and no usage is made.
        """
        value = usage.get(name) if isinstance(usage, Mapping) else usage
        number = count(value)
        if number is None and value is not None:
            self._miscounted = True
            self.refuse("bad_count", miscounted(name, value))
        return None if value is usage else number

    def refuse(self, why: str, detail: str) -> None:
        """Send the line in hand to quarantine; events of it stay."""
        self._refused = self._refused or Reject(why, detail)

    def spent_as(
        self,
        usage: object,
        names: str,
        *identity: object,
        whole: bool = False,
        cost_usd: float | None = None,
        fields: Mapping[str, Any] = {},
    ) -> list[Event]:
        """Make the event of the tokens of one request, by the names that a log gives them.

        `names` are those of the input, the output, the cache read, the cache written and the
        reasoning, as many as the log has. If `whole`, the input includes the tokens of the cache.
        """
        counts = (self.counted(usage, name) for name in names.split())
        tokens = dict(zip(_SPENT, counts, strict=False))
        prompt = None
        if whole:
            prompt, tokens["input_tokens"] = tokens["input_tokens"], None
        return self.spent(*identity, prompt=prompt, cost_usd=cost_usd, fields=fields, **tokens)

    def observed(
        self,
        part: str,
        *identity: object,
        requests: int = 0,
        recorded: int = 0,
        aborted: int = 0,
        tools: Mapping[str, int] | None = None,
        started_at: str | None = None,
    ) -> Event:
        """Make the event of a part of a session.

        Its rows may come again, and count once by its name.

        It ends at the moment of the record in hand, and begins there, unless `started_at` names
        another moment; an empty `started_at` means that the beginning is unknown.
        """
        at = format_time(self.at) if self.timed else None
        seen: dict[str, Any] = {"caller": self.caller, "requests": requests, "recorded": recorded, "aborted": aborted}
        if self.copied_from is not None:
            seen, tools = {**seen, "requests": 0, "recorded": 0, "aborted": 0, "forked_from": self.copied_from}, None
        seen |= {"part": part, "tools": tools or None}
        seen |= {"started_at": (at if started_at is None else started_at) or None, "ended_at": at}
        return self.event("session.observed", self._shown(seen), *identity, at)

    def tool_failed(
        self,
        tool: str | None,
        output: object,
        *identity: object,
        kind: str | None = None,
        hint: str | None = None,
        command: object = None,
        called_at: datetime | None = None,
    ) -> list[Event]:
        """Make the event of a failed call of a tool.

        `kind` and `hint` are the log's words for the failure, as in `failure`; of a `command` only
        the head is kept. A result of a `BENIGN` kind, or a command whose exit status is an answer, is
        no failure, and has no event.
        """
        self.count_session()
        payload = {
            "caller": self.caller,
            "tool": tool,
            **failure(output, kind=kind, hint=hint, command=command_head(command)),
        }
        is_answer = payload.get("exit_code") == 1 and answers_by_one(command, str(output))
        if is_answer or payload["kind"] in BENIGN:
            return []
        if called_at is not None and self.timed and called_at <= self.at:
            payload["duration_seconds"] = round((self.at - called_at).total_seconds(), 3)
        return [self.event("tool.failed", payload, *identity)]

    def event(self, kind: str, payload: Mapping[str, Any], *identity: object) -> Event:
        """Make an event of the record in hand, with the facts about its session and who answered."""
        if kind in _ANSWERED:
            payload = {**stated(self.record), **present(payload)}
        if self.copied_from is not None:
            payload = {**payload, "forked_from": self.copied_from}
        return Event(
            kind,
            self.at,
            self.session,
            dressed(kind, payload, self.session_facts()),
            self.identity(kind, *identity),
            time_source=self.dated,
        )

    def identity(self, kind: str, *identity: object) -> str:
        """Derive the id of an event of the record in hand."""
        return derived_id(self.name, kind, *identity)

    def chain_name(self, kind: str, *identity: object) -> str:
        """Derive the name of a chain that the record in hand begins with an event of this type."""
        return self.identity(kind, *identity)

    def session_facts(self) -> Mapping[str, Any]:
        """Return the facts about the session, by the names of `DIMENSIONS`."""
        return self.known

    # -----------------------------------------------------------------------------------------------------------------

    def _take_author(self, record: Mapping[str, Any]) -> None:
        """Take the name of the fork that a record shows, for all that follows."""
        before = self.agent
        if self._author.recognise(record):
            self.agent = self._author.fork or before
            self.program = self.agent if self.program == before else self.program
            if self.known.get("agent") == before:
                self.known["agent"] = self.agent

    def _lines(self, block: Block) -> Iterator[tuple[int, int, Mapping[str, Any] | None]]:
        """Yield the lines that matter, with the fields of `glance` if it reads them."""
        if self.glance is not None:
            yield from typed_lines(block, self.glance)
        elif self.telling is None:
            yield from ((line.offset, line.offset + len(line.text), None) for line in all_lines(block))
        else:
            ends = {block.ends[block.number(match.start()) - 1] for match in self.telling.finditer(block.data)}
            for offset, end, whole in typed_lines(block, WHOLE, strict=True):
                if whole is None or end in ends:
                    yield offset, end, None

    def _shown(self, seen: Mapping[str, Any]) -> dict[str, Any]:
        """Return the payload of the counts of a session, or of a part of one."""
        return {
            "caller": seen.get("caller"),
            "requests": seen["requests"],
            "recorded": seen.get("recorded"),
            **{name: seen.get(name) or None for name in ("aborted", "started_at", "ended_at", "forked_from")},
            "retry_visibility": self.visibility,
            "part": seen["part"],
            "tools": seen.get("tools"),
        }

    def _observed(self, session: str) -> Event | None:
        seen = self._seen[session]
        if not seen.pop("new", False):
            return None
        at = moment_of(seen.get("ended_at"))
        identity = session, seen["part"], seen.get("ended_at"), seen["requests"], seen["aborted"]
        calls = [sum(seen["tools"].values())] if seen.get("tools") else []
        stands_in, dated = self.source.stand_in(self._near)
        return Event(
            type="session.observed",
            occurred_at=at or stands_in,
            session_id=session,
            payload=dressed("session.observed", self._shown(seen), mapping(seen.get("known"))),
            id=derived_id(self.name, "session", *identity, *calls),
            time_source="event" if at else dated,
        )


def dressed(kind: str, payload: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Add to a payload the facts about its session for which its type of event has fields."""
    fields = {key: facts.get(key) for key in _dimensions(kind)}
    fields.update(payload)
    return present(fields)


@cache
def _dimensions(kind: str) -> tuple[str, ...]:
    """Return the names of `DIMENSIONS` that a payload of this type has."""
    fields = EVENT_TYPES[kind].__annotations__
    return tuple(key for key in DIMENSIONS if key in fields)
