"""The payload of every event type, key by key.

A key is absent if the log does not tell its value; a payload may have further keys.
"""

from __future__ import annotations

from typing import Any, TypedDict


class WorkPayload(TypedDict, total=False):
    """The work that an event belongs to, if the log tells it; keys of most types."""

    agent: str | None
    """The program that was at work, such as `claude-code`."""
    agent_version: str | None
    project: str | None
    """The last name of the working directory."""
    cwd: str | None
    """The working directory; `~` replaces somebody's home."""
    branch: str | None
    provider: str | None
    model: str | None
    forked_from: str | None
    """The session that the record was copied from, when a session was forked; of `session.observed`
    the session that it is a fork of.
    """


class AnswerPayload(WorkPayload, total=False):
    """Who answered a request, if the log states it."""

    request_id: str | None
    """The id by which the provider finds the request."""
    asked_model: str | None
    """The model that was asked, if that is stated apart from `model`."""
    served_model: str | None
    """The model that answered, likewise."""
    service_tier: str | None
    """The tier of service as the log names it, such as `standard` or `priority`."""
    effort: str | None
    """The effort of reasoning that was asked for, such as `high`."""


class ErrorClassified(AnswerPayload, total=False):
    """`error.classified`: a failure met its reason."""

    caller: str
    """The hook, probe or agent that made the failed call."""
    reason: str
    """One of the eight reasons."""
    detail: str | None
    """The finer cause within the reason, such as `usage_limit`."""
    retryable: bool
    action: str
    """`retry`, `wait_then_retry`, `compress_then_retry`, `surface` or `record`: what the recovery table advises."""
    rule: str
    """The rule that matched."""
    ruleset: str
    """Digest of the rules in force."""
    confidence: str | None
    """`strong`, or `weak` if a bare status, an exit code or weak words decided;
    None if no rule held.
    """
    operation: str | None
    """One retry chain; the key to `retry.settled`."""
    attempt: int | None
    """1-based number of the call that failed."""
    max_attempts: int | None
    """Calls allowed in all, the first included."""
    outcome: str | None
    """What became of an error that no retry chain holds: `surfaced`, `aborted`."""
    retry_after_seconds: float | None
    reset_at: str | None
    """ISO 8601, UTC."""
    current_tokens: int | None
    max_tokens: int | None
    fallback_model: str | None
    """The model that answered instead of the one that failed."""
    failure_reason: str | None
    """The step's failure: `timeout`, `context_exhaustion`, `general_error`, `unknown`."""
    remediation: str | None
    """What to do about it."""
    input_tokens: int | None
    output_tokens: int | None
    tokens_used: int | None
    """Input and output tokens of the failed run together, if the log tells no more."""
    facts: dict[str, Any] | None
    """The evidence that the classifier saw; without it the event cannot be judged again."""


class RetryScheduled(WorkPayload, total=False):
    """`retry.scheduled`: the caller will try again after a wait."""

    operation: str
    caller: str
    reason: str
    attempt: int
    """1-based number of the call that failed."""
    delay_seconds: float


class RetrySettled(WorkPayload, total=False):
    """`retry.settled`: a retry chain came to its end."""

    operation: str
    caller: str
    reason: str
    """The reason at the end of the chain:
    an exhausted `network_transient` ends as `network_permanent`.
    """
    outcome: str
    """`recovered`, `exhausted`, `surfaced`, `escalated` or `aborted`."""
    attempts: int
    """Calls made, the first included."""
    waited_seconds: float
    ended_by: str
    """`iteration_budget` if no iteration was left for the next call;
    then `reason` is the errors' own.
    """


class RelayPayload(WorkPayload, total=False):
    """`relay.triggered`, `.checkpointed`, `.resumed`, `.halted`, `.skipped`: the steps of one hand-off."""

    relay: str
    """The id of one hand-off; its events share it."""
    caller: str
    step_id: str | None
    worker_id: str | None
    token_usage_percent: float | None
    threshold_percent: float | None
    pre_tokens: int | None
    post_tokens: int | None
    checkpoint_tokens: int | None
    strategy: str | None
    relay_count: int | None
    """Hand-offs of this step so far, this one included."""
    trigger: str | None
    """`auto` or `manual`."""
    duration_seconds: float | None
    cause: str | None
    """Why it was halted or skipped."""
    advice: str | None
    """What to do about a step that hands off often."""


class ContextPayload(WorkPayload, total=False):
    """`context.recovered`, `context.unrecovered`: a conversation was made to fit again, or not."""

    strategy: str
    attempt: int | None
    caller: str | None
    pre_tokens: int | None
    post_tokens: int | None
    removed_messages: int | None
    truncated_messages: int | None


class AgentAvailability(WorkPayload, total=False):
    """`agent.exhausted`, `agent.restored`: an agent left the pool at its usage limit, or came back."""

    caller: str | None
    """The caller that ran into the limit."""
    reason_text: str | None
    reset_at: str | None
    exit_code: int | None


class BudgetExhausted(TypedDict, total=False):
    """`budget.exhausted`: no iteration is left for another retry."""

    operation: str | None
    caller: str
    consumed: int
    refunded: int
    limit: int


