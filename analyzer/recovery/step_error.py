"""How a run failed: one of four words, what it cost, and what to do about it.

The stream's own result record decides before exit codes do; agents have no exit code for a full context.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from analyzer.errors import HALTED, AnalyzerError
from analyzer.recovery.supervise_observer import Observed, TokenUsage, text

if TYPE_CHECKING:
    from analyzer.classifier import Classification, Ruleset

TIMEOUT = "timeout"
CONTEXT_EXHAUSTION = "context_exhaustion"
GENERAL_ERROR = "general_error"
UNKNOWN = "unknown"

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

_EVIDENCE = ("type", "subtype", "terminal_reason", "is_error", "result", "errors", "api_error_status")
_SAID_CHARS = 300


class StepError(AnalyzerError):
    """A supervised run failed. `exit_code` is the command's, `hint` the remediation."""

    def __init__(
        self,
        message: str,
        remediation: str,
        *,
        failure_reason: str,
        classification: Classification,
        usage: TokenUsage,
        exit_code: int,
    ) -> None:
        super().__init__(message, remediation)
        self.failure_reason = failure_reason
        """`timeout`, `context_exhaustion`, `general_error` or `unknown`."""
        self.classification = classification
        self.usage = usage
        self.exit_code = exit_code

    @property
    def remediation(self) -> str:
        """What to do now."""
        return self.hint


class RelayHaltedError(AnalyzerError):
    """The step was stopped: it can be handed off no further."""

    exit_code = HALTED


def step_error(
    observed: Observed,
    exit_code: int,
    *,
    timed_out_after: float | None = None,
    at: datetime | None = None,
    ruleset: Ruleset | None = None,
) -> StepError | None:
    """How the run failed; None for one that went well.

    A run failed when its exit code or its result record says so. `timed_out_after` are the seconds after which it was
    stopped; what it still had to say then is heard all the same. `at` (aware) resolves texts such as "resets 4pm".
    """
    flagged = says_error(observed.result)
    if exit_code == 0 and not flagged and timed_out_after is None:
        return None
    from analyzer.classifier import classify  # who never fails never loads it

    verdict = classify(_facts(observed, exit_code, flagged), at=at, ruleset=ruleset)
    decided = verdict.reason == "context_overflow" or verdict.detail == "usage_limit"
    if timed_out_after is not None and not decided:
        said = {"message": f"the command timed out after {timed_out_after:g} s", "exit_code": exit_code}
        verdict = classify({**said, "stderr": observed.stderr}, at=at, ruleset=ruleset)
        reason = TIMEOUT
    else:
        reason = failure_reason(observed.result, verdict)
    return StepError(
        _message(reason, verdict, exit_code),
        remediation(reason, verdict, observed.usage, timed_out_after),
        failure_reason=reason,
        classification=verdict,
        usage=observed.usage,
        exit_code=exit_code,
    )


def start_error(error: AnalyzerError, ruleset: Ruleset | None = None) -> StepError:
    """The failure of a command that could not be started."""
    from analyzer.classifier import classify

    return StepError(
        error.message,
        error.hint,
        failure_reason=UNKNOWN,
        classification=classify({"exit_code": error.exit_code, "stderr": error.message}, ruleset=ruleset),
        usage=TokenUsage(),
        exit_code=error.exit_code,
    )


def failure_reason(result: Mapping[str, Any], verdict: Classification) -> str:
    """The word for a failure that was not our own timeout; without a known subtype and without evidence: unknown."""
    if verdict.reason == "context_overflow":
        return CONTEXT_EXHAUSTION
    if text(result.get("subtype")) not in SUBTYPES:
        return UNKNOWN
    return TIMEOUT if verdict.detail in {"timeout", "deadline"} else GENERAL_ERROR


def remediation(reason: str, verdict: Classification, usage: TokenUsage, timed_out_after: float | None = None) -> str:
    """What to do about it, with what it cost."""
    if reason == CONTEXT_EXHAUSTION:
        advice = (
            "Give the step less to read or split it into smaller ones, or hand it off to a fresh context in time "
            "with --relay 70."
        )
    elif reason == TIMEOUT and timed_out_after is not None:
        advice = f"Give it more than {timed_out_after:g} s with --timeout, or split the step into smaller ones."
    else:
        advice = verdict.remediation
    cost = _cost(usage, verdict)
    return f"{advice} {cost}" if cost else advice


def says_error(result: Mapping[str, Any]) -> bool:
    """Whether a result record says that its run failed, whatever its exit code."""
    return result.get("is_error") is True or (text(result.get("subtype")) or "").startswith("error")


def _facts(observed: Observed, exit_code: int, flagged: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"exit_code": exit_code, "stdout": observed.stdout, "stderr": observed.stderr}
    if flagged:
        facts |= {key: observed.result[key] for key in _EVIDENCE if key in observed.result}
        facts["is_error"] = True
    return facts


def _message(reason: str, verdict: Classification, exit_code: int) -> str:
    facts = verdict.facts
    said = next((line for line in _lines(facts.message, facts.stderr, facts.stdout)), "")
    words = reason.replace("_", " ")
    if reason == UNKNOWN or (reason == GENERAL_ERROR and verdict.reason != "unknown"):  # the verdict says more
        words = f"{verdict.reason}, exit code {exit_code}"
    return f"{words}: {said[:_SAID_CHARS]}" if said else words


def _lines(message: str | None, *streams: str | None) -> list[str]:
    """The first line of a message, else the last line of a stream."""
    found = [line for line in (message or "").splitlines() if line.strip()][:1]
    for stream in streams:
        found += [line.strip() for line in (stream or "").splitlines() if line.strip()][-1:]
    return found


def _cost(usage: TokenUsage, verdict: Classification) -> str:
    held = verdict.current_tokens or usage.context_tokens
    window = verdict.max_tokens or usage.context_window
    parts = []
    if held is not None:
        parts.append(f"the context held {held:,}{f' of {window:,}' if window else ''} tokens")
    if usage.input_tokens is not None or usage.output_tokens is not None:
        parts.append(f"the run used {usage.input_tokens or 0:,} input and {usage.output_tokens or 0:,} output tokens")
    return f"({'; '.join(parts)})" if parts else ""
