"""One method a type of event: the same as `append`, with the payload's keys checked by a type checker."""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any, Unpack

    from analyzer.classifier import Classification
    from analyzer.events import payloads


class TypedEvents(ABC):
    """A method for each known event type, on top of one `append` for any type."""

    __slots__ = ()

    @abstractmethod
    def append(
        self,
        type: str,  # noqa: A002 - the field's name in the log
        payload: Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        at: datetime | None = None,
    ) -> str | None:
        """The event's id once it is written, None if it could not be."""

    def error_classified(
        self,
        /,
        error: object,
        *,
        session: str | None = None,
        at: datetime | None = None,
        **payload: Unpack[payloads.ErrorClassified],
    ) -> str | None:
        """`error.classified`, with everything that the classification knows; the keywords add to it or override it.

        `error` is a classification, or what the built-in rules classify here: an exception, a text or a mapping.
        """
        told: Mapping[str, Any] = payload
        try:
            from analyzer.classifier import Classification, classify  # and RE2, which few logs need

            known = error if isinstance(error, Classification) else classify(error, at=at)
            told = error_payload(known, **payload)
        except Exception as failure:  # noqa: BLE001 - a host's own objects may do anything
            told = {**payload, "unreadable": type(failure).__name__}
        return self.append("error.classified", told, session=session, at=at)

    def retry_scheduled(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.RetryScheduled]
    ) -> str | None:
        """`retry.scheduled`."""
        return self.append("retry.scheduled", payload, session=session)

    def retry_settled(self, /, *, session: str | None = None, **payload: Unpack[payloads.RetrySettled]) -> str | None:
        """`retry.settled`."""
        return self.append("retry.settled", payload, session=session)

    def relay_triggered(self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]) -> str | None:
        """`relay.triggered`."""
        return self.append("relay.triggered", payload, session=session)

    def relay_checkpointed(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]
    ) -> str | None:
        """`relay.checkpointed`."""
        return self.append("relay.checkpointed", payload, session=session)

    def relay_resumed(self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]) -> str | None:
        """`relay.resumed`."""
        return self.append("relay.resumed", payload, session=session)

    def relay_halted(self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]) -> str | None:
        """`relay.halted`."""
        return self.append("relay.halted", payload, session=session)

    def relay_skipped(self, /, *, session: str | None = None, **payload: Unpack[payloads.RelayPayload]) -> str | None:
        """`relay.skipped`."""
        return self.append("relay.skipped", payload, session=session)

    def context_recovered(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.ContextPayload]
    ) -> str | None:
        """`context.recovered`."""
        return self.append("context.recovered", payload, session=session)

    def context_unrecovered(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.ContextPayload]
    ) -> str | None:
        """`context.unrecovered`."""
        return self.append("context.unrecovered", payload, session=session)

    def agent_exhausted(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.AgentAvailability]
    ) -> str | None:
        """`agent.exhausted`."""
        return self.append("agent.exhausted", payload, session=session)

    def agent_restored(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.AgentAvailability]
    ) -> str | None:
        """`agent.restored`."""
        return self.append("agent.restored", payload, session=session)

    def budget_exhausted(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.BudgetExhausted]
    ) -> str | None:
        """`budget.exhausted`."""
        return self.append("budget.exhausted", payload, session=session)

    def call_short_circuited(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.CallShortCircuited]
    ) -> str | None:
        """`call.short_circuited`."""
        return self.append("call.short_circuited", payload, session=session)

    def session_observed(
        self, /, *, session: str | None = None, **payload: Unpack[payloads.SessionObserved]
    ) -> str | None:
        """`session.observed`."""
        return self.append("session.observed", payload, session=session)

    def tool_failed(self, /, *, session: str | None = None, **payload: Unpack[payloads.ToolFailed]) -> str | None:
        """`tool.failed`."""
        return self.append("tool.failed", payload, session=session)


def error_payload(
    classification: Classification, **known: Unpack[payloads.ErrorClassified]
) -> payloads.ErrorClassified:
    """The payload of `error.classified`: the classification, its facts, and what the caller knows; nulls left out."""
    from analyzer.events.model import present  # who only imports this module needs none of it

    verdict = {
        **classification.to_dict(),
        "confidence": classification.confidence,
        "remediation": classification.remediation,
        "facts": classification.facts.to_dict(),
    }
    return present({**verdict, **present(known)})  # type: ignore[return-value]