class CallShortCircuited(TypedDict, total=False):
    """`call.short_circuited`: a guard refused before the call was made."""

    caller: str
    provider: str
    reason: str
    reset_at: str | None


class SessionObserved(WorkPayload, total=False):
    """`session.observed`: one session as one log shows it.

    A later event replaces an earlier one of the same `part`.
    """

    caller: str | None
    """The owner of the session: the caller of its errors."""
    requests: int | None
    """Model requests so far."""
    recorded: int | None
    """Requests so far that have a `usage.recorded` of their own; None in events of earlier versions."""
    aborted: int | None
    """Turns that the user stopped so far; None if there were none, or the log does not tell."""
    started_at: str | None
    ended_at: str | None
    retry_visibility: str | None
    """`full`, `terminal` or `none`: how much of retries this log shows."""
    part: str | None
    """Distinguishes the logs of one session."""
    tools: dict[str, int] | None
    """Calls of each tool so far, by its name."""
    outcome: str | None
    """`hollow` for a run whose last record says success, and that did nothing."""
    detail: str | None
    """Why it is hollow: `no_answer` or `dead_subagents`."""


class ToolFailed(WorkPayload, total=False):
    """`tool.failed`: a tool returned an error to an agent, which reads it and goes on."""

    caller: str
    tool: str | None
    kind: str
    """`tests`, `lint`, `build`, `exit_code`, `not_found`, `refused`, `edit_mismatch`, `timeout`, `permission`,
    `environment`, `cancelled` or `other`."""
    message: str | None
    """The first line of the output that tells why it failed, redacted and cut."""
    command: str | None
    """The head of the command, as in `go test`: program and subcommand without arguments."""
    exit_code: int | None
    """Exit code of the command."""
    duration_seconds: float | None
    """Seconds from the call to its result, by their times in the log."""


class UsageRecorded(AnswerPayload, total=False):
    """`usage.recorded`: the tokens of one request to a model, and its cost if the agent states it."""

    caller: str
    request: str | None
    """The id of the request: of several events with the same id,
    the one with the most output tokens counts.
    """
    input_tokens: int | None
    """Input tokens neither read from nor written to a cache."""
    output_tokens: int | None
    """Output tokens, those of reasoning included."""
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cache_write_hour_tokens: int | None
    """The part of `cache_write_tokens` that the cache keeps for an hour, at a higher price."""
    reasoning_tokens: int | None
    cost_usd: float | None
    """US dollars, as the agent states them."""
    tier: str | None
    """The speed or tier that has another price, such as `fast`, `batch` or `priority`."""
    region: str | None
    """The region that inference was kept in at another price, such as `us`."""
    web_searches: int | None
    """Searches of the web by the provider, which cost extra."""
    longest_prompt: int | None
    """Tokens of the longest prompt, if the counts sum up several."""
    whole_run: bool | None
    """True if it sums up all requests of a run:
    it counts if no request of its session is recorded by itself.
    """


class LimitObserved(WorkPayload, total=False):
    """`limit.observed`: the used share of a usage limit, if the provider states it."""

    caller: str
    provider: str | None
    plan: str | None
    """The plan that the limit belongs to, as the provider names it."""
    window_minutes: int
    """Length of the limit's window: 300 for five hours, 10080 for a week."""
    used_share: float
    """0..1 of the limit."""
    reset_at: str | None
    """The end of the window, ISO 8601, UTC."""


class RulesetApplied(TypedDict, total=False):
    """`ruleset.applied`: from this event on this ruleset judges."""

    ruleset: str
    previous: str | None


class FindingDecision(TypedDict, total=False):
    """`finding.opened`, `finding.resolved`: the analyzer's own decisions."""

    finding: str
    finding_id: str
    severity: str
    scope: dict[str, Any]
    window: dict[str, Any]
    explanation: str


class HistoryPruned(TypedDict, total=False):
    """`history.pruned`: the store has deleted everything before a moment.

    The analyzer's own decision.
    """

    before: str


EVENT_TYPES: dict[str, type[Any]] = {
    "error.classified": ErrorClassified,
    "retry.scheduled": RetryScheduled,
    "retry.settled": RetrySettled,
    "relay.triggered": RelayPayload,
    "relay.checkpointed": RelayPayload,
    "relay.resumed": RelayPayload,
    "relay.halted": RelayPayload,
    "relay.skipped": RelayPayload,
    "context.recovered": ContextPayload,
    "context.unrecovered": ContextPayload,
    "agent.exhausted": AgentAvailability,
    "agent.restored": AgentAvailability,
    "budget.exhausted": BudgetExhausted,
    "call.short_circuited": CallShortCircuited,
    "session.observed": SessionObserved,
    "tool.failed": ToolFailed,
    "usage.recorded": UsageRecorded,
    "limit.observed": LimitObserved,
    "ruleset.applied": RulesetApplied,
    "finding.opened": FindingDecision,
    "finding.resolved": FindingDecision,
    "history.pruned": HistoryPruned,
}
"""Every type of the contract and the keys of its payload;
other types are legal and kept as they are.
"""
