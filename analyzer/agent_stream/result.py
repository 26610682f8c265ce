"""The result record that ends a run: whether it says that the run failed, what the classifier is shown, in which word.

The record decides before exit codes do; agents have no exit code for a full context.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from analyzer.agent_stream.values import count, mapping, text

if TYPE_CHECKING:
    from analyzer.classifier import Classification

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
    """Whether a result record says that its run failed, whatever its exit code."""
    return result.get("is_error") is True or (text(result.get("subtype")) or "").startswith("error")


def error_facts(result: Mapping[str, Any]) -> dict[str, Any]:
    """What the classifier is shown of the record of a failed run: `subtype` may well say `success` beside the error."""
    return {**{key: result[key] for key in _EVIDENCE if key in result}, "is_error": True}


def failure_reason(result: Mapping[str, Any], verdict: Classification) -> str:
    """The word for a failure that no supervisor caused; without a known subtype and without evidence: `unknown`.

    A full context is told by what the run said, so it needs no subtype; an empty record stands for a run without one.
    """
    if verdict.reason == "context_overflow":
        return CONTEXT_EXHAUSTION
    if text(result.get("subtype")) not in SUBTYPES:
        return UNKNOWN
    return TIMEOUT if verdict.detail in {"timeout", "deadline"} else GENERAL_ERROR


def turns_at_limit(result: Mapping[str, Any], verdict: Classification) -> int | None:
    """The turns after which a run reached its limit of turns; None where it did not, or does not count them."""
    return count(result.get("num_turns")) or None if verdict.detail == "max_turns" else None


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
