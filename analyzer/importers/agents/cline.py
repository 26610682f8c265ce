"""Cline's and Roo Code's `ui_messages.json`: one array of rows, written anew with each change.

A row of `partial: true` is still being written. The folder names the session.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event
from analyzer.events.codec import parsed
from analyzer.events.times import format_time
from analyzer.importers.base import Source
from analyzer.importers.failures import first_digits, number, quantity
from analyzer.importers.records import MAIN, RecordReader, kept, moment_of

_CODE = re.compile(r"^(\d{3})\b|\bstatus(?: code)?:? (\d{3})\b|\"code\": ?(\d{3})\b|^\W{0,2}(\d{3}) [A-Z]")


def _facts(said: str | None) -> dict[str, Any]:
    return {"status": first_digits(_CODE.search(said or "")), "message": said}


class ClineReader(RecordReader, name="cline", agent="cline", visibility="full"):
    """Reads the rows of one task."""

    _request: dict[str, Any] = kept({})
    """Why the last request failed, and whether a row behind it has told that: its message stands there alone."""
    _tool: str | None = kept()
    """The tool that was asked for last."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.session = task_of(source.path)
        self.known |= {"agent": self.agent}

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if record.get("partial") is True:
            return ()
        self.clock(moment_of(record.get("ts")))
        model = mapping(record.get("modelInfo"))
        self.learn(model=model.get("modelId"), provider=model.get("providerId"))
        kind = (text(record.get("say")) if record.get("type") == "say" else text(record.get("ask"))) or ""
        said, unique = text(record.get("text")), [self.session, record.get("ts"), kind]
        found = _ROWS.get(kind)
        events = found(self, record, said, unique) if found else []
        self.see(requests=int(kind == "api_req_started"))
        return events

    def _retried(
        self, said: str | None, unique: object, attempt: int | None, most: int | None, delay: float | None
    ) -> list[Event]:
        self.chains.begin_anew(MAIN, attempt)
        facts, calls = _facts(self._message(said)), most + 1 if most is not None else None
        return self.retried(facts, unique, numbered=attempt or None, delay_seconds=delay, max_attempts=calls)

    # Cline

    def _error_retry(self, _row: Mapping[str, Any], said: str | None, unique: object) -> list[Event]:
        """Each row is one failed call; the last one says that no other follows."""
        told = mapping(parsed(said))
        attempt, most = number(told.get("attempt")), number(told.get("maxAttempts"))
        message = text(told.get("errorMessage"))
        if told.get("failed") is not True:
            return self._retried(message, unique, attempt, most, quantity(told.get("delaySeconds")))
        message = self._message(message)
        failure = self.failed(_facts(message), unique, chain=MAIN if MAIN in self.chains else None)
        return [failure, *self.settled("exhausted")]

    def _message(self, said: str | None) -> str | None:
        """What a failed call says, or the request that it was made for."""
        self._request["told"] = True
        return said or text(self._request.get("message"))

    def _requested(self, _row: Mapping[str, Any], said: str | None, unique: object) -> list[Event]:
        """A request; its row is written again once it has ended, with its tokens or with why it was given up."""
        told, events = mapping(parsed(said)), self._alone()
        self._request = {}
        cause = told.get("cancelReason")
        if cause == "user_cancelled":
            self.see(aborted=1)
            return [*events, *self.settled("aborted")]
        if cause in ("streaming_failed", "retries_exhausted"):
            self._request = {"message": text(told.get("streamingFailedMessage")), "unique": unique}
        elif told.get("tokensIn") is not None or told.get("cost") is not None:
            return [*events, *self._spent(told), *self.settled("recovered", made=1)]
        return events

    def _spent(self, told: Mapping[str, Any]) -> list[Event]:
        """The tokens of a request. APIs other than Anthropic's count what a cache has into the prompt."""
        put, read, written = (self.counted(told, key) or 0 for key in ("tokensIn", "cacheReads", "cacheWrites"))
        return self.spent(
            self.session,
            format_time(self.at),
            input_tokens=put - read - written if read + written <= put else put,
            output_tokens=self.counted(told, "tokensOut"),
            cache_read_tokens=read,
            cache_write_tokens=written,
            cost_usd=quantity(told.get("cost")) or None,
        )

    def _alone(self) -> list[Event]:
        """A failure that its request told, and no row behind it."""
        if not self._request or self._request.get("told"):
            return []
        self._request["told"] = True
        return [self.failed(_facts(text(self._request.get("message"))), self._request.get("unique"))]

    def _asked(self, _row: Mapping[str, Any], _said: str | None, _unique: object) -> list[Event]:
        """The question whether to go on: it repeats the failure before it."""
        return self._alone()

    def _called(self, row: Mapping[str, Any], said: str | None, _unique: object) -> list[Event]:
        """A tool that is asked for; the row names it, or its kind does."""
        kind = text(row.get("say")) or text(row.get("ask"))
        self._tool = text(mapping(parsed(said)).get("tool")) if kind == "tool" else kind
        self.see_calls(self._tool)
        return []

    def _tool_error(self, _row: Mapping[str, Any], said: str | None, unique: object) -> list[Event]:
        return self.tool_failed(self._tool, said, unique)

    def _diff_error(self, _row: Mapping[str, Any], said: str | None, unique: object) -> list[Event]:
        return self.tool_failed(self._tool, said, unique, kind="edit_mismatch")

    def _compaction(self, _row: Mapping[str, Any], said: str | None, unique: object) -> list[Event]:
        told = mapping(parsed(said))
        if told.get("status") not in ("completed", "failed"):
            return []
        trigger = text(told.get("mode"))
        failed = told.get("status") == "failed"
        return self._relay(unique, told.get("tokensBefore"), told.get("tokensAfter"), trigger, failed=failed)

    # Roo Code

    def _delayed(self, _row: Mapping[str, Any], said: str | None, unique: object) -> list[Event]:
        return self._retried(said, unique, None, None, None)

    def _condensed(self, row: Mapping[str, Any], _said: str | None, unique: object) -> list[Event]:
        told = mapping(row.get("contextCondense")) or mapping(row.get("contextTruncation"))
        return self._relay(unique, told.get("prevContextTokens"), told.get("newContextTokens"), None) if told else []

    def _relay(
        self, unique: object, before: object, after: object, trigger: str | None, *, failed: bool = False
    ) -> list[Event]:
        began = {"pre_tokens": count(before), "trigger": trigger}
        cause = "the compaction failed" if failed else None
        return self.compacted(began, unique, post_tokens=count(after), cause=cause)


def task_of(path: str) -> str:
    """The task that a file belongs to: the name of its folder."""
    parts = [part for part in re.split(r"[/\\]", path) if part]
    return parts[-2] if len(parts) > 1 else path


_ROWS: dict[str, Callable[[ClineReader, Mapping[str, Any], str | None, object], list[Event]]] = {
    "error_retry": ClineReader._error_retry,
    "api_req_started": ClineReader._requested,
    "api_req_failed": ClineReader._asked,
    "resume_task": ClineReader._asked,
    "compaction": ClineReader._compaction,
    "api_req_retry_delayed": ClineReader._delayed,
    "condense_context": ClineReader._condensed,
    "sliding_window_truncation": ClineReader._condensed,
    "tool": ClineReader._called,
    "command": ClineReader._called,
    "use_mcp_server": ClineReader._called,
    "browser_action_launch": ClineReader._called,
    "error": ClineReader._tool_error,
    "diff_error": ClineReader._diff_error,
}
