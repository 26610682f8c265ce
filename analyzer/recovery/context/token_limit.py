"""What an error says about a conversation that does not fit: the classifier's verdict, as recovery asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from analyzer.classifier import Classification, classify


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """What an error says about a conversation that does not fit."""

    current_tokens: int | None = None
    max_tokens: int | None = None
    provider: str | None = None
    model: str | None = None
    raw_error: object = field(default=None, compare=False, repr=False)
    """The error as it was given, secrets included: for the program that caught it, not for a log."""


def parse_token_limit_error(error: object) -> TokenLimit | None:
    """The limit that an error speaks of; None for any other error. Takes whatever `classify` takes."""
    verdict = error if isinstance(error, Classification) else classify(error)
    if verdict.reason != "context_overflow":
        return None
    return TokenLimit(verdict.current_tokens, verdict.max_tokens, verdict.provider, verdict.model, error)


def is_token_limit_error(error: object) -> bool:
    """Whether an error says that a conversation does not fit. Takes whatever `classify` takes."""
    return parse_token_limit_error(error) is not None
