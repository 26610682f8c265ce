"""Events out of logs, one at a time, as a timeline has them; and which of them are about a part of a fleet."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from analyzer.agent_stream.values import count, mapping, text
from analyzer.analysis.timeline import Happening
from analyzer.events import Event
from analyzer.events.times import parse_time
from analyzer.store import Selection

WATCHED = (
    "error.classified",
    "retry.scheduled",
    "retry.settled",
    "relay.triggered",
    "relay.checkpointed",
    "relay.resumed",
    "relay.halted",
    "relay.skipped",
    "context.recovered",
    "context.unrecovered",
    "agent.exhausted",
    "agent.restored",
)
"""The types of events that a watch tells. Tools fail all day, and agents go on."""
_NO_CALLER = "(none)"


def happening_of(event: Event) -> Happening:
    """The event with the names of a timeline; what its log has under a name in another shape is not there."""
    payload = event.payload
    facts, origin = mapping(payload.get("facts")), event.origin
    said = (*(facts.get(name) for name in ("message", "stderr", "stdout")), payload.get("message"))
    return Happening(
        event_id=event.id,
        occurred_at=event.occurred_at,
        type=event.type,
        session_id=event.session_id,
        **{name: text(payload.get(name)) for name in ("operation", "caller", "reason", "outcome")},
        attempt=count(payload.get("attempt")),
        attempts=count(payload.get("attempts")),
        delay_seconds=_amount(payload.get("delay_seconds")),
        waited_seconds=_amount(payload.get("waited_seconds")),
        tokens_before=count(payload.get("pre_tokens")),
        tokens_after=count(payload.get("post_tokens")),
        tool=None,
        message=next(filter(None, map(text, (*said, payload.get("reason_text")))), None),
        reset_at=_moment(payload.get("reset_at") or facts.get("reset_at")),
        source_format=origin.format if origin else None,
        source_path=origin.path if origin else None,
        source_line=origin.line if origin else None,
        agent=text(payload.get("agent")),
        cwd=text(payload.get("cwd")),
    )


def is_about(event: Event, only: Selection) -> bool:
    """Whether an event says for itself that it belongs to that part; one without a caller is of `(none)`."""
    return all(
        (event.payload.get(name) or (_NO_CALLER if name == "caller" else None)) == value
        for name, value in only.given.items()
    )


def _amount(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 <= value < float("inf") else None


def _moment(value: Any) -> datetime | None:
    try:
        return parse_time(value)
    except ValueError:
        return None
