"""pi's sessions (`~/.pi/agent/sessions/**.jsonl`).

A retry is a failed reply with another reply after it. Delays are not in the file.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream import content_text, count, mapping, text
from analyzer.events import Event
from analyzer.events.codec import parsed
from analyzer.importers.base import RAW, Source, glance, shape
from analyzer.importers.failures import quantity
from analyzer.importers.records import MAIN, RecordReader, identity_of, kept
from analyzer.importers.shapes.rows import listed

_IN_HAND = 50
_TOKENS = "input output cacheRead cacheWrite"
_STATUS = re.compile(r"^(\d{3})\b")
_ENDED = re.compile(r"(?:^|\n)(Command (?:exited with code|aborted|timed out)[^\n]{0,100})\s*$")
_OPENCLAW_MODELS = ("gateway-injected", "delivery-mirror")
"""Models of messages that OpenClaw itself writes (npm openclaw 2026.9.6)."""
_NO_REPLY = "⚠️ Agent failed before reply"


def _session_in(path: str) -> str:
    """Return the session that a path names, as in `2026-03-05T10-00-00-000Z_ID.jsonl`."""
    return re.split(r"[/\\]", path)[-1].removesuffix(".jsonl").rpartition("_")[2]


class PiReader(RecordReader, name="pi", agent="pi", visibility="full"):
    """Reads a session; its entries form a tree, and stand in the file in the order of time."""

    glance: ClassVar[Any] = glance(
        "type id timestamp", message=shape("role model provider stopReason usage toolName isError", content=RAW)
    )
    _relay: str | None = kept()
    """The id of the compaction whose remaining tokens the next reply shows."""
    _last_message: str | None = kept()
    """The message of the last failed reply."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self._contents: deque[Any] = deque(maxlen=_IN_HAND)
        """The content of the last `_IN_HAND` replies, for the commands of calls that failed."""

    def glanced(self, record: Mapping[str, Any]) -> Iterable[Event] | None:
        """Read all messages except failed replies and failed tools; see `RecordReader`.

        Entries of older versions have no id.
        """
        message, unique = mapping(record.get("message")), text(record.get("id"))
        if record.get("type") != "message" or message.get("model") in _OPENCLAW_MODELS:
            return None
        role = message.get("role")
        if role == "user":
            self.time(record.get("timestamp"))
            self.count_session()
            return self._asked_again()
        if role == "toolResult" and message.get("isError") is not True:
            self.time(record.get("timestamp"))
            self.count_calls(text(message.get("toolName")))
            return ()
        if role == "assistant" and message.get("stopReason") != "error" and unique:
            self.time(record.get("timestamp"))
            return self._reply(message, (self.session, unique))
        return None

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.time(record.get("timestamp"))
        kind, message = record.get("type"), mapping(record.get("message"))
        unique = self.session, text(record.get("id")) or identity_of(record)
        if kind == "session":
            self.begin(text(record.get("id")))
            self.work_in(record.get("cwd"))
            if self.timed and (origin := text(record.get("parentSession"))):
                self.fork(_session_in(origin), self.at)
        if kind == "thinking_level_change":
            self.learn(effort=record.get("thinkingLevel"))
        self.count_session()
        if kind == "compaction":
            self.chains.settled(MAIN, "unresolved")  # a compaction mends an overflow; no retry does
            begun = self.relay({"strategy": "compact", "pre_tokens": count(record.get("tokensBefore"))}, *unique)
            self._relay = begun.id
            return [begun]
        if kind == "custom" and record.get("customType") == "openclaw:prompt-error":
            return self._prompt_failed(mapping(record.get("data")), unique)
        if kind != "message":
            return ()
        if message.get("model") in _OPENCLAW_MODELS:
            return self.settled("exhausted") if content_text(message.get("content")).startswith(_NO_REPLY) else ()
        if message.get("role") == "assistant":
            return self._reply(message, unique)
        if message.get("role") == "toolResult":
            tool = text(message.get("toolName"))
            self.count_calls(tool)
            if message.get("isError") is not True:
                return ()
            content = content_text(message.get("content"))
            if ended := _ENDED.search(content):
                # How a command ended stands after its output, and is put in front.
                content = f"{ended[1]}\n{content[: ended.start()]}"
            command = self._command(text(message.get("toolCallId")))
            return self.tool_failed(tool, content, *unique, command=command)
        return self._asked_again() if message.get("role") == "user" else ()

    def _asked_again(self) -> list[Event]:
        self._last_message = None
        return self.settled("exhausted")

    def _prompt_failed(self, data: Mapping[str, Any], unique: object) -> list[Event]:
        """Read OpenClaw's record of a failed prompt, which may repeat the reply before it."""
        message = text(data.get("error"))
        if message is None or message == self._last_message:
            return []
        self.learn(provider=data.get("provider"), model=data.get("model"))
        return self._failed(message, unique)

    def _failed(self, message: str | None, unique: object) -> list[Event]:
        """Record a failed call, which is a retry where the call before it failed, too."""
        retry = self.again(unique)
        self._last_message = message
        self.count_session()
        status = _STATUS.match(message or "")
        facts = {"status": int(status[1]) if status else None, "message": message}
        return [*retry, self.failed(facts, unique, chain=MAIN)]

    def _command(self, call: str | None) -> str | None:
        """Return the command of a call in one of the last replies; None for other calls."""
        for content in reversed(self._contents):
            for block in listed(parsed(bytes(content)) if isinstance(content, RAW) else content):
                if call is not None and block.get("id") == call:
                    return text(mapping(block.get("arguments")).get("command"))
        return None

    def _reply(self, message: Mapping[str, Any], unique: object) -> list[Event]:
        self._contents.append(message.get("content"))
        self.learn(provider=message.get("provider"), model=message.get("model"))
        stopped = message.get("stopReason")
        self.count_session(requests=int(stopped != "aborted"), aborted=int(stopped == "aborted"))
        usage = mapping(message.get("usage"))
        spent = self.spent_as(usage, _TOKENS, unique, cost_usd=quantity(mapping(usage.get("cost")).get("total")))
        if stopped == "aborted":
            return [*spent, *self.settled("aborted")]
        events: list[Event] = []
        if stopped != "error":
            # The failed reply before this one was tried again.
            retry = self.again(unique)
            if self._relay is not None:
                parts = [count(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite")]
                events.append(self.resumed(self._relay, sum(part for part in parts if part is not None) or None))
                self._relay = None
            return [*spent, *events, *retry, *self.settled("recovered", made=1)]
        return [*spent, *self._failed(text(message.get("errorMessage")), unique)]


class LettaReader(PiReader, name="letta", agent="letta-code", visibility="terminal", folder=0):
    """Reads messages; the folder names the conversation.

    Letta Code's conversations without a server (`~/.letta/lc-local-backend/conversations/*/messages.jsonl`).

    Each line is a message as in pi's entries, and is read as in `pi`. A retry replaces the failed
    reply before it, so that only the last reply of a chain is there; a file is written anew with
    each change. Source: npm @letta-ai/letta-code 0.25.9, `messages.jsonl` of the format
    `pi-ai-message-jsonl`, version 1.
    """

    glance: ClassVar[Any] = None

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        compaction = mapping(mapping(record.get("metadata")).get("compaction"))
        if compaction:
            self.time(record.get("timestamp"))
            self.count_session()
            stats, unique = mapping(compaction.get("stats")), (self.session, text(record.get("id")) or "")
            began = {"pre_tokens": count(stats.get("context_tokens_before"))}
            return self.compacted(began, *unique, post_tokens=count(stats.get("context_tokens_after")))
        fields = {key: record.get(key) for key in ("id", "timestamp")}
        return super()._events_of({**fields, "type": "message", "message": record})


class OpenclawStoreReader(PiReader):
    """Reads the entries of OpenClaw's database, whose sessions are written by turns.

    Source: OpenClaw 2026.8, `agents/*/agent/openclaw-agent.sqlite`, the table `transcript_events`.
    """

    glance: ClassVar[Any] = None
    _facts: dict[str, dict[str, Any]] = kept({})
    """The facts about each session, and what it is a fork of."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        session = text(record.get("$session"))
        if session != self.session and session is not None:
            if self.session is not None:
                self._facts[self.session] = {"known": self.known, "fork": self._fork}
            facts = self._facts.get(session) or {}
            self.session, self.known, self._fork = session, facts.get("known") or {}, facts.get("fork") or []
            self.copied_from = None
            self.chains.settled(MAIN, "unresolved")
        entry = {key: value for key, value in record.items() if not key.startswith("$")}
        return super()._events_of(entry)
