"""Context recovery as a handler of an agent's session events.

Invariant: one recovery of a session at a time, `max_attempts` until one lasts; a deleted session leaves no state.

Conversations are kept in a `SessionStore`; a summary of old turns needs no model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Protocol

from analyzer.events import EventLog
from analyzer.recovery.context.conversation import (
    Message,
    Messages,
    answers_a_call,
    calls_made,
    is_tool_output,
    role_of,
    text_of,
    tokens_of,
)
from analyzer.recovery.context.progress import (
    PruneState,
    Remains,
    RetryState,
    SessionState,
    TokenLimit,
    TruncateState,
    parse_token_limit_error,
    went_on,
)
from analyzer.recovery.context.recovery import ContextRecovery, Fitted
from analyzer.recovery.waiting import BLOCKING, ON_LOOP, Clock, Runner, SystemClock, finish

OUTLINE_CHARS = 4_000
_LINE_CHARS = 200


class SessionStore(Protocol):
    """The interface to the owner of the conversations."""

    def messages(self, session_id: str) -> Messages:
        """Return the conversation as it is now; empty for an unknown session."""

    def replace(self, session_id: str, messages: list[Message]) -> None:
        """Replace the conversation by a smaller one."""


class MemorySessions(dict[str, list[Message]]):
    """Conversations in memory, by session. An agent may go on appending to its lists."""

    def messages(self, session_id: str) -> Messages:
        """See `SessionStore`."""
        return list(self.get(session_id, ()))

    def replace(self, session_id: str, messages: list[Message]) -> None:
        """See `SessionStore`; the list stays the same object."""
        self.setdefault(session_id, [])[:] = messages


def outline(messages: list[Message]) -> str:
    """Summarize without a model: questions, tool calls and answers, one line each."""
    lines = [line for message in messages for line in _lines(message)]
    kept: list[str] = []
    room = OUTLINE_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            kept.append(f"[... {len(lines) - len(kept)} more lines left out ...]")
            break
        kept.append(line)
    return "\n".join(kept)


def _lines(message: Message) -> list[str]:
    role = role_of(message)
    if is_tool_output(message) or answers_a_call(message):
        return []
    label = {"user": "Asked", "assistant": "Answered"}.get(role, role or "Said")
    text = " ".join(text_of(message).split())
    lines = [f"{label}: {_short(text)}"] if text else []
    return lines + [f"Called: {_short(call)}" for call in calls_made(message)]


def _short(text: str) -> str:
    return text if len(text) <= _LINE_CHARS else f"{text[: _LINE_CHARS - 1]}…"


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for the person who uses the agent."""

    title: str
    message: str
    level: str
    """`warning`, `success` or `error`."""


@dataclass(frozen=True, slots=True)
class HookResult:
    """The answer to the agent about an event."""

    stop_propagation: bool
    """True if the error is dealt with, and no other handler need see it."""


@dataclass(slots=True)
class _Session:
    attempts: int = 0
    pending: TokenLimit | None = None
    busy: bool = False
    last_attempt_at: datetime | None = None
    strategy: str | None = None
    truncate: TruncateState = field(default_factory=TruncateState)
    pruned_tokens: int = 0
    remains: Remains = field(default_factory=Remains)
    """The part of the conversation that the last attempt left."""
    recovered: float | None = None
    """When the last attempt succeeded, by the monotonic clock; None if it did not."""


@dataclass(frozen=True, slots=True)
class _Job:
    """A recovery that is under way."""

    session_id: str
    session: _Session
    limit: TokenLimit
    messages: Messages


