"""A stream of records as a relay sees it: how full the context is, and where the agent may be paused.

A safe point is right behind the answers of all tools that were called: no tool is at work there, and the next reply has
not begun. The records of one instance are kept in a file without a name until they are summarized.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from analyzer.agent_stream.values import mapping, text
from analyzer.recovery.process.pump import CHUNK_BYTES, write_all
from analyzer.recovery.process.streams import Lines, last_lines
from analyzer.recovery.relay.monitor import RelayMonitor
from analyzer.recovery.relay.transcript import tool_calls
from analyzer.recovery.supervision.observer import context_tokens, context_window, parse

_WINDOW, _USAGE = b'"contextWindow"', b'"usage"'
_TRIES = 8
"""Lines of subagents that are passed over in search of a reply."""
_TELLING = re.compile(rb'"type": ?"(?:assistant|user|result)"')


class RelayStream:
    """Follows one instance in the thread that hands its output on."""

    def __init__(
        self, monitor: RelayMonitor, *, at_safe_point: Callable[[], None], first_reply: Callable[[int], None]
    ) -> None:
        self._monitor = monitor
        self._at_safe_point = at_safe_point
        self._first_reply = first_reply
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as this object
        self._pending: set[str] = set()
        self._replied = False
        self._paused = False

    def follow(self, lines: bytes) -> None:
        """Read the next whole lines of stdout."""
        write_all(self._kept.fileno(), lines)
        if self._replied and not self._monitor.due:
            if not self._matters(lines):
                return
            # Tools of earlier replies have been answered by the time of the one that makes a relay due.
            self._pending = set()
        for line in lines.splitlines():
            if _TELLING.search(line):
                self._record(parse(line))

    def _matters(self, lines: bytes) -> bool:
        """Whether lines below the threshold have to be read one by one; their last reply is enough to tell."""
        if _WINDOW in lines:
            return True
        for line, tries in zip(last_lines(lines, 0, len(lines), _USAGE), range(_TRIES + 1), strict=False):
            if tries == _TRIES:
                return True
            record = parse(line)
            if record.get("type") == "assistant" and not record.get("parent_tool_use_id"):
                tokens = context_tokens(record)
                return tokens is not None and self._monitor.observe(tokens)
        return False

    def _record(self, record: Mapping[str, Any]) -> None:
        kind = record.get("type")
        if kind == "result":
            window = context_window(record)
            if window:
                self._monitor.observe_window(window)
        if kind not in ("assistant", "user") or record.get("parent_tool_use_id"):
            return
        called, answered = tool_calls(record)
        self._pending = (self._pending | called) - answered
        if kind == "assistant":
            self._reply(record)
        elif self._monitor.due and not self._pending and not self._paused:
            self._paused = True
            self._at_safe_point()

    def go_on(self) -> None:
        """Note that the agent goes on; its next safe point counts again."""
        self._paused = False

    def records(self) -> Iterator[Mapping[str, Any]]:
        """The records of the instance so far."""
        lines, offset = Lines(), 0
        while data := os.pread(self._kept.fileno(), CHUNK_BYTES, offset):  # the place for writing stays where it is
            offset += len(data)
            for region, start, end in lines.feed(data):
                yield from map(parse, region[start:end].splitlines())

    def close(self) -> None:
        """Delete the records that were kept."""
        self._kept.close()

    def _reply(self, record: Mapping[str, Any]) -> None:
        model = text(mapping(record.get("message")).get("model"))
        if model == "<synthetic>":
            return
        if model is not None:
            self._monitor.observe_model(model)
        tokens = context_tokens(record)
        if tokens is not None:
            self._monitor.observe(tokens)
            if not self._replied:
                self._replied = True
                self._first_reply(tokens)
