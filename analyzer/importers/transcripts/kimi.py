"""Kimi Code's `wire.jsonl`, a file for each agent of a session, the file of kimi-cli before it, and
what `kimi -p` prints.

`kimi -p` prints its retries as `stream-json`.

The file has each request with its number in its step, but not why the request before it failed:
such failures have no facts. Each `usage.record` is the tokens of one request.

Source: MoonshotAI/kimi-code, `packages/agent-core-v2/docs/wire-manifest.d.ts`, wire protocol 1.5,
August 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream import content_text, count, mapping, text
from analyzer.events import Event
from analyzer.importers.base import Source, glance, shape
from analyzer.importers.failures import number, quantity
from analyzer.importers.records import MAIN, RecordReader, folder_of, identity_of

_ATTEMPT = re.compile(r"^(\d{1,6})/\d{1,6}$")
_STEPS = frozenset({"step.end", "tool.call", "tool.result"})
_LEFT_OUT = frozenset({"api_error", "internal", "provider.api_error"})
"""Codes that only say that there was an error."""
_DECODED = frozenset({"turn.step.retrying", "turn.ended", "turn.cancel", "context.apply_compaction", "config.update"})
"""Rare records that are decoded whole, as more of them is read than `glance` has."""


class KimiReader(RecordReader, name="kimi", agent="kimi-code", visibility="full"):
    """Reads the records of one agent; the folders name the session and the agent."""

    glance: ClassVar[Any] = glance(
        "type time created_at provider model attempt usage",
        event=shape("type name toolCallId", result=shape("isError")),
    )

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        agent = folder_of(source.path, 1)
        self.session = folder_of(source.path, 3) or self.session
        self.role = "subagent" if agent not in (None, "main") else None

    def glanced(self, record: Mapping[str, Any]) -> Iterable[Event] | None:
        """Return the events of steps without failed results, and of first requests of steps."""
        kind, step = text(record.get("type")), mapping(record.get("event"))
        failed = mapping(step.get("result")).get("isError") is True
        again = kind == "llm.request" and not (text(record.get("attempt")) or "1/").startswith("1/")
        if kind in _DECODED or failed or again or (self.chains and step.get("type") == "step.end"):
            return None
        if kind == "context.append_loop_event" and text(step.get("type")) not in _STEPS:
            return ()
        return self._events_of(record)

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.time(record.get("time") or record.get("created_at"))
        self.known |= {"agent": self.agent}
        kind = record.get("type")
        if kind == "turn.step.retrying":
            return self._retrying(record)
        if kind == "llm.request":
            return self._asked(record)
        if kind == "usage.record":
            return self._spent(record)
        if kind == "context.append_loop_event":
            return self._looped(mapping(record.get("event")), record)
        if kind in ("turn.prompt", "turn.steer"):
            self.count_session()
        elif kind == "turn.cancel" and record.get("target") != "queued":
            self.count_session(aborted=1)
            return self.settled("aborted")
        elif kind == "turn.ended":
            return self._ended(record)
        elif kind == "context.apply_compaction":
            self.count_session()
            began = {"pre_tokens": count(record.get("tokensBefore"))}
            return self.compacted(began, self._unique(record), post_tokens=count(record.get("tokensAfter")))
        elif kind == "config.update":
            self.work_in(mapping(record.get("environmentDisclosure")).get("cwd"))
        return ()

    def _spent(self, record: Mapping[str, Any]) -> list[Event]:
        """Make the event of the tokens of one request; those of the cache are counted apart."""
        usage = mapping(record.get("usage"))
        self.learn(model=record.get("model"))
        return self.spent(
            (self.session, self.role, str(record.get("time")), identity_of(usage)),
            input_tokens=self.counted(usage, "inputOther"),
            output_tokens=self.counted(usage, "output"),
            cache_read_tokens=self.counted(usage, "inputCacheRead"),
            cache_write_tokens=self.counted(usage, "inputCacheCreation"),
        )

    def _unique(self, record: Mapping[str, Any]) -> object:
        return self.session, identity_of(record)

    def _retrying(self, record: Mapping[str, Any]) -> list[Event]:
        """Read a failed request with the retry that follows it.

        A line of the file has other spellings of the same keys than a printed line.
        """
        fields = {key.replace("_", "").lower(): value for key, value in record.items()}
        facts = {
            "status": number(fields.get("statuscode")),
            "exception_class": text(fields.get("errorname")),
            "message": text(fields.get("errormessage")),
        }
        delay, attempt = quantity(fields.get("delayms")), number(fields.get("failedattempt"))
        self.chains.begin_anew(MAIN, attempt)
        seconds = delay / 1000 if delay is not None and delay >= 0 else None
        return self.retried(facts, self._unique(record), numbered=attempt, delay_seconds=seconds)

    def _asked(self, record: Mapping[str, Any]) -> list[Event]:
        """Read a request; if it is not the first of its step, the request before it failed."""
        self.learn(provider=record.get("provider"), model=record.get("model"))
        self.count_session(requests=1)
        attempt = _ATTEMPT.match(text(record.get("attempt")) or "")
        failures = int(attempt[1]) - 1 if attempt else 0
        if failures < 1:
            self.chains.settled(MAIN, "unresolved")
            return []
        if self.chains.attempts(MAIN) >= failures:
            return []
        return self.retried({}, self._unique(record), numbered=failures)

    def _looped(self, event: Mapping[str, Any], record: Mapping[str, Any]) -> list[Event]:
        kind = event.get("type")
        if kind == "step.end":
            self.count_session()
            return self.settled("recovered", made=1)
        if kind == "tool.call":
            self.called(text(event.get("name")), text(event.get("toolCallId")))
        elif kind == "tool.result":
            tool, result = self.tool_of(text(event.get("toolCallId"))), mapping(event.get("result"))
            if result.get("isError") is True:
                return self.tool_failed(tool, content_text(result.get("output")), self._unique(record))
        return []

    def _ended(self, record: Mapping[str, Any]) -> list[Event]:
        error, reason = mapping(record.get("error")), record.get("reason")
        self.count_session(aborted=int(reason == "cancelled"))
        if reason != "failed":
            return self.settled("aborted" if reason == "cancelled" else "recovered")
        details, code = mapping(error.get("details")), text(error.get("code"))
        facts = {
            "status": number(details.get("statusCode")),
            "code": code if code not in _LEFT_OUT else None,
            "exception_class": text(error.get("name")),
            "message": text(error.get("message")),
        }
        chain = MAIN if MAIN in self.chains else None
        return [self.failed(facts, self._unique(record), chain=chain), *self.settled("exhausted")]


class KimiCliReader(RecordReader, name="kimi_cli", agent="kimi-cli", visibility="terminal", folder=1):
    """Reads the messages between the program and its view (`~/.kimi/sessions/*/*/wire.jsonl`).

    Each step of a turn is a request, whose tokens a `StatusUpdate` has. Source: MoonshotAI/kimi-cli
    (Python), `src/kimi_cli/wire/types.py`, 2026.
    """

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        message = mapping(record.get("message"))
        kind, payload = message.get("type"), mapping(message.get("payload"))
        self.time(record.get("timestamp"))
        unique = self.session, str(record.get("timestamp")), identity_of(message)
        self.count_session(requests=int(kind == "StepBegin"), aborted=int(kind == "StepInterrupted"))
        if kind == "StatusUpdate":
            usage = mapping(payload.get("token_usage"))
            names = "input_other output input_cache_read input_cache_creation"
            return self.spent_as(usage, names, text(payload.get("message_id")) or unique)
        if kind == "ToolCall":
            self.called(text(mapping(payload.get("function")).get("name")), text(payload.get("id")))
        elif kind == "ToolResult":
            tool, result = self.tool_of(text(payload.get("tool_call_id"))), mapping(payload.get("return_value"))
            if result.get("is_error") is True:
                words = text(result.get("message")) or content_text(result.get("output"))
                return self.tool_failed(tool, words, *unique)
        elif kind == "CompactionEnd":
            return self.compacted({}, *unique)
        return ()
