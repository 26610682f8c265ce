"""Transcripts of Claude Code, and runs of `claude -p`.

Transcripts are `~/.claude/projects/**.jsonl`, runs the output of `claude -p --output-format
json|stream-json`.

Lines are selected by byte search before any JSON is parsed: a line of a transcript may have several
megabytes. Retries, terminal errors and compactions are different events; the outcome of a run of
retries comes from the record that ends it.
"""

from __future__ import annotations

import contextlib
import heapq
import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Any, ClassVar

import re2

from analyzer import agent_stream
from analyzer.agent_stream import SUBAGENTS, error_facts, mapping, run_tokens, says_error, text
from analyzer.events import Event
from analyzer.events.codec import parsed
from analyzer.events.model import derived_id, present
from analyzer.events.rows import Rows
from analyzer.events.times import format_time, from_epoch
from analyzer.importers.agents.claude_replies import OPENINGS, TIMESTAMP, model_at, replies, served
from analyzer.importers.base import Block, Chains, Hit, Line, LineFinder, Source, broken_lines, objects_in
from analyzer.importers.failures import MOST_TOOLS, classify_foreign, number, quantity
from analyzer.importers.programs import caller_of
from analyzer.importers.records import MAIN, dressed, kept, moment_of
from analyzer.importers.replies import ReplyReader

# Inside a JSON string these quotes would be escaped, so an unescaped match is structure, never
# prose. Each alternative begins with a quotation mark: the search skips from mark to mark, four
# times as fast as without. One pass finds all patterns, because most of its time is the memory's.
MARKED = re2.compile(
    rb'"usage":|"id":|"agent_progress"'
    rb'|"api_error"|"isApiErrorMessage"|"(?:micro)?compact_boundary"|"api_retry"|"subagent_retry"|"StopFailure"'
    rb'|"type": ?"result"|"is_error": ?true'
)
INTERRUPTED = "[Request interrupted by user"
DECIDING = (b'"assistant"', INTERRUPTED.encode())
_NAMED = re.compile(
    rb'"id": ?"(?:(msg_[A-Za-z0-9_]+)"|([A-Za-z0-9_.:-]{1,100})", ?"name": ?"([^"\\\\]{1,100})", ?"input")'
)
_COMMAND = re.compile(rb'"id": ?"[^"\\\\]*", ?"name": ?"[^"\\\\]{1,100}", ?"input": ?\{"command": ?("(?:[^"\\]|\\.)*")')
_RELAYED = b'"agent_progress"'
_REQUEST = re.compile(rb'"request(?:Id|-id|_id\\?)": ?\\?"(req_[A-Za-z0-9_]{1,100})')
_CWD = re.compile(rb'"cwd": ?("[^"\n]{1,1000}")')
_BRANCH = re.compile(rb'"gitBranch": ?("[^"\n]{1,300}")')
_SESSION = re.compile(rb'"session(?:Id|_id)": ?"([^"\\]{1,200})"')
_VERSION = re.compile(rb'"(?:version|claude_code_version)": ?"([0-9][0-9A-Za-z.+-]{0,30})"')
_FIRST_UUID = re.compile(rb'"(?:uuid|messageId)": ?"([^"\\]{1,100})"')
_FIRST_RECORD = re.compile(rb"^[ \t]*\{", re.MULTILINE)
_RECENT = 64
_IN_HAND = 16
"""Calls of tools that are remembered, as their results may stand in the next block."""
_MISSING = re.compile(r"(?:Error: )?(?:No such tool available|Agent type '[^'\n]{1,200}' not found|Unknown skill\b)")


