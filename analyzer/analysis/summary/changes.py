"""What changed from one stretch of days to the next: the traffic, the classifier, or the wording of errors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from analyzer.analysis.detection import causes
from analyzer.analysis.detection.finding import Detection, detections_in
from analyzer.analysis.detection.settings import BASELINE_DAYS
from analyzer.analysis.observations import Observations, end_of, start_of
from analyzer.store import Store


@dataclass(frozen=True, slots=True)
class Drift:
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


def changes(store: Store, seen: Observations, split: date, until: date) -> tuple[Drift, ...]:
    """What tells the fleet's days from `split` to `until` from the 42 before them; nothing where one side has no error.

    Raises:
        QueryError: the store cannot be asked.
    """
    rows = store.query(
        "ruleset-groups",
        since=start_of(split - timedelta(days=BASELINE_DAYS), seen.timezone),
        split=start_of(split, seen.timezone),
        until=end_of(until, seen.timezone),
        ruleset=seen.ruleset,
    )
    if rows["period"].n_unique() < 2:
        return ()
    messages = dict(rows.select("template", "message").iter_rows())
    found = detections_in(causes(rows, day=until, caller=None))
    return tuple(change(one, messages.get(one.template)) for one in found)


def causes_of(seen: Observations, split: date, until: date, caller: str | None) -> tuple[Detection, ...]:
    """The same of one caller, out of what was seen already, and without the messages."""
    rows = seen.around(split, until, caller)
    if rows["period"].n_unique() < 2:
        return ()
    return tuple(detections_in(causes(rows, day=until, caller=caller)))


def change(found: Detection, message: str | None) -> Drift:
    """A cause as a report tells it; `message` is the text of its template."""
    return Drift(
        drift=found.finding.removesuffix("_changed"),
        about=found.scope,
        said=found.note or "",
        message=message,
        sessions=found.sessions or 0,
        p_value=found.p_value,
    )
