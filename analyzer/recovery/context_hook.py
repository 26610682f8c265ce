"""Context recovery as a handler of an agent's session events.

Invariant: one recovery of a session at a time, `max_attempts` in all; a deleted session leaves nothing behind.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any

from analyzer.events import EventLog
from analyzer.recovery.context import ContextRecovery, Fitted, TokenLimit, parse_token_limit_error
from analyzer.recovery.context_sessions import SessionStore
from analyzer.recovery.conversation import Messages, tokens_of


@dataclass(frozen=True, slots=True)
class Notice:
    """Something for the person in front of the agent."""

    title: str
    message: str
    level: str
    """`warning`, `success` or `error`."""


@dataclass(frozen=True, slots=True)
class HookResult:
    """What the agent does with the event now."""

    stop_propagation: bool
    """The error is dealt with: nobody else need see it."""


@dataclass(slots=True)
class _Session:
    attempts: int = 0
    pending: TokenLimit | None = None
    busy: bool = False


@dataclass(frozen=True, slots=True)
class _Job:
    """A recovery that has begun."""

    session_id: str
    session: _Session
    limit: TokenLimit
    messages: Messages


class ContextRecoveryHook:
    """Recovers sessions whose context is full: hand it the events, and give it the store and a way to go on."""

    name = "context-window-limit-recovery"
    description = "Recovers from context window limit errors."
    priority = 100
    """High: it wants to see errors first."""
    events = ("session.error", "message.error", "session.idle", "session.deleted")

    def __init__(
        self,
        store: SessionStore,
        recovery: ContextRecovery | None = None,
        *,
        resume: Callable[[str], Any] | None = None,
        notify: Callable[[Notice], None] | None = None,
        log: EventLog | None = None,
        caller: str = "context-recovery",
    ) -> None:
        """`resume` gets the session's id once its conversation fits again; for `handle_async` it may be a coroutine
        function. `notify` gets what a person should see.
        """
        self._store = store
        self._recovery = recovery or ContextRecovery()
        self._resume = resume
        self._notify = notify or _unheard
        self._log = log
        self._caller = caller
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()

    def handle(self, event: str, session_id: str, error: object = None) -> HookResult | None:
        """One of `events`. None: the event goes on to others; so does an error that could not be mended."""
        job = self._begin(event, session_id, error)
        if job is None:
            return None
        try:
            fitted = self._recovery.fit(job.messages, job.limit)
            recovered = self._finish(job, fitted)
        finally:
            job.session.busy = False
        if recovered and self._resume is not None:
            self._resume(session_id)
        return HookResult(stop_propagation=True) if recovered else None

    async def handle_async(self, event: str, session_id: str, error: object = None) -> HookResult | None:
        """`handle` for coroutines: the store is used in a thread, `resume` and the summarizer may be coroutines."""
        import asyncio  # only loaded where somebody runs it anyway

        job = await asyncio.to_thread(self._begin, event, session_id, error)
        if job is None:
            return None
        try:
            fitted = await self._recovery.fit_async(job.messages, job.limit)
            recovered = await asyncio.to_thread(self._finish, job, fitted)
        finally:
            job.session.busy = False
        if recovered and self._resume is not None:
            going_on: Awaitable[Any] | Any = self._resume(session_id)
            if inspect.isawaitable(going_on):
                await going_on
        return HookResult(stop_propagation=True) if recovered else None

    def pending(self, session_id: str) -> bool:
        """Whether a recovery waits for the session to become idle."""
        session = self._sessions.get(session_id)
        return session is not None and session.pending is not None

    def _begin(self, event: str, session_id: str, error: object) -> _Job | None:
        """The recovery that the event asks for, begun; None where it asks for none, or none may be."""
        if not self._recovery.settings.enabled:
            return None
        if event == "session.deleted":
            with self._lock:
                self._sessions.pop(session_id, None)
            return None
        if event in ("session.error", "message.error"):
            limit = parse_token_limit_error(error)
            if limit is None:
                return None
            notice = Notice("Context limit hit", "The conversation no longer fits; making it smaller.", "warning")
        elif event == "session.idle" and self.pending(session_id):
            limit = None
            notice = Notice("Context limit hit", "Making the conversation smaller before it goes on.", "warning")
        else:
            return None
        session = self._enter(session_id, limit)
        if session is None:
            return None
        try:
            self._notify(notice)
            messages = self._store.messages(session_id)
        except BaseException:
            session.busy = False
            raise
        return _Job(session_id, session, session.pending or TokenLimit(), messages)

    def _enter(self, session_id: str, limit: TokenLimit | None) -> _Session | None:
        """The session, now busy with one more attempt; None where it is busy already or has had its attempts."""
        most = self._recovery.settings.max_attempts
        with self._lock:
            session = self._sessions.setdefault(session_id, _Session())
            session.pending = limit or session.pending
            if session.busy:
                return None
            if session.attempts < most:
                session.attempts += 1
                session.busy = True
                return session
            session.pending = None
        self._notify(
            Notice("Context recovery gave up", f"It was tried {most} times; start a fresh conversation.", "error")
        )
        if self._log is not None:
            self._log.context_unrecovered(session=session_id, caller=self._caller, attempt=session.attempts)
        return None

    def _finish(self, job: _Job, fitted: Fitted) -> bool:
        """Stores what fits, leaves the event, tells the person; whether the session can go on."""
        if self._sessions.get(job.session_id) is not job.session:
            return False  # deleted in the meantime
        change = fitted.change
        for why in fitted.skipped:
            self._notify(Notice("Context recovery skipped a step", why, "warning"))
        if change is None:
            before = job.limit.current_tokens or sum(map(tokens_of, job.messages))
            if self._log is not None:
                self._log.context_unrecovered(
                    session=job.session_id,
                    caller=self._caller,
                    attempt=job.session.attempts,
                    pre_tokens=before,
                )
            self._notify(Notice("Context recovery failed", "Nothing more can be taken out.", "error"))
            return False
        self._store.replace(job.session_id, fitted.messages)
        job.session.pending = None
        if self._log is not None:
            self._log.context_recovered(
                session=job.session_id, caller=self._caller, attempt=job.session.attempts, **asdict(change)
            )
        self._notify(
            Notice(
                "Context recovered",
                f"{change.pre_tokens} → {change.post_tokens} tokens: {change.removed_messages} messages removed, "
                f"{change.truncated_messages} cut short.",
                "success",
            )
        )
        return True


def _unheard(_: Notice) -> None:
    """For who wants no notices."""
