"""Gemini CLI: its chats (`~/.gemini/tmp/*/chats/session-*`), and what `gemini --output-format stream-json` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream import content_text, count, mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.base import Source, glance, list_of
from analyzer.importers.failures import digits
from analyzer.importers.records import RecordReader, identity_of, kept, moment_of

_ERROR = "[API Error"
_CODE = re.compile(r'"code": ?(\d{3})\b')
_STATUS = re.compile(r'"status": ?"([A-Z_]{2,40})"|\(Status: ([A-Za-z_]{2,40})\)')
_TOKENS = re.compile(r"^Chat history compressed from (\d+) to (\d+) tokens")
_PERCENT = re.compile(r"^Context compressed from (\d{1,3})% to (\d{1,3})%")
_CANCELLED = "Request cancelled."
_WHOLE = frozenset({"projectHash", "messages", "$set"})
"""Keys of records that are decoded whole."""
_KINDS = {"error": "other", "cancelled": "cancelled"}
"""Kinds of failure by the status of a call whose tool says nothing."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def api_error_facts(message: str) -> dict[str, Any]:
    """Return the facts of an error that Gemini CLI shows.

    An error of the API has its code and status in the text.
    """
    code, status = _CODE.search(message), _STATUS.search(message)
    facts = {
        "status": digits(code[1]) if code else None,
        "type": (status[1] or status[2]) if status else None,
        "message": message,
    }
    return present(facts)


def _answer_of(result: object) -> str | None:
    """Return the error in a tool's response, else its output; None where it has neither."""
    for part in map(mapping, result if isinstance(result, list) else ()):
        response = mapping(mapping(part.get("functionResponse")).get("response"))
        if answer := text(response.get("error")) or text(response.get("output")):
            return answer
    return None


def _project_of(path: str) -> dict[str, str]:
    """Return the project of a chat by its folder; older folders are named by a digest."""
    folder = re.search(r"[/\\]tmp[/\\]([^/\\]+)[/\\]chats[/\\]", path)
    return {"project": folder[1]} if folder and not _DIGEST.fullmatch(folder[1]) else {}


