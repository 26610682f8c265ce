"""The recovery table: what to do after an error of each reason, as data.

Invariant: one row a reason, in the order of `REASONS`; `retryable`, `action` and both sentences come only from it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

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

PARTIES: Mapping[str, str] = MappingProxyType(
    {
        "provider": "the provider's service: overloaded, or broken on its side",
        "account": "your account with the provider: its key, plan, quota, limit or bill",
        "network": "the way to the provider: connection, name, certificate, time",
        "request": "what was asked: too long, invalid, a model that is not there, a limit of the run's own",
        "environment": "the machine that the agent runs on: a tool or a command is missing",
        "user": "somebody who stopped it",
        "unknown": "nobody that the error names",
    }
)
"""Who can have caused an error, each with its meaning."""

NEVER_RETRYABLE = frozenset({"billing", "hard_quota"})
"""Details that no waiting mends, whatever the reason says."""

RECORDED = frozenset({"aborted"})
"""Details that somebody wanted to happen: they are written down, not shown."""

UNCOUNTED = ("aborted", "no_detail")
"""Details that keep an unknown error out of the unknown share:
somebody wanted it, or it had no text.
"""


class Recovery(NamedTuple):
    """One row of the table."""

    reason: str
    retryable: bool
    action: str
    """One of `ACTIONS`."""
    max_attempts: int
    """Calls in all, the first one included."""
    remediation: str
    """One line for the program or the agent that made the call: what to do now. Details may have lines of their own."""
    advice: str
    """One sentence for the person who started it: what happened, and what to do. Details may have their own."""
    party: str
    """One of `PARTIES`: who usually caused it. Details may name another party."""


_ROWS = (
    Recovery(
        "rate_limited",
        True,
        "wait_then_retry",
        3,
        "Note the limit for this provider, hold every caller back until it resets, then try again with jitter.",
        "The provider, or your plan with it, takes no more requests for now: run it again once the limit has reset, or "
        "give analyzer run more --retries and a longer --max-wait.",
        "account",
    ),
    Recovery(
        "context_overflow",
        True,
        "compress_then_retry",
        2,
        "Drop the oldest turns or attachments to about half the tokens and try once more; a second overflow goes to "
        "a person.",
        "The context window is full: give the step less to read or split it into smaller ones, or hand it off to a "
        "fresh context in time with analyzer run --relay 70.",
        "request",
    ),
    Recovery(
        "auth_error",
        False,
        "surface",
        1,
        "Tell the user which credential or account of which provider needs renewing and how; do not try again.",
        "The provider refuses the credential or its account: renew it or log in again, then start anew.",
        "account",
    ),
    Recovery(
        "network_transient",
        True,
        "retry",
        3,
        "Try again with jittered backoff, three calls in all; after the last one treat it as network_permanent.",
        "The provider was overloaded or the connection to it broke: run it again in a while, or give analyzer run more "
        "--retries.",
        "network",
    ),
    Recovery(
        "network_permanent",
        False,
        "surface",
        1,
        "Tell the user that the endpoint, its name, its certificate or the resource is wrong; trying again fails "
        "the same way.",
        "The address, its certificate or what was asked for there is wrong, and stays so: mend the URL, the name of "
        "the model or the proxy first.",
        "network",
    ),
    Recovery(
        "tool_not_found",
        False,
        "surface",
        1,
        "Tell the user which tool is missing and probe the connection again: its name drifted or its server is not "
        "registered.",
        "A tool or a command is not there: mend its name or install it, and see that the server that offers it is "
        "registered and runs.",
        "environment",
    ),
    Recovery(
        "validation",
        False,
        "surface",
        1,
        "Hand the complaint back to the caller: the same input fails the same way until it is changed.",
        "The request was refused as it is, and will be again: change what the message complains about.",
        "request",
    ),
    Recovery(
        "unknown",
        False,
        "surface",
        1,
        "Show the raw error and do not try again: nothing says that it is safe. Keep the record, so that the rules "
        "can learn it.",
        "No rule knows this failure: read the raw error before you start it again, and see analyzer unknowns for what "
        "a rule could say.",
        "unknown",
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
"""Remediations of details that say more than the row of their reason."""

_ADVICE_OF_DETAILS: Mapping[str, str] = MappingProxyType(
    {
        **_OF_DETAILS,
        "aborted": "Somebody or something stopped the run: start it again if that was not meant.",
        "no_detail": "The command failed and said nothing about why: run it by itself, or with more output.",
    }
)


ANSWERED = 500
"""The least HTTP status by which a server says that the fault is its own (RFC 9110, 15.6)."""
PARTY_OF_DETAILS: Mapping[str, str] = MappingProxyType(
    {
        "overloaded": "provider",
        "server_error": "provider",
        "deadline": "provider",
        "gateway": "network",
        "long_context_tier": "account",
        "model_not_found": "request",
        "not_found": "request",
        "session_not_found": "request",
        "aborted": "user",
    }
)


def party(reason: str, detail: str | None, status: int | None) -> str:
    """Return who caused an error: one of `PARTIES`.

    An error of the network with a status of a server's own fault reached the provider, and so is the provider's.
    """
    if detail is not None and detail in PARTY_OF_DETAILS:
        return PARTY_OF_DETAILS[detail]
    usual = RECOVERY[reason].party
    return "provider" if usual == "network" and status is not None and status >= ANSWERED else usual


def remediation(reason: str, detail: str | None) -> str:
    """Return the line that tells the calling program or agent what to do now."""
    return _OF_DETAILS.get(detail or "") or RECOVERY[reason].remediation


def advice(reason: str, detail: str | None) -> str:
    """Return the sentence that tells the person who started it what happened and what to do."""
    return _ADVICE_OF_DETAILS.get(detail or "") or RECOVERY[reason].advice


def decide(reason: str, detail: str | None) -> tuple[bool, str]:
    """Return `(retryable, action)` of a reason; a detail may overrule its row."""
    row = RECOVERY[reason]
    if detail in NEVER_RETRYABLE:
        return False, "surface"
    if detail in RECORDED:
        return False, "record"
    return row.retryable, row.action
