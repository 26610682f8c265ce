"""Hermes: `state.db`, exported sessions, and `logs/agent.log` and `errors.log`.

Only the logs show failed calls. Source: the wheel hermes-agent 0.19.0, `hermes_state.py`,
`agent/conversation_loop.py` and `hermes_logging.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from analyzer.agent_stream import text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.base import Block, Hit, all_lines
from analyzer.importers.records import MAIN, RecordReader, kept, moment_here, session_of
from analyzer.importers.shapes.rows import listed, slim_hermes

_LINE = re.compile(
    r"^(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(?P<ms>\d{3}) [A-Z]{4,8}(?: \[(?P<session>[^\]\s]{1,200})\])? "
    r"[\w.]{1,100}: (?P<message>.*)$"
)
_FAILED = re.compile(
    r"^API call failed \(attempt (\d{1,6})/(\d{1,6})\) error_type=(\S{1,100}) .*?provider=(\S{1,100}) .*?"
    r"model=(\S{1,200}) summary=(.*)$"
)
_RETRYING = re.compile(r"^Retrying API call in ([\d.]{1,12})s \(attempt")
_ENDED = re.compile(r"API call failed after \d{1,6} retries\.|^\S{0,40}Non-retryable client error:")
_STATUS = re.compile(r"\bHTTP (\d{3})\b")


class HermesReader(RecordReader, name="hermes", agent="hermes", visibility="none"):
    """Reads rows of sessions and messages, from the database or from an export."""

    _sessions: dict[str, dict[str, Any]] = kept({})
    """The facts about each session."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if "started_at" not in record:
            return self._message(record if "called" in record else slim_hermes(record))
        rows = listed(record.get("messages"))
        return [*self._session(record), *(event for row in rows for event in self._message(slim_hermes(row)))]

    def _session(self, row: Mapping[str, Any]) -> list[Event]:
        self.session = text(row.get("id"))
        columns = {"provider": "billing_provider", "model": "model", "branch": "git_branch"}
        facts = {name: text(row.get(column)) for name, column in columns.items()}
        self.known = present({"agent": self.agent, **facts})
        self.work_in(row.get("cwd"))
        self._sessions[self.session or ""] = dict(self.known)
        self.time(row.get("ended_at") or row.get("started_at"))
        failed = text(row.get("compression_failure_error"))
        events = self.compacted({}, self.session, failed, cause=failed) if failed else []
        return [*events, *(self.compacted({}, self.session) if row.get("end_reason") == "compression" else [])]

    def _message(self, row: Mapping[str, Any]) -> list[Event]:
        self.session = text(row.get("session_id")) or self.session or session_of(self.source.path)
        if facts := self._sessions.get(self.session or ""):
            self.known = dict(facts)
        else:
            self.known = present({"agent": self.agent, "model": text(row.get("model"))})
        self.time(row.get("timestamp"))
        self.count_session(requests=int(row.get("role") == "assistant"))
        self.count_calls(*(text(call.get("name")) for call in listed(row.get("called"))))
        output = row.get("failed")
        if not isinstance(output, str):
            return []
        unique = self.session, row.get("timestamp"), row.get("call"), output
        return self.tool_failed(text(row.get("tool")), output, *unique)


class HermesLogReader(RecordReader, name="hermes_log", agent="hermes", visibility="full"):
    """Reads lines of text; failures are in both logs, and count once."""

    def read(self, block: Block) -> Iterator[Hit]:
        """Yield the hits of the block: every line is text, and none can be broken."""
        for line in all_lines(block):
            match = _LINE.match(line.text.decode("utf-8", "replace").rstrip())
            if match and (events := tuple(self._line_events(match))):
                yield Hit(line.offset, len(line.text), events)

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        return ()

    def _line_events(self, line: re.Match[str]) -> list[Event]:
        message = line["message"]
        self.clock(moment_here(f"{line['at']}.{line['ms']}"))
        chain = line["session"] or MAIN
        self.begin(line["session"])
        unique = line["session"], line["at"], line["ms"], message
        if failed := _FAILED.match(message):
            attempt, status = int(failed[1]), _STATUS.search(failed[6])
            self.learn(provider=failed[4], model=failed[5])
            self.chains.begin_anew(chain, attempt)
            self.count_session()
            facts = {
                "status": int(status[1]) if status else None,
                "exception_class": failed[3],
                "message": failed[6],
            }
            most = int(failed[2])
            return [self.failed(facts, *unique, chain=chain, numbered=attempt, max_attempts=most)]
        if (retrying := _RETRYING.match(message)) and chain in self.chains:
            delay_seconds = float(retrying[1].rstrip(".") or 0)
            return [self.scheduled(*unique, chain=chain, delay_seconds=delay_seconds)]
        if _ENDED.search(message):
            return self.settled("exhausted", chain=chain)
        if message.startswith("API call #"):
            return self.settled("recovered", chain=chain, made=1)
        if message.startswith("Turn ended: reason=interrupted"):
            return self.settled("aborted", chain=chain)
        return []
