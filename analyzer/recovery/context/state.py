"""What context recovery did to a session, for whoever wants to know: how often, what was cut, what was pruned.

Invariant: a state is a picture of one moment; the recoveries that follow make another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from analyzer.recovery.context.token_limit import TokenLimit


@dataclass(frozen=True, slots=True)
class TruncateState:
    """The tool outputs that were cut, by the last recovery that cut any.

    A message is named by its own `id`, and by its position in the conversation, as `#12`, where it has none.
    """

    truncated_messages: tuple[str, ...] = ()
    original_sizes: Mapping[str, int] = field(default_factory=dict)
    """Characters of text before, by message."""
    truncated_sizes: Mapping[str, int] = field(default_factory=dict)
    """Characters of text after, by message."""


@dataclass(frozen=True, slots=True)
class PruneState:
    """The messages that were removed, by the last recovery that removed any."""

    enabled: bool
    """Whether `prune` is among the strategies."""
    target_ratio: float
    """How full the context may be afterwards, 0..1."""
    pruned_tokens: int = 0
    """Tokens of the messages that are gone, less those of a summary in their place."""


@dataclass(frozen=True, slots=True)
class RetryState:
    """Recoveries of one session, since the last one that lasted."""

    attempts: int
    max_attempts: int
    last_attempt_at: datetime | None
    strategy: str | None
    """What the last recovery did; several strategies are joined by `+`."""


@dataclass(frozen=True, slots=True)
class SessionState:
    """What context recovery knows of one session."""

    pending: bool
    """Whether a recovery waits for the session to become idle."""
    in_progress: bool
    """Whether a recovery is under way."""
    error: TokenLimit | None
    """What asked for the recovery that is pending."""
    retry: RetryState
    truncate: TruncateState
    prune: PruneState
