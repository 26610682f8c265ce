"""goose's sessions: rows of its database (`sessions.db`), or until version 1.10 a file of lines each.

Both hold the same messages, so that what was moved from one to the other counts once. Retries are not in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.records import RecordReader, kept, moment_of
from analyzer.importers.shapes.rows import listed, slim_goose

_FAILED = re.compile(r"^Ran into this error(?: trying to compact)?: ")
_COMPACTING = "Ran into this error trying to compact"
_BEGINS = ("Exceeded auto-compact threshold of ", "Context limit reached. Compacting")
_ENDS = "Compaction complete"
_STATUS = re.compile(r"\b(?:status:?|HTTP|code:?) (\d{3})\b")
_STOPPED = "Interrupted by the user"


class GooseReader(RecordReader, name="goose", agent="goose", visibility="terminal"):
    """Reads messages; a database names their session, a file is one."""

    _sessions: dict[str, dict[str, Any]] = kept({})
    """Of each session: what is known of it, its part, and the compaction that goes on."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        place = record.get("$row")
        if isinstance(place, list):
            return self._session(record, text(record.get("id"))) if place[:1] == ["sessions"] else self._message(record)
        named = PurePath(self.source.path).stem
        if "working_dir" in record:
            return self._session(record, named)
        if "content" not in record:
            return ()
        slim = slim_goose(record.get("role"), record.get("created"), record["content"])
        return self._message({**slim, "session": named})

    def _session(self, record: Mapping[str, Any], session: str | None) -> Iterable[Event]:
        if session is None:
            return ()
        known = self._sessions.setdefault(session, {})
        known["known"] = present(
            {
                "cwd": text(record.get("working_dir")),
                "provider": text(record.get("provider_name")),
                "model": text(record.get("model")),
            }
        )
        known["role"] = "subagent" if record.get("session_type") == "sub_agent" else None
        self._turn_to(session)
        self.clock(moment_of(record.get("updated")))
        return [self.observed("session", self.session, "session")]

    def _turn_to(self, session: str) -> dict[str, Any]:
        """Take a session for the one in hand; returns what is remembered of it."""
        found = self._sessions.setdefault(session, {})
        told = dict(mapping(found.get("known")))
        self.session, self.role = session, found.get("role")
        self.known = {"agent": self.agent, **told}
        self.known.pop("cwd", None)
        self.work_in(told.get("cwd"))
        return found

    def _message(self, message: Mapping[str, Any]) -> list[Event]:
        session = text(message.get("session"))
        if session is None:
            return []
        found = self._turn_to(session)
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
        told = list(listed(message.get("told")))
        for index, notice in enumerate(told):
            events += self._told(notice, (session, shape, index), found)
        stopped = any((text(call.get("said")) or "").startswith(_STOPPED) for call in failed)
        replied = message.get("role") == "assistant" and not told
        if replied or stopped:
            aborted = int(stopped and not replied)
            events.append(self.observed(shape, session, shape, requests=int(replied), aborted=aborted, tools=tools))
        self._seen.clear()  # each message is a part of its own
        return events

    def _told(self, notice: Mapping[str, Any], unique: tuple[object, ...], found: dict[str, Any]) -> list[Event]:
        """What goose itself says in a message: a failure, or a compaction."""
        kind, said = notice.get("type"), text(notice.get("said")) or ""
        if kind == "text":
            failure = self._failed(_FAILED.sub("", said), unique)
            if not said.startswith(_COMPACTING):
                return [failure]
            return [failure, *self._compacted("relay.halted", unique, found, cause=_FAILED.sub("", said))]
        if kind == "contextLengthExceeded":
            return [self._failed(said or "context length exceeded", unique)]
        if kind == "creditsExhausted":
            failure = self._failed(said, unique, type="insufficient_quota")
            return [failure, self.exhausted(failure, *unique)]
        if said.startswith(_BEGINS):
            begun = self.relay({"strategy": "compact", "trigger": "auto"}, *unique)
            found["relay"] = begun.id
            return [begun]
        if kind == "conversationCompacted" or said.startswith(_ENDS):
            return self._compacted("relay.resumed", unique, found)
        return []

    def _failed(self, said: str, unique: tuple[object, ...], **facts: Any) -> Event:
        status = _STATUS.search(said)
        return self.failed({"status": int(status[1]) if status else None, "message": said or None, **facts}, *unique)

    def _compacted(self, kind: str, unique: tuple[object, ...], found: dict[str, Any], **known: Any) -> list[Event]:
        """The end of a compaction, and its beginning too where nothing told that."""
        begun = []
        if "relay" not in found:
            begun = [self.relay({"strategy": "compact"}, *unique)]
            found["relay"] = begun[0].id
        done = {"relay": found.pop("relay"), "caller": self.caller, **known}
        return [*begun, self.event(kind, done, *unique)]
