"""This project's own log, and logs with its envelope: `type`, `timestamp`, `sessionId`, `payload`.

Every line is a row or a reject, or both if an intact event is glued to a torn one.

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
    """Reads native lines, and lines of other producers with the same envelope."""

    def __init__(self, source: Source, _state: Mapping[str, Any]) -> None:
        self._decoder = RowDecoder(source.file_time, journal=source.journal)

    def decode(self, data: bytes) -> Decoded:
        """Decode all events of a block at once, and count its blank and its broken lines."""
        return self._decoder.decode(data)

    def read(self, block: Block) -> Iterator[Hit]:
        """Yield a hit without events for every broken line; whole lines are rows."""
        for _, offset, line, reject in self.decode(block.data).rejects:
            yield Hit(offset, len(line), (), reject.why, reject.detail)


class GddReader(Reader):
    """Reads GDD's telemetry: its `reason`, `kind` and `error_class` all become our reason."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        self._source = source
        self._chains = Chains(state.get("chains"))
        near = state.get("near")
        self._near = parse_time(near) if isinstance(near, str) else None

    def read(self, block: Block) -> Iterator[Hit]:
        """Yield hits of failures, retries and compactions, and of lines that cannot be read."""
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
            # GDD writes no ids; if a line has an id, it may be another record's.
            event = translate(replace(decoded, id=line_id(line.text)))
            if event is not None and decoded.type == "api.retry":
                event = self._chained(event)
            if event is not None:
                yield Hit(line.offset, len(line.text), (event,))

    def _chained(self, event: Event) -> Event:
        """Put a retry into a chain.

        GDD names no chains: the retries of a session and a provider are one while the attempt goes
        up.
        """
        attempt = event.payload.get("attempt", 1)
        key = f"{event.session_id}/{event.payload['caller']}"
        self._chains.begin_anew(key, attempt)
        operation, _ = self._chains.failed(key, event.id)
        self._chains.renumber(key, attempt)
        return replace(event, payload={**event.payload, "operation": operation})

    def state(self) -> Mapping[str, Any]:
        """Return the open chains, and the last time that the log named."""
        near = {"near": format_time(self._near)} if self._near else {}
        return {"chains": self._chains.state(), **near}


def translate(event: Event) -> Event | None:
    """Translate a GDD event into one of ours; None if it is about no error, retry or relay."""
    if event.type in EVENT_TYPES:
        return event
    translated = _type_and_payload(event, event.payload)
    if translated is None:
        return None
    kind, payload = translated
    return replace(event, type=kind, payload=present(payload), id=derived_id("gdd", event.id, kind))


def _type_and_payload(
    event: Event,
    payload: Mapping[str, Any],
) -> tuple[str, Mapping[str, Any]] | None:
    """Return our type and payload of a GDD event, None if we have none for it."""
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
