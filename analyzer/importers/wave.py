"""Wave's NDJSON: pipeline events (`retrying`, `warning`, `failed`, `compacting`, ...) and its three relay lines.

One hand-off is three lines that name no id: they are folded a step and worker, in file order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from analyzer.agent_stream import FAILURE_REASONS, count, mapping, text
from analyzer.events import Event, Reject
from analyzer.events.codec import decode_object
from analyzer.events.model import derived_id, present, settled_reason
from analyzer.events.times import parse_time
from analyzer.importers.base import Block, Hit, Reader, Source, all_lines, forget_oldest
from analyzer.importers.failures import classify_foreign, digits, number, quantity

_RELAY = re.compile(r"^Context relay triggered at (\d+(?:\.\d+)?)% utilization")
_COMPACTING = re.compile(r"^Token threshold exceeded \((\d+) tokens, (\d+)% threshold\)")
_EXITED = re.compile(r"^adapter exited with code (-?\d+)(?:: (\w+))?$")
_ATTEMPT = re.compile(r"attempt (\d+)/(\d+)")
_FINISHED = frozenset({"completed", "success", "succeeded"})


class WaveReader(Reader):
    """Reads Wave's events; remembers the open relays and retries of each step and worker."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        self._source = source
        self._relays: dict[str, dict[str, Any]] = {
            key: dict(value) for key, value in mapping(state.get("relays")).items()
        }
        self._retries: dict[str, dict[str, Any]] = {
            key: dict(value) for key, value in mapping(state.get("retries")).items()
        }

    def read(self, block: Block) -> Iterator[Hit]:
        """Hits for relays, retries and failures, and for lines that cannot be read."""
        for line in all_lines(block):
            record = decode_object(line.text)
            if isinstance(record, Reject):
                yield Hit(line.offset, len(line.text), (), record.why, record.detail)
                continue
            try:
                moment = parse_time(record.get("timestamp"))
            except ValueError as error:
                yield Hit(line.offset, len(line.text), (), "bad_timestamp", str(error))
                continue
            events = _Line(self, record, line.text, moment).events()
            if events:
                yield Hit(line.offset, len(line.text), tuple(events))
        forget_oldest(self._relays)
        forget_oldest(self._retries)

    def state(self) -> Mapping[str, Any]:
        """The hand-offs and retries that are still open."""
        return {"relays": self._relays, "retries": self._retries}


