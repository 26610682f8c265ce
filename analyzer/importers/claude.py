"""Transcripts of Claude Code, and runs of `claude -p`.

Transcripts are `~/.claude/projects/**.jsonl`, runs the output of `claude -p --output-format
json|stream-json`.

A few fields of each line are decoded, of lines about failures all. Retries, terminal errors and
compactions are different events; the outcome of a run of retries comes from the record that ends
it.
"""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar

from analyzer import agent_stream
from analyzer.agent_stream import SUBAGENTS, error_facts, mapping, run_tokens, says_error, text
from analyzer.events import Event, Reject
from analyzer.events.model import derived_id, present
from analyzer.events.times import format_time, from_epoch
from analyzer.importers.agents.claude_records import (
    INTERRUPTED,
    LONGEST_NAME,
    RECORDS,
    REFUSAL,
    MessageFields,
    PartFields,
    Record,
    failed_tools,
    fallback_facts,
    message_text,
    reply_facts,
    retry_facts,
    says_missing,
    served,
    stream_retry_facts,
    terminal_facts,
    typed,
    whole_records,
)
from analyzer.importers.base import Block, Chains, Hit, Line, Source, typed_lines
from analyzer.importers.failures import MOST_TOOLS, classify_foreign, number, quantity
from analyzer.importers.programs import caller_of
from analyzer.importers.records import MAIN, RecordReader, dressed, kept, moment_of

_REQUEST = re.compile(rb'"request(?:Id|-id|_id\\?)": ?\\?"(req_[A-Za-z0-9_]{1,100})')
_RECENT = 64
_IN_HAND = 16
"""Calls of tools that are remembered, as their results may stand in the next block."""
_RUN_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}
_COUNTS = (
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_hour_tokens"),
    *("web_searches", "longest_prompt"),
)
_SHORT = re.compile(r".{1,1000}")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,30}")
_REFUSED = re.compile(r"Usage Policy|unable to respond to this request")
"""What is shown to the user of a refusal."""
_STAMP = re.compile(r"[0-9T:.Z+-]{19,35}")
_Whole = tuple[list[dict[str, Any]], Reject | None]
"""The records on a line with all their fields, and why the rest of it cannot be read."""
_Lines = list[tuple[int, int, Record, _Whole | None]]
"""The offset and the end of a line, a record on it, and the whole line if it is an unusual one."""


