"""Crush's log and database, both below a project's `.crush/`: the log holds every retry, the database what ended calls.

A failure that both tell has one id: its text, and its second. The log names no sessions: one file is one project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.events.times import format_time
from analyzer.importers.base import Source
from analyzer.importers.failures import first_digits, number
from analyzer.importers.records import MAIN, RecordReader, identity_of, kept, moment_of
from analyzer.importers.shapes.rows import listed

_FAILED = "failed to process events: "
_GAVE_UP = "maximum retry attempts reached"
_STATUS = re.compile(r'": (\d{3}) [A-Z]|^Error (\d{3}),|"code\\?": ?(\d{3})\b')
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration_seconds(said: object) -> float | None:
    """A Go duration, as `1m2.5s`, in seconds."""
    found = _DURATION.findall(said) if isinstance(said, str) and len(said) < 40 else []
    return sum(float(amount) * _SECONDS[unit] for amount, unit in found) if found else None


def _status(said: str) -> int | None:
    return first_digits(_STATUS.search(said))


class _CrushReader(RecordReader, name="crush", agent="crush"):
    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.known |= {"agent": self.agent}
        project, found, _ = source.path.replace("\\", "/").partition("/.crush/")
        if found:
            self.work_in(project)

    def ended(self, said: str, chain: str | None = None) -> Event:
        """The failure that ended a call."""
        facts = {"status": _status(said), "message": said}
        return self.failed(facts, said, format_time(self.at)[:19], chain=chain)


class CrushLogReader(_CrushReader, visibility="full"):
    """Reads the log; of a failed call two or three lines tell."""

    _told: dict[str, Any] | None = kept()
    """The last failed call, of which the next line says whether it is tried again."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.time(record.get("time"))
        said = text(record.get("msg")) or ""
        if said == "OpenAI API error":
            return self._failed_call(record)
        if said == "Retrying due to rate limit":
            facts, self._told = self._told or {"message": said}, None
            return self._retried(facts, record, number(record.get("attempt")), None)
        if said == "Provider request failed, retrying":
            facts = {
                "status": number(record.get("status_code")),
                "type": text(record.get("title")),
                "message": text(record.get("message")),
            }
            return self._retried(facts, record, None, duration_seconds(record.get("retry_delay")))
        if said.startswith(_FAILED):
            return self._ended(said.removeprefix(_FAILED))
        if said == "Request cancellation initiated":
            self.session = text(record.get("session_id"))
            self.see(aborted=1)
            stopped = self.settled("aborted")
            self.session = None
            return stopped
        return ()

    def _failed_call(self, record: Mapping[str, Any]) -> list[Event]:
        before = self._surfaced()
        whole = text(record.get("error")) or ""
        facts = {
            "status": number(record.get("status_code")) or _status(whole),
            "type": text(record.get("type")),
            "message": text(record.get("message")) or whole or None,
            "is_error": True,
        }
        self._told = present(facts)
        return before

    def _surfaced(self) -> list[Event]:
        """The failed call of which no retry was told."""
        facts, self._told = self._told, None
        if facts is None:
            return []
        return [self.failed(facts, format_time(self.at), identity_of(facts))]

    def _retried(
        self, facts: Mapping[str, Any], record: Mapping[str, Any], attempt: int | None, delay: float | None
    ) -> list[Event]:
        self.chains.begin_anew(MAIN, attempt)  # how the last one ended is not told
        most, unique = number(record.get("max_retries")), (format_time(self.at), identity_of(record))
        calls = most + 1 if most is not None else None
        return self.retried(facts, *unique, numbered=attempt or None, delay_seconds=delay, max_attempts=calls)

    def _ended(self, said: str) -> list[Event]:
        self._told = None  # the same failure, told by the client
        if "context canceled" in said:
            return self.settled("aborted")
        if _GAVE_UP not in said or MAIN not in self.chains:
            self.chains.settled(MAIN, "unresolved")
            return [self.ended(said)]
        failure = self.ended(said, MAIN)
        return [failure, *self.settled("exhausted", reason=failure.payload["reason"])]


class CrushStoreReader(_CrushReader, visibility="terminal"):
    """Reads the messages that ended, and summaries. Times are seconds, whatever the schema says."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        place = record.get("$row")
        table = place[0] if isinstance(place, list) and place else None
        self.clock(moment_of(record.get("updated_at")))
        if table == "sessions":
            self.session = text(record.get("id"))
            self.see()
            summary = text(record.get("summary_message_id"))
            return self._summarised(summary) if summary else ()
        if table != "messages":
            return ()
        self.session = text(record.get("session_id"))
        self.known |= {"model": text(record.get("model")), "provider": text(record.get("provider"))}
        finished = list(listed(record.get("finished")))
        self.see(
            # Before its end a row is written again and again.
            requests=int(bool(finished) and record.get("role") == "assistant"),
            aborted=sum(part.get("reason") == "canceled" for part in finished),
        )
        for call in listed(record.get("called")):
            self.see_calls(*([text(call.get("name"))] if finished else []))
        events = self._summarised(text(record.get("id")) or "") if record.get("is_summary_message") == 1 else []
        for index, failed in enumerate(listed(record.get("failed"))):
            tool = text(failed.get("name"))
            events += self.tool_failed(tool, failed.get("said"), self.session, text(record.get("id")), index)
        for part in finished:
            if part.get("reason") == "error":
                self.clock(moment_of(part.get("time")) or moment_of(record.get("updated_at")))
                said = text(part.get("details")) or text(part.get("message")) or ""
                events.append(self.ended(said))
        return events

    def _summarised(self, unique: str) -> list[Event]:
        return self.compacted({}, "summary", unique)
