"""How a run failed: one of four words, what it cost, and what to do about it.

The stream's own result record decides before exit codes do; agents have no exit code for a full context.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from analyzer.agent_stream.result import (
    GENERAL_ERROR,
    TIMEOUT,
    UNKNOWN,
    error_facts,
    failure_reason,
    says_error,
    turn_limit_advice,
    turns_at_limit,
)
from analyzer.errors import HALTED, AnalyzerError
from analyzer.recovery.supervision.observer import Observed, TokenUsage

if TYPE_CHECKING:
    from analyzer.classifier import Classification, Rules

_SAID_CHARS = 300
STDOUT_CHARS = 3_900
"""Of the end of stdout, what the classifier keeps whole."""


class StepError(AnalyzerError):
    """A supervised run failed. `exit_code` is the command's, `hint` says to a person what happened and what to do."""

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
    rules: Rules = None,
    provider: str | None = None,
    agent: str | None = None,
) -> StepError | None:
    """How the run failed; None for one that went well.

    A run failed when its exit code or its result record says so. `timed_out_after` are the seconds after which it was
    stopped; what it still had to say then is heard all the same. `at` (aware) resolves texts such as "resets 4pm". A
    credential that is refused is that of `provider`, else of whom the error or the name of the `agent` tells.
    """
    flagged = says_error(observed.result)
    if exit_code == 0 and not flagged and timed_out_after is None:
        return None
    from analyzer.classifier import classify  # who never fails never loads it

    facts = _facts(observed, exit_code, flagged)
    verdict = classify(facts, at=at, rules=rules)
    if verdict.detail == "usage_limit":
        # A line among records was followed by them, so it ended nothing; and an agent that says that it succeeded did
        # not run into its limit.
        end = "" if observed.result and not flagged else observed.stdout_end
        if end != observed.stdout:
            verdict = classify({**facts, "stdout": _end_of(end)}, at=at, rules=rules)
    decided = verdict.reason == "context_overflow" or verdict.detail == "usage_limit"
    if timed_out_after is not None and not decided:
        # A command that ends well on SIGTERM was stopped all the same.
        said = {"message": f"the command timed out after {timed_out_after:g} s", "exit_code": exit_code or 1}
        verdict = classify({**said, "stderr": observed.stderr}, at=at, rules=rules)
        reason = TIMEOUT
    else:
        reason = failure_reason(observed.result, verdict)
    turns = turns_at_limit(observed.result, verdict)
    if reason == TIMEOUT and timed_out_after is not None:
        told = (
            f"The command took longer than {timed_out_after:g} s and was stopped: give it more with --timeout, or "
            "split the step into smaller ones."
        )
    elif verdict.reason == "auth_error":
        from analyzer.recovery.retry.advice import auth_advice, provider_of

        whose = provider_of(provider) or provider or verdict.provider or provider_of(agent)
        told = f"{auth_advice(verdict, whose)}."
    elif turns:
        told = turn_limit_advice(turns)
    else:
        from analyzer.classifier.recovery_table import advice

        told = advice(verdict.reason, verdict.detail)
    return StepError(
        _message(reason, verdict, exit_code, turns),
        f"{told} {cost}" if (cost := _cost(observed.usage, verdict)) else told,
        failure_reason=reason,
        classification=verdict,
        usage=observed.usage,
        exit_code=exit_code,
    )


def start_error(error: AnalyzerError, rules: Rules = None) -> StepError:
    """The failure of a command that could not be started."""
    from analyzer.classifier import classify

    return StepError(
        error.message,
        error.hint,
        failure_reason=UNKNOWN,
        classification=classify({"exit_code": error.exit_code, "stderr": error.message}, rules=rules),
        usage=TokenUsage(),
        exit_code=error.exit_code,
    )


def _end_of(stdout: str) -> str:
    from analyzer.redaction import redact

    # Secrets go before the cut, which may fall between a name and its value.
    return redact(stdout)[-STDOUT_CHARS:]


def _facts(observed: Observed, exit_code: int, flagged: bool) -> dict[str, Any]:
    stdout = _end_of(observed.stdout)
    facts: dict[str, Any] = {"exit_code": exit_code, "stdout": stdout, "stderr": observed.stderr}
    return facts | error_facts(observed.result) if flagged else facts


def _message(reason: str, verdict: Classification, exit_code: int, turns: int | None = None) -> str:
    facts = verdict.facts
    said = next((line for line in _lines(facts.message, facts.stderr, facts.stdout)), "")
    words = reason.replace("_", " ")
    if reason == UNKNOWN or (reason == GENERAL_ERROR and verdict.reason != "unknown"):  # the verdict says more
        words = f"{verdict.reason}, exit code {exit_code}"
    if verdict.detail == "max_turns" and reason != TIMEOUT:
        words = f"turn limit reached{f' after {turns} turns' if turns else ''}, exit code {exit_code}"
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
