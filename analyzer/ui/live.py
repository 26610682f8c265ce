"""Follow logs while pages are read: which sessions are at work, what they wait for, and what happens.

Nothing is stored. What is remembered is bounded, however many logs grow.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from analyzer.analysis.timeline import WATCHED, Happening, happening_of
from analyzer.events.times import now
from analyzer.frozen import frozen
from analyzer.importers.places import LogPlace
from analyzer.store.following import Changes, Tails

MAX_SESSIONS = 100
MAX_HAPPENINGS = 50
AT_WORK = timedelta(hours=1)
"""A session without a record for longer is no longer at work."""
SILENT = timedelta(minutes=10)
"""A session without a record for longer may be stuck."""
_PAUSE_SECONDS = 0.5
_TYPES = (*WATCHED, "tool.failed", "usage.recorded", "session.observed", "budget.exhausted", "call.short_circuited")
_MAX_COMPACTIONS = 1000


@frozen
class View:
    """What is seen at a moment."""

    at: datetime
    """Naive UTC."""
    sessions: Sequence[Happening] = ()
    """The last record of each session at work, the newest first."""
    happenings: Sequence[Happening] = ()
    """The newest first."""
    files: int = 0
    """The files that are followed."""


class Live:
    """What the logs say from now on; one thread runs it, others look."""

    def __init__(self, paths: Sequence[str | LogPlace]) -> None:
        """Follow files, folders and the places of agents."""
        self._paths = paths
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._sessions: OrderedDict[str, Happening] = OrderedDict()
        self._happenings: deque[Happening] = deque(maxlen=MAX_HAPPENINGS)
        self._files = 0
        self.version = 0
        """Grows with every change."""

    @property
    def is_over(self) -> bool:
        """Say whether it was stopped."""
        return self._over.is_set()

    def stop(self) -> None:
        """End `run`."""
        self._over.set()

    def run(self) -> None:
        """Follow the logs until it is stopped."""
        began = now()
        changes = Changes(self._paths)
        tails = Tails(began - AT_WORK, _TYPES)
        compactions: set[str] = set()
        # What was written within the last hour says who is at work.
        due = dict.fromkeys(changes.recent(AT_WORK.total_seconds()), 0)
        while not self._over.is_set():
            events = [
                event for path, before in due.items() for event in tails.new(path, before, changes.folder_of(path))
            ]
            if len(compactions) > _MAX_COMPACTIONS:
                compactions.clear()
            events.sort(key=lambda event: event.occurred_at)
            self._add([happening_of(event, compactions) for event in events], changes.files)
            tails.problems.clear()
            self._over.wait(_PAUSE_SECONDS)
            due = changes.changed()

    def _add(self, happenings: Sequence[Happening], files: int) -> None:
        with self._lock:
            changed = bool(happenings) or files != self._files
            self._files = files
            for happening in happenings:
                if happening.type in WATCHED or happening.type == "tool.failed":
                    self._happenings.appendleft(happening)
                if name := happening.session_id:
                    former = self._sessions.pop(name, None)
                    who = happening.caller or (former.caller if former else None)
                    self._sessions[name] = replace(happening, caller=who)
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            self.version += changed

    def view(self) -> View:
        """Return what is seen now."""
        at = now()
        with self._lock:
            working = [last for last in reversed(self._sessions.values()) if at - last.occurred_at < AT_WORK]
            return View(at, working, list(self._happenings), self._files)


def waiting(last: Happening, at: datetime) -> str:
    """Say what a session waits for, by its last record."""
    until = last.reset_at
    if last.type == "retry.scheduled":
        until = last.occurred_at + timedelta(seconds=last.delay_seconds or 0)
    if until is not None and until > at and last.type in {"retry.scheduled", "agent.exhausted"}:
        return f"{'a retry' if last.type == 'retry.scheduled' else 'its limit'}, until {until:%H:%M:%S} UTC"
    silent = at - last.occurred_at
    if silent >= SILENT:
        return f"nothing for {silent // timedelta(minutes=1)} minutes"
    return _WAITS.get(last.type, "at work")


_WAITS = {
    "retry.scheduled": "the model, in a retry",
    "error.classified": "a decision after an error",
    "tool.failed": "the model, after a failed tool",
    "usage.recorded": "a tool, or a person, after a reply",
    "relay.triggered": "a shorter context",
    "agent.exhausted": "a limit whose end no log says",
}