def retry_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a `system/api_error` record: one failed attempt that will be retried.

    Shapes, oldest first: `error.error.error.{type,message}`; `{}` for a lost connection;
    `error.cause.code`; `error.error.{code,message,type}` of a gateway;
    `error.{message,formatted,connection.code}`.
    """
    error = mapping(record.get("error"))
    outer = mapping(error.get("error"))
    inner = mapping(outer.get("error"))
    connection = mapping(error.get("connection"))
    cause = mapping(error.get("cause")) or mapping(record.get("cause"))
    messages = [source.get("message") for source in (inner, outer)]
    messages += [error.get("formatted"), error.get("message")]
    facts = {
        "status": number(error.get("status")),
        "code": _first_text(part.get("code") for part in (connection, cause, inner, outer)),
        "type": text(inner.get("type")) or (text(outer.get("type")) if not inner else None),
        "message": _first_text(messages),
        "headers": mapping(error.get("headers")) or None,
    }
    return present(facts)


def _first_text(values: Iterable[object]) -> str | None:
    return next(filter(None, map(text, values)), None)


def terminal_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a record with `isApiErrorMessage: true`: the error that the user saw."""
    label = text(record.get("error"))
    facts = {
        "status": number(record.get("apiErrorStatus")),
        # Older versions labelled plain 500s and 529s "unknown": such a label is no evidence.
        "type": label if label != "unknown" else None,
        "message": message_text(record),
        "is_error": True,
    }
    return present(facts)


def stream_retry_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a `system/api_retry` record, or of a `subagent_retry`."""
    label = text(record.get("error")) or text(record.get("error_category"))
    facts = {"status": number(record.get("error_status")), "type": label if label != "unknown" else None}
    return present(facts)


def message_text(record: Mapping[str, Any]) -> str:
    """Join the text blocks of a record's message with newlines."""
    content = mapping(record.get("message")).get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (mapping(block).get("text") for block in blocks)
    return "\n".join(part for part in texts if isinstance(part, str))


def failed_tools(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the failed tool results of a record: the name of the call, and the tool's words."""
    content = mapping(record.get("message")).get("content")
    results = []
    for block in map(mapping, content if isinstance(content, list) else []):
        if block.get("type") != "tool_result" or block.get("is_error") is not True:
            continue
        words = block.get("content")
        if isinstance(words, list):
            words = "\n".join(str(mapping(part).get("text", "")) for part in words)
        if isinstance(words, str):
            plain = words.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
            results.append((text(block.get("tool_use_id")) or "", plain))
    return results


def says_missing(words: str) -> bool:
    """Tell whether a failed tool result says that the tool, agent or skill does not exist."""
    return bool(_MISSING.match(words))


_RUN_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}


def _marks(data: bytes) -> tuple[list[int], ...]:
    """Return four lists of offsets: of tokens, ids, repeated records of sub-agents, and failures.

    Ids are those of replies and of calls of tools, among others.
    """
    offsets: tuple[list[int], ...] = ([], [], [], [])
    tokens, ids, relayed, failures = offsets
    by_start = {b"usa": tokens, b'id"': ids, b"age": relayed}
    for match in MARKED.finditer(data):
        at = match.start()
        by_start.get(data[at + 1 : at + 4], failures).append(at)
    return offsets


def _merged(refused: Iterable[Hit], hits: Iterable[Hit]) -> list[Hit]:
    """Merge hits with those of refused lines.

    A line with both keeps its events, and gets the reason of the refusal.
    """
    by_offset = {hit.offset: hit for hit in hits}
    for line in refused:
        hit = by_offset.get(line.offset, line)
        by_offset[line.offset] = hit if hit.why else replace(hit, why=line.why, detail=line.detail)
    return [by_offset[offset] for offset in sorted(by_offset)]


