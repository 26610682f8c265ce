"""This project's own log, and logs that share its envelope: `type`, `timestamp`, `sessionId`, `payload`.

Every line is a row or a reject, or both where an intact event is glued to a torn one.

GDD's `.design/telemetry/events.jsonl` has the same envelope without ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from analyzer.agent_stream import mapping, text
from analyzer.events import Event, Reject
from analyzer.events.codec import decode, line_id
from analyzer.events.model import derived_id, present
from analyzer.events.payloads import EVENT_TYPES
from analyzer.events.rows import Decoded, RowDecoder
from analyzer.events.times import format_time, parse_time
from analyzer.importers.base import Block, Chains, Hit, Reader, RowReader, Source, all_lines
from analyzer.importers.failures import classify_foreign, number


class EventLogReader(RowReader):
    """Reads native lines; lines of other producers with the same envelope are events too."""

    def __init__(self, source: Source, _state: Mapping[str, Any]) -> None:
        self._decoder = RowDecoder(source.file_time, journal=source.journal)

    def decode(self, data: bytes) -> Decoded:
        """All events of a block at once, its blank and its broken lines."""
        return self._decoder.decode(data)

    def read(self, block: Block) -> Iterator[Hit]:
        """A hit without events for every broken line; whole ones are rows."""
        for _, offset, line, reject in self.decode(block.data).rejects:
            yield Hit(offset, len(line), (), reject.why, reject.detail)


class GddReader(Reader):
    """Reads GDD's telemetry; its three words for a cause (`reason`, `kind`, `error_class`) all end in our reason."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        self._source = source
        self._chains = Chains(state.get("chains"))
        near = state.get("near")
        self._near = parse_time(near) if isinstance(near, str) else None

    def read(self, block: Block) -> Iterator[Hit]:
        """Hits for failures, retries and compactions, and for lines that cannot be read."""
        for line in all_lines(block):
            decoded = decode(line.text, self._source.file_time)
            if isinstance(decoded, Reject):
                yield Hit(line.offset, len(line.text), (), decoded.why, decoded.detail)
                continue
            if decoded.time_source == "event":
                self._near = decoded.occurred_at
            else:
                moment, dated = self._source.stand_in(self._near)
                decoded = replace(decoded, occurred_at=moment, time_source=dated)
            # GDD writes no ids; one that stands there all the same may be that of another record.
            event = translate(replace(decoded, id=line_id(line.text)))
            if event is not None and decoded.type == "api.retry":
                event = self._in_a_run(event)
            if event is not None:
                yield Hit(line.offset, len(line.text), (event,))

    def _in_a_run(self, event: Event) -> Event:
        """GDD names no chain: one session's retries of a provider are one, for as long as the attempt goes up."""
        attempt = event.payload.get("attempt", 1)
        key = f"{event.session_id}/{event.payload['caller']}"
        self._chains.begin_anew(key, attempt)
        operation, _ = self._chains.failed(key, event.id)
        self._chains.renumber(key, attempt)
        return replace(event, payload={**event.payload, "operation": operation})

    def state(self) -> Mapping[str, Any]:
        """The retries that may still go on."""
        near = {"near": format_time(self._near)} if self._near else {}
        return {"chains": self._chains.state(), **near}


def translate(event: Event) -> Event | None:
    """Translate a GDD event into one of ours; None where it says nothing of errors, retries or relays."""
    if event.type in EVENT_TYPES:
        return event
    told = _told(event, event.payload)
    if told is None:
        return None
    kind, payload = told
    return replace(event, type=kind, payload=present(payload), id=derived_id("gdd", event.id, kind))


def _told(event: Event, payload: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Type and payload of what GDD tells of errors, retries, limits, compactions and budgets."""
    match event.type:
        case "error":
            fields = mapping(payload.get("fields"))
            raw = {
                "status": number(payload.get("status")) or number(fields.get("status")),
                "code": text(payload.get("code")) or text(fields.get("code")),
                "message": text(payload.get("message")) or text(payload.get("msg")),
            }
            caller = text(payload.get("caller")) or text(mapping(event.extra.get("_meta")).get("source"))
            return _failed(event, raw, caller)
        case "peer_call_failed":
            raw = {"type": text(payload.get("error_class")), "message": text(payload.get("message"))}
            return _failed(event, raw, text(payload.get("peer_id")))
        case "api.retry":
            delay_ms = number(payload.get("delay_ms"))
            return "retry.scheduled", {
                "caller": text(payload.get("provider")) or "gdd",
                "reason": text(payload.get("reason")),
                "attempt": number(payload.get("attempt")),
                "delay_seconds": delay_ms / 1000 if delay_ms is not None else None,
            }
        case "rate_limit":
            return "call.short_circuited", {
                "caller": text(payload.get("caller")) or "gdd",
                "provider": text(payload.get("provider")),
                "reason": "rate_limited",
                "reset_at": text(payload.get("reset_at")),
            }
        case "compact.boundary":
            before, after = number(payload.get("tokens_before")), number(payload.get("tokens_after"))
            compaction = {"relay": event.id, "caller": "gdd", "strategy": "compact"}
            return "relay.triggered", {**compaction, "pre_tokens": before, "post_tokens": after}
        case "session.budget_exceeded":
            spent = {"consumed": number(payload.get("turns")), "limit": number(payload.get("limit"))}
            return "budget.exhausted", {"caller": text(payload.get("stage")) or "gdd", **spent}
    return None


def _failed(event: Event, raw: Mapping[str, Any], caller: str | None) -> tuple[str, Mapping[str, Any]]:
    return "error.classified", classify_foreign(present(raw), event.occurred_at, caller=caller or "gdd")[1]
