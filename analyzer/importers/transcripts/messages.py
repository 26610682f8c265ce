"""Sessions of lines of messages: Mistral Vibe, Antigravity, Droid, DeepSeek Harness and Junie.

A folder or the file names the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import re2

from analyzer.agent_stream import content_text, mapping, text
from analyzer.events import Event
from analyzer.importers.failures import number
from analyzer.importers.records import ANTHROPIC, MAIN, RecordReader, identity_of, kept, session_of
from analyzer.importers.shapes.rows import listed
from analyzer.importers.transcripts.documents import block_events

_FAILED = re.compile(r"^<(tool_error|user_cancellation)>(?:\S{1,100} failed: )?((?s:.*?))</\1>")
_RETURNED = re.compile(r"^Command failed: .*\nReturn code: (-?\d{1,6})")
_SUMMARY = "<compaction_summary>"


class VibeReader(RecordReader, name="vibe", agent="mistral-vibe", visibility="none", folder=0):
    """Reads messages of the session that the folder names.

    Mistral Vibe's sessions (`~/.vibe/logs/session/*/messages.jsonl`): messages without times, and
    no failed calls.

    A compaction begins a new session with an injected message. Source: mistralai/mistral-vibe,
    `vibe/core/compaction.py` and `vibe/core/utils/tags.py`, July 2026.
    """

    telling = re2.compile(rb'"role": ?"assistant"|<tool_error>|<user_cancellation>|<compaction_summary>')

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        role, content = record.get("role"), text(record.get("content")) or ""
        unique = self.session, text(record.get("message_id")) or identity_of(record)
        if role == "assistant":
            self.count_session(requests=1)
            for call in listed(record.get("tool_calls")):
                self.called(text(mapping(call.get("function")).get("name")), text(call.get("id")))
        elif role == "tool":
            tool = text(record.get("name")) or self.tool_of(text(record.get("tool_call_id")))
            if failed := _FAILED.match(content):
                returned = _RETURNED.match(failed[2])
                kind = "cancelled" if failed[1] == "user_cancellation" else None
                output = f"Exit code {returned[1]}" if returned else failed[2]
                return self.tool_failed(tool, output, unique, kind=kind)
        elif record.get("injected") is True and _SUMMARY in content:
            self.count_session()
            return self.compacted({}, unique)
        return ()


_CHECKPOINT = re.compile(r"^\{\{ CHECKPOINT [1-9]\d{0,5} \}\}")
_ENDED = re.compile(r"\bcommand failed with (exit code: -?\d{1,6})")
_HEAD = re.compile(r"^(?:(?:Created|Completed) At: .*\n)*\s*")
_READ = 400
"""Characters of a step in which an exit code is searched."""


class AntigravityReader(RecordReader, name="antigravity", agent="antigravity", visibility="terminal", folder=0):
    """Reads the steps of the conversation that a folder names.

    Antigravity's transcripts
    (`~/.gemini/antigravity-cli/brain/*/.system_generated/logs/transcript.jsonl`).

    No source of it is open: its steps are read as recordings of June 2026 show them. Checkpoint 0
    is written at the end of each session's first turn, however short, and is no compaction; those
    with a higher number are.
    """

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.time(record.get("created_at"))
        self.count_session()
        kind, content = record.get("type"), text(record.get("content")) or ""
        if kind == "USER_INPUT":
            return self.settled("exhausted")
        if kind == "PLANNER_RESPONSE":
            self.count_session(requests=1)
            self.count_calls(*(text(call.get("name")) for call in listed(record.get("tool_calls"))))
            if MAIN not in self.chains:
                return ()
        unique = self.session, number(record.get("step_index")), identity_of(record)
        if kind == "PLANNER_RESPONSE":
            return [self.scheduled(*unique), *self.settled("recovered", made=1)]
        if kind == "ERROR_MESSAGE":
            again = self.again(*unique)
            facts = {"message": content.removeprefix("Error: ")}
            return [*again, self.failed(facts, *unique, chain=MAIN)]
        if kind == "CHECKPOINT" and _CHECKPOINT.match(content):
            return self.compacted({}, *unique)
        if record.get("source") == "MODEL" and isinstance(kind, str):
            ended = _ENDED.search(content[:_READ])
            if ended or record.get("status") == "ERROR":
                output = _HEAD.sub("", content)
                if ended:
                    output = ended[1].replace("exit code:", "Exit code")
                return self.tool_failed(kind.lower()[:100], output, *unique)
        return ()


_WORDS = {"model_usage_exhausted": "usage limit reached"}
"""Messages for reasons that no rule knows by name."""


class DroidReader(RecordReader, name="droid", agent="droid", visibility="terminal"):
    """Reads the lines of a session; the first line names it and its working directory.

    Droid's sessions (`~/.factory/sessions/*/*.jsonl`): messages, compactions, and for which reason
    a turn ended.

    A failed turn has a reason, and no message and no retries. Turns that waited in line and ended
    with it are lines of their own with the same reason: they count once. Tokens are in
    `*.settings.json` beside it, for a session as a whole, and are not read. Source: the program of
    npm @factory/cli 0.225.2, as it writes and reads a session.
    """

    _last: str | None = kept()
    """The time of the last message, as ends of turns have none."""
    _ended: str | None = kept()
    """The reason of the last turn's end, until another message comes."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        kind = record.get("type")
        if kind == "session_start":
            self.session = text(record.get("id"))
            self.role = "subagent" if text(record.get("callingSessionId")) else None
            self.begin(self.session)
            self.work_in(record.get("cwd"))
            return ()
        self.session = self.session or session_of(self.source.path)
        self._last = text(record.get("timestamp")) or self._last
        self.time(self._last)
        if kind == "message":
            message, self._ended = mapping(record.get("message")), None
            self.count_session(requests=int(message.get("role") == "assistant"))
            return block_events(self, message.get("content"))
        if kind == "compaction_state":
            self.count_session()
            return self.compacted({}, self.session, text(record.get("id")) or identity_of(record))
        return self._turn(record) if kind == "agent_turn_outcome" else ()

    def _turn(self, record: Mapping[str, Any]) -> list[Event]:
        """Read the end of a turn, which was stopped, or failed because of a model.

        Other reasons are no failures of calls.
        """
        reason, previous = text(record.get("reason")) or "", self._ended
        self._ended = reason
        if reason == previous:
            return []
        self.count_session(aborted=int(reason == "cancelled"))
        if reason not in ("error", "prompt_rejected") and not reason.startswith("model_"):
            return []
        unique = self.session, text(record.get("turnId")) or identity_of(record)
        facts = {"type": reason if reason != "error" else None, "message": _WORDS.get(reason)}
        failure = self.failed(facts, *unique)
        return [failure, *([self.exhausted(failure, *unique)] if reason in _WORDS else [])]


