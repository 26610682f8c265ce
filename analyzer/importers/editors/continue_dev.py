"""Continue's sessions (`~/.continue/sessions/*.json`): one document a session, without times and failed calls.

Source: continuedev/continue, `core/index.d.ts` and `core/util/paths.ts`, June 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event
from analyzer.importers.records import RecordReader, identity_of, session_of
from analyzer.importers.shapes.rows import listed

_FAILED = {"errored": None, "canceled": "cancelled"}


class ContinueReader(RecordReader, name="continue", agent="continue", visibility="none"):
    """Reads a session's history."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        self.session = text(record.get("sessionId")) or session_of(self.source.path)
        self.known = {"agent": self.agent}
        self.work_in((text(record.get("workspaceDirectory")) or "").removeprefix("file://") or None)
        events: list[Event] = []
        for place, item in enumerate(listed(record.get("history"))):
            self.see(requests=int(mapping(item.get("message")).get("role") == "assistant"))
            for call in listed(item.get("toolCallStates")):
                tool = text(mapping(mapping(call.get("toolCall")).get("function")).get("name"))
                unique, status = text(call.get("toolCallId")) or identity_of(call), call.get("status")
                self.see_calls(tool)
                if isinstance(status, str) and status in _FAILED:
                    said = next((text(part.get("content")) for part in listed(call.get("output"))), None)
                    events.append(self.tool_failed(tool, said, self.session, unique, kind=_FAILED[status]))
            if text(item.get("conversationSummary")):
                events += self.compacted({}, self.session, place)
        return events
