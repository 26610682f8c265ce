"""Qwen Code's chats (`~/.qwen/projects/**/chats/*.jsonl`): Claude Code's envelope, Gemini's messages.

Errors, retries and compressions stand in `system` records, as the telemetry of the same program
names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event
from analyzer.importers.base import glance
from analyzer.importers.records import identity_of
from analyzer.importers.telemetry.model_calls import TelemetryReader

_DONE = 1
_FAILED = (2, 3)


class QwenReader(TelemetryReader, name="qwen", agent="qwen-code", visibility="full"):
    """Reads a chat."""

    counts_replies: ClassVar[bool] = False
    glance: ClassVar[Any] = glance(
        "type uuid usageMetadata subtype timestamp sessionId version gitBranch model cwd forkedFrom"
    )

    def glanced(self, record: Mapping[str, Any]) -> Iterable[Event] | None:
        """Read all records except those of type `system`; see `RecordReader`."""
        if record.get("type") == "system" or text(record.get("uuid")) is None:
            return None
        return self._events_of(record)

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self._envelope(record)
        kind, payload = record.get("type"), mapping(record.get("systemPayload"))
        original = mapping(record.get("forkedFrom"))
        self.copied_from = text(original.get("sessionId"))
        unique = text(original.get("messageUuid")) or text(record.get("uuid")) or identity_of(record)
        if kind == "assistant":
            self.count_session(requests=1)
            return self._spent(mapping(record.get("usageMetadata")), unique)
        if kind == "system" and isinstance(payload.get("uiEvent"), Mapping):
            event = payload["uiEvent"]
            return self.told(self.named(str(event.get("event.name", ""))), event, unique)
        if kind == "system" and record.get("subtype") == "chat_compression":
            return self._compressed(mapping(payload.get("info")), unique)
        self.count_session()
        return ()

    def _envelope(self, record: Mapping[str, Any]) -> None:
        """Take the session and its dimensions, which every record has."""
        self.time(record.get("timestamp"))
        self.session = text(record.get("sessionId")) or self.session
        self.learn(
            agent=self.agent,
            agent_version=record.get("version"),
            branch=record.get("gitBranch"),
            model=record.get("model"),
        )
        self.work_in(record.get("cwd"))

    def _spent(self, tokens: Mapping[str, Any], unique: object) -> list[Event]:
        """Record the tokens of a reply as Google's API names them; the total counts thoughts."""
        prompt = self.counted(tokens, "promptTokenCount") or 0
        total, thought = self.counted(tokens, "totalTokenCount"), self.counted(tokens, "thoughtsTokenCount")
        reply = self.counted(tokens, "candidatesTokenCount") or 0
        return self.spent(
            unique,
            prompt=prompt,
            output_tokens=max(reply, total - prompt) if total else reply,
            cache_read_tokens=self.counted(tokens, "cachedContentTokenCount") or 0,
            reasoning_tokens=thought,
        )

    def _compressed(self, info: Mapping[str, Any], unique: object) -> list[Event]:
        before, after = count(info.get("originalTokenCount")), count(info.get("newTokenCount"))
        status = info.get("compressionStatus")
        if status not in (_DONE, *_FAILED):
            return []
        self.count_session()
        began = {"pre_tokens": before, "trigger": text(info.get("triggerReason"))}
        if status in _FAILED:
            return self.compacted(began, unique, cause=f"compression status {status}")
        begun, ended = self.compacted(began, unique, post_tokens=after)
        if info.get("newTokenCountIsEstimated") is True:
            ended = replace(ended, payload={**ended.payload, "post_tokens_estimated": True})
        return [begun, ended]
