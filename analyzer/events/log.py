"""`EventLog`: what a program holds to leave events.

It never raises into its host; None means that nothing was written.
"""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Self, Unpack

from analyzer.classifier import Classification
from analyzer.events import payloads
from analyzer.events.appender import DEFAULT_MAX_BYTES, MAX_LINE_BYTES, Appender
from analyzer.events.codec import encode
from analyzer.events.ids import new_id
from analyzer.events.model import Event
from analyzer.events.sanitize import sanitize
from analyzer.events.times import now, to_naive_utc

_WRITER_BYTES = 512
"""More than writer and number add to a line."""


class EventLog:
    """An append-only log folder. Safe to share between threads, to use after a fork, and to open in many processes."""

    def __init__(self, folder: str | os.PathLike[str], *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.folder = os.fspath(folder)
        self.dropped = 0
        """Events that could not be written since this object was made."""
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._warned = False
        self._begin()

    def _begin(self) -> None:
        # A forked child is another writer: own file, own name, own count, and no lock that its parent held.
        self._pid = os.getpid()
        self._appender = Appender(self.folder, max_bytes=self._max_bytes)
        self._writer = f"{platform.node() or 'localhost'}:{self._pid}:{os.urandom(4).hex()}"
        self._seq = 0

    def append(
        self,
        type: str,  # noqa: A002 - the field's name in the log
        payload: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        at: datetime | None = None,
    ) -> str | None:
        """Write one event; its id once it is written, None if it could not be. `at` defaults to now."""
        try:
            if not isinstance(payload or {}, Mapping):
                raise TypeError(f"a payload is a mapping, not a {type(payload).__name__}")
            moment = to_naive_utc(at) if at is not None else now()
            return self._write(
                Event(
                    type=sanitize(str(type)),
                    occurred_at=moment,
                    session_id=None if session is None else sanitize(str(session)),
                    payload=sanitize(payload or {}),
                    id=new_id(),
                )
            )
        except Exception as error:  # noqa: BLE001 - telemetry must never break the program that it watches
            self._refuse(error)
            return None

    def record(self, event: Event) -> str | None:
        """Write an event that already has its id and time: how derived events reach a journal."""
        try:
            return self._write(recorded(event))
        except Exception as error:  # noqa: BLE001 - as in `append`
            self._refuse(error)
            return None

    def close(self) -> None:
        """Let go of the file. The log can still be used; it opens the file again."""
        with self._lock:
            self._appender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, event: Event) -> str:
        if os.getpid() != self._pid:
            self._lock = threading.Lock()
            self._begin()
        with self._lock:
            line = encode(replace(event, writer=self._writer, seq=self._seq))
            if len(line) > MAX_LINE_BYTES:
                line = encode(replace(_placeholder(event, len(line)), writer=self._writer, seq=self._seq))
            self._seq += 1
            self._appender.write(line)
        return event.id

    def _refuse(self, error: Exception) -> None:
        self.dropped += 1
        if not self._warned:
            self._warned = True
            with contextlib.suppress(Exception):  # a closed stderr is no reason to fail either
                print(f"analyzer: cannot write to the event log in {self.folder}: {error}", file=sys.stderr)  # noqa: T201

    # One method a type: the same as `append`, with the payload's keys checked by a type checker.

    def error_classified(
        self,
        classification: Classification,
        *,
        session: str | None = None,
        at: datetime | None = None,
        **payload: Unpack[payloads.ErrorClassified],
    ) -> str | None:
        """`error.classified`, with everything that the classification knows; the keywords add to it or override it."""
        return self.append("error.classified", error_payload(classification, **payload), session=session, at=at)

    def retry_scheduled(self, *, session: str | None = None, **payload: Unpack[payloads.RetryScheduled]) -> str | None:
        """`retry.scheduled`."""
        return self.append("retry.scheduled", payload, session=session)

    def retry_settled(self, *, session: str | None = None, **payload: Unpack[payloads.RetrySettled]) -> str | None:
        """`retry.settled`."""
        return self.append("retry.settled", payload, session=session)

    def relay_triggered(self, *, session: str | None = None, **payload: Unpack[payloads.Relay]) -> str | None:
        """`relay.triggered`."""
        return self.append("relay.triggered", payload, session=session)

    def relay_checkpointed(self, *, session: str | None = None, **payload: Unpack[payloads.Relay]) -> str | None:
        """`relay.checkpointed`."""
        return self.append("relay.checkpointed", payload, session=session)

    def relay_resumed(self, *, session: str | None = None, **payload: Unpack[payloads.Relay]) -> str | None:
        """`relay.resumed`."""
        return self.append("relay.resumed", payload, session=session)

    def relay_halted(self, *, session: str | None = None, **payload: Unpack[payloads.Relay]) -> str | None:
        """`relay.halted`."""
        return self.append("relay.halted", payload, session=session)

    def relay_skipped(self, *, session: str | None = None, **payload: Unpack[payloads.Relay]) -> str | None:
        """`relay.skipped`."""
        return self.append("relay.skipped", payload, session=session)

    def context_recovered(
        self, *, session: str | None = None, **payload: Unpack[payloads.ContextRecovery]
    ) -> str | None:
        """`context.recovered`."""
        return self.append("context.recovered", payload, session=session)

    def context_unrecovered(
        self, *, session: str | None = None, **payload: Unpack[payloads.ContextRecovery]
    ) -> str | None:
        """`context.unrecovered`."""
        return self.append("context.unrecovered", payload, session=session)

    def agent_exhausted(
        self, *, session: str | None = None, **payload: Unpack[payloads.AgentAvailability]
    ) -> str | None:
        """`agent.exhausted`."""
        return self.append("agent.exhausted", payload, session=session)

    def agent_restored(
        self, *, session: str | None = None, **payload: Unpack[payloads.AgentAvailability]
    ) -> str | None:
        """`agent.restored`."""
        return self.append("agent.restored", payload, session=session)

    def budget_exhausted(
        self, *, session: str | None = None, **payload: Unpack[payloads.BudgetExhausted]
    ) -> str | None:
        """`budget.exhausted`."""
        return self.append("budget.exhausted", payload, session=session)

    def call_short_circuited(
        self, *, session: str | None = None, **payload: Unpack[payloads.CallShortCircuited]
    ) -> str | None:
        """`call.short_circuited`."""
        return self.append("call.short_circuited", payload, session=session)

    def session_observed(
        self, *, session: str | None = None, **payload: Unpack[payloads.SessionObserved]
    ) -> str | None:
        """`session.observed`."""
        return self.append("session.observed", payload, session=session)

    def ruleset_applied(self, *, session: str | None = None, **payload: Unpack[payloads.RulesetApplied]) -> str | None:
        """`ruleset.applied`."""
        return self.append("ruleset.applied", payload, session=session)

    def finding_opened(self, *, session: str | None = None, **payload: Unpack[payloads.Finding]) -> str | None:
        """`finding.opened`."""
        return self.append("finding.opened", payload, session=session)

    def finding_resolved(self, *, session: str | None = None, **payload: Unpack[payloads.Finding]) -> str | None:
        """`finding.resolved`."""
        return self.append("finding.resolved", payload, session=session)


