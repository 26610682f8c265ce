"""Grok Build's `updates.jsonl`, a file a session: its updates, retries and compactions.

An update names only the kind of a call, not the tool. Source: xai-org/grok-build,
`crates/codegen/xai-grok-shell/src/extensions/notification.rs` and `session/storage/`, August 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar
from urllib.parse import unquote

import re2

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.base import Source
from analyzer.importers.failures import number
from analyzer.importers.records import MAIN, RecordReader, folder_of, identity_of
from analyzer.importers.shapes.rows import listed

_RATE_LIMITED = 429
_TOKENS = "inputTokens outputTokens cachedReadTokens cacheCreationTokens"
_LINES_READ = re2.compile(
    rb'"sessionUpdate": ?"(?:retry_state|auto_compact_(?:completed|failed)|tool_call(?:_update)?|turn_completed)"'
)


class GrokReader(RecordReader, name="grok", agent="grok-build", visibility="full", folder=1):
    """Reads the updates of a session; the folder above it is its directory, encoded as a URL."""

    telling: ClassVar[Any] = _LINES_READ

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.work_in(unquote(folder_of(source.path, 2) or ""))

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        params = mapping(record.get("params"))
        update = mapping(params.get("update"))
        self.session = text(params.get("sessionId")) or self.session
        self.time(record.get("timestamp"))
        kind, call = update.get("sessionUpdate"), text(update.get("toolCallId"))
        if kind == "tool_call":
            self.called(text(update.get("kind")), call)
            return self.settled("recovered", made=1)
        if kind == "tool_call_update":
            if update.get("status") != "failed":
                return ()
            parts = (mapping(part.get("content")) for part in listed(update.get("content")))
            output = text(next(parts, {}).get("text"))
            name = call or identity_of(record)
            return self.tool_failed(self.tool_of(call), output, self.session, name)
        unique = self.session, identity_of(record)
        if kind == "retry_state":
            self.count_session()
            return self._retried(update, unique)
        if kind == "auto_compact_completed":
            began = {"pre_tokens": number(update.get("tokens_before"))}
            return self.compacted(began, unique, post_tokens=number(update.get("tokens_after")))
        if kind == "auto_compact_failed":
            return self.compacted({}, unique, cause=text(update.get("error")) or "")
        return self._ended(update) if kind == "turn_completed" else ()

    def _retried(self, update: Mapping[str, Any], unique: tuple[object, ...]) -> list[Event]:
        """Read a failure that is tried again, or that is final: after retries or at once."""
        kind, limited = update.get("type"), update.get("is_rate_limited") is True
        facts = {
            "status": _RATE_LIMITED if limited else None,
            "type": text(update.get("error_type")),
            "message": text(update.get("reason")) or text(update.get("message")),
        }
        if kind == "retrying":
            attempt = number(update.get("attempt"))
            self.chains.begin_anew(MAIN, attempt)
            return self.retried(facts, unique, numbered=attempt)
        if kind not in ("exhausted", "failed"):
            return []
        return [self.failed(facts, unique, chain=MAIN if MAIN in self.chains else None), *self.settled("exhausted")]

    def _ended(self, update: Mapping[str, Any]) -> list[Event]:
        """Read the end of a turn, which has the tokens of all its requests."""
        reason, usage = update.get("stop_reason"), mapping(update.get("usage"))
        self.count_session(requests=max(number(usage.get("modelCalls")) or 1, 0), aborted=int(reason == "cancelled"))
        unique = self.session, text(update.get("prompt_id")) or identity_of(update)
        spent = self.spent_as(usage, _TOKENS, *unique, whole=True)
        if reason == "end_turn":
            return [*spent, *self.settled("recovered", made=1)]
        return [*spent, *self.settled("aborted")] if reason == "cancelled" else spent
