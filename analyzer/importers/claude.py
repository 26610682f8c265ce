"""Claude Code transcripts (`~/.claude/projects/**.jsonl`) and `claude -p --output-format json|stream-json` runs.

Lines are selected by byte search before any JSON is parsed; a transcript line may be several megabytes long.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import msgspec
import re2

from analyzer.agent_stream import text
from analyzer.events import Event
from analyzer.events.codec import parsed
from analyzer.events.model import derived_id, present
from analyzer.importers.base import Block, Hit, LineFinder, Reader, Source, malformed_lines, objects_in
from analyzer.importers.claude_records import INTERRUPTED, ClaudeRecords
from analyzer.importers.commands import command_head
from analyzer.importers.failures import MOST_TOOLS
from analyzer.importers.programs import Author, place_of
from analyzer.importers.records import dressed, moment_of

# Inside a JSON string these quotes would be escaped, so an unescaped match is structure, never somebody's prose. Each
# alternative begins with one: the search skips from quotation mark to quotation mark, four times as fast as without.
TELLING = re2.compile(
    rb'"api_error"|"isApiErrorMessage"|"(?:micro)?compact_boundary"|"api_retry"|"subagent_retry"|"StopFailure"'
    rb'|"type": ?"result"|"is_error": ?true'
)
DECIDING = (b'"assistant"', INTERRUPTED.encode())
OPENINGS = (b'{"parentUuid"', b'{"type"', b'{"uuid"')
# One pass finds the replies and the calls of tools; prose has its quotes escaped.
_NAMED = re.compile(
    rb'"id": ?"(?:(msg_[A-Za-z0-9_]+)"|([A-Za-z0-9_.:-]{1,100})", ?"name": ?"([^"\\\\]{1,100})", ?"input")'
)
_COMMANDS = re2.compile(
    rb'"id": ?"([A-Za-z0-9_.:-]{1,100})", ?"name": ?"[^"\\\\]{1,100}", ?"input": ?\{"command": ?("(?:[^"\\]|\\.)*")'
)
_USAGE = b'"usage":'
_TOKENS = re.compile(rb'"usage": ?(\{[^{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*\})')
_REPLY = re.compile(rb'"message": ?\{(?:"(?:model|type|role)": ?"[^"\\]*", ?){0,3}"id": ?"([^"\\]{1,100})"')
_SUBAGENT = re.compile(rb'"isSidechain": ?true|"type": ?"(?:agent_)?progress"')
_MODEL = re.compile(rb'"model": ?"([^"\\\\<]{1,100})"')
_CWD = re.compile(rb'"cwd": ?("[^"\n]{1,1000}")')
_BRANCH = re.compile(rb'"gitBranch": ?("[^"\n]{1,300}")')
_NEAR = 400
"""Bytes before and behind the id of a reply among which its model stands."""
_TIMESTAMP = re.compile(rb'"timestamp": ?"([0-9T:.Z+-]{19,35})"')
_SESSION = re.compile(rb'"session(?:Id|_id)": ?"([^"\\]{1,200})"')
_VERSION = re.compile(rb'"(?:version|claude_code_version)": ?"([0-9][0-9A-Za-z.+-]{0,30})"')
_FIRST_UUID = re.compile(rb'"(?:uuid|messageId)": ?"([^"\\]{1,100})"')
_FIRST_RECORD = re.compile(rb"^[ \t]*\{", re.MULTILINE)
_RECENT = 64
_IN_HAND = 16
"""Calls of tools whose results may stand in the next block."""


class _Cache(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: int | None = None


class _Usage(msgspec.Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: _Cache | None = None


_usage = msgspec.json.Decoder(_Usage).decode


class ClaudeReader(Reader):
    """Reads one transcript or one stream; both hold the same records."""

    def __init__(self, source: Source, state: Mapping[str, Any], *, form: str, program: str, visibility: str) -> None:
        self._author = Author(form, source.path, state.get("fork"))
        self._records = ClaudeRecords(source, state, program, interactive=form == "claude_code")
        self._records.model, self._records.tool = self._model_before, self._tool_of
        self._records.command = self._command_of
        self._records.known.setdefault("agent", "claude-code")
        self._name_fork()
        self._visibility = visibility
        # What a run prints while it goes on has the tokens that a reply began with; its result has those of the run.
        self._transcript, self._source = form == "claude_code", source
        self._told: tuple[bytes, bytes] | None = None
        """The last reply and its tokens as they stand there: the next line mostly repeats them."""
        self._spent_by: tuple[str, int] = tuple(state.get("spent_by") or ("", 0))
        """The last reply that an event names, and its output tokens."""
        self._calls: dict[str, str] = dict(state.get("calls") or {})
        """Calls of tools by their ids: those of the block in hand, and the last ones before it."""
        self._tools: Counter[str] = Counter(state.get("tools"))
        self._commands: dict[bytes, bytes] | None = None
        """Commands of the block in hand by their calls, once a failed one asks."""
        self._data = b""
        self._session: str | None = state.get("file_session")
        self._part: str | None = state.get("part")
        self._started: str | None = state.get("started_at")
        self._ended: str | None = state.get("ended_at")
        self._requests: int = state.get("requests", 0)
        # A reply is split over neighbouring lines that repeat its id; parallel subagents interleave a few of them.
        self._recent: deque[str] = deque(state.get("recent", ()), maxlen=_RECENT)
        self._preamble = not state
        self._grew = False

    def read(self, block: Block) -> Iterator[Hit]:
        """Hits of the block, in order."""
        self._grew = True
        self._data, self._commands = block.data, None
        if self._preamble:
            self._take_author(block.data)
        told = self._observe(block.data)
        spent = self._spent(block.data) if self._transcript else ()
        yield from heapq.merge(self._hits(block), spent, key=attrgetter("offset"))
        self._records.known |= told

    def _hits(self, block: Block) -> Iterator[Hit]:
        """The lines that tell a failure or its end, and those that cannot be read."""
        broken = self._broken(block)
        upcoming = next(broken, None)
        finder = LineFinder(block, TELLING)
        while (line := finder.next(DECIDING if self._records.waiting else ())) is not None:
            while upcoming is not None and upcoming.offset < line.offset:
                yield upcoming
                upcoming = next(broken, None)
            if upcoming is not None and upcoming.offset == line.offset:
                upcoming = next(broken, None)
            records, reject = objects_in(line.text, OPENINGS)
            events = [event for record in records for event in self._records.events(record, line.offset)]
            if events or reject:
                why, detail = (reject.why, reject.detail) if reject else ("", "")
                yield Hit(line.offset, len(line.text), tuple(events), why, detail)
        while upcoming is not None:
            yield upcoming
            upcoming = next(broken, None)

    def finish(self) -> Sequence[Event]:
        """What the file shows of its session so far."""
        if not self._grew or self._session is None:
            return ()
        payload = {
            "requests": self._requests,
            "started_at": self._started,
            "ended_at": self._ended,
            "retry_visibility": self._visibility,
            "caller": self._records.caller,
            "part": self._part,
            "tools": dict(self._tools) or None,
        }
        calls = [self._tools.total()] if self._tools else []
        identity = derived_id("claude", "session", self._session, self._part, self._requests, self._ended, *calls)
        ended = moment_of(self._ended)
        if ended is None:
            return ()
        return [
            Event(
                type="session.observed",
                occurred_at=ended,
                session_id=self._session,
                payload=dressed("session.observed", payload, self._records.known),
                id=identity,
            )
        ]

    def state(self) -> Mapping[str, Any]:
        """Open runs, and what has been seen of the session."""
        return {
            **self._records.state(),
            "fork": self._author.fork,
            "file_session": self._session,
            "part": self._part,
            "calls": dict(list(self._calls.items())[-_IN_HAND:]),
            "spent_by": self._spent_by,
            "tools": dict(self._tools),
            "started_at": self._started,
            "ended_at": self._ended,
            "requests": self._requests,
            "recent": list(self._recent),
        }

    def _take_author(self, data: bytes) -> None:
        """Look who writes, by the first record that names its session: forks of the format are told by it."""
        if named := _SESSION.search(data):
            begins, ends = data.rfind(b"\n", 0, named.start()) + 1, data.find(b"\n", named.start())
            if any(map(self._author.told_by, objects_in(data[begins:ends], OPENINGS)[0])):
                self._name_fork()

    def _name_fork(self) -> None:
        if self._author.fork:
            self._records.program = self._records.known["agent"] = self._author.fork

    def _broken(self, block: Block) -> Iterator[Hit]:
        first = _FIRST_RECORD.search(block.data) if self._preamble else None
        begins = first.start() if first else len(block.data) if self._preamble else 0
        self._preamble = self._preamble and first is None
        for line in malformed_lines(block):
            if line.offset < begins:
                continue  # a command line's warnings in front of its first record
            records, reject = objects_in(line.text, OPENINGS)
            if reject is not None:
                yield Hit(line.offset, len(line.text), (), reject.why, reject.detail)
            elif not records:
                yield Hit(line.offset, len(line.text), (), "not_an_object")

    def _observe(self, block: bytes) -> dict[str, str]:
        """Count, and take what holds for the whole session; returns what holds at the end of the block."""
        self._session = self._session or _first(_SESSION, block)
        self._part = self._part or _first(_FIRST_UUID, block)
        self._records.run = self._part
        self._started = self._started or _first(_TIMESTAMP, block)
        at = block.rfind(b'"timestamp"')
        self._ended = (_first(_TIMESTAMP, block[at : at + 80]) if at >= 0 else None) or self._ended
        self._calls = dict(list(self._calls.items())[-_IN_HAND:])
        last = b""
        for message, call, name in _NAMED.findall(block):
            if not message:
                tool = name.decode("utf-8", "replace")
                self._calls[call.decode()] = tool
                if tool in self._tools or len(self._tools) < MOST_TOOLS:
                    self._tools[tool] += 1
                continue
            if message != last and (reply := message.decode()) not in self._recent:
                self._recent.append(reply)
                self._requests += 1
            last = message
        known, at = self._records.known, block.rfind(b'"gitBranch"')
        if "cwd" not in known:
            known |= place_of(_quoted(_first(_CWD, block)))
        if "agent_version" not in known:
            known |= present({"agent_version": _first(_VERSION, block)})
        branch = _quoted(_first(_BRANCH, block[at : at + 400])) if at >= 0 else None
        return present({"branch": branch, "model": self._model_of(last) if last else None})

    def _spent(self, block: bytes) -> Iterator[Hit]:
        """The tokens of replies, by line; the tokens of a printed run stand in its result.

        A reply is split over neighbouring lines, which repeat its tokens so far: a line with no more output tokens than
        the line before it gives no event.
        """
        at = block.find(_USAGE)
        while at >= 0:
            begins, ends = block.rfind(b"\n", 0, at) + 1, block.find(b"\n", at)
            # The last one of a line: what a tool was called with stands before it.
            if event := self._usage(block, begins, block.rfind(_USAGE, at, ends), ends):
                yield Hit(begins, ends - begins, (event,))
            at = block.find(_USAGE, ends)

    def _usage(self, block: bytes, begins: int, at: int, ends: int) -> Event | None:
        """The event of the reply whose tokens stand at a place of a line; None where nothing new stands there."""
        reply, used = _REPLY.search(block, begins, at), _TOKENS.match(block, at, ends)
        if reply is None or used is None or (told := (reply[1], used[1])) == self._told:
            return None
        self._told = told
        try:
            usage = _usage(used[1])
        except msgspec.MsgspecError:
            return None
        request, output = reply[1].decode("utf-8", "replace"), usage.output_tokens or 0
        if request == self._spent_by[0] and output <= self._spent_by[1]:
            return None
        model = self._model_at(reply.start(1))
        tokens = {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_input_tokens,
            "cache_write_tokens": usage.cache_creation_input_tokens,
            "cache_write_hour_tokens": usage.cache_creation and usage.cache_creation.ephemeral_1h_input_tokens,
        }
        if model is None or not any(tokens.values()):
            return None
        self._spent_by = request, output
        part = "/subagent" if _SUBAGENT.search(block, begins, reply.start()) else ""
        caller = self._records.caller + part
        stamp = _TIMESTAMP.search(block, used.end(), ends) or _TIMESTAMP.search(block, begins, at)
        moment = moment_of(stamp[1].decode()) if stamp else None
        return Event(
            type="usage.recorded",
            occurred_at=moment or self._source.file_time,
            session_id=self._session,
            payload=dressed(
                "usage.recorded",
                {"request": request, "caller": caller, "model": model, **tokens},
                self._records.known,
            ),
            id=derived_id("claude", "usage", caller, request, output),
            time_source="event" if moment else "file",
        )

    def _model_before(self, offset: int) -> str | None:
        return self._model_at(at) if (at := self._data.rfind(b'"msg_', 0, offset)) >= 0 else None

    def _model_of(self, reply: bytes) -> str | None:
        """The model of a reply of the block in hand, by its id."""
        places = (self._data.rfind(b'"id":%s"%s"' % (space, reply)) for space in (b"", b" "))
        return self._model_at(next(place for place in places if place >= 0))

    def _model_at(self, reply: int) -> str | None:
        """The model of the reply whose id stands there: before it or behind it, by the version of the program."""
        begins = max(0, reply - _NEAR, self._data.rfind(b"\n", 0, reply) + 1)
        return _first(_MODEL, self._data[begins : reply + _NEAR])

    def _tool_of(self, call: str) -> str | None:
        return self._calls.get(call)

    def _command_of(self, call: str) -> str | None:
        """The head of the command that a call of the block in hand asked for."""
        if self._commands is None:
            self._commands = dict(_COMMANDS.findall(self._data))
        said = self._commands.get(call.encode())
        return None if said is None else command_head(_quoted(said.decode("utf-8", "replace")))


def transcript_reader(source: Source, state: Mapping[str, Any]) -> ClaudeReader:
    """A transcript: every attempt that failed is in it."""
    return ClaudeReader(source, state, form="claude_code", program="claude-code", visibility="full")


def stream_reader(source: Source, state: Mapping[str, Any]) -> ClaudeReader:
    """A print-mode run: older versions print no retries, so only what ended a run is sure to be there."""
    return ClaudeReader(source, state, form="claude_print", program="claude -p", visibility="terminal")


def _first(pattern: re.Pattern[bytes], block: bytes) -> str | None:
    match = pattern.search(block)
    return match[1].decode("utf-8", "replace") if match else None


def _quoted(said: str | None) -> str | None:
    """A JSON text as it was written, quotes included."""
    return text(parsed(said)) if said else None
