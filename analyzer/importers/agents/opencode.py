"""opencode's storage, which is a database or a file for each record, and the errors that it prints.

Both stores hold the same ids, so that a record moved to the database counts once. Few retries
are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event
from analyzer.events.times import format_time
from analyzer.importers.base import glance, shape
from analyzer.importers.failures import number, quantity
from analyzer.importers.records import RecordReader, identity_of, kept, moment_of, moved_on

_UNNAMED = "(unknown)"
"""The origin of a fork that names none."""
_ABORTED = "MessageAbortedError"
_GENERIC_ERRORS = frozenset({"APIError", "UnknownError"})
"""Names of errors that are no type of failure."""
_IGNORED_PARTS = frozenset({"text", "reasoning", "step-start", "step-finish", "snapshot", "patch", "file"})


def _trigger(automatic: object) -> str | None:
    """Return what began a compaction; None if the record does not say."""
    return ("auto" if automatic else "manual") if isinstance(automatic, bool) else None


class OpencodeReader(RecordReader, name="opencode", agent="opencode", visibility="terminal"):
    """Reads messages and parts, in the order of their change where they are rows."""

    _sessions: dict[str, dict[str, Any]] = kept({})
    """The memory of each session: folder (`cwd`), `version`, tokens in use (`used`), the compaction
    whose tokens are not known yet (`relay`), and the message of the last one (`last`)."""

    glance: ClassVar[Any] = glance(
        "type id part $row sessionID messageID role time error modelID providerID agent mode tokens cost parentID "
        "finish path summary tool attempt auto directory version forkedFrom parts",
        state=shape("status time error"),
    )

    def glanced(self, record: Mapping[str, Any]) -> Iterable[Event] | None:
        """Read all records except the output of a run; see `RecordReader`."""
        kind, identifier = text(record.get("type")), text(record.get("id")) or ""
        if "part" in record or not identifier.startswith(("prt_", "msg_", "ses_")):
            return None
        moved_on(self._cursor, record)
        return () if kind in _IGNORED_PARTS and identifier.startswith("prt_") else self._events_of(record)

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if part := mapping(record.get("part")):
            record = {"timestamp": record.get("timestamp"), **part}
        identifier = text(record.get("id")) or ""
        if identifier.startswith("ses_"):
            began = moment_of(mapping(record.get("time")).get("created"))
            fields = {
                "cwd": text(record.get("directory")),
                "version": text(record.get("version")),
                "began": format_time(began) if began else None,
                "origin": text(record.get("forkedFrom")),
            }
            self._sessions.setdefault(identifier, {}).update(fields)
            return ()
        self.session = text(record.get("sessionID"))
        if self.session is None:
            return ()
        time = mapping(record.get("time"))
        self.clock(
            moment_of(time.get("completed")) or moment_of(time.get("created")) or moment_of(record.get("timestamp"))
        )
        memory = self._sessions.setdefault(self.session, {})
        self._recognise_copy(record, identifier, memory)
        self.begin(self.session, agent_version=memory.get("version"))
        self.work_in(memory.get("cwd"))
        self.role = None
        if identifier.startswith("prt_"):
            return self._part(record, memory)
        if record.get("role") == "assistant":
            events = self._reply(record, memory)
            for part in map(mapping, record.get("parts") or ()):
                events += self._part(part, memory)
            return events
        if record.get("type") == "error":
            return self._failed(mapping(record.get("error")), identity_of(record))
        return ()

    def _recognise_copy(self, record: Mapping[str, Any], identifier: str, memory: dict[str, Any]) -> None:
        """Recognise a message that a fork copied: it is older than its session, which may name its origin."""
        created, began = moment_of(mapping(record.get("time")).get("created")), memory.get("began")
        if identifier.startswith("msg_") and began and created and format_time(created) < began:
            memory["copied"] = identifier
        copied = memory.get("copied")
        is_copy = copied is not None and copied in (identifier, record.get("messageID"))
        self.copied_from = (memory.get("origin") or _UNNAMED) if is_copy else None

    def _reply(self, message: Mapping[str, Any], memory: dict[str, Any]) -> list[Event]:
        self.learn(model=message.get("modelID"), provider=message.get("providerID"))
        self.work_in(mapping(message.get("path")).get("cwd"))
        unique = text(message.get("id")) or ""
        self.role = text(message.get("agent")) or text(message.get("mode"))
        error = mapping(message.get("error"))
        time = mapping(message.get("time"))
        events: list[Event] = []
        tokens = mapping(message.get("tokens"))
        spent = [] if error else self._spent(tokens, unique, quantity(message.get("cost")))
        if error or time.get("completed") is not None or text(message.get("finish")):
            aborted = error.get("name") == _ABORTED
            events.append(self._request(unique, time, aborted=aborted, recorded=len(spent)))
        if error:
            return [*events, *self._failed(error, unique)]
        cache = mapping(tokens.get("cache"))
        parts = [count(tokens.get("input")), count(cache.get("read")), count(cache.get("write"))]
        used = sum(part for part in parts if part is not None)
        events += spent
        if message.get("summary") is True:
            trigger = _trigger(message.get("auto"))
            return [*events, *self._compacted(text(message.get("parentID")) or unique, memory, trigger)]
        if used:
            memory["used"] = used
            if relay := memory.pop("relay", None):
                events.append(self.resumed(relay, used))
            events += self.settled("recovered", chain=self.session or "", made=1)
        return events

    def _spent(self, tokens: Mapping[str, Any], unique: str, cost: float | None) -> list[Event]:
        """Record the tokens of a reply; its total shows whether output includes reasoning."""
        cache = mapping(tokens.get("cache"))
        tokens_in, read, written = (
            self.counted(usage, key) or 0 for usage, key in ((tokens, "input"), (cache, "read"), (cache, "write"))
        )
        total, reply = self.counted(tokens, "total"), self.counted(tokens, "output") or 0
        return self.spent(
            unique,
            input_tokens=tokens_in,
            output_tokens=max(reply, total - tokens_in - read - written) if total else reply,
            cache_read_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=self.counted(tokens, "reasoning"),
            cost_usd=cost or None,
        )

    def _request(self, unique: str, time: Mapping[str, Any], *, aborted: bool, recorded: int) -> Event:
        """Make the event of one request by itself.

        The files of a session are read as several sources, and rows may come again.
        """
        started = moment_of(time.get("created"))
        began = format_time(started) if started else ""
        counts: dict[str, Any] = {"requests": 1, "recorded": recorded, "aborted": int(aborted)}
        return self.observed(unique, unique, aborted, started_at=began, **counts)

    def _failed(self, error: Mapping[str, Any], unique: str) -> list[Event]:
        name, data = text(error.get("name")), mapping(error.get("data"))
        if name == _ABORTED:
            return self.settled("aborted", chain=self.session or "")
        facts = {
            "status": number(data.get("statusCode")),
            "type": name if name not in _GENERIC_ERRORS else None,
            "message": text(data.get("message")) or text(data.get("responseBody")),
            "headers": mapping(data.get("responseHeaders")) or None,
        }
        key = self.session or ""
        failure = self.failed(facts, unique, chain=key if key in self.chains else None)
        return [failure, *self.settled("exhausted", chain=key, reason=failure.payload["reason"])]

    def _part(self, part: Mapping[str, Any], memory: dict[str, Any]) -> list[Event]:
        unique = text(part.get("id")) or ""
        if part.get("type") == "compaction":
            return self._compacted(text(part.get("messageID")) or unique, memory, _trigger(part.get("auto")))
        if part.get("type") == "tool":
            return self._tool(part, unique)
        if part.get("type") != "retry":
            return []
        data = mapping(mapping(part.get("error")).get("data"))
        facts = {"status": number(data.get("statusCode")), "message": text(data.get("message"))}
        return self.retried(facts, unique, chain=self.session or "", numbered=number(part.get("attempt")) or None)

    def _tool(self, part: Mapping[str, Any], unique: str) -> list[Event]:
        """Record a call that has ended; until then its part is written again and again."""
        state = mapping(part.get("state"))
        if state.get("status") not in ("completed", "error"):
            return []
        self.clock(moment_of(mapping(state.get("time")).get("end")) or (self.at if self.timed else None))
        tool = text(part.get("tool"))
        events = [self.observed(unique, unique, tools={tool: 1} if tool else None)]
        if state.get("status") == "error":
            events += self.tool_failed(tool, text(state.get("error")), unique)
        return events

    def _compacted(self, unique: str, memory: dict[str, Any], trigger: str | None) -> list[Event]:
        """Record a compaction once, by the message that its part, summary, or both name."""
        begun = self.relay({"strategy": "compact", "pre_tokens": memory.get("used"), "trigger": trigger}, unique)
        if memory.get("last") == unique or self.copied_from is not None:
            return []
        memory |= {"relay": begun.id, "last": unique}
        return [begun]