class DroidStreamReader(RecordReader, name="droid_stream", agent="droid", visibility="terminal"):
    """Reads the output of `droid exec --output-format stream-json`, whose records name their session.

    Older versions leave out the names of the calls of results.
    """

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.time(record.get("timestamp"))
        kind, session = record.get("type"), text(record.get("session_id"))
        if session is not None and session != self.session:
            self.begin(session)
        unique = self.session, text(record.get("id")) or identity_of(record)
        if kind == "system":
            self.learn(model=record.get("model"))
            self.work_in(record.get("cwd"))
        self.count_session(requests=int(kind == "message" and record.get("role") == "assistant"))
        if kind == "tool_call":
            self.called(text(record.get("toolName")) or text(record.get("toolId")), text(record.get("toolCallId")))
        elif kind == "tool_result":
            tool = self.tool_of(text(record.get("toolCallId")))
            if record.get("isError") is True:
                error = record.get("error")
                words = text(mapping(error).get("message")) or text(error) or text(record.get("value")) or ""
                exited = _EXITED.search(words[:_READ])
                return self.tool_failed(tool, f"Exit code {exited[1]}" if exited else words, *unique)
        elif kind == "error":
            failure = self.failed({"message": text(record.get("message"))}, *unique)
            limited = failure.payload.get("detail") == "usage_limit"
            return [failure, self.exhausted(failure, *unique)] if limited else [failure]
        elif kind in ("completion", "result"):
            usage = mapping(record.get("usage"))
            tokens = {name: self.counted(usage, key) for name, key in zip(_SPENT, ANTHROPIC.split(), strict=True)}
            return self.spent("run", *unique, fields={"whole_run": True}, **tokens)
        return ()