class ClaudeReader(RecordReader, agent="claude-code"):
    """Reads one transcript or one stream; both hold the same records."""

    runs_as: ClassVar[str]
    """The program that makes the calls, unless a record shows a fork."""
    interactive: ClassVar[bool]
    """True if the name of a caller has the project that it works in."""
    _compaction: dict[str, Any] | None = kept()
    """The payload of a compaction whose tokens afterwards are not known yet."""
    _refused_by: str | None = kept()
    """The reply that was a refusal, until the next one: the record that is shown repeats it."""
    _blocked_until: float | None = kept()
    """When the limit is reset that has refused the run, in seconds since 1970."""
    _dead: int = kept(0)
    """The number of sub-agents that failed."""
    _file_session: str | None = kept()
    """The session at the beginning of the file."""
    _part: str | None = kept()
    """The id of the first record of the file."""
    _started_at: str | None = kept()
    _ended_at: str | None = kept()
    _forked_from: str | None = kept()
    """The session that this one is a fork of."""
    _requests: int = kept(0)
    _recorded: int = kept(0)
    """The number of requests that have an event of their own."""
    _tools: dict[str, int] = kept({})
    """The number of calls by tool."""
    _swap: tuple[str, str] | None = kept()
    """The model that was asked and the one that stepped in for it, until another one replies."""
    _spent_by: tuple[str, int] = kept(("", 0))
    """The last reply that has an event, and its output tokens."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        # Checkpoints of earlier versions keep their open chains under another name.
        if former := mapping(state.get("runs")):
            self.chains = Chains({key: {**mapping(run), "retried": True} for key, run in former.items()})
        self.program = self._author.fork or self.runs_as
        self.known.setdefault("agent", self.agent)
        self._name_fork()
        # A reply is split over neighbouring lines that repeat its id, and parallel sub-agents
        # interleave a few replies.
        self._recent: deque[str] = deque(state.get("recent", ()), maxlen=_RECENT)
        self._request: re.Match[bytes] | None = None
        """The id of a request on the line in hand."""
        self._record_facts: dict[str, Any] = {}
        """The facts that hold at the record in hand."""
        self._unique = ""
        """The name of the record in hand."""
        self._reply: MessageFields | None = None
        """The last reply of the block before the record in hand."""
        self._own_reply: MessageFields | None = None
        """The last of them that is no repeated one of a sub-agent."""
        self._shares: dict[tuple[str | None, ...], dict[str, Any]] = {}
        """The fields that replies of a block share, by caller, session, model, provider, tier and region."""
        self._block_calls: dict[str, tuple[PartFields, Record]] = {}
        """The calls of tools in the block before the record in hand, by their ids."""
        self._preamble = not state
        """True before the first record of the file."""
        self._grew = False
        """True after a block was read."""

    def read(self, block: Block) -> Iterator[Hit]:
        """Yield the hits of a block: lines with failures or their ends, with tokens of replies, and broken lines.

        A printed run has its tokens in its result.
        """
        lines = self._lines_of(block)
        self._begin(block, lines)
        self._stand_in = self.source.stand_in(self._near)
        read: dict[tuple[int, int], list[Event]] = {}
        rejects: dict[int, Reject] = {}
        for offset, end, record, whole in lines:
            waits = self.waiting and record.type in ("assistant", "user")
            if whole or waits or record.is_telling:
                if (offset, end) not in read:
                    self.line = Line(offset, block.data[offset:end])
                    self._request = _REQUEST.search(self.line.text)
                    read[offset, end] = []
                self._refused = None
                records, reject = whole or whole_records(self.line.text)
                for item in records:
                    read[offset, end] += self._events_of(item)
                if reject := reject or self._refused:
                    rejects.setdefault(offset, reject)
            message = record.message or record.repeated
            if message is not None:
                self._take_message(message, record)
                if self.interactive and (spent := self._spent_on(message, record)):
                    read.setdefault((offset, end), []).extend(spent)
        branch = _first(record.git_branch for _, _, record, _ in reversed(lines))
        self.known |= present({"branch": branch}) | reply_facts(self._own_reply)
        for (offset, end), events in read.items():
            reject = rejects.get(offset)
            if reject or events:
                yield Hit(offset, end - offset, tuple(events), *((reject.why, reject.detail) if reject else ()))

    def _lines_of(self, block: Block) -> _Lines:
        """Return the records of a block, without warnings before the first record of the file."""
        lines: _Lines = []
        for offset, end, record in typed_lines(block, RECORDS, strict=True):
            if record is not None:
                lines.append((offset, end, record, None))
                continue
            line = block.data[offset:end]
            if lines or not self._preamble or b'":' in line:
                wholes, reject = whole_records(line)
                fields = [typed(record) for record in wholes] or [(Record(), "")]
                wrong = "".join(wrong for _, wrong in fields)
                if self.interactive and wrong:
                    reject = reject or Reject("bad_count", wrong)
                if not wholes:
                    reject = reject or Reject("not_an_object", "")
                lines.append((offset, end, fields[0][0], (wholes[:1], reject)))
                lines += [
                    (offset, end, record, ([whole], None))
                    for (record, _), whole in zip(fields[1:], wholes[1:], strict=True)
                ]
        return lines

    def _begin(self, block: Block, lines: _Lines) -> None:
        """Take the facts that hold in the whole block, and recognise a fork by its first record."""
        records = [record for _, _, record, _ in lines]
        if self._preamble and records:
            offset, end = next(
                ((offset, end) for offset, end, record, _ in lines if record.session_id or record.stream_session),
                (0, 0),
            )
            if any(map(self._author.recognise, whole_records(block.data[offset:end])[0])):
                self._name_fork()
            self._preamble = False
        self._grew = True
        stamps = [
            (record.timestamp, record.snapshot and record.snapshot.timestamp)
            for record in records
            if record.forked_from is None
        ]
        self._file_session = self._file_session or _first(
            name for record in records for name in (record.session_id, record.stream_session)
        )
        self._part = self._part or _first(name for record in records for name in (record.uuid, record.message_id))
        self._started_at = self._started_at or _first(chain.from_iterable(stamps), _STAMP)
        self._ended_at = _first(chain.from_iterable(reversed(stamps)), _STAMP) or self._ended_at
        self._forked_from = self._forked_from or _first(record.origin for record in records)
        self._near = self._near or moment_of(self._started_at)
        self.work_in(_first(record.cwd for record in records))
        if "agent_version" not in self.known:
            versions = (version for record in records for version in (record.version, record.stream_version))
            self.learn(agent_version=_first(versions, _VERSION))
        self._reply, self._own_reply, self._block_calls = None, None, {}
        self._shares = {}
        self._calls = dict(list(self._calls.items())[-_IN_HAND:])

    def _take_message(self, message: MessageFields, record: Record) -> None:
        """Count a reply and its calls; what a sub-agent did counts by the sub-agent's own file."""
        name = message.id or ""
        if name.startswith("msg_"):
            self._reply = message
        if message is not record.message:
            return
        copied = record.origin is not None
        for part in message.parts:
            call, tool = part.id, part.name
            if part.input is None or not (_is_name(call) and _is_name(tool)):
                continue
            self._calls[call] = tool
            self._block_calls.setdefault(call, (part, record))
            if copied:
                continue
            if tool in self._tools or len(self._tools) < MOST_TOOLS:
                self._tools[tool] = self._tools.get(tool, 0) + 1
        if self._reply is message:
            self._own_reply = message
            if name not in self._recent:
                self._recent.append(name)
                self._requests += not copied

    def _spent_on(self, message: MessageFields, record: Record) -> list[Event]:
        """Make the events of the tokens of a reply.

        A reply is split over neighbouring lines, which repeat its tokens so far: a line with no
        more output tokens than the line before it gives no event.
        """
        request, model = message.id or "", message.made_by
        if not message.usage or not model or not _is_name(request):
            return []
        counts = message.usage.counts
        output = counts[1] or 0
        if not any(counts) or (request == self._spent_by[0] and output <= self._spent_by[1]):
            return []
        if record.message is message and record.origin is None:
            self._recorded += request != self._spent_by[0]
        self._spent_by = request, output
        if self._swap and model != self._swap[1]:
            self._swap = None
        asked, stepped_in = self._swap or (None, None)
        part = "/subagent" if record.is_sidechain is True or record.data else ""
        session, provider = record.origin or self._file_session, served(request)
        replies = [(request, model, message.usage, counts)]
        if message.usage.iterations:
            advice = enumerate(message.usage.advice)
            replies += [(f"{request}/advisor/{at}", by, usage, usage.counts) for at, (by, usage) in advice]
        stamp = moment_of(record.timestamp) if isinstance(record.timestamp, str) else None
        at, dated = (stamp, "event") if stamp else self._stand_in
        events = []
        for name, by_model, usage, numbers in replies:
            by = self.caller + part
            key = part, session, by_model, provider, usage.tier, usage.region, usage.service_tier, asked
            if key not in self._shares:
                extras = {"caller": by, "model": by_model, "tier": usage.tier, "region": usage.region}
                extras |= {"service_tier": text(usage.service_tier)}
                if by_model == stepped_in:
                    extras |= {"asked_model": asked, "served_model": stepped_in}
                names = {"request": "", "request_id": ""}
                facts = {**self.known, "provider": provider}
                self._shares[key] = dressed("usage.recorded", {**names, **extras}, facts)
            payload = {**self._shares[key], "request": name, "request_id": text(record.request_id)}
            payload.update(zip(_COUNTS, numbers, strict=True))
            usage_id = derived_id("claude", "usage", by, name, numbers[1])
            events.append(Event("usage.recorded", at, session, present(payload), usage_id, time_source=dated))
        return events

    def finish(self) -> Sequence[Event]:
        """Return the `session.observed` of the file so far, if a block was read."""
        ended = moment_of(self._ended_at)
        if not self._grew or self._file_session is None or ended is None:
            return ()
        payload = {
            "requests": self._requests,
            "recorded": self._recorded,
            "forked_from": self._forked_from,
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

    def _name_fork(self) -> None:
        if self._author.fork:
            self.program = self.known["agent"] = self._author.fork

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
        self.copied_from = text(mapping(record.get("forkedFrom")).get("sessionId"))
        own = text(record.get("sessionId")) or text(record.get("session_id")) or self.session
        self.session = self.copied_from or own
        try:
            self._take(record)
            return self._dispatch(record)
        finally:
            self.role = None  # events of the file as a whole are the main conversation's

    def _take(self, record: Mapping[str, Any]) -> None:
        """Take a record in hand: its time, its role, its name, and the facts that hold at it.

        Resumed sessions repeat records in other files, with another session id; forks give them
        another name too, and name the original.
        """
        self.record = record
        self.time(record.get("timestamp"))
        self.role = "subagent" if record.get("isSidechain") is True else None
        fields = sorted((key, value) for key, value in record.items() if key not in {"sessionId", "session_id"})
        original = text(mapping(record.get("forkedFrom")).get("messageUuid"))
        self._unique = original or text(record.get("uuid")) or derived_id(self.session, fields)
        self._record_facts = present({"branch": text(record.get("gitBranch"))}) | reply_facts(self._reply)
        # The first call of a session may fail: then only its own request shows the provider.
        if self._request:
            self._record_facts["provider"] = served(self._request[1].decode())

    def _dispatch(self, record: Mapping[str, Any]) -> list[Event]:
        kind, subtype = record.get("type"), record.get("subtype")
        if kind == "system" and subtype == "api_error":
            return self._retry(record, retry_facts(record), "retryAttempt", "maxRetries", "retryInMs")
        if kind == "system" and subtype == "api_retry":
            return self._retry(record, stream_retry_facts(record), "attempt", "max_retries", "retry_delay_ms")
        if kind == "system" and subtype in ("model_fallback", "model_refusal_fallback"):
            return self._fallen_back(record)
        if kind == "rate_limit_event":
            return self._limited(mapping(record.get("rate_limit_info")))
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
        message = mapping(record.get("message"))
        if record.get("isApiErrorMessage") is True:
            repeats = self._refused_by is not None and _REFUSED.search(message_text(record)) is not None
            self._refused_by = None
            return [] if repeats else self._terminal(record, terminal_facts(record))
        if message.get("model") == "<synthetic>":
            return []
        if message.get("stop_reason") == REFUSAL:
            return self._refusal(message)
        self._refused_by = None
        return self.settled("recovered", chain=self.chain, made=1) + self._after_compaction(record)

    def _refusal(self, message: Mapping[str, Any]) -> list[Event]:
        """Record a reply that the model, or who serves it, refused to give or to end."""
        reply = text(message.get("id")) or self._unique
        if reply == self._refused_by:
            return []
        self._refused_by = reply
        facts = {"type": REFUSAL, "message": "the reply was refused (stop_reason refusal)"}
        return [self.failed(facts, REFUSAL), *self.settled("exhausted", chain=self.chain)]

    def _fallen_back(self, record: Mapping[str, Any]) -> list[Event]:
        """Record a failure that another model made up for, unless attempts before it are in the log.

        The model of the event is the one that was asked.
        """
        facts = fallback_facts(record)
        served_by = text(record.get("fallbackModel")) or text(record.get("fallback_model"))
        if facts.get("model") and served_by:
            self._swap = facts["model"], served_by
        if self.chain in self.chains or (facts.get("type") == REFUSAL and self._refused_by is not None):
            return []
        fields = present({"model": facts.get("model"), "fallback_model": served_by})
        return [self.failed(facts, "fallback", outcome="recovered", **fields)]

    def _limited(self, limit: Mapping[str, Any]) -> list[Event]:
        """Remember when the limit is reset that refuses a run."""
        if limit.get("status") == "rejected":
            self._blocked_until = quantity(limit.get("resetsAt"))
        return []

    def _terminal(self, record: Mapping[str, Any], facts: dict[str, Any], **tokens: Any) -> list[Event]:
        chain = self.chain if self.chain in self.chains else None
        failure = self.failed(facts, "terminal", chain=chain, **tokens)
        payload = dict(failure.payload)
        reason, detail = payload["reason"], payload.get("detail")
        resets_at = quantity(mapping(record.get("quotaLimits")).get("resetsAt"))
        if resets_at is None and detail == "usage_limit" and "reset_at" not in payload:
            resets_at = self._blocked_until
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
            tool, (part, called) = self._calls.get(call), self._block_calls.get(call, (PartFields(), Record()))
            command, at = part.input and part.input.command, moment_of(called.timestamp)
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
            "trigger": text(meta.get("trigger")),
            "strategy": "compact",
            "pre_tokens": number(meta.get("preTokens")) or number(meta.get("pre_tokens")),
            "duration_seconds": duration / 1000 if duration is not None else None,
        }
        post_tokens = number(meta.get("postTokens")) or number(meta.get("post_tokens"))
        begun = self.relay(relay, "relay")
        done = {"relay": begun.id, "caller": self.caller}
        if post_tokens is None:
            self._compaction = done
            return [begun]
        return [begun, self.event("relay.resumed", {**done, "post_tokens": post_tokens}, "relay")]

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

    def count_session(self, *, requests: int = 0, aborted: int = 0) -> None:
        """Count nothing, as requests and tools are counted by block."""

    def identity(self, kind: str, *identity: object) -> str:
        """Derive the id of an event from the name of its record."""
        return derived_id("claude", self._unique, kind, *identity)

    def session_facts(self) -> Mapping[str, Any]:
        """Return the facts about the session at the record in hand.

        They have the branch of the record, the model of the last reply before it, and the provider
        of that reply or of the record's own request.
        """
        return {**self.known, **self._record_facts}


class TranscriptReader(ClaudeReader, name="claude_code", visibility="full"):
    """Reads a transcript, which has every failed attempt."""

    runs_as: ClassVar[str] = "claude-code"
    interactive: ClassVar[bool] = True


class StreamReader(ClaudeReader, name="claude_print", visibility="terminal"):
    """Reads a print-mode run; older versions print no retries, only what ended the run."""

    runs_as: ClassVar[str] = "claude -p"
    interactive: ClassVar[bool] = False


def _first(values: Iterable[object], form: re.Pattern[str] = _SHORT) -> str | None:
    """Return the first text of a form."""
    return next((value for value in values if type(value) is str and form.fullmatch(value)), None)


def _is_name(value: object) -> bool:
    return type(value) is str and 0 < len(value) <= LONGEST_NAME
