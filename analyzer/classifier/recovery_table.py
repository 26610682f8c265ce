"""The recovery table: what each reason means for the next call, as data.

Invariant: one row a reason, in the order of `REASONS`; `retryable`, `action` and `remediation` come from nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

REASONS: tuple[str, ...] = (
    "rate_limited",
    "context_overflow",
    "auth_error",
    "network_transient",
    "network_permanent",
    "tool_not_found",
    "validation",
    "unknown",
)
ACTIONS: tuple[str, ...] = ("retry", "wait_then_retry", "compress_then_retry", "surface", "record")

NEVER_RETRYABLE = frozenset({"billing", "hard_quota"})
"""Details that no amount of waiting mends, whatever the reason says."""

RECORDED = frozenset({"aborted"})
"""Details that somebody wanted to happen: they are written down, not shown."""

UNCOUNTED = ("aborted", "no_detail")
"""Details that keep an unknown error out of the unknown share: somebody wanted it, or there was nothing to classify."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """One row of the table."""

    reason: str
    retryable: bool
    action: str
    """One of `ACTIONS`."""
    max_attempts: int
    """Calls in all, the first one included."""
    remediation: str
    """One line for a person or an agent: what to do now. Details may have lines of their own: `remediation`."""


_ROWS = (
    Recovery(
        "rate_limited",
        True,
        "wait_then_retry",
        3,
        "Note the limit for this provider, hold every caller back until it resets, then try again with jitter.",
    ),
    Recovery(
        "context_overflow",
        True,
        "compress_then_retry",
        2,
        "Drop the oldest turns or attachments to about half the tokens and try once more; a second overflow goes to "
        "a person.",
    ),
    Recovery(
        "auth_error",
        False,
        "surface",
        1,
        "Tell the user which credential or account of which provider needs renewing and how; do not try again.",
    ),
    Recovery(
        "network_transient",
        True,
        "retry",
        3,
        "Try again with jittered backoff, three calls in all; after the last one treat it as network_permanent.",
    ),
    Recovery(
        "network_permanent",
        False,
        "surface",
        1,
        "Tell the user that the endpoint, its name, its certificate or the resource is wrong; trying again fails "
        "the same way.",
    ),
    Recovery(
        "tool_not_found",
        False,
        "surface",
        1,
        "Tell the user which tool is missing and probe the connection again: its name drifted or its server is not "
        "registered.",
    ),
    Recovery(
        "validation",
        False,
        "surface",
        1,
        "Hand the complaint back to the caller: the same input fails the same way until it is changed.",
    ),
    Recovery(
        "unknown",
        False,
        "surface",
        1,
        "Show the raw error and do not try again: nothing says that it is safe. Keep the record, so that the rules "
        "can learn it.",
    ),
)

RECOVERY: Mapping[str, Recovery] = MappingProxyType({row.reason: row for row in _ROWS})


_OF_DETAILS: Mapping[str, str] = MappingProxyType(
    {
        "max_turns": "The run reached its turn limit before its work was done: raise it with --max-turns, or split the "
        "work into smaller steps.",
        "max_budget": "The run spent its own budget before its work was done: raise it with --max-budget-usd, or split "
        "the work into smaller steps.",
    }
)
"""What to do where a detail says it better than the row of its reason."""


def remediation(reason: str, detail: str | None) -> str:
    """One line for a person or an agent: what to do now."""
    return _OF_DETAILS.get(detail or "") or RECOVERY[reason].remediation


def decide(reason: str, detail: str | None) -> tuple[bool, str]:
    """`(retryable, action)` of a reason, with the details that overrule its row."""
    row = RECOVERY[reason]
    if detail in NEVER_RETRYABLE:
        return False, "surface"
    if detail in RECORDED:
        return False, "record"
    return row.retryable, row.action