class DshReader(RecordReader, name="dsh", agent="dsh", visibility="terminal"):
    """Reads the events of a session of DeepSeek Harness (`~/.dsh/sessions/*/*/session.jsonl.zstd`).

    Each reply is an `assistant/message` with its tokens, which its chunks tell before; the input
    leaves out what was read from the cache. A fork keeps the ids of messages. Source: sessions of
    dsh 0.1.0 of August 2026.
    """

    telling = re2.compile(
        rb'"type": ?"(?:session"|(?:user|assistant)/message"|tool/(?:call|result)"|turn/end"|compaction/'
        rb'|[a-z/]{0,40}error")'
    )

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        kind, data = text(record.get("type")) or "", mapping(record.get("data"))
        if kind == "session":
            self.time(record.get("createdAt"))
            self.begin(text(record.get("id")))
            self.role = "subagent" if (number(record.get("delegationDepth")) or 0) > 0 else None
            self.work_in(record.get("cwd"))
            self.count_session()
            return ()
        self.time(record.get("time"))
        message = mapping(data.get("message"))
        unique = text(message.get("id")) or (self.session, record.get("seq"), kind)
        if kind == "assistant/message":
            source = mapping(message.get("source"))
            self.learn(provider=source.get("provider"), model=source.get("model"))
            self.count_session(requests=1)
            usage = mapping(data.get("usage"))
            names = "inputTokens outputTokens cacheReadTokens cacheWriteTokens reasoningTokens"
            return self.spent_as(usage, names, unique)
        self.count_session()
        if kind == "tool/call":
            self.called(text(data.get("name")), text(data.get("callId")))
        elif kind == "tool/result":
            return self._results(message, unique)
        elif kind.startswith("compaction/") and kind != "compaction/start":
            return self.compacted({}, unique)
        elif kind == "turn/end" or kind.endswith("error"):
            return self._ended(mapping(data.get("reason")) or data, unique)
        return ()

    def _results(self, message: Mapping[str, Any], unique: object) -> list[Event]:
        events: list[Event] = []
        for index, part in enumerate(listed(message.get("content"))):
            tool = self.tool_of(text(part.get("toolCallId")))
            if part.get("isError") is True:
                events += self.tool_failed(tool, content_text(part.get("content")), unique, index)
        return events

    def _ended(self, reason: Mapping[str, Any], unique: object) -> list[Event]:
        """Read the end of a turn, which was completed, stopped, or failed."""
        kind, error = text(reason.get("kind")) or "", mapping(reason.get("error")) or reason
        if kind in ("aborted", "cancelled", "interrupted"):
            self.count_session(aborted=1)
            return []
        message = text(error.get("message")) or text(reason.get("error"))
        if message is None and kind not in ("error", "failed"):
            return []
        facts = {"status": number(error.get("status")), "code": text(error.get("code")), "message": message}
        return [self.failed(facts, unique)]


_SPENT = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_EXITED = re.compile(r"\bexit code:? (-?\d{1,6})")
_TOKENS = "inputTokens outputTokens cacheInputTokens cacheCreateTokens"
_BLOCK = "BlockUpdatedEvent"


class JunieReader(RecordReader, name="junie", agent="junie", visibility="terminal", folder=1):
    """Reads the events of the session that the folder names.

    Junie's sessions (`~/.junie/sessions/*/events.jsonl`): failures that ended a task, and steps as
    they change.

    Its source is not open: the events are read as other programs read them in August 2026
    (junhoyeo/tokscale, `crates/tokscale-core/src/sessions/junie.rs`, and tests of others with lines
    that Junie wrote). Retries are not written.
    """

    telling = re2.compile(
        rb"UserPromptEvent|CurrentDirectoryUpdatedEvent|LlmResponseMetadataEvent|AgentFailureEvent|BlockUpdatedEvent"
    )
    _steps: dict[str, bool] = kept({})
    """The last steps, with True for those whose failure or stop was counted."""
    _asked: str | None = kept()
    """The name of the last request, as Junie may write an event twice."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        event = mapping(mapping(record.get("event")).get("agentEvent"))
        kind = text(event.get("kind")) or ""
        self.time(record.get("timestampMs"))
        if record.get("kind") == "UserPromptEvent":
            self.count_session()
        elif kind == "CurrentDirectoryUpdatedEvent":
            self.work_in(event.get("currentDirectory"))
        elif kind == "LlmResponseMetadataEvent":
            return self._request(event, identity_of(record))
        elif kind == "AgentFailureEvent":
            self.count_session()
            code, message = text(event.get("errorCode")), text(event.get("message"))
            facts = {"code": code if code != "ExitEarly" else None, "message": message}
            return [self.failed(facts, self.session, identity_of(record))]
        elif kind.endswith(_BLOCK):
            return self._step(event, kind.removesuffix(_BLOCK).lower())
        return ()

    def _request(self, event: Mapping[str, Any], unique: str) -> list[Event]:
        if unique == self._asked:
            return []
        self._asked, events = unique, list[Event]()
        for place, usage in enumerate(listed(event.get("modelUsage"))):
            self.learn(model=usage.get("model"))
            self.count_session(requests=1)
            events += self.spent_as(usage, _TOKENS, self.session, unique, place)
        return events

    def _step(self, event: Mapping[str, Any], tool: str) -> list[Event]:
        """Read a step, which is written again as it goes on: a call of a tool, or a result.

        A result may be a stop.
        """
        step = text(event.get("stepId")) or identity_of(event)
        if tool == "result":
            if event.get("cancelled") is True and not self._steps.get(step):
                self._steps[step] = True
                self.count_session(aborted=1)
            return []
        if "status" not in event:
            return []
        if step not in self._steps:
            self._steps[step] = False
            self.count_calls(tool)
        code = number(event.get("exitCode"))
        if self._steps[step] or not (event.get("status") == "FAILED" or code):
            return []
        self._steps[step] = True
        output = text(event.get("output")) or text(event.get("details"))
        if code:
            output = f"Exit code {code}"
        return self.tool_failed(tool, output, self.session, step, command=event.get("command"))