class ContextRecoveryHook:
    """A handler that recovers sessions whose context is full.

    Pass it the agent's events, a store of the conversations and a function that resumes a session.
    """

    name = "context-window-limit-recovery"
    description = "Recovers from context window limit errors."
    priority = 100
    """High, so that it sees errors first."""
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
        clock: Clock | None = None,
    ) -> None:
        """Prepare the handler.

        `resume` gets the session's id once its conversation fits again; for `handle_async` it may
        be a coroutine function. `notify` gets messages for the person who uses the agent.
        """
        self._store = store
        self._recovery = recovery or ContextRecovery()
        self._resume = resume
        self._notify = notify or (lambda _: None)
        self._log = log
        self._caller = caller
        self._clock = clock or SystemClock()
        self._sessions: dict[str, _Session] = {}
        self._lock = threading.Lock()

    def handle(self, event: str, session_id: str, error: object = None) -> HookResult | None:
        """Handle one of `events`.

        None lets the event go on to others, as does an error that was not mended.
        """
        return finish(self._handle(BLOCKING, event, session_id, error))

    async def handle_async(self, event: str, session_id: str, error: object = None) -> HookResult | None:
        """Run `handle` for coroutines: the store is used in a thread,
        `resume` and the summarizer may be coroutines.
        """
        return await self._handle(ON_LOOP, event, session_id, error)

    async def _handle(self, runner: Runner, event: str, session_id: str, error: object) -> HookResult | None:
        job = await runner.call(self._begin, event, session_id, error)
        if job is None:
            return None
        try:
            fitted = await self._recovery.fit_by(runner, job.messages, job.limit)
            recovered = await runner.call(self._finish, job, fitted)
        finally:
            job.session.busy = False
        if recovered and self._resume is not None:
            await runner.result(self._resume(session_id))
        return HookResult(stop_propagation=True) if recovered else None

    def pending(self, session_id: str) -> bool:
        """Return true if a recovery waits for the session to become idle."""
        session = self._sessions.get(session_id)
        return session is not None and session.pending is not None

    def state(self, session_id: str) -> SessionState | None:
        """Return the state of a session.

        None for one without a token limit error, or a deleted one.
        """
        settings = self._recovery.settings
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                return None
            return SessionState(
                pending=session.pending is not None,
                in_progress=session.busy,
                error=session.pending,
                retry=RetryState(session.attempts, settings.max_attempts, session.last_attempt_at, session.strategy),
                truncate=session.truncate,
                prune=PruneState("prune" in settings.strategies, settings.target_ratio, session.pruned_tokens),
            )

    def _begin(self, event: str, session_id: str, error: object) -> _Job | None:
        """Begin the recovery that the event asks for; None if it asks for none or none is allowed."""
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
            messages = self._store.messages(session_id)
            if self._may_try(session_id, session, messages):
                self._notify(notice)
                return _Job(session_id, session, session.pending or TokenLimit(), messages)
        except BaseException:
            session.busy = False
            raise
        session.busy = False
        return None

    def _enter(self, session_id: str, limit: TokenLimit | None) -> _Session | None:
        """Mark a session as busy and return it; None if it is busy already."""
        with self._lock:
            session = self._sessions.setdefault(session_id, _Session())
            session.pending = limit or session.pending
            if session.busy:
                return None
            session.busy = True
            return session

    def _may_try(self, session_id: str, session: _Session, messages: Messages) -> bool:
        """Count one more attempt; False if none is left.

        A recovery that lasted starts the count again.
        """
        settings = self._recovery.settings
        is_smaller, newer = session.remains.compared(messages)
        if session.attempts and is_smaller and (went_on(newer) or self._has_lasted(session)):
            session.attempts = 0
        if session.attempts < settings.max_attempts:
            session.attempts += 1
            session.last_attempt_at = self._clock.now()
            return True
        session.pending = None
        if is_smaller:
            session.remains = session.remains.followed_by(newer)
        if self._log is not None:
            self._log.context_unrecovered(session=session_id, caller=self._caller, attempt=session.attempts)
        advice = f"It was tried {settings.max_attempts} times; start a fresh conversation."
        self._notify(Notice("Context recovery gave up", advice, "error"))
        return False

    def _has_lasted(self, session: _Session) -> bool:
        """Return true if no overflow followed the last recovery for `lasting_seconds`."""
        passed = None if session.recovered is None else self._clock.monotonic() - session.recovered
        return passed is not None and passed >= self._recovery.settings.lasting_seconds

    def _finish(self, job: _Job, fitted: Fitted) -> bool:
        """Store what fits, log the event and notify the person.

        Return true if the session can go on.
        """
        if self._sessions.get(job.session_id) is not job.session:
            return False  # deleted in the meantime
        change, session = fitted.change, job.session
        skipped = f" Passed over: {'; '.join(fitted.skipped)}." if fitted.skipped else ""
        if change is None:
            session.remains, session.recovered = Remains.of(job.messages, job.messages), None
            before = job.limit.current_tokens or sum(map(tokens_of, job.messages))
            if self._log is not None:
                self._log.context_unrecovered(
                    session=job.session_id, caller=self._caller, attempt=session.attempts, pre_tokens=before
                )
            self._notify(Notice("Context recovery failed", f"Nothing more can be taken out.{skipped}", "error"))
            return False
        self._store.replace(job.session_id, fitted.messages)
        session.pending = None
        session.remains = Remains.of(job.messages, fitted.messages)
        session.recovered = self._clock.monotonic()
        session.strategy = change.strategy
        if fitted.truncated.truncated_messages:
            session.truncate = fitted.truncated
        if change.removed_messages:
            session.pruned_tokens = fitted.pruned_tokens
        if self._log is not None:
            self._log.context_recovered(
                session=job.session_id, caller=self._caller, attempt=session.attempts, **asdict(change)
            )
        self._notify(
            Notice(
                "Context recovered",
                f"{change.pre_tokens} → {change.post_tokens} tokens: {change.removed_messages} messages removed, "
                f"{change.truncated_messages} cut short.{skipped}",
                "success",
            )
        )
        return True
