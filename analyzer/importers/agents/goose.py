"""goose's sessions: rows of its database (`sessions.db`), or until version 1.10 a file for each.

Both hold the same messages, so that a session moved from a file to the database counts once.
Neither holds retries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.failures import quantity
from analyzer.importers.records import RecordReader, kept, moment_of
from analyzer.importers.shapes.rows import listed, slim_goose

_FAILED = re.compile(r"^Ran into this error(?: trying to compact)?: ")
_COMPACTING = "Ran into this error trying to compact"
_BEGINS = ("Exceeded auto-compact threshold of ", "Context limit reached. Compacting")
_ENDS = "Compaction complete"
_STATUS = re.compile(r"\b(?:status:?|HTTP|code:?) (\d{3})\b")
_STOPPED = "Interrupted by the user"


class GooseReader(RecordReader, name="goose", agent="goose", visibility="terminal"):
    """Reads messages; a row of the database names its session, a file is one session."""

    _sessions: dict[str, dict[str, Any]] = kept({})
    """The memory of each session: dimensions (`known`), `role`, open compaction (`relay`)."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        place = record.get("$row")
        if isinstance(place, list):
            return self._session(record, text(record.get("id"))) if place[:1] == ["sessions"] else self._message(record)
        session = PurePath(self.source.path).stem
        if "working_dir" in record:
            # `goose session export` writes a session with all of its messages as one document.
            name = (text(record.get("id")) if "conversation" in record else None) or session
            events = [*self._session({**record, "updated": record.get("updated_at")}, name)]
            for message in listed(record.get("conversation")):
                slim = slim_goose(message.get("role"), message.get("created"), message.get("content"))
                events += self._message({**slim, "session": name})
            return events
        if "content" not in record:
            return ()
        slim = slim_goose(record.get("role"), record.get("created"), record["content"])
        return self._message({**slim, "session": session})

    def _session(self, record: Mapping[str, Any], session: str | None) -> Iterable[Event]:
        if session is None:
            return ()
        memory = self._sessions.setdefault(session, {})
        memory["known"] = present(
            {
                "cwd": text(record.get("working_dir")),
                "provider": text(record.get("provider_name")),
                "model": text(record.get("model")),
            }
        )
        memory["role"] = "subagent" if record.get("session_type") == "sub_agent" else None
        self._turn_to(session)
        self.clock(moment_of(record.get("updated")))
        events = [self.observed("session", self.session, "session")]
        if self.session is not None:
            names = "accumulated_input_tokens accumulated_output_tokens"
            cost = quantity(record.get("accumulated_cost")) or None
            events += self.spent_as(record, names, "session", self.session, cost_usd=cost, fields={"whole_run": True})
        return events

    def _turn_to(self, session: str) -> dict[str, Any]:
        """Make a session the current one, and return its memory."""
        memory = self._sessions.setdefault(session, {})
        dimensions = dict(mapping(memory.get("known")))
        self.session, self.role = session, memory.get("role")
        self.known = {"agent": self.agent, **dimensions}
        self.known.pop("cwd", None)
        self.work_in(dimensions.get("cwd"))
        return memory

    def _message(self, message: Mapping[str, Any]) -> list[Event]:
        session = text(message.get("session"))
        if session is None:
            return []
        memory = self._turn_to(session)
        self.clock(moment_of(message.get("created")))
        shape = text(message.get("shape")) or ""
        tools: dict[str, int] = {}
        for call in listed(message.get("called")):
            tool, name = text(call.get("name")), text(call.get("call"))
            if tool:
                tools[tool] = tools.get(tool, 0) + 1
            self.remember_call(tool, name)
        events = []
        failed = list(listed(message.get("failed")))
        for call in failed:
            name = text(call.get("call"))
            events += self.tool_failed(self._calls.get(name or ""), call.get("said"), session, name or shape)
        notices = list(listed(message.get("told")))
        for index, notice in enumerate(notices):
            events += self._noticed(notice, (session, shape, index), memory)
        stopped = any((text(call.get("said")) or "").startswith(_STOPPED) for call in failed)
        replied = message.get("role") == "assistant" and not notices
        if replied or stopped:
            aborted = int(stopped and not replied)
            events.append(self.observed(shape, session, shape, requests=int(replied), aborted=aborted, tools=tools))
        self._seen.clear()  # each message is an observed part of its own
        return events

    def _noticed(self, notice: Mapping[str, Any], unique: tuple[object, ...], memory: dict[str, Any]) -> list[Event]:
        """Read a notice that goose itself wrote into a message: a failure, or a compaction."""
        kind, message = notice.get("type"), text(notice.get("said")) or ""
        if kind == "text":
            failure = self._failed(_FAILED.sub("", message), unique)
            if not message.startswith(_COMPACTING):
                return [failure]
            return [failure, *self._compacted("relay.halted", unique, memory, cause=_FAILED.sub("", message))]
        if kind == "contextLengthExceeded":
            return [self._failed(message or "context length exceeded", unique)]
        if kind == "creditsExhausted":
            failure = self._failed(message, unique, type="insufficient_quota")
            return [failure, self.exhausted(failure, *unique)]
        if message.startswith(_BEGINS):
            begun = self.relay({"strategy": "compact", "trigger": "auto"}, *unique)
            memory["relay"] = begun.id
            return [begun]
        if kind == "conversationCompacted" or message.startswith(_ENDS):
            return self._compacted("relay.resumed", unique, memory)
        return []

    def _failed(self, message: str, unique: tuple[object, ...], **facts: Any) -> Event:
        status = _STATUS.search(message)
        return self.failed({"status": int(status[1]) if status else None, "message": message or None, **facts}, *unique)

    def _compacted(self, kind: str, unique: tuple[object, ...], memory: dict[str, Any], **fields: Any) -> list[Event]:
        """Record the end of a compaction, and its beginning where no notice reported it."""
        begun = []
        if "relay" not in memory:
            begun = [self.relay({"strategy": "compact"}, *unique)]
            memory["relay"] = begun[0].id
        done = {"relay": memory.pop("relay"), "caller": self.caller, **fields}
        return [*begun, self.event(kind, done, *unique)]
