"""Wave's NDJSON: pipeline events (`retrying`, `warning`, `failed`, `compacting`, ...) and its three relay lines.

The three lines of a hand-off name no id: they are joined by step and worker, in file order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from analyzer.agent_stream import FAILURE_REASONS, count, mapping, text
from analyzer.events import Event, Reject
from analyzer.events.codec import decode_object
from analyzer.events.model import derived_id, settled_reason
from analyzer.events.times import parse_time
from analyzer.importers.failures import digits, number, quantity
from analyzer.importers.records import RecordReader, kept

_RELAY = re.compile(r"^Context relay triggered at (\d+(?:\.\d+)?)% utilization")
_COMPACTING = re.compile(r"^Token threshold exceeded \((\d+) tokens, (\d+)% threshold\)")
_EXITED = re.compile(r"^adapter exited with code (-?\d+)(?:: (\w+))?$")
_ATTEMPT = re.compile(r"attempt (\d+)/(\d+)")
_FINISHED = frozenset({"completed", "success", "succeeded"})


class WaveReader(RecordReader, name="wave", agent="wave", visibility="full"):
    """Reads Wave's events; remembers the open relays and retries by session, step and worker."""

    _relays: dict[str, dict[str, str]] = kept({})
    _retries: dict[str, dict[str, Any]] = kept({})

    def _found(self, line: bytes) -> tuple[list[dict[str, Any]], Reject | None]:
        """Decode a line, which must be one record with a valid time; see `RecordReader`."""
        record = decode_object(line)
        if isinstance(record, Reject):
            return [], record
        try:
            self.clock(parse_time(record.get("timestamp")))
        except ValueError as error:
            return [], Reject("bad_timestamp", str(error))
        self._line = derived_id("wave", line.strip().decode("utf-8", "replace"))
        return [record], None

    @property
    def caller(self) -> str:
        """The caller of the current record."""
        return "wave" if self._step is None else f"wave/{self._step}"

    def identity(self, kind: str, *_: object) -> str:
        """Derive the id of an event; a line has at most one event of a type."""
        return derived_id(self._line, kind)

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        # The state is not enough: relay lines have the state `running`.
        self._record, meta = record, mapping(record.get("meta"))
        self._step, self._worker = text(record.get("step_id")), text(record.get("worker_id"))
        self.session = text(record.get("pipeline_id")) or text(record.get("pipeline_name"))
        self._message, state = text(record.get("message")) or "", record.get("state")
        self._key = "/".join(part or "" for part in (self.session, self._step, self._worker))
        if "token_usage_percent" in meta or _RELAY.match(self._message):
            return self._triggered(meta, text(meta.get("strategy")))
        if "checkpoint_tokens" in meta:
            return self._follow("relay.checkpointed", checkpoint_tokens=number(meta.get("checkpoint_tokens")))
        if "relay_count" in meta:
            return self._follow("relay.resumed", close=True, relay_count=number(meta.get("relay_count")))
        if state == "compacting":
            return self._triggered(meta, "summarize_to_checkpoint")
        if state == "compacted":
            # The count in this message is of characters; no tokens are guessed from it.
            return self._follow("relay.checkpointed") + self._follow("relay.resumed", close=True)
        if state in ("warning", "retrying", "failed"):
            return {"warning": self._warned, "retrying": self._retrying, "failed": self._given_up}[state]()
        return self._finished() if isinstance(state, str) and state in _FINISHED else ()

    # Relays

    def _triggered(self, meta: Mapping[str, Any], strategy: str | None) -> list[Event]:
        utilization, threshold = _RELAY.match(self._message), _COMPACTING.match(self._message)
        percent = quantity(meta.get("token_usage_percent"))
        if percent is None:
            percent = float(utilization[1]) if utilization else None
        self._relays[self._key] = {"relay": self._line}
        return [
            self._relay(
                "relay.triggered",
                relay=self._line,
                token_usage_percent=percent,
                threshold_percent=float(threshold[2]) if threshold else None,
                pre_tokens=digits(threshold[1]) if threshold else number(self._record.get("tokens_used")) or None,
                strategy=strategy,
                trigger="auto",
            )
        ]

    def _follow(self, kind: str, *, close: bool = False, **payload: Any) -> list[Event]:
        relay = self._relays.pop(self._key, None) if close else self._relays.get(self._key)
        return [self._relay(kind, relay=relay["relay"] if relay else self._line, **payload)]

    def _relay(self, kind: str, **payload: Any) -> Event:
        place = {"caller": self.caller, "step_id": self._step, "worker_id": self._worker}
        return self.event(kind, {**place, **payload})

    # Failures and retries

    def _warned(self) -> list[Event]:
        if self._message.startswith("relay compaction failed"):
            return self._follow("relay.halted", close=True, cause=self._message)
        exited = _EXITED.match(self._message)
        if exited is None:
            return []
        facts = {"exit_code": digits(exited[1]), "message": self._message, "failure_reason": exited[2]}
        # A later line shows whether a retry follows: the failure opens a chain for it.
        return [self._failure_of(facts, self._open_run())]

    def _retrying(self) -> list[Event]:
        match = _ATTEMPT.search(self._message)
        attempt = (digits(match[1]) if match else None) or 2
        run = self._open_run()
        run["attempts"], run["retried"] = attempt, True
        # Wave counts the call that comes next; our log counts the one that failed.
        chain = {"operation": run["operation"], "reason": run["reason"], "attempt": max(attempt - 1, 1)}
        return [self.event("retry.scheduled", {"caller": self.caller, **chain})]

    def _given_up(self) -> list[Event]:
        run = self._retries.get(self._key)
        facts = {
            "message": self._message or text(self._record.get("failure_class")),
            "failure_reason": text(self._record.get("failure_reason")),
        }
        failure = self._failure_of(facts, run)
        return [failure, *self._settle("exhausted" if run and run.get("retried") else "surfaced")]

    def _failure_of(self, facts: dict[str, Any], run: dict[str, Any] | None) -> Event:
        fields: dict[str, Any] = {
            "operation": run["operation"] if run else None,
            "attempt": run["attempts"] if run else None,
            "outcome": None if run else "surfaced",
            "remediation": text(self._record.get("remediation")),
            "model": text(self._record.get("model")),
            "input_tokens": count(self._record.get("tokens_in")),
            "output_tokens": count(self._record.get("tokens_out")),
            "tokens_used": count(self._record.get("tokens_used")),
        }
        failure = self.failed({**facts, "is_error": None}, **fields)
        if run:
            run["reason"] = failure.payload["reason"]
        payload = {"caller": self.caller, **failure.payload}
        if facts["failure_reason"] in FAILURE_REASONS:
            payload["failure_reason"] = facts["failure_reason"]
        return replace(failure, payload=payload)

    def _finished(self) -> list[Event]:
        if self._retries.get(self._key, {}).get("retried"):
            return self._settle("recovered")
        # The step went on after a failure without a retry: there is nothing to settle.
        self._retries.pop(self._key, None)
        return []

    def _open_run(self) -> dict[str, Any]:
        return self._retries.setdefault(self._key, {"operation": self._line, "reason": "unknown", "attempts": 1})

    def _settle(self, outcome: str) -> list[Event]:
        run = self._retries.pop(self._key, None)
        if run is None:
            return []
        ended = {"operation": run["operation"], "reason": settled_reason(run["reason"], outcome), "outcome": outcome}
        return [self.event("retry.settled", {"caller": self.caller, **ended, "attempts": run["attempts"]})]
