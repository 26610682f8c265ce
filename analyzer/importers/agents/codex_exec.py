"""`codex exec --json`: `thread.…`, `turn.…` and `item.…` records; in 2025 events in an envelope of `id` and `msg`.

Reconnections are told as errors that are retried, without a reason. No record names a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from analyzer.agent_stream.values import mapping, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.importers.agents.codex import error_facts
from analyzer.importers.base import Source
from analyzer.importers.foreign import digits
from analyzer.importers.records import MAIN, RecordReader

_AGAIN = re.compile(r"(?:Reconnecting\.\.\.|retrying) (\d{1,3})/(\d{1,3})(?: in ([\d.]{1,12})(ms|s))?")


class CodexExecReader(RecordReader):
    """Reads what a run printed; one run is one conversation."""

    name: ClassVar[str] = "codex_exec"
    agent: str = "codex exec"
    visibility: ClassVar[str] = "full"

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self._number: int = state.get("number", 0)
        self._failed: str | None = state.get("failed")
        """The message of the turn's failure, which the end of the turn tells again."""
        self.time(None)

    def remembered(self) -> dict[str, Any]:
        """How many failures there were, and the last one of the turn."""
        return {**super().remembered(), "number": self._number, "failed": self._failed}

    def events(self, record: Mapping[str, Any]) -> Iterable[Event]:
        """The events of one record."""
        said = mapping(record.get("msg")) or record
        kind = said.get("type")
        if kind in ("thread.started", "session_configured"):
            self.session = text(said.get("thread_id")) or text(said.get("session_id"))
            self.known = present({"agent": "codex", "model": text(said.get("model"))})
            self.see()
        elif kind in ("error", "stream_error"):
            return self._error(said, text(said.get("message")))
        elif kind == "turn.failed":
            return self._error(said, text(mapping(said.get("error")).get("message")))
        elif kind in ("turn.completed", "task_complete", "turn_aborted"):
            self._failed = None
            self.see(requests=int(kind != "turn_aborted"), aborted=int(kind == "turn_aborted"))
            return self.settled("aborted") if kind == "turn_aborted" else self.settled("recovered", made=1)
        return ()

    def _error(self, said: Mapping[str, Any], message: str | None) -> list[Event]:
        if message is not None and message == self._failed:
            return []
        self.see()
        again = _AGAIN.search(message or "")
        self._failed = None if again else message
        self._number += 1
        unique = self.session or self.source.path, self._number
        facts = error_facts(message, said.get("codex_error_info"))
        if again is None:
            failure = self.failed(facts, *unique, chain=MAIN if MAIN in self.chains else None)
            return [failure, *self.settled("exhausted", reason=failure.payload["reason"])]
        failure = self.failed(
            facts, *unique, chain=MAIN, numbered=digits(again[1]) or 1, max_attempts=int(again[2]) + 1
        )
        delay = float(again[3]) / (1000 if again[4] == "ms" else 1) if again[3] else None
        return [failure, self.scheduled(*unique, delay_seconds=delay)]
