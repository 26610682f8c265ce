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


def _facts(message: str | None) -> dict[str, Any]:
    return {"status": first_digits(_CODE.search(message or "")), "message": message}


class ClineReader(RecordReader, name="cline", agent="cline", visibility="full"):
    """Reads the rows of one task."""

    _request: dict[str, Any] = kept({})
    """The last failed request: `message`, id, and `told` once a later row reported it."""
    _tool: str | None = kept()
    """The tool that was called last."""

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
        unique = [self.session, record.get("ts"), kind]
        method = _ROWS.get(kind)
        events = method(self, record, text(record.get("text")), unique) if method else []
        self.count_session(requests=int(kind == "api_req_started"))
        return events

    def _retried(
        self, message: str | None, unique: object, attempt: int | None, most: int | None, delay: float | None
    ) -> list[Event]:
        self.chains.begin_anew(MAIN, attempt)
        facts = _facts(self._message(message))
        calls = None if most is None else most + 1
        return self.retried(facts, unique, numbered=attempt or None, delay_seconds=delay, max_attempts=calls)

    # Cline

    def _on_error_retry(self, _row: Mapping[str, Any], content: str | None, unique: object) -> list[Event]:
        """Read a failed call; the last row of a chain says that no other call follows."""
        retry = mapping(parsed(content))
        attempt, most = number(retry.get("attempt")), number(retry.get("maxAttempts"))
        message = text(retry.get("errorMessage"))
        if retry.get("failed") is not True:
            return self._retried(message, unique, attempt, most, quantity(retry.get("delaySeconds")))
        message = self._message(message)
        failure = self.failed(_facts(message), unique, chain=MAIN if MAIN in self.chains else None)
        return [failure, *self.settled("exhausted")]

    def _message(self, message: str | None) -> str | None:
        """Return the message of a failed call or of its request, which counts as reported now."""
        self._request["told"] = True
        return message or text(self._request.get("message"))

    def _on_request(self, _row: Mapping[str, Any], content: str | None, unique: object) -> list[Event]:
        """Read an `api_req_started` row.

        Cline writes the row again when the request ends, with its tokens or with the reason why it
        was cancelled.
        """
        request, events = mapping(parsed(content)), self._unreported_failure()
        self._request = {}
        events += self._spent(request)
        cause = request.get("cancelReason")
        if cause == "user_cancelled":
            self.count_session(aborted=1)
            return [*events, *self.settled("aborted")]
        if cause in ("streaming_failed", "retries_exhausted"):
            self._request = {"message": text(request.get("streamingFailedMessage")), "unique": unique}
        elif request.get("tokensIn") is not None or request.get("cost") is not None:
            return [*events, *self.settled("recovered", made=1)]
        return events

    def _on_sum(self, row: Mapping[str, Any], content: str | None, _unique: object) -> list[Event]:
        """Read the tokens of requests that have no row: deleted ones, as a task was restored, or a sub-agent's."""
        kind = str(row.get("say"))
        self.role = "subagent" if kind == "subagent_usage" else None
        events = self._spent(mapping(parsed(content)), kind)
        self.role = None
        return events

    def _spent(self, request: Mapping[str, Any], *kind: str) -> list[Event]:
        """Record the tokens of a request, which may have been cancelled, or of a `kind` of sum.

        APIs other than Anthropic's count cached tokens into the prompt.
        """
        prompt, read, written = (self.counted(request, key) or 0 for key in ("tokensIn", "cacheReads", "cacheWrites"))
        return self.spent(
            self.session,
            format_time(self.at),
            *kind,
            input_tokens=prompt - read - written if read + written <= prompt else prompt,
            output_tokens=self.counted(request, "tokensOut"),
            cache_read_tokens=read,
            cache_write_tokens=written,
            cost_usd=quantity(request.get("cost")) or None,
        )

    def _unreported_failure(self) -> list[Event]:
        """Return the failure of the last request where no later row has reported it."""
        if not self._request or self._request.get("told"):
            return []
        self._request["told"] = True
        return [self.failed(_facts(text(self._request.get("message"))), self._request.get("unique"))]

    def _on_question(self, _row: Mapping[str, Any], _content: str | None, _unique: object) -> list[Event]:
        """Read the question whether to go on, which repeats the failure before it."""
        return self._unreported_failure()

    def _on_call(self, row: Mapping[str, Any], content: str | None, _unique: object) -> list[Event]:
        """Count a call of a tool, which the row or its kind names."""
        kind = text(row.get("say")) or text(row.get("ask"))
        self._tool = text(mapping(parsed(content)).get("tool")) if kind == "tool" else kind
        self.count_calls(self._tool)
        return []

    def _on_tool_error(self, _row: Mapping[str, Any], message: str | None, unique: object) -> list[Event]:
        return self.tool_failed(self._tool, message, unique)

    def _on_diff_error(self, _row: Mapping[str, Any], message: str | None, unique: object) -> list[Event]:
        return self.tool_failed(self._tool, message, unique, kind="edit_mismatch")

    def _on_compaction(self, _row: Mapping[str, Any], content: str | None, unique: object) -> list[Event]:
        compaction = mapping(parsed(content))
        if compaction.get("status") not in ("completed", "failed"):
            return []
        before, after = compaction.get("tokensBefore"), compaction.get("tokensAfter")
        failed = compaction.get("status") == "failed"
        return self._relay(unique, before, after, text(compaction.get("mode")), failed=failed)

    # Roo Code

    def _on_delay(self, _row: Mapping[str, Any], message: str | None, unique: object) -> list[Event]:
        return self._retried(message, unique, None, None, None)

    def _on_condense(self, row: Mapping[str, Any], _content: str | None, unique: object) -> list[Event]:
        summary = mapping(row.get("contextCondense")) or mapping(row.get("contextTruncation"))
        if not summary:
            return []
        return self._relay(unique, summary.get("prevContextTokens"), summary.get("newContextTokens"), None)

    def _relay(
        self, unique: object, before: object, after: object, trigger: str | None, *, failed: bool = False
    ) -> list[Event]:
        began = {"pre_tokens": count(before), "trigger": trigger}
        cause = "the compaction failed" if failed else None
        return self.compacted(began, unique, post_tokens=count(after), cause=cause)


def task_of(path: str) -> str:
    """Return the task that a file belongs to: the name of its folder."""
    parts = [part for part in re.split(r"[/\\]", path) if part]
    return parts[-2] if len(parts) > 1 else path


_ROWS: dict[str, Callable[[ClineReader, Mapping[str, Any], str | None, object], list[Event]]] = {
    "error_retry": ClineReader._on_error_retry,
    "api_req_started": ClineReader._on_request,
    "deleted_api_reqs": ClineReader._on_sum,
    "subagent_usage": ClineReader._on_sum,
    "api_req_failed": ClineReader._on_question,
    "resume_task": ClineReader._on_question,
    "compaction": ClineReader._on_compaction,
    "api_req_retry_delayed": ClineReader._on_delay,
    "condense_context": ClineReader._on_condense,
    "sliding_window_truncation": ClineReader._on_condense,
    "tool": ClineReader._on_call,
    "command": ClineReader._on_call,
    "use_mcp_server": ClineReader._on_call,
    "browser_action_launch": ClineReader._on_call,
    "error": ClineReader._on_tool_error,
    "diff_error": ClineReader._on_diff_error,
}
