"""Copilot Chat in VS Code (`chatSessions/*.json`, `*.jsonl`): a document a chat, or its changes.

It has how a turn ended, and not how often its calls were tried again. A turn counts as one request,
however many its tools made. Failed tools are those whose result says so, commands that exit with
another code than 0, and calls that the user denied. Sources: microsoft/vscode,
`chat/common/model/chatSessionOperationLog.ts`, `objectMutationLog.ts` and
`chatService/chatService.ts`, and microsoft/vscode-copilot-chat,
`src/platform/chat/common/commonTypes.ts`, 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.failures import number, quantity
from analyzer.importers.records import RecordReader, kept, moment_of, session_of
from analyzer.importers.shapes.rows import listed

_INITIAL, _SET, _PUSH = 0, 1, 2
"""Kinds of changes; all others delete."""
_CANCELLED = 2
_DENIED = 0


class CopilotChatReader(RecordReader, name="copilot_chat", agent="copilot-chat", visibility="terminal"):
    """Reads a whole chat, or the changes of one."""

    _turns: dict[str, dict[str, Any]] = kept({})
    """The `id`, time (`at`), model and `stopped` of each turn, by its place."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if "requests" in record:
            return self._chat(record)
        value, path = record.get("v"), record.get("k")
        if record.get("kind") == _INITIAL:
            return self._chat(mapping(value))
        if not isinstance(path, list) or path[:1] != ["requests"]:
            return ()
        if len(path) == 1 and record.get("kind") == _PUSH:
            index = number(record.get("i"))
            first = self._next_place() if index is None else max(index, 0)
            while self._next_place() > first:
                self._turns.popitem()
            return self._requests(value, first)
        if len(path) == 2 and record.get("kind") == _SET:
            return self._requests([value], number(path[1]) or 0)
        if len(path) > 2 and (turn := self._turns.get(str(path[1]))):
            if path[2] == "response" and not isinstance(value, list):
                value = [value]
            return self._changed(turn, {str(path[2]): value})
        return ()

    def _next_place(self) -> int:
        """Return the place after the last turn; the first turns may be forgotten."""
        return int(next(reversed(self._turns), -1)) + 1

    def _chat(self, chat: Mapping[str, Any]) -> list[Event]:
        self.session = text(chat.get("sessionId")) or self.session
        self._turns = {}
        return self._requests(chat.get("requests"), 0)

    def _requests(self, requests: object, place: int) -> list[Event]:
        """Return the events of turns, the first of which has this place."""
        events = []
        for request in listed(requests):
            turn = {"id": text(request.get("requestId")), "at": quantity(request.get("timestamp"))}
            self._turns[str(place)] = turn | {"model": (text(request.get("modelId")) or "").rpartition("/")[2]}
            self._take(self._turns[str(place)])
            self.count_session(requests=1)
            events += self._changed(self._turns[str(place)], request)
            place += 1
        return events

    def _take(self, turn: Mapping[str, Any], after: object = None) -> None:
        """Set the model of a turn, and its time, or the time `after` so many milliseconds."""
        self.begin(self.session, model=turn.get("model"))
        at = turn.get("at")
        self.clock(moment_of(at + (quantity(after) or 0)) if at else None)

    def _changed(self, turn: dict[str, Any], changes: Mapping[str, Any]) -> list[Event]:
        result = mapping(changes.get("result"))
        self._take(turn, mapping(result.get("timings")).get("totalElapsed"))
        stopped = mapping(changes.get("modelState")).get("value") == _CANCELLED or changes.get("isCanceled") is True
        if stopped and not turn.get("stopped"):
            turn["stopped"] = True
            self.count_session(aborted=1)
        events = [event for part in listed(changes.get("response")) for event in self._part(part)]
        error = mapping(result.get("errorDetails"))
        code, message = text(error.get("code")), text(error.get("message"))
        if (code or message) and code != "canceled":
            self.count_session()
            facts = {"type": code, "message": message}
            failure = self.failed(facts, self.session, turn["id"], code, message)
            events.append(failure)
            if error.get("isQuotaExceeded") is True:
                events.append(self.exhausted(failure, self.session, turn["id"]))
        return events

    def _part(self, part: Mapping[str, Any]) -> list[Event]:
        """Read a part of a reply: a call of a tool, which is written again when it ends."""
        call = text(part.get("toolCallId"))
        if part.get("kind") != "toolInvocationSerialized" or call is None:
            return []
        tool = text(part.get("toolId"))
        if call not in self._calls:
            self.called(tool, call)
        state = mapping(mapping(part.get("toolSpecificData")).get("terminalCommandState"))
        code = number(state.get("exitCode"))
        denied = mapping(part.get("isConfirmed")).get("type") == _DENIED
        details = mapping(part.get("resultDetails"))
        if not code and not denied and details.get("isError") is not True:
            return []
        output = f"Exit code {code}" if code else None
        if not code:
            values = (text(value.get("value")) for value in listed(details.get("output")))
            output = next(values, None)
        kind = "refused" if denied else None
        return self.tool_failed(tool, output, self.session, call, kind=kind)


class CursorReader(RecordReader, name="cursor", agent="cursor", visibility="terminal"):
    """Reads a transcript; its file is named for the session.

    Cursor's transcripts (`~/.cursor/projects/*/agent-transcripts/**/*.jsonl`): messages without
    times, ends of turns.

    An end says if the turn was done, stopped or failed, and why; results of tools and retries are
    not written. Transcripts that older versions wrote as text are not read. No source of it is
    open: lines are read as public readers of it show them, such as kenn-io/agentsview,
    `internal/parser/cursor.go`, 2026.
    """

    _turn: int = kept(0)
    """The number of ended turns."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        path = self.source.path.replace("\\", "/")
        self.session, self.known = session_of(path), {"agent": self.agent}
        self.role = "subagent" if "/subagents/" in path else None
        if record.get("type") != "turn_ended":
            parts = [*listed(mapping(record.get("message")).get("content"))]
            self.count_session(requests=int(record.get("role") == "assistant"))
            self.count_calls(*(text(part.get("name")) for part in parts if part.get("type") == "tool_use"))
            return ()
        self._turn += 1
        self.count_session(aborted=int(record.get("status") == "aborted"))
        if record.get("status") != "error":
            return ()
        message = text(record.get("error"))
        return [self.failed({"message": message}, self.session, self._turn, message)]
