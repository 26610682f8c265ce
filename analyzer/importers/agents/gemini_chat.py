"""Gemini CLI's chats (`~/.gemini/tmp/*/chats/session-*`), one document or a record a line.

A record of an id may come again: the last one holds. Retries are not in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream.values import mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.foreign import digits
from analyzer.importers.records import RecordReader, identity_of, moment_of

_ERROR = "[API Error"
_CODE = re.compile(r'"code": ?(\d{3})\b')
_STATUS = re.compile(r'"status": ?"([A-Z_]{2,40})"|\(Status: ([A-Za-z_]{2,40})\)')
_TOKENS = re.compile(r"^Chat history compressed from (\d+) to (\d+) tokens")
_PERCENT = re.compile(r"^Context compressed from (\d{1,3})% to (\d{1,3})%")
_CANCELLED = "Request cancelled."
_KINDS = {"error": "other", "cancelled": "cancelled"}
"""Where a tool says nothing."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


def said_by(content: object) -> str:
    """The text of a message, which is a text or a list of parts."""
    if isinstance(content, list):
        return "\n".join(found for part in content if (found := text(mapping(part).get("text"))))
    return content if isinstance(content, str) else ""


def api_error_facts(said: str) -> dict[str, Any]:
    """The facts of an error as Gemini CLI shows it: code and status stand in its text, where it is one of the API."""
    code, status = _CODE.search(said), _STATUS.search(said)
    facts = {
        "status": digits(code[1]) if code else None,
        "type": (status[1] or status[2]) if status else None,
        "message": said,
    }
    return present(facts)


def _answer_of(result: object) -> str | None:
    """What a tool answered: the error of its response."""
    for part in map(mapping, result if isinstance(result, list) else ()):
        response = mapping(mapping(part.get("functionResponse")).get("response"))
        if said := text(response.get("error")) or text(response.get("output")):
            return said
    return None


def _project_of(path: str) -> dict[str, str]:
    """The project whose chats a folder holds; older folders are named by a digest of the path."""
    folder = re.search(r"[/\\]tmp[/\\]([^/\\]+)[/\\]chats[/\\]", path)
    return {"project": folder[1]} if folder and not _DIGEST.fullmatch(folder[1]) else {}


class GeminiChatReader(RecordReader):
    """Reads a chat."""

    name: ClassVar[str] = "gemini_chat"
    agent: str = "gemini-cli"
    visibility: ClassVar[str] = "terminal"

    def __init__(self, source: Any, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self._last: list[str] = list(state.get("last") or ())
        """Ids of the last replies and stops: one that grows is written again."""

    def remembered(self) -> dict[str, Any]:
        """What was counted last."""
        return {**super().remembered(), "last": self._last}

    def events(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """The events of one record, or of a whole chat on one line."""
        found: list[Event] = []
        if "projectHash" in record:
            self._head(record)
        messages = record.get("messages")
        for message in messages if isinstance(messages, list) else ():
            found += self._message(mapping(message))
        return [*found, *self._message(record)] if "type" in record else found

    def _head(self, head: Mapping[str, Any]) -> None:
        self.time(head.get("startTime"))
        self.session = text(head.get("sessionId")) or self.session
        self.role = "subagent" if head.get("kind") == "subagent" else None
        self.known |= {"agent": self.agent, **_project_of(self.source.path)}
        self.see()

    def _message(self, message: Mapping[str, Any]) -> list[Event]:
        self.time(message.get("timestamp"))
        kind, said = message.get("type"), said_by(message.get("content"))
        unique = text(message.get("id")) or identity_of(message)
        if kind == "gemini":
            self.known |= present({"model": text(message.get("model"))})
            self.see(requests=int(self._new(unique)))
            return self._tools(message.get("toolCalls"))
        if kind == "error" and said.startswith(_ERROR):
            return self._failed(said, unique)
        if kind == "info":
            return self._informed(said, unique)
        return []

    def _tools(self, calls: object) -> list[Event]:
        """Calls of tools, each with its result; the message grows with them, and comes again."""
        events = []
        for call in map(mapping, calls if isinstance(calls, list) else ()):
            unique, tool, status = text(call.get("id")) or identity_of(call), text(call.get("name")), call.get("status")
            if status not in ("success", "error", "cancelled") or not self._new(unique):
                continue
            self.see_calls(tool)
            if status != "success":
                self.clock(moment_of(call.get("timestamp")) or (self.at if self.timed else None))
                said = _answer_of(call.get("result")) or text(call.get("resultDisplay"))
                events.append(self.tool_failed(tool, said, unique, kind=None if said else _KINDS[status]))
        return events

    def _new(self, unique: str) -> bool:
        if unique in self._last:
            return False
        self._last = [*self._last[-63:], unique]
        return True

    def _failed(self, said: str, unique: str) -> list[Event]:
        self.see()
        return [self.failed(api_error_facts(said), unique)]

    def _informed(self, said: str, unique: str) -> list[Event]:
        if said.startswith(_CANCELLED):
            self.see(aborted=int(self._new(unique)))
            return []
        tokens, percent = _TOKENS.match(said), _PERCENT.match(said)
        if tokens is None and percent is None:
            return []
        self.see()
        began = {
            "pre_tokens": digits(tokens[1]) if tokens else None,
            "token_usage_percent": float(percent[1]) if percent else None,
        }
        return self.compacted(began, unique, post_tokens=digits(tokens[2]) if tokens else None)
