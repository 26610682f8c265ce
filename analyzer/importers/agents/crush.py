"""Crush's log and database, both below a project's `.crush/`.

The log holds all retries, the database only final failures. A failure in both has the same id,
made of its text and its second. The log names no sessions: a file is of one project.
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


def duration_seconds(value: object) -> float | None:
    """Return the seconds of a Go duration, such as `1m2.5s`; None for anything else."""
    parts = _DURATION.findall(value) if isinstance(value, str) and len(value) < 40 else []
    return sum(float(amount) * _SECONDS[unit] for amount, unit in parts) if parts else None


def _status(message: str) -> int | None:
    return first_digits(_STATUS.search(message))


class _CrushReader(RecordReader, name="crush", agent="crush"):
    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.known |= {"agent": self.agent}
        project, slash, _ = source.path.replace("\\", "/").partition("/.crush/")
        if slash:
            self.work_in(project)

    def ended(self, message: str, chain: str | None = None) -> Event:
        """Make the event of the failure that ended a call."""
        facts = {"status": _status(message), "message": message}
        return self.failed(facts, message, format_time(self.at)[:19], chain=chain)


class CrushLogReader(_CrushReader, visibility="full"):
    """Reads the log, which has two or three lines for a failed call."""

    _last_failure: dict[str, Any] | None = kept()
    """The facts of the last failed call, until the next line shows whether it is tried again."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.time(record.get("time"))
        message = text(record.get("msg")) or ""
        if message == "OpenAI API error":
            return self._failed_call(record)
        if message == "Retrying due to rate limit":
            facts, self._last_failure = self._last_failure or {"message": message}, None
            return self._retried(facts, record, number(record.get("attempt")), None)
        if message == "Provider request failed, retrying":
            facts = {
                "status": number(record.get("status_code")),
                "type": text(record.get("title")),
                "message": text(record.get("message")),
            }
            return self._retried(facts, record, None, duration_seconds(record.get("retry_delay")))
        if message.startswith(_FAILED):
            return self._ended(message.removeprefix(_FAILED))
        if message == "Request cancellation initiated":
            self.session = text(record.get("session_id"))
            self.count_session(aborted=1)
            stopped = self.settled("aborted")
            self.session = None
            return stopped
        return ()

    def _failed_call(self, record: Mapping[str, Any]) -> list[Event]:
        events = self._surfaced()
        error = text(record.get("error")) or ""
        facts = {
            "status": number(record.get("status_code")) or _status(error),
            "type": text(record.get("type")),
            "message": text(record.get("message")) or error or None,
            "is_error": True,
        }
        self._last_failure = present(facts)
        return events

    def _surfaced(self) -> list[Event]:
        """Return the last failed call, if no line reported a retry of it."""
        facts, self._last_failure = self._last_failure, None
        if facts is None:
            return []
        return [self.failed(facts, format_time(self.at), identity_of(facts))]

    def _retried(
        self, facts: Mapping[str, Any], record: Mapping[str, Any], attempt: int | None, delay: float | None
    ) -> list[Event]:
        self.chains.begin_anew(MAIN, attempt)  # the log does not say how the chain before ended
        most, unique = number(record.get("max_retries")), (format_time(self.at), identity_of(record))
        calls = most + 1 if most is not None else None
        return self.retried(facts, *unique, numbered=attempt or None, delay_seconds=delay, max_attempts=calls)

    def _ended(self, message: str) -> list[Event]:
        self._last_failure = None  # the client logs the same failure
        if "context canceled" in message:
            return self.settled("aborted")
        if _GAVE_UP not in message or MAIN not in self.chains:
            self.chains.settled(MAIN, "unresolved")
            return [self.ended(message)]
        failure = self.ended(message, MAIN)
        return [failure, *self.settled("exhausted", reason=failure.payload["reason"])]


class CrushStoreReader(_CrushReader, visibility="terminal"):
    """Reads finished messages and summaries.

    Times are in seconds, whatever unit the schema names.
    """

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        place = record.get("$row")
        table = place[0] if isinstance(place, list) and place else None
        self.clock(moment_of(record.get("updated_at")))
        if table == "sessions":
            self.session = text(record.get("id"))
            self.count_session()
            summary = text(record.get("summary_message_id"))
            return self._summarised(summary) if summary else ()
        if table != "messages":
            return ()
        self.session = text(record.get("session_id"))
        self.known |= {"model": text(record.get("model")), "provider": text(record.get("provider"))}
        finished = list(listed(record.get("finished")))
        self.count_session(
            # Until a message is finished its row is written many times.
            requests=int(bool(finished) and record.get("role") == "assistant"),
            aborted=sum(part.get("reason") == "canceled" for part in finished),
        )
        for call in listed(record.get("called")):
            self.count_calls(*([text(call.get("name"))] if finished else []))
        events = self._summarised(text(record.get("id")) or "") if record.get("is_summary_message") == 1 else []
        for index, result in enumerate(listed(record.get("failed"))):
            tool = text(result.get("name"))
            events += self.tool_failed(tool, result.get("said"), self.session, text(record.get("id")), index)
        for part in finished:
            if part.get("reason") == "error":
                self.clock(moment_of(part.get("time")) or moment_of(record.get("updated_at")))
                message = text(part.get("details")) or text(part.get("message")) or ""
                events.append(self.ended(message))
        return events

    def _summarised(self, unique: str) -> list[Event]:
        return self.compacted({}, "summary", unique)