def error_payload(
    classification: Classification, **known: Unpack[payloads.ErrorClassified]
) -> payloads.ErrorClassified:
    """The payload of `error.classified`: the classification, its facts, and what the caller knows; nulls left out."""
    verdict = {
        **classification.to_dict(),
        "remediation": classification.remediation,
        "facts": classification.facts.to_dict(),
    }
    return {key: value for key, value in {**verdict, **known}.items() if value is not None}  # type: ignore[return-value]


def recorded(event: Event) -> Event:
    """The event as a reader of a log gets it back, `writer` and `seq` aside: without secrets, and of bounded size.

    Raises:
        TypeError, ValueError, RecursionError: it cannot be written down.
    """
    origin = event.origin
    clean = replace(
        event,
        type=sanitize(event.type),
        session_id=sanitize(event.session_id),
        payload=sanitize(event.payload),
        extra=sanitize(event.extra),
        origin=replace(origin, path=sanitize(origin.path)) if origin else None,
    )
    length = len(encode(clean)) + _WRITER_BYTES
    return clean if length <= MAX_LINE_BYTES else _placeholder(clean, length)


def _placeholder(event: Event, length: int) -> Event:
    short = {key: value for key, value in event.payload.items() if len(str(value)) <= 256}
    payload = {**short, "truncated": True, "original_bytes": length}
    return replace(event, type=event.type[:256], payload=payload, extra={})
