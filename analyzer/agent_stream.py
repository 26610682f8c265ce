"""What an agent's stream-json says of its run, read in one place for live supervision and for imported logs.

A record of one run has one answer here, whoever asks; what is done about it belongs to `recovery/` and `importers/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST = 10**12
"""A larger count of tokens is nonsense, and the store keeps none."""


SUBAGENTS = frozenset({"Task", "Agent", "task", "agent", "delegate", "spawn_agent"})
"""Tools that hand work to an agent of its own."""


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value where it is an object, else an empty one."""
    # A dict, mostly; to ask an abstract class takes longer than all that is done with it.
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def text(value: object) -> str | None:
    """A text that says something, or None."""
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """A whole number that is no nonsense, or None."""
    return value if type(value) is int and 0 <= value < MOST else None


TIMEOUT = "timeout"
CONTEXT_EXHAUSTION = "context_exhaustion"
GENERAL_ERROR = "general_error"
UNKNOWN = "unknown"

FAILURE_REASONS = (TIMEOUT, CONTEXT_EXHAUSTION, GENERAL_ERROR, UNKNOWN)
"""The words for how a step failed."""

SUBTYPES = frozenset(
    {
        "success",
        "error_max_turns",
        "error_during_execution",
        "error_max_budget_usd",
        "error_max_structured_output_retries",
    }
)
"""Subtypes of a result record that are known; `success` may stand beside `is_error`."""

_EVIDENCE = ("subtype", "terminal_reason", "result", "errors", "api_error_status")


def says_error(result: Mapping[str, Any]) -> bool:
    """Whether a result record says that its run failed, whatever its exit code; `is_error` of a wrong type says so."""
    flagged = any(map(result.get, ("is_error", "error", "errors")))
    return flagged or (text(result.get("subtype")) or "").lower().startswith("error")


def error_facts(result: Mapping[str, Any]) -> dict[str, Any]:
    """What the classifier is shown of the record of a failed run: `subtype` may well say `success` beside the error."""
    return {**{key: result[key] for key in _EVIDENCE if key in result}, "is_error": True}


def failure_reason(result: Mapping[str, Any], reason: str, detail: str | None) -> str:
    """The word for a failure that no supervisor caused; without a known subtype and without evidence: `unknown`.

    A full context is told by what the run said, so it needs no subtype; an empty record stands for a run without one.
    """
    if reason == "context_overflow":
        return CONTEXT_EXHAUSTION
    if text(result.get("subtype")) not in SUBTYPES:
        return UNKNOWN
    return TIMEOUT if detail in {"timeout", "deadline"} else GENERAL_ERROR


def turns_at_limit(result: Mapping[str, Any], detail: str | None) -> int | None:
    """The turns after which a run reached its limit of turns; None where it did not, or does not count them."""
    return count(result.get("num_turns")) or None if detail == "max_turns" else None


def turn_limit_advice(turns: int) -> str:
    """What happened to a run that reached its limit after so many turns, and what to do."""
    return (
        f"The run reached its turn limit after {turns} turns, before its work was done: raise it, as in "
        f"--max-turns {2 * turns}, or split the work into smaller steps."
    )


def run_tokens(record: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Input and output tokens under `usage`; None for what it leaves open."""
    usage = mapping(record.get("usage"))
    return count(usage.get("input_tokens")), count(usage.get("output_tokens"))


def hollow(*, replies: int, calls: int, launched: int, returned: int, dead: int) -> str | None:
    """Why a run that says success did nothing; None of one that did something.

    `no_answer` where there is no reply and no call of a tool, `dead_subagents` where it `launched` sub-agents, and all
    that `returned` are `dead`.
    """
    if not replies and not calls:
        return "no_answer"
    return "dead_subagents" if launched and dead and dead >= returned else None
