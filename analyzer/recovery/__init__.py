"""Recovery from classified errors, and the events that it logs.

Names are loaded on first use, so that the rate guard costs no context recovery and no processes.
"""

from __future__ import annotations

from analyzer.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from analyzer.recovery.context.conversation import Compression
    from analyzer.recovery.context.hook import (
        ContextRecoveryHook,
        HookResult,
        MemorySessions,
        Notice,
        SessionStore,
        outline,
    )
    from analyzer.recovery.context.progress import (
        PruneState,
        RetryState,
        SessionState,
        TokenLimit,
        TruncateState,
        is_token_limit_error,
        parse_token_limit_error,
    )
    from analyzer.recovery.context.recovery import ContextRecovery, ContextSettings, Fitted
    from analyzer.recovery.limits.guard import RateGuard, RateLimitedError, RateState
    from analyzer.recovery.limits.pool import AgentPool, Exhaustion
    from analyzer.recovery.limits.state_file import StateBusyError, StateError, StateFile
    from analyzer.recovery.relay.checkpoint import Checkpoint, Transcript, Turn
    from analyzer.recovery.relay.config import RelaySettings
    from analyzer.recovery.relay.monitor import Relay, RelayMonitor
    from analyzer.recovery.relay.summarizers import CommandSummarizer
    from analyzer.recovery.retry.chain import RetryWatch
    from analyzer.recovery.retry.observing import observe
    from analyzer.recovery.retry.policy import (
        PROFILES,
        Backoff,
        Credential,
        IterationBudget,
        IterationBudgetExhaustedError,
        Policy,
    )
    from analyzer.recovery.retry.retry import Attempts, Retry
    from analyzer.recovery.supervision.instance import Limits, Run, Streams
    from analyzer.recovery.supervision.step_error import RelayHaltedError, StepError, TokenUsage
    from analyzer.recovery.supervision.supervisor import NotAdmittedError, supervise
    from analyzer.recovery.waiting import Clock, SystemClock, WaitCancelledError

__getattr__, __dir__ = face(
    __name__,
    {
        "context.conversation": "Compression",
        "context.hook": "ContextRecoveryHook HookResult MemorySessions Notice outline SessionStore",
        "context.progress": "is_token_limit_error parse_token_limit_error PruneState "
        "RetryState SessionState TokenLimit TruncateState",
        "context.recovery": "ContextRecovery ContextSettings Fitted",
        "limits.guard": "RateGuard RateLimitedError RateState",
        "limits.pool": "AgentPool Exhaustion",
        "limits.state_file": "StateBusyError StateError StateFile",
        "relay.checkpoint": "Checkpoint Transcript Turn",
        "relay.config": "RelaySettings",
        "relay.monitor": "Relay RelayMonitor",
        "relay.summarizers": "CommandSummarizer",
        "retry.chain": "RetryWatch",
        "retry.observing": "observe",
        "retry.policy": "Backoff Credential IterationBudget IterationBudgetExhaustedError Policy PROFILES",
        "retry.retry": "Attempts Retry",
        "supervision.instance": "Limits Run Streams",
        "supervision.step_error": "RelayHaltedError StepError TokenUsage",
        "supervision.supervisor": "NotAdmittedError supervise",
        "waiting": "Clock SystemClock WaitCancelledError",
    },
)

__all__ = [
    "PROFILES", "AgentPool", "Attempts", "Backoff", "Checkpoint", "Clock", "CommandSummarizer", "Compression",
    "ContextRecovery", "ContextRecoveryHook", "ContextSettings", "Credential", "Exhaustion", "Fitted", "HookResult",
    "IterationBudget", "IterationBudgetExhaustedError", "Limits", "MemorySessions", "NotAdmittedError", "Notice",
    "Policy", "PruneState", "RateGuard", "RateLimitedError", "RateState", "Relay", "RelayHaltedError", "RelayMonitor",
    "RelaySettings", "Retry", "RetryState", "RetryWatch", "Run", "SessionState", "SessionStore", "StateBusyError",
    "StateError", "StateFile", "StepError", "Streams", "SystemClock", "TokenLimit", "TokenUsage", "Transcript",
    "TruncateState", "Turn", "WaitCancelledError", "is_token_limit_error", "observe", "outline",
    "parse_token_limit_error", "supervise",
]  # fmt: skip