class GeminiChatReader(RecordReader, name="gemini_chat", agent="gemini-cli", visibility="terminal"):
    """Reads a chat."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        last = state.get("last")
        # Checkpoints of earlier versions have a list.
        super().__init__(source, {**state, "last": dict.fromkeys(last, True)} if isinstance(last, list) else state)

    _last: dict[str, bool] = kept({})
    """Ids of the last replies, calls and stops, which are written again as they grow and at checkpoints."""
    _used: int | None = kept()
    """Input tokens of the last reply."""
    _relay: str | None = kept()
    """The id of the compression whose outcome the next reply shows."""

    glance: ClassVar[Any] = glance(
        "id type timestamp model tokens messages projectHash $set", toolCalls=list_of("id name status")
    )

    def glanced(self, record: Mapping[str, Any]) -> Iterable[Event] | None:
        """Read questions, and replies none of whose tools failed; see `RecordReader`."""
        if not _WHOLE.isdisjoint(record) or text(record.get("id")) is None:
            return None
        if record.get("type") == "user":
            self.time(record.get("timestamp"))
            self.count_session()
            return ()
        calls = record.get("toolCalls", ())
        has_worked = all(call.get("status") == "success" and text(call.get("id")) for call in calls)
        return self._message(record) if record.get("type") == "gemini" and has_worked else None

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        events: list[Event] = []
        if "projectHash" in record:
            self._head(record)
        # A checkpoint has the messages so far, of which some may have no line of their own.
        messages = record.get("messages") or mapping(record.get("$set")).get("messages")
        for message in messages if isinstance(messages, list) else ():
            events += self._message(mapping(message))
        return [*events, *self._message(record)] if "type" in record else events

    def _head(self, head: Mapping[str, Any]) -> None:
        self.time(head.get("startTime"))
        self.session = text(head.get("sessionId")) or self.session
        self.role = "subagent" if head.get("kind") == "subagent" else None
        self.known |= {"agent": self.agent, "provider": "google", **_project_of(self.source.path)}
        self.count_session()

    def _message(self, message: Mapping[str, Any]) -> list[Event]:
        self.time(message.get("timestamp"))
        kind = message.get("type")
        unique = text(message.get("id")) or identity_of(message)
        if kind == "gemini":
            self.learn(model=message.get("model"))
            self.count_session(requests=int(self._new(unique)))
            tokens = mapping(message.get("tokens"))
            return [
                *self._measured(count(tokens.get("input"))),
                *self._spent(message.get("tokens"), unique),
                *self._tools(message.get("toolCalls")),
            ]
        self.count_session()
        content = content_text(message.get("content"))
        if kind == "error" and content.startswith(_ERROR):
            return [self.failed(api_error_facts(content), unique)]
        if kind == "info" and (content or message.get("content") == ""):
            return self._informed(content, unique)
        return []

    def _spent(self, tokens: object, unique: str) -> list[Event]:
        """Record the tokens of a reply, whose output does not count its thoughts."""
        thought = self.counted(tokens, "thoughts") or 0
        return self.spent(
            unique,
            prompt=self.counted(tokens, "input") or 0,
            input_tokens=self.counted(tokens, "tool"),
            output_tokens=(self.counted(tokens, "output") or 0) + thought,
            cache_read_tokens=self.counted(tokens, "cached") or 0,
            reasoning_tokens=thought,
        )

    def _tools(self, calls: object) -> list[Event]:
        """Record the ended calls of a reply, which is written again as they end."""
        events = []
        for call in map(mapping, calls if isinstance(calls, list) else ()):
            unique, tool, status = text(call.get("id")) or identity_of(call), text(call.get("name")), call.get("status")
            if status not in ("success", "error", "cancelled") or not self._new(unique):
                continue
            self.count_calls(tool)
            if status != "success":
                self.clock(moment_of(call.get("timestamp")) or (self.at if self.timed else None))
                answer = _answer_of(call.get("result")) or text(call.get("resultDisplay"))
                events += self.tool_failed(tool, answer, unique, kind=None if answer else _KINDS[status])
        return events

    def _new(self, unique: str) -> bool:
        if unique in self._last:
            return False
        self._last[unique] = True
        return True

    def _measured(self, used: int | None) -> list[Event]:
        """Record the end of a compression, which only the tokens of the next reply show."""
        before, relay = self._used, self._relay
        if used is None:
            return []
        self._used, self._relay = used, None
        if relay is None:
            return []
        if before is None or used < before:
            return [self.resumed(relay, used)]
        halted = {"relay": relay, "caller": self.caller, "cause": "the context did not get smaller"}
        return [self.event("relay.halted", halted, relay)]

    def _informed(self, notice: str, unique: str) -> list[Event]:
        if not notice:
            # Only the outcome of /compress has no text (packages/cli, useHistoryManager.ts).
            if not self._new(unique):
                return []
            begun = self.relay({"strategy": "compact", "pre_tokens": self._used, "trigger": "manual"}, unique)
            self._relay = begun.id
            return [begun]
        if notice.startswith(_CANCELLED):
            self.count_session(aborted=int(self._new(unique)))
            return []
        tokens, percent = _TOKENS.match(notice), _PERCENT.match(notice)
        if tokens is None and percent is None:
            return []
        began = {
            "pre_tokens": digits(tokens[1]) if tokens else None,
            "token_usage_percent": float(percent[1]) if percent else None,
        }
        return self.compacted(began, unique, post_tokens=digits(tokens[2]) if tokens else None)


_CANCELLED_TYPE = "FatalCancellationError"
_GENERIC_TYPES = frozenset({"Error", "ApiError"})


class GeminiStreamReader(RecordReader, name="gemini_stream", agent="gemini-cli", visibility="terminal"):
    """Reads the output of runs, which begin with the session that they start or resume."""

    _reported: str | None = kept()
    """The message of the current run's error, which the end of the run may repeat."""
    _replying: bool = kept(False)
    """True once the current reply is counted: it comes in pieces."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.time(record.get("timestamp"))
        kind = record.get("type")
        unique = self.session, str(record.get("timestamp")), identity_of(record)
        if kind == "init":
            self.session, self._reported, self._replying = text(record.get("session_id")), None, False
            self.begin(self.session, provider="google", model=record.get("model"))
            self.count_session()
        elif kind == "tool_use" or (kind == "message" and record.get("role") == "assistant"):
            self.count_session(requests=int(not self._replying))
            self._replying = True
            if kind == "tool_use":
                self.called(text(record.get("tool_name")), text(record.get("tool_id")))
        elif kind == "tool_result":
            return self._tool_ended(record)
        elif kind == "error":
            return self._failed(record, unique) if record.get("severity") == "error" else ()
        elif kind == "result":
            return self._ended(record, unique)
        else:
            self._replying = False
        return ()

    def _tool_ended(self, record: Mapping[str, Any]) -> list[Event]:
        self._replying = False
        call = text(record.get("tool_id")) or ""
        tool = self.tool_of(call)
        if record.get("status") != "error":
            return []
        error, at = mapping(record.get("error")), str(record.get("timestamp"))
        message, hint = text(error.get("message")), text(error.get("type"))
        return self.tool_failed(tool, message, self.session, call, at, hint=hint)

    def _ended(self, record: Mapping[str, Any], unique: object) -> list[Event]:
        self._replying = False
        error = mapping(record.get("error"))
        reported, self._reported = self._reported, None
        if record.get("status") != "error":
            return []
        if error.get("type") == _CANCELLED_TYPE:
            self.count_session(aborted=1)
            return []
        if reported is not None and text(error.get("message")) == reported:
            return []
        return self._failed(error, unique)

    def _failed(self, error: Mapping[str, Any], unique: object) -> list[Event]:
        self.count_session()
        message, kind = text(error.get("message")), text(error.get("type"))
        self._reported = message
        facts = api_error_facts(message or "")
        if "type" not in facts and kind not in ("error", *_GENERIC_TYPES):
            facts |= present({"type": kind})
        return [self.failed(facts, unique)]
