"""What changed from one stretch of days to the next: the traffic, the classifier, or the wording of errors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from analyzer.analysis.detection import causes
from analyzer.analysis.detection.finding import Detection
from analyzer.analysis.detection.settings import HISTORY_DAYS
from analyzer.analysis.observations import Observations, end_of, start_of
from analyzer.store import Store


@dataclass(frozen=True, slots=True)
class Change:
    """One of the three drifts, with its evidence."""

    drift: str
    """`traffic`, `classifier` or `wording`."""
    about: str | None
    """A reason, a rule, or `old reason → reason`."""
    said: str
    """For a person."""
    message: str | None
    """The new text, redacted; where it is about one."""
    sessions: int
    p_value: float | None
    """None where nothing is left to chance."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {name: getattr(self, name) for name in Change.__slots__}


def changes(
    store: Store, seen: Observations, split: date, until: date, caller: str | None = None
) -> tuple[Change, ...]:
    """What tells the days from `split` to `until` from the 42 before them; nothing where one side has no error."""
    rows = store.query(
        "ruleset-groups",
        since=start_of(split - timedelta(days=HISTORY_DAYS), seen.timezone),
        split=start_of(split, seen.timezone),
        until=end_of(until, seen.timezone),
        caller=caller,
        ruleset=seen.ruleset,
    )
    if rows["period"].n_unique() < 2:
        return ()
    messages = dict(rows.select("template", "message").iter_rows())
    found = causes(rows, day=until, caller=caller)
    return tuple(_change(Detection(**row), messages) for row in found.iter_rows(named=True))


def _change(found: Detection, messages: dict[str, str | None]) -> Change:
    return Change(
        drift=found.finding.removesuffix("_changed"),
        about=found.scope,
        said=found.note or "",
        message=messages.get(found.template) if found.template is not None else None,
        sessions=found.sessions or 0,
        p_value=found.p_value,
    )