class _Line:
    """One record, and the events that it gives."""

    def __init__(self, reader: WaveReader, record: Mapping[str, Any], line: bytes, moment: datetime | None) -> None:
        self.relays, self.retries = reader._relays, reader._retries
        self.record = record
        self.moment = moment or reader._source.file_time
        self.time_source = "event" if moment else "file"
        self.step = text(record.get("step_id"))
        self.worker = text(record.get("worker_id"))
        self.session = text(record.get("pipeline_id")) or text(record.get("pipeline_name"))
        self.message = text(record.get("message")) or ""
        self.meta = mapping(record.get("meta"))
        self.identity = derived_id("wave", line.strip().decode("utf-8", "replace"))
        self.key = "/".join(part or "" for part in (self.session, self.step, self.worker))
        self.caller = "wave" if self.step is None else f"wave/{self.step}"

    def events(self) -> list[Event]:
        """By what the line says, not by its state alone: relay lines come under `running`."""
        if "token_usage_percent" in self.meta or _RELAY.match(self.message):
            return self._triggered(strategy=text(self.meta.get("strategy")))
        if "checkpoint_tokens" in self.meta:
            return self._follow("relay.checkpointed", checkpoint_tokens=number(self.meta.get("checkpoint_tokens")))
        if "relay_count" in self.meta:
            return self._follow("relay.resumed", close=True, relay_count=number(self.meta.get("relay_count")))
        by_state: dict[object, Callable[[], list[Event]]] = {
            "compacting": lambda: self._triggered(strategy="summarize_to_checkpoint"),
            "compacted": self._compacted,
            "warning": self._warning,
            "retrying": self._retrying,
            "failed": self._failed,
        }
        state = self.record.get("state")
        if not isinstance(state, str):
            return []
        if state in _FINISHED:
            return self._finished()
        found = by_state.get(state)
        return found() if found else []

    # Relays

    def _triggered(self, strategy: str | None) -> list[Event]:
        said = _RELAY.match(self.message)
        threshold = _COMPACTING.match(self.message)
        percent = quantity(self.meta.get("token_usage_percent"))
        if percent is None:
            percent = float(said[1]) if said else None
        self.relays[self.key] = {"relay": self.identity}
        return [
            self._event(
                "relay.triggered",
                relay=self.identity,
                token_usage_percent=percent,
                threshold_percent=float(threshold[2]) if threshold else None,
                pre_tokens=digits(threshold[1]) if threshold else number(self.record.get("tokens_used")) or None,
                strategy=strategy,
                trigger="auto",
            )
        ]

    def _follow(self, kind: str, *, close: bool = False, **payload: Any) -> list[Event]:
        relay = self.relays.pop(self.key, None) if close else self.relays.get(self.key)
        return [self._event(kind, relay=relay["relay"] if relay else self.identity, **payload)]

    def _compacted(self) -> list[Event]:
        # The count in this message is of characters; tokens are not known, and not guessed.
        return self._follow("relay.checkpointed") + self._follow("relay.resumed", close=True)

    # Failures and retries

    def _warning(self) -> list[Event]:
        if self.message.startswith("relay compaction failed"):
            return self._follow("relay.halted", close=True, cause=self.message)
        exited = _EXITED.match(self.message)
        if exited is None:
            return []
        facts = {"exit_code": digits(exited[1]), "message": self.message, "failure_reason": exited[2]}
        # Whether a retry follows is told by a later line: this failure opens the chain that a retry would go on with.
        return [self._failure(facts, self._open_run())]

    def _retrying(self) -> list[Event]:
        match = _ATTEMPT.search(self.message)
        attempt = (digits(match[1]) if match else None) or 2
        run = self._open_run()
        run["attempts"], run["retried"] = attempt, True
        # Wave counts the call that comes next; our log counts the one that failed.
        return [
            self._event(
                "retry.scheduled", operation=run["operation"], reason=run["reason"], attempt=max(attempt - 1, 1)
            )
        ]

    def _failed(self) -> list[Event]:
        run = self.retries.get(self.key)
        facts = {
            "message": self.message or text(self.record.get("failure_class")),
            "failure_reason": text(self.record.get("failure_reason")),
        }
        failure = self._failure(facts, run)
        return [failure, *self._settle("exhausted" if run and run.get("retried") else "surfaced")]

    def _failure(self, facts: dict[str, Any], run: dict[str, Any] | None) -> Event:
        verdict, payload = classify_foreign(
            facts,
            self.moment,
            caller=self.caller,
            operation=run["operation"] if run else None,
            attempt=run["attempts"] if run else None,
            outcome=None if run else "surfaced",
            remediation=text(self.record.get("remediation")),
            model=text(self.record.get("model")),
            input_tokens=count(self.record.get("tokens_in")),
            output_tokens=count(self.record.get("tokens_out")),
            tokens_used=count(self.record.get("tokens_used")),
        )
        if facts["failure_reason"] in FAILURE_REASONS:
            payload["failure_reason"] = facts["failure_reason"]
        if run:
            run["reason"] = verdict.reason
        return self._event("error.classified", **payload)

    def _finished(self) -> list[Event]:
        if self.retries.get(self.key, {}).get("retried"):
            return self._settle("recovered")
        # A failure that the step went on from without a retry: no chain, and nothing to settle.
        self.retries.pop(self.key, None)
        return []

    def _open_run(self) -> dict[str, Any]:
        return self.retries.setdefault(self.key, {"operation": self.identity, "reason": "unknown", "attempts": 1})

    def _settle(self, outcome: str) -> list[Event]:
        run = self.retries.pop(self.key, None)
        if run is None:
            return []
        return [
            self._event(
                "retry.settled",
                operation=run["operation"],
                reason=settled_reason(run["reason"], outcome),
                outcome=outcome,
                attempts=run["attempts"],
            )
        ]

    def _event(self, kind: str, **payload: Any) -> Event:
        merged = {"caller": self.caller, "step_id": self.step, "worker_id": self.worker, **payload}
        if not kind.startswith("relay."):
            del merged["step_id"], merged["worker_id"]
        return Event(
            type=kind,
            occurred_at=self.moment,
            session_id=self.session,
            payload=present(merged),
            id=derived_id(self.identity, kind),
            time_source=self.time_source,
        )
