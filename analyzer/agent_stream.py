"""Read what an agent's stream-json says of its run, for live supervision and for imported logs.

A record means the same for both. What is done about it belongs to `recovery/` and `importers/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST = 10**12
"""A count of tokens from this one on is nonsense, and the store does not keep it."""

SUBAGENTS = frozenset({"Task", "Agent", "task", "agent", "delegate", "spawn_agent"})
"""Tools that hand work to an agent of its own."""


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    # Mostly it is a dict; a check against an abstract class takes longer than the whole use of it.
    return value if type(value) is dict or isinstance(value, Mapping) else {}


def text(value: object) -> str | None:
    """Return the value if it is a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def content_text(content: object) -> str:
    """Return the text of a message's content, which is a text or a list of parts; empty without text."""
    if isinstance(content, list):
        return "\n".join(words for part in content if (words := text(mapping(part).get("text"))))
    return content if isinstance(content, str) else ""


def count(value: object) -> int | None:
    """Return the value if it is a whole number from 0 and below `MOST`, else None."""
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
    """Tell whether a result record says that its run failed, whatever its exit code.

    An `is_error` of another type than bool counts by its truth.
    """
    flagged = any(map(result.get, ("is_error", "error", "errors")))
    return flagged or (text(result.get("subtype")) or "").lower().startswith("error")


def error_facts(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that the classifier reads from the result record of a failed run.

    `subtype` may say `success` beside the error.
    """
    return {**{key: result[key] for key in _EVIDENCE if key in result}, "is_error": True}


def failure_reason(result: Mapping[str, Any], reason: str, detail: str | None) -> str:
    """Return the word, one of `FAILURE_REASONS`, for a failure that no supervisor caused.

    It is `unknown` without a known subtype. A full context is recognised by the messages of the
    run, so it needs no subtype. A run without a result record passes an empty one.
    """
    if reason == "context_overflow":
        return CONTEXT_EXHAUSTION
    if text(result.get("subtype")) not in SUBTYPES:
        return UNKNOWN
    return TIMEOUT if detail in {"timeout", "deadline"} else GENERAL_ERROR


def turns_at_limit(result: Mapping[str, Any], detail: str | None) -> int | None:
    """Return the turns of a run that reached its limit of turns.

    Return None if it did not, or does not count them.
    """
    return count(result.get("num_turns")) or None if detail == "max_turns" else None


def turn_limit_advice(turns: int) -> str:
    """Tell the user that a run reached its limit after so many turns, and what to do."""
    return (
        f"The run reached its turn limit after {turns} turns, before its work was done: raise it, as in "
        f"--max-turns {2 * turns}, or split the work into smaller steps."
    )


def run_tokens(record: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return the input and the output tokens under `usage`; None for a count that is missing."""
    usage = mapping(record.get("usage"))
    return count(usage.get("input_tokens")), count(usage.get("output_tokens"))


def hollow(*, replies: int, calls: int, launched: int, returned: int, dead: int) -> str | None:
    """Return why a run that says success did nothing; None if it did something.

    `no_answer`: there is no reply and no call of a tool. `dead_subagents`: it `launched`
    sub-agents, and all that `returned` are `dead`.
    """
    if not replies and not calls:
        return "no_answer"
    return "dead_subagents" if launched and dead and dead >= returned else None
