"""Conversations in databases of Amazon Q, Kiro CLI, Zed, Warp and grok-cli.

They have tools and ends of requests, and no retries. Amazon Q, Kiro CLI and Zed keep a row a
conversation, which is read again as it grows; Zed's rows have one time of their own, and none of
turns. Warp keeps a row a query, and only says that it failed; grok-cli keeps a row a call.

Sources: aws/amazon-q-developer-cli, April 2026; zed-industries/zed, `crates/agent/src/db.rs`,
threads of version 0.3.0; warpdotdev/warp, `crates/persistence/src/schema.rs`, August 2026;
superagent-ai/grok-cli, `src/storage/`, May 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.events.codec import parsed
from analyzer.events.model import present
from analyzer.importers.failures import number
from analyzer.importers.records import ANTHROPIC, RecordReader, identity_of, kept
from analyzer.importers.shapes.rows import listed


class ThreadReader(RecordReader, visibility="none"):
    """Reads conversations that come again as they grow; counts have the last turn's `place`."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.session = text(record.get("session"))
        if self.session is None:
            return ()
        self.role = text(record.get("role"))
        before, events = mapping(self._seen.get(self.session)).get("place"), list[Event]()
        last = counted = before or 0
        facts = {key: text(record.get(key)) for key in ("model", "provider")}
        self.known = present({"agent": self.agent, **facts})
        self.work_in(record.get("folder"))
        self.time(record.get("created"))
        if self.timed:
            self.count_session()
        for turn in listed(record.get("turns")):
            place = number(turn.get("place")) or 0
            if place < counted:
                continue
            self.time(turn.get("at") or record.get("updated"))
            self.learn(model=turn.get("model"))
            new = place > counted or (before is None and not place)
            results = [*listed(turn.get("failed"))]
            if not new:
                results = [result for result in results if text(result.get("call")) in self._calls]
            for result in results:
                events += self._failed_result(result)
            if new:
                self.count_session(requests=1, aborted=int(turn.get("stopped") is True))
                for call in listed(turn.get("called")):
                    self.called(text(call.get("name")), text(call.get("call")))
                last = self._seen[self.session]["place"] = max(place, last)
        self.time(record.get("updated"))
        for usage in listed(record.get("spent")):
            events += self.spent_as(usage, ANTHROPIC, self.session, identity_of(usage.get("request")))
        compactions = record.get("compacted")
        for name in compactions if isinstance(compactions, list) else ():
            events += self.compacted({}, self.session, identity_of(name))
        return events

    def _failed_result(self, result: Mapping[str, Any]) -> list[Event]:
        call = text(result.get("call"))
        tool = self.tool_of(call) or text(result.get("name"))
        return self.tool_failed(tool, result.get("said"), self.session, call or identity_of(result))


class AmazonQReader(ThreadReader, name="amazon_q", agent="amazon-q"):
    """Reads Amazon Q's conversations, each of one folder."""


class KiroDatabaseReader(ThreadReader, name="kiro_db", agent="kiro-cli"):
    """Reads conversations of versions of Kiro CLI that wrote no files for them."""


class ZedReader(ThreadReader, name="zed", agent="zed"):
    """Reads Zed's threads."""


class WarpReader(RecordReader, name="warp", agent="warp", visibility="terminal"):
    """Reads Warp's queries."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if "output_status" not in record:
            return ()
        self.begin(text(record.get("conversation_id")), model=record.get("model_id"))
        self.work_in(record.get("working_directory"))
        self.time(f"{record.get('start_ts')}Z")
        status = parsed(text(record.get("output_status")) or "")
        self.count_session(requests=1, aborted=int(status == "Cancelled"))
        unique = self.session, text(record.get("exchange_id")) or identity_of(record)
        return [self.failed({}, *unique)] if status == "Failed" else ()


class GrokCliReader(RecordReader, name="grok_cli", agent="grok-cli", visibility="none"):
    """Reads grok-cli's sessions with their calls, results, requests and compactions."""

    _sessions: dict[str, dict[str, Any]] = kept({})
    """The facts about each session."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if "cwd_at_start" in record:
            self.begin(self.session, model=record.get("model"))
            self.work_in(record.get("cwd_at_start"))
            self._sessions[text(record.get("id")) or ""] = dict(self.known)
            return ()
        self.session = text(record.get("session_id")) or text(record.get("session"))
        self.known = dict(mapping(self._sessions.get(self.session or "")) or {"agent": self.agent})
        self.time(record.get("created_at") or record.get("started_at") or record.get("at"))
        row = number(record.get("id"))
        if "tool_name" in record:
            self.count_calls(text(record.get("tool_name")))
        elif "result" in record and record.get("failed") is not None:
            unique = self.session, number(record.get("result"))
            return self.tool_failed(text(record.get("tool")), record.get("failed"), *unique)
        elif "output_tokens" in record:
            self.learn(model=record.get("model"))
            self.count_session(requests=1)
            return self.spent_as(record, ANTHROPIC, self.session, row)
        elif "tokens_before" in record:
            self.count_session()
            return self.compacted({"pre_tokens": number(record.get("tokens_before")) or None}, self.session, row)
        return ()
