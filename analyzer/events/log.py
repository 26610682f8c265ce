"""`EventLog`: the object by which a program writes events, of any type or by one method a type.

It never raises into its host. An id is the promise that the event is on the log; None says that it is not.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import weakref

from analyzer.events.appending import DEFAULT_MAX_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any, Self, Unpack

    from analyzer.classifier import Classification
    from analyzer.events import payloads
    from analyzer.events.appending.appender import Durability
    from analyzer.events.appending.writer import LogWriter


class EventLog:
    """An append-only log folder. Safe to share between threads and signal handlers, to use after a fork, and to open in
    many processes. A relative folder is found from the working directory of this moment, once.

    WHAT AN ID PROMISES depends on `durability`:

    - `process` (default): the line is with the operating system. It survives the death of this process, `kill -9`
      included. It does NOT survive a power cut or a crash of the kernel in the seconds until the disk has it.
    - `batch`: the same, and every second of appending, at `close` and at exit the disk is made to have everything so
      far. A power cut costs at most what came after.
    - `event`: the disk has the line (fdatasync, and fsync of the folder for a new file). Survives a power cut if the
      disk is honest. Some hundred times slower.

    None says that the event is lost, or that the disk did not confirm it. It is counted in `dropped`, its number is
    missing in the writer's sequence, and the next line that is written says how many went before it (`dropped_before`).
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        durability: Durability = "process",
    ) -> None:
        if durability not in ("process", "batch", "event"):
            raise ValueError(f"durability is process, batch or event, not {durability!r}")
        # Not at the top: it takes 50 ms, which only opening a log should cost, and no append.
        from analyzer.events.appending.places import absolute
        from analyzer.events.appending.writer import LogWriter

        self.folder = absolute(folder)
        """The absolute path, found once: the log stays where it is when the program,
        or a fork of it, moves.
        """
        self._max_bytes = max_bytes
        self._durability = durability
        self._made: type[LogWriter] = LogWriter
        self._begin()
        _logs.add(self)

    def _begin(self) -> None:
        # A forked child is another writer: own file, own name, own count, and no lock that its parent held.
        self.dropped = 0
        """Events that this process could not write."""
        self._warn = _Warning(self.folder)
        self._losses = threading.RLock()  # a signal handler may lose an event while one is being counted as lost
        self._writer = self._made(self.folder, max_bytes=self._max_bytes, durability=self._durability, warn=self._warn)

    def append(
        self,
        type: str,  # noqa: A002 - the field's name in the log
        payload: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        at: datetime | None = None,
    ) -> str | None:
        """Write one event; return its id once it is written, None if it could not be. `at` defaults to now."""
        writer = self._writer
        dropped_before = 0
        try:
            seq = next(writer.numbers)
            if writer.unreported:
                dropped_before = self._take_unreported(writer)
            return writer.append(seq, dropped_before, type, payload, session, at)
        except Exception as error:  # noqa: BLE001 - telemetry must never break the program that it watches
            try:
                if not writer.appender.own[0]:
                    self._begin_again(writer)
                    return self.append(type, payload, session=session, at=at)
                self._refuse(writer, error, dropped_before)
            except RecursionError:  # the stack has no room for a call: the loss is counted without one
                self.dropped += 1
                writer.unreported += 1 + dropped_before
            return None
        except BaseException as error:  # the host's own: Ctrl-C, an exit from a signal handler
            self._refuse(writer, error, dropped_before)
            raise

    def record(self, lines: Sequence[bytes]) -> bool:
        """Write lines of events that have an id and a time, as a journal does; say whether all were written."""
        writer = self._writer
        seqs = [next(writer.numbers) for _ in lines]
        dropped_before = done = 0
        try:
            if writer.unreported:
                dropped_before = self._take_unreported(writer)
            for done in writer.record(seqs, dropped_before, lines):  # noqa: B007 - how far it got counts after a failure
                dropped_before = 0
            return True
        except Exception as error:  # noqa: BLE001 - as in `append`
            if not writer.appender.own[0]:
                self._begin_again(writer)
                return self.record(lines)
            done += (first := getattr(error, "whole_lines", 0))
            self._refuse(writer, error, 0 if first else dropped_before, len(lines) - done)
            return False
        except BaseException as error:
            self._refuse(writer, error, dropped_before, len(lines) - done)
            raise

    def sync(self) -> bool:
        """Wait until everything that this object has written is on the disk.

        False if it may not be.

        At the level `process` this covers only the present file.

        """
        writer = self._own_writer()
        try:
            writer.sync()
        except Exception as error:  # noqa: BLE001 - as in `append`
            if not writer.appender.own[0]:
                return self.sync()
            self._warn("the last events may not be on the disk", error)
            return False
        return True

    def close(self) -> None:
        """Close the file, after a sync at the levels `batch` and `event`.

        A later event opens it again.
        """
        try:
            self._own_writer().appender.close()
        except Exception as error:  # noqa: BLE001 - as in `append`
            self._warn("the last events may not be on the disk", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _own_writer(self) -> LogWriter:
        """Return the writer of this process, which may be a fork that Python has not seen."""
        writer = self._writer
        if not writer.appender.own[0]:
            self._begin_again(writer)
        return self._writer

    def _begin_again(self, writer: LogWriter) -> None:
        """Become a writer of its own in a fork, unless a hook or another thread has done it already.

        A signal handler may fork in the middle of an append, so that parent and child both return into it. The parent
        ends it; the child begins it again with its own writer.
        """
        if self._writer is writer:
            writer.appender.abandon()
            self._begin()

    def _take_unreported(self, writer: LogWriter) -> int:
        if not writer.appender.own[0]:
            raise RuntimeError("this is a fork")  # `append` sees it, too; a thread of the parent may hold the lock
        with self._losses:
            dropped_before: int = writer.unreported
            writer.unreported = 0
        return dropped_before

    def _refuse(self, writer: LogWriter, error: BaseException, dropped_before: int, count: int = 1) -> None:
        if not writer.appender.own[0]:
            writer, dropped_before = self._own_writer(), 0
            for _ in range(count):
                next(writer.numbers)  # a loss leaves a gap
        with self._losses:
            self.dropped += count
            writer.unreported += count + dropped_before
        try:  # noqa: SIM105 - `suppress` is a call, too
            self._warn("cannot write to the event log", error)
        except RecursionError:
            pass

    # One method a type of event: the same as `append`, with the payload's keys checked by a type checker.

    def error_classified(
        self,
        /,
        error: object,
        *,
        session: str | None = None,
        at: datetime | None = None,
        **payload: Unpack[payloads.ErrorClassified],
    ) -> str | None:
        """Write `error.classified` with the whole classification; the keywords add to it or override it.

        `error` is a classification, or an exception, a text or a mapping that the built-in rules classify.
        """
        whole: Mapping[str, Any] = payload
        try:
            try:
                from analyzer.classifier import Classification, classify  # and RE2, which few logs need

                classification = error if isinstance(error, Classification) else classify(error, at=at)
                whole = error_payload(classification, **payload)
            except Exception as failure:  # noqa: BLE001 - a host's own objects may do anything
                whole = {**payload, "unreadable": type(failure).__name__}
            return self.append("error.classified", whole, session=session, at=at)
        except RecursionError:  # as in `append`
            self.dropped += 1
            self._writer.unreported += 1
            return None

    def retry_scheduled(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.RetryScheduled]
    ) -> str | None:
        """Write `retry.scheduled`."""
        return self.append("retry.scheduled", payload, session=session)

    def retry_settled(self, /, *, session: str | None = None, **payload: Unpack[payloads.RetrySettled]) -> str | None:
        """Write `retry.settled`."""
        return self.append("retry.settled", payload, session=session)

    def relay_triggered(self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]) -> str | None:
        """Write `relay.triggered`."""
        return self.append("relay.triggered", payload, session=session)

    def relay_checkpointed(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]
    ) -> str | None:
        """Write `relay.checkpointed`."""
        return self.append("relay.checkpointed", payload, session=session)

    def relay_resumed(self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]) -> str | None:
        """Write `relay.resumed`."""
        return self.append("relay.resumed", payload, session=session)

    def relay_halted(self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]) -> str | None:
        """Write `relay.halted`."""
        return self.append("relay.halted", payload, session=session)

    def relay_skipped(self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]) -> str | None:
        """Write `relay.skipped`."""
        return self.append("relay.skipped", payload, session=session)

    def context_recovered(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.ContextPayload]
    ) -> str | None:
        """Write `context.recovered`."""
        return self.append("context.recovered", payload, session=session)

    def context_unrecovered(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.ContextPayload]
    ) -> str | None:
        """Write `context.unrecovered`."""
        return self.append("context.unrecovered", payload, session=session)

    def agent_exhausted(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.AgentAvailability]
    ) -> str | None:
        """Write `agent.exhausted`."""
        return self.append("agent.exhausted", payload, session=session)

    def agent_restored(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.AgentAvailability]
    ) -> str | None:
        """Write `agent.restored`."""
        return self.append("agent.restored", payload, session=session)

    def budget_exhausted(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.BudgetExhausted]
    ) -> str | None:
        """Write `budget.exhausted`."""
        return self.append("budget.exhausted", payload, session=session)

    def call_short_circuited(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.CallShortCircuited]
    ) -> str | None:
        """Write `call.short_circuited`."""
        return self.append("call.short_circuited", payload, session=session)

    def session_observed(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.SessionObserved]
    ) -> str | None:
        """Write `session.observed`."""
        return self.append("session.observed", payload, session=session)

    def tool_failed(self, /, *, session: str | None = None, **payload: Unpack[payloads.ToolFailed]) -> str | None:
        """Write `tool.failed`."""
        return self.append("tool.failed", payload, session=session)

    def usage_recorded(self, /, *, session: str | None = None, **payload: Unpack[payloads.UsageRecorded]) -> str | None:
        """Write `usage.recorded`."""
        return self.append("usage.recorded", payload, session=session)

    def limit_observed(self, /, *, session: str | None = None, **payload: Unpack[payloads.LimitObserved]) -> str | None:
        """Write `limit.observed`."""
        return self.append("limit.observed", payload, session=session)