class ClaudeReader(ReplyReader, agent="claude-code"):
    """Reads one transcript or one stream; both hold the same records."""

    runs_as: ClassVar[str]
    """The program that makes the calls, unless a record shows a fork."""
    interactive: ClassVar[bool]
    """True if the name of a caller has the project that it works in."""
    _compaction: dict[str, Any] | None = kept()
    """The payload of a compaction whose tokens afterwards are not known yet."""
    _dead: int = kept(0)
    """The number of sub-agents that failed."""
    _file_session: str | None = kept()
    """The session at the beginning of the file."""
    _part: str | None = kept()
    """The id of the first record of the file."""
    _started_at: str | None = kept()
    _ended_at: str | None = kept()
    _requests: int = kept(0)
    _tools: dict[str, int] = kept({})
    """The number of calls by tool."""
    _spent_by: tuple[str, int] = kept(("", 0))
    """The last reply that has an event, and its output tokens."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.record: Mapping[str, Any] = {}
        """The record in hand."""
        # Checkpoints of earlier versions keep their open chains under another name.
        if former := mapping(state.get("runs")):
            self.chains = Chains({key: {**mapping(run), "retried": True} for key, run in former.items()})
        self.program = self._author.fork or self.runs_as
        self.known.setdefault("agent", self.agent)
        self._name_fork()
        # A reply is split over neighbouring lines that repeat its id, and parallel sub-agents
        # interleave a few replies.
        self._recent: deque[str] = deque(state.get("recent", ()), maxlen=_RECENT)
        self._data, self._offset = b"", 0
        """The bytes of the block in hand, and the offset of the line in hand."""
        self._reply_offsets: list[int] = []
        """The offsets of the ids of replies in the block."""
        self._call_offsets: dict[str, tuple[int, int]] = {}
        """Calls of the block by their ids: their offsets, and the ends of their lines."""
        self._line_times: dict[int, datetime | None] = {}
        """The moments of lines with calls, by the ends of the lines."""
        self._record_facts: dict[str, Any] | None = None
        """The facts that hold at the record in hand, after they were first needed."""
        self._unique: str | None = None
        """The name of the record in hand, after it was first needed."""
        self._preamble = not state
        """True before the first record of the file."""
        self._grew = False
        """True after a block was read."""

    def apart(self, block: Block) -> tuple[list[Hit], Rows]:
        """Return the hits of a block, and the tokens of its replies as rows.

        Hits are lines with failures or their ends, and broken lines. A printed run has its tokens
        in its result, and no rows.
        """
        self._grew, self._data, rows, refused = True, block.data, Rows(), list[Hit]()
        if self._preamble:
            self._look_for_author(block.data)
        tokens, ids, relayed, failures = _marks(block.data)
        final_facts = self._observe(block.data, ids, relayed)
        if self.interactive:
            session = self._file_session, self.caller, self.known, *self.source.stand_in(self._near)
            rows, self._spent_by, refused = replies(block.data, tokens, self._spent_by, *session)
        hits = _merged(refused, self._hits(block, failures))
        self.known |= final_facts
        return hits, rows

    def _hits(self, block: Block, failures: list[int]) -> Iterator[Hit]:
        finder, last = LineFinder(block, iter(failures)), -1
        # The next line is searched after this one was read, as `waiting` depends on it.
        lines = iter(lambda: finder.next(DECIDING if self.waiting else ()), None)
        for line in heapq.merge(lines, self._broken(block), key=attrgetter("offset")):
            if line.offset == last:
                continue
            last = self._offset = line.offset
            self._refused = None
            records, reject = objects_in(line.text, OPENINGS)
            events = [event for record in records for event in self._events_of(record)]
            reject = reject or self._refused
            if events or reject or not records:
                why, detail = "", ""
                if reject:
                    why, detail = reject.why, reject.detail
                elif not records:
                    why = "not_an_object"
                yield Hit(line.offset, len(line.text), tuple(events), why, detail)

    def finish(self) -> Sequence[Event]:
        """Return the `session.observed` of the file so far, if a block was read."""
        ended = moment_of(self._ended_at)
        if not self._grew or self._file_session is None or ended is None:
            return ()
        payload = {
            "requests": self._requests,
            "started_at": self._started_at,
            "ended_at": self._ended_at,
            "retry_visibility": self.visibility,
            "caller": self.caller,
            "part": self._part,
            "tools": dict(self._tools) or None,
        }
        calls = [sum(self._tools.values())] if self._tools else []
        identity = self._file_session, self._part, self._requests, self._ended_at, *calls
        return [
            Event(
                type="session.observed",
                occurred_at=ended,
                session_id=self._file_session,
                payload=dressed("session.observed", payload, self.known),
                id=derived_id("claude", "session", *identity),
            )
        ]

    def remembered(self) -> dict[str, Any]:
        """Return the counts of the file, and the last calls of its last block."""
        calls = dict(list(self._calls.items())[-_IN_HAND:])
        return {**super().remembered(), "calls": calls, "recent": list(self._recent)}

    def _look_for_author(self, data: bytes) -> None:
        """Recognise a fork by the first record that names its session."""
        if match := _SESSION.search(data):
            start = data.rfind(b"\n", 0, match.start()) + 1
            end = data.find(b"\n", match.start())
            if any(map(self._author.recognise, objects_in(data[start:end], OPENINGS)[0])):
                self._name_fork()

    def _name_fork(self) -> None:
        if self._author.fork:
            self.program = self.known["agent"] = self._author.fork

    def _broken(self, block: Block) -> Iterator[Line]:
        """Return the broken lines of a block, without warnings before the first record."""
        start = 0
        if self._preamble:
            first = _FIRST_RECORD.search(block.data)
            self._preamble = first is None
            start = first.start() if first else len(block.data)
        return (line for line in broken_lines(block) if line.offset >= start)

    def _observe(self, block: bytes, ids: list[int], relayed: list[int]) -> dict[str, str]:
        """Count calls and requests of a block, and take the facts about the whole session.

        Returns the facts that hold at the end of the block.
        """
        self._file_session = self._file_session or _first(_SESSION, block)
        self._part = self._part or _first(_FIRST_UUID, block)
        self._started_at = self._started_at or _first(TIMESTAMP, block)
        self._near = self._near or moment_of(self._started_at)
        at = block.rfind(b'"timestamp"')
        self._ended_at = (_first(TIMESTAMP, block[at : at + 80]) if at >= 0 else None) or self._ended_at
        self._calls = dict(list(self._calls.items())[-_IN_HAND:])
        self._reply_offsets, self._call_offsets, self._line_times = [], {}, {}
        last = b""
        repeated = set(_line_ends(block, relayed))
        for offset, end in zip(ids, _line_ends(block, ids), strict=True):
            match = _NAMED.match(block, offset)
            if match is None:
                continue
            message, call, name = match.groups()
            if message:
                self._reply_offsets.append(match.start(1) - 1)
            # These lines repeat what a sub-agent did, which counts by the sub-agent's own file.
            if end in repeated:
                continue
            if not message:
                tool = name.decode("utf-8", "replace")
                self._calls[call.decode()] = tool
                self._call_offsets.setdefault(call.decode(), (offset, end))
                if tool in self._tools or len(self._tools) < MOST_TOOLS:
                    self._tools[tool] = self._tools.get(tool, 0) + 1
                continue
            if message != last and (reply := message.decode()) not in self._recent:
                self._recent.append(reply)
                self._requests += 1
            last = message
        if relayed:
            block = b"\n".join(line for line in block.split(b"\n") if _RELAYED not in line)
        at = block.rfind(b'"gitBranch"')
        self.work_in(_unquoted(_first(_CWD, block)))
        if "agent_version" not in self.known:
            self.known |= present({"agent_version": _first(_VERSION, block)})
        branch = _unquoted(_first(_BRANCH, block[at : at + 400])) if at >= 0 else None
        model = self._model_of(last) if last else None
        return present({"branch": branch, "model": model, "provider": served(last)})

    def _model_of(self, reply: bytes) -> str | None:
        """Return the model of a reply of the block in hand, by its id."""
        offsets = (self._data.rfind(b'"id":%s"%s"' % (space, reply)) for space in (b"", b" "))
        return model_at(self._data, next(offset for offset in offsets if offset >= 0))

    def _call_details(self, call: str) -> tuple[str | None, datetime | None]:
        """Return the command of a call of the block in hand, and the moment of the call."""
        at, end = self._call_offsets.get(call, (self._offset, 0))
        if at >= self._offset:
            return None, None
        if end not in self._line_times:  # a line may hold thousands of calls
            start = self._data.rfind(b"\n", 0, at) + 1
            stamp = TIMESTAMP.match(self._data, self._data.rfind(b'"timestamp"', start, end), end)
            self._line_times[end] = moment_of(stamp[1].decode()) if stamp else None
        match = _COMMAND.match(self._data, at, end)
        command = _unquoted(match[1].decode("utf-8", "replace")) if match else None
        return command, self._line_times[end]

    @property
    def waiting(self) -> bool:
        """Tell whether the next reply or interruption ends a chain or a compaction."""
        return bool(self.chains) or self._compaction is not None

    @property
    def caller(self) -> str:
        """Return the caller of the record in hand."""
        return caller_of(self.program, self.known if self.interactive else {}, self.role)

    @property
    def chain(self) -> str:
        """Return the name of the conversation in this file that has the record in hand."""
        return f"side:{self.record.get('agentId') or ''}" if self.role else MAIN

    def _events_of(self, record: Mapping[str, Any]) -> list[Event]:
        self.session = text(record.get("sessionId")) or text(record.get("session_id")) or self.session
        try:
            self._take(record)
            return self._dispatch(record)
        finally:
            self.role = None  # events of the file as a whole are the main conversation's

    def _take(self, record: Mapping[str, Any]) -> None:
        self.record, self._record_facts, self._unique = record, None, None
        self.time(record.get("timestamp"))
        self.role = "subagent" if record.get("isSidechain") is True else None

    def _dispatch(self, record: Mapping[str, Any]) -> list[Event]:
        kind, subtype = record.get("type"), record.get("subtype")
        if kind == "system" and subtype == "api_error":
            return self._retry(record, retry_facts(record), "retryAttempt", "maxRetries", "retryInMs")
        if kind == "system" and subtype == "api_retry":
            return self._retry(record, stream_retry_facts(record), "attempt", "max_retries", "retry_delay_ms")
        if kind == "tool_progress" and isinstance(record.get("subagent_retry"), Mapping):
            return self._subagent_retry(record)
        if kind == "system" and subtype == "compact_boundary":
            return self._compact(record)
        if kind == "system" and subtype == "microcompact_boundary":
            return self._microcompact(record)
        if kind == "assistant":
            return self._assistant(record)
        if kind == "user":
            return self._user(record)
        if kind == "result":
            return self._result(record)
        if record.get("hook_event_name") == "StopFailure":
            return self._stop_failure(record)
        return []

    # Retries -----------------------------------------------------------------------------------------------------

    def _retry(
        self, record: Mapping[str, Any], facts: dict[str, Any], attempt_key: str, max_key: str, delay_key: str
    ) -> list[Event]:
        attempt = number(record.get(attempt_key)) or 1
        maximum = number(record.get(max_key))
        delay_ms = quantity(record.get(delay_key))
        # A number that does not go up is that of another chain: the log has no end of the one
        # before.
        self.chains.begin_anew(self.chain, attempt)
        return self.retried(
            {**facts, "is_error": None},
            attempt,
            chain=self.chain,
            numbered=attempt,
            delay_seconds=delay_ms / 1000 if delay_ms is not None else None,
            max_attempts=maximum + 1 if maximum is not None else None,
        )

    def _subagent_retry(self, record: Mapping[str, Any]) -> list[Event]:
        retry = mapping(record.get("subagent_retry"))
        merged = {**record, **retry, "agentId": retry.get("agent_id"), "isSidechain": True}
        self._take(merged)
        return self._retry(merged, stream_retry_facts(retry), "attempt", "max_retries", "retry_delay_ms")

    # Replies, terminal errors, interruptions ---------------------------------------------------------------------

    def _assistant(self, record: Mapping[str, Any]) -> list[Event]:
        if record.get("isApiErrorMessage") is True:
            return self._terminal(record, terminal_facts(record))
        if mapping(record.get("message")).get("model") == "<synthetic>":
            return []
        return self.settled("recovered", chain=self.chain, made=1) + self._after_compaction(record)

    def _terminal(self, record: Mapping[str, Any], facts: dict[str, Any], **tokens: Any) -> list[Event]:
        chain = self.chain if self.chain in self.chains else None
        failure = self.failed(facts, "terminal", chain=chain, **tokens)
        payload = dict(failure.payload)
        reason, detail = payload["reason"], payload.get("detail")
        resets_at = quantity(mapping(record.get("quotaLimits")).get("resetsAt"))
        if resets_at is not None:
            with contextlib.suppress(ValueError):  # a moment out of bounds
                payload["reset_at"] = format_time(from_epoch(resets_at))
        if detail == "aborted":
            payload["outcome"] = "aborted"
        if record.get("type") == "result":
            payload["failure_reason"] = agent_stream.failure_reason(record, reason, detail)
            if turns := agent_stream.turns_at_limit(record, detail):
                payload["remediation"] = agent_stream.turn_limit_advice(turns)
        failure = replace(failure, payload=payload)
        limited = [self.exhausted(failure, "exhausted")] if detail == "usage_limit" else []
        outcome = "aborted" if detail == "aborted" else "exhausted"
        return [failure, *limited, *self.settled(outcome, chain=self.chain, reason=reason)]

    def _user(self, record: Mapping[str, Any]) -> list[Event]:
        events = []
        if message_text(record).startswith(INTERRUPTED):
            events += self.settled("aborted", chain=self.chain)
        for index, (call, words) in enumerate(failed_tools(record)):
            if says_missing(words):
                _, payload = classify_foreign({"message": words, "is_error": True}, self.at, caller=self.caller)
                events.append(self.event("error.classified", payload, f"tool{index}"))
            tool, (command, at) = self._calls.get(call), self._call_details(call)
            events += self.tool_failed(tool, words, call or index, command=command, called_at=at)
            self._dead += tool in SUBAGENTS
        return events

    def _result(self, record: Mapping[str, Any]) -> list[Event]:
        spent = self._spent_by_run(record)
        if not says_error(record):
            return [*spent, *self.settled("recovered", chain=self.chain, made=1), *self._hollow(record)]
        tokens = dict(zip(("input_tokens", "output_tokens"), run_tokens(record), strict=True))
        return [*spent, *self._terminal(record, error_facts(record), **tokens)]

    def _hollow(self, record: Mapping[str, Any]) -> list[Event]:
        """Make the event of a run that reports success and did nothing.

        Sub-agents that have not answered count as alive.
        """
        tools = self._tools
        launched = sum(calls for tool, calls in tools.items() if tool in SUBAGENTS)
        why = agent_stream.hollow(
            replies=self._requests + bool((text(record.get("result")) or "").strip()),
            calls=sum(tools.values()),
            launched=launched,
            returned=launched,
            dead=self._dead,
        )
        if why is None:
            return []
        payload = {"caller": self.caller, "part": self._part, "outcome": "hollow", "detail": why}
        return [self.event("session.observed", payload, "hollow")]

    def _spent_by_run(self, record: Mapping[str, Any]) -> list[Event]:
        """Make the events of the tokens and the cost of a whole run, one a model.

        Each result of a run of several turns has the sums of the run.
        """
        events = []
        for model, model_usage in mapping(record.get("modelUsage")).items():
            usage = mapping(model_usage)
            tokens = {name: self.counted(usage, key) for name, key in _RUN_TOKENS.items()}
            if any(tokens.values()) and not self._refused:
                run_usage = {
                    "request": derived_id("claude", "run", self.session, self._part, model),
                    "whole_run": True,
                    "caller": self.caller,
                    "model": model,
                    "cost_usd": quantity(usage.get("costUSD")),
                    **tokens,
                }
                events.append(self.event("usage.recorded", run_usage, model))
        return events

    def _stop_failure(self, record: Mapping[str, Any]) -> list[Event]:
        words = text(record.get("last_assistant_message")) or text(record.get("error_details")) or ""
        return self._terminal(record, terminal_facts({**record, "message": {"content": words}}))

    # Compactions -------------------------------------------------------------------------------------------------

    def _compact(self, record: Mapping[str, Any]) -> list[Event]:
        meta = mapping(record.get("compactMetadata")) or mapping(record.get("compact_metadata"))
        duration = number(meta.get("durationMs"))
        relay = {
            "relay": self.identity("relay", meta.get("preTokens")),
            "caller": self.caller,
            "trigger": text(meta.get("trigger")),
            "strategy": "compact",
            "pre_tokens": number(meta.get("preTokens")) or number(meta.get("pre_tokens")),
            "duration_seconds": duration / 1000 if duration is not None else None,
        }
        post_tokens = number(meta.get("postTokens")) or number(meta.get("post_tokens"))
        events = [self.event("relay.triggered", relay, "relay")]
        done = {"relay": relay["relay"], "caller": self.caller}
        if post_tokens is None:
            self._compaction = done
        else:
            events.append(self.event("relay.resumed", {**done, "post_tokens": post_tokens}, "relay"))
        return events

    def _after_compaction(self, record: Mapping[str, Any]) -> list[Event]:
        """End a compaction with the first reply after it, whose prompt is what is left."""
        if self._compaction is None or self.role:
            return []
        usage = mapping(mapping(record.get("message")).get("usage"))
        keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        post_tokens = sum(number(usage.get(key)) or 0 for key in keys) or None
        payload = {**self._compaction, "post_tokens": post_tokens, "post_tokens_estimated": True}
        relay, self._compaction = self._compaction["relay"], None
        return [self.event("relay.resumed", payload, relay)]

    def _microcompact(self, record: Mapping[str, Any]) -> list[Event]:
        meta = mapping(record.get("microcompactMetadata"))
        before, saved = number(meta.get("preTokens")), number(meta.get("tokensSaved"))
        payload = {
            "strategy": "microcompact",
            "caller": self.caller,
            "pre_tokens": before,
            "post_tokens": before - saved if before is not None and saved is not None else None,
        }
        return [self.event("context.recovered", payload, "microcompact")]

    # Envelope ----------------------------------------------------------------------------------------------------

    def see(self, *, requests: int = 0, aborted: int = 0) -> None:
        """Count nothing, as requests and tools are counted by block."""

    def identity(self, kind: str, *identity: object) -> str:
        """Derive the id of an event from the record's `uuid`.

        Resumed sessions repeat records in other files, with another session id.
        """
        self._unique = self._unique or text(self.record.get("uuid"))
        if self._unique is None:
            kept = {key: value for key, value in self.record.items() if key not in {"sessionId", "session_id"}}
            self._unique = derived_id(self.session, sorted(kept.items(), key=lambda item: item[0]))
        return derived_id("claude", self._unique, kind, *identity)

    def chain_name(self, _kind: str, *identity: object) -> str:
        """Derive the name of a chain from its first attempt."""
        return self.identity("operation", *identity)

    def session_facts(self) -> Mapping[str, Any]:
        """Return the facts about the session at the record in hand.

        They have the branch of the record, the model of the last reply before it, and the provider
        of that reply or of the record's own request.
        """
        if self._record_facts is None:
            facts: dict[str, Any] = {"branch": text(self.record.get("gitBranch"))}
            if replies_before := bisect_left(self._reply_offsets, self._offset):
                at = self._reply_offsets[replies_before - 1]
                facts |= {"model": model_at(self._data, at), "provider": served(self._data, at + 1)}
            facts = present(facts)
            # The first call of a session may fail: then only its own request shows the provider.
            end = self._data.find(b"\n", self._offset)
            end = end if end >= 0 else len(self._data)
            request = _REQUEST.search(self._data, self._offset, end)
            if request:
                facts["provider"] = served(request[1])
            self._record_facts = facts
        return {**self.known, **self._record_facts}


class TranscriptReader(ClaudeReader, name="claude_code", visibility="full"):
    """Reads a transcript, which has every failed attempt."""

    runs_as: ClassVar[str] = "claude-code"
    interactive: ClassVar[bool] = True


class StreamReader(ClaudeReader, name="claude_print", visibility="terminal"):
    """Reads a print-mode run; older versions print no retries, only what ended the run."""

    runs_as: ClassVar[str] = "claude -p"
    interactive: ClassVar[bool] = False


def _line_ends(data: bytes, offsets: Iterable[int]) -> Iterator[int]:
    """Yield the end of the line of each offset; offsets ascend, and each line is searched once."""
    end = -1
    for offset in offsets:
        if offset > end:
            end = data.find(b"\n", offset)
            end = len(data) if end < 0 else end
        yield end


def _first(pattern: re.Pattern[bytes], block: bytes) -> str | None:
    match = pattern.search(block)
    return match[1].decode("utf-8", "replace") if match else None


def _unquoted(quoted: str | None) -> str | None:
    """Decode a JSON text that was written with its quotes."""
    return text(parsed(quoted)) if quoted else None
