"""What a simulator hands over: the log files of a fleet by day, and the incidents that are in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

DIMENSIONS = ("caller", "provider", "model", "project", "agent", "agent_version", "tool", "host")
"""What a finding or an incident can be about. A finding about none of these is about the fleet."""
STRENGTHS = ("weak", "medium", "strong")
AFTERMATH_DAYS = 7
"""Days after an incident on which an alarm of its scope belongs to it and its caller-days are not quiet."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One thing that goes wrong, what it touches, and by which names a finding may call it."""

    kind: str
    strength: str
    onset: datetime
    end: datetime
    """The first moment of normal work."""
    touched: Mapping[str, frozenset[str]]
    """The names in each of `DIMENSIONS` whose events it changes."""
    names: frozenset[str]
    """Whose trouble it is: a finding has the right name if it names one of these; `` is the fleet."""
    words: str
    """A pattern of what went wrong; a finding has the right name if its kind, reason or first sentence holds it."""
    sessions: int
    """Sessions that it changed, or that are missing because of it."""


@dataclass(slots=True)
class History:
    """One fleet from its first day to its last."""

    name: str
    first_day: date
    judged_from: int
    """0-based number of the first day whose night is judged."""
    files: list[dict[str, list[str]]]
    """For each day, the lines by the path of the log file that they are appended to."""
    incidents: list[Incident]
    sessions: dict[str, list[int]] = field(default_factory=dict)
    """Sessions of each caller by day, as they were."""

    def day(self, moment: datetime) -> int:
        """The 0-based number of the day of a moment."""
        return (moment.date() - self.first_day).days

    def date(self, day: int) -> date:
        """The date of a 0-based day."""
        return self.first_day + timedelta(days=day)

    def last_day(self, incident: Incident) -> int:
        """The 0-based number of the last day that an incident has a part in."""
        return self.day(incident.end - timedelta(microseconds=1))