class _Warning:
    """A warning about a log, printed on stderr once. It holds no reference to the log, which its owner may drop."""

    __slots__ = ("_done", "_folder")

    def __init__(self, folder: str) -> None:
        self._folder, self._done = folder, False

    def __call__(self, what: str, error: BaseException | None = None) -> None:
        if not self._done:
            self._done = True
            from analyzer.redaction import redact

            if error is not None:
                try:
                    what = f"{what}: {error}"
                except Exception:  # noqa: BLE001 - an error of a host's own object may have no text
                    what = f"{what}: {type(error).__name__}"
            with contextlib.suppress(Exception):  # a closed stderr is no reason to fail either
                print(f"analyzer: {self._folder}: {redact(what)}", file=sys.stderr)  # noqa: T201


_logs: weakref.WeakSet[EventLog] = weakref.WeakSet()


def _in_child() -> None:
    # Before the first append: a child that never appends must not keep its parent's lease.
    for log in list(_logs):
        with contextlib.suppress(Exception):
            log._own_writer()


def _at_exit() -> None:
    for log in list(_logs):
        log.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
atexit.register(_at_exit)


def error_payload(
    classification: Classification, **payload: Unpack[payloads.ErrorClassified]
) -> payloads.ErrorClassified:
    """Make the payload of `error.classified`: the classification, its facts, and the keywords; without nulls."""
    from analyzer.events.model import present  # not at the top: importing this module must stay cheap

    verdict = {
        **classification.to_dict(),
        "confidence": classification.confidence,
        "remediation": classification.remediation,
        "facts": classification.facts.to_dict(),
    }
    return present({**verdict, **present(payload)})  # type: ignore[return-value]
