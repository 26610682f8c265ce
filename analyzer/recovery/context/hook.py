"""Context recovery as a handler of an agent's session events.

Invariant: one recovery of a session at a time, `max_attempts` until one lasts; a deleted session leaves no state.

Conversations are kept in a `SessionStore`; a summary of old turns needs no model.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Protocol

from analyzer.events import EventLog
from analyzer.frozen import frozen
from analyzer.readable import cut
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
    lines = [f"{label}: {cut(text, _LINE_CHARS)}"] if text else []
    return lines + [f"Called: {cut(call, _LINE_CHARS)}" for call in calls_made(message)]


@frozen
class Notice:
    """A message for the person who uses the agent."""

    title: str
    message: str
    level: str
    """`warning`, `success` or `error`."""


@frozen
class HookResult:
    """The answer to the agent about an event."""

    stop_propagation: bool
    """True if the error is dealt with, and no other handler need see it."""


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
        self._sessions: dict[str, SessionState] = {}
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
        session = await runner.call(self._enter, event, session_id, error)
        if session is None:
            return None
        try:
            limit = session.error or TokenLimit()
            messages = await runner.call(self._begin, event, session_id, session)
            if messages is None:
                return None
            fitted = await self._recovery.fit_by(runner, messages, limit)
            recovered = await runner.call(self._finish, session_id, session, limit, messages, fitted)
        finally:
            session.in_progress = False
        if recovered and self._resume is not None:
            await runner.result(self._resume(session_id))
        return HookResult(stop_propagation=True) if recovered else None

    def pending(self, session_id: str) -> bool:
        """Return true if a recovery waits for the session to become idle."""
        session = self._sessions.get(session_id)
        return session is not None and session.pending

    def state(self, session_id: str) -> SessionState | None:
        """Return the state of a session.

        None for one without a token limit error, or a deleted one.
        """
        with self._lock:
            session = self._sessions.get(session_id)
            return None if session is None else replace(session)

    def _enter(self, event: str, session_id: str, error: object) -> SessionState | None:
        """Mark the session as in recovery and return it; None if the event asks for none, or one is under way."""
        settings = self._recovery.settings
        if not settings.enabled:
            return None
        if event == "session.deleted":
            with self._lock:
                self._sessions.pop(session_id, None)
            return None
        limit = parse_token_limit_error(error) if event in ("session.error", "message.error") else None
        if limit is None and not (event == "session.idle" and self.pending(session_id)):
            return None
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None:
                session = self._sessions[session_id] = SessionState(
                    RetryState(0, settings.max_attempts, None, None),
                    PruneState("prune" in settings.strategies, settings.target_ratio),
                )
            session.error = limit or session.error
            if session.in_progress:
                return None
            session.in_progress = True
            return session

    def _begin(self, event: str, session_id: str, session: SessionState) -> Messages | None:
        """Return the conversation to make smaller; None if no attempt is left."""
        messages = self._store.messages(session_id)
        if not self._may_try(session_id, session, messages):
            return None
        if event == "session.idle":
            advice = "Making the conversation smaller before it goes on."
        else:
            advice = "The conversation no longer fits; making it smaller."
        self._notify(Notice("Context limit hit", advice, "warning"))
        return messages

    def _may_try(self, session_id: str, session: SessionState, messages: Messages) -> bool:
        """Count one more attempt; False if none is left.

        A recovery that lasted starts the count again: the session went on after it, or no overflow followed for
        `lasting_seconds`.
        """
        settings, attempts = self._recovery.settings, session.retry.attempts
        is_smaller, newer = session.remains.compared(messages)
        passed = 0.0 if session.recovered_at is None else self._clock.monotonic() - session.recovered_at
        if attempts and is_smaller and (went_on(newer) or passed >= settings.lasting_seconds):
            attempts = 0
        if attempts < settings.max_attempts:
            session.retry = replace(session.retry, attempts=attempts + 1, last_attempt_at=self._clock.now())
            return True
        session.error = None
        if is_smaller:
            session.remains = session.remains.followed_by(newer)
        if self._log is not None:
            self._log.context_unrecovered(session=session_id, caller=self._caller, attempt=attempts)
        advice = f"It was tried {settings.max_attempts} times; start a fresh conversation."
        self._notify(Notice("Context recovery gave up", advice, "error"))
        return False

    def _finish(
        self, session_id: str, session: SessionState, limit: TokenLimit, messages: Messages, fitted: Fitted
    ) -> bool:
        """Store what fits, log the event and notify the person.

        Return true if the session can go on.
        """
        if self._sessions.get(session_id) is not session:
            return False  # deleted in the meantime
        change, attempt = fitted.change, session.retry.attempts
        skipped = f" Passed over: {'; '.join(fitted.skipped)}." if fitted.skipped else ""
        if change is None:
            session.remains, session.recovered_at = Remains.of(messages, messages), None
            before = limit.current_tokens or sum(map(tokens_of, messages))
            if self._log is not None:
                self._log.context_unrecovered(
                    session=session_id, caller=self._caller, attempt=attempt, pre_tokens=before
                )
            self._notify(Notice("Context recovery failed", f"Nothing more can be taken out.{skipped}", "error"))
            return False
        self._store.replace(session_id, fitted.messages)
        session.error = None
        session.remains = Remains.of(messages, fitted.messages)
        session.recovered_at = self._clock.monotonic()
        session.retry = replace(session.retry, strategy=change.strategy)
        if fitted.truncated.truncated_messages:
            session.truncate = fitted.truncated
        if change.removed_messages:
            session.prune = replace(session.prune, pruned_tokens=fitted.pruned_tokens)
        if self._log is not None:
            self._log.context_recovered(session=session_id, caller=self._caller, attempt=attempt, **asdict(change))
        self._notify(
            Notice(
                "Context recovered",
                f"{change.pre_tokens} → {change.post_tokens} tokens: {change.removed_messages} messages removed, "
                f"{change.truncated_messages} cut short.{skipped}",
                "success",
            )
        )
        return True
