"""What a program does about a classified error, and the events it leaves.

Names load on first use: who wants the rate guard does not pay for context recovery or processes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.recovery.context.account import Fitted
    from analyzer.recovery.context.conversation import Compression
    from analyzer.recovery.context.hook import ContextRecoveryHook, HookResult, Notice
    from analyzer.recovery.context.recovery import ContextRecovery, ContextSettings
    from analyzer.recovery.context.sessions import MemorySessions, SessionStore, outline
    from analyzer.recovery.context.state import PruneState, RetryState, SessionState, TruncateState
    from analyzer.recovery.context.token_limit import TokenLimit, is_token_limit_error, parse_token_limit_error
    from analyzer.recovery.limits.exhaustion import Exhaustion
    from analyzer.recovery.limits.guard import RateGuard, RateLimitedError, RateState
    from analyzer.recovery.limits.pool import AgentPool
    from analyzer.recovery.limits.state_file import StateBusyError, StateError, StateFile
    from analyzer.recovery.relay.checkpoint import Checkpoint
    from analyzer.recovery.relay.command import CommandSummarizer
    from analyzer.recovery.relay.config import RelaySettings
    from analyzer.recovery.relay.monitor import Relay, RelayMonitor
    from analyzer.recovery.relay.transcript import Transcript, Turn
    from analyzer.recovery.retry.advice import Credential
    from analyzer.recovery.retry.attempts import Attempts
    from analyzer.recovery.retry.backoff import Backoff
    from analyzer.recovery.retry.budget import IterationBudget, IterationBudgetExhaustedError
    from analyzer.recovery.retry.policy import PROFILES, Policy
    from analyzer.recovery.retry.retry import Retry
    from analyzer.recovery.retry.watch import RetryWatch
    from analyzer.recovery.supervision.admission import NotAdmittedError
    from analyzer.recovery.supervision.instance import Streams
    from analyzer.recovery.supervision.observer import TokenUsage
    from analyzer.recovery.supervision.plan import Limits, Run
    from analyzer.recovery.supervision.step_error import RelayHaltedError, StepError
    from analyzer.recovery.supervision.supervisor import supervise
    from analyzer.recovery.waiting import Clock, SystemClock, WaitCancelledError

_HOMES = {
    "AgentPool": "limits.pool",
    "Attempts": "retry.attempts",
    "Backoff": "retry.backoff",
    "Checkpoint": "relay.checkpoint",
    "Clock": "waiting",
    "CommandSummarizer": "relay.command",
    "Compression": "context.conversation",
    "ContextRecovery": "context.recovery",
    "ContextRecoveryHook": "context.hook",
    "ContextSettings": "context.recovery",
    "Credential": "retry.advice",
    "Exhaustion": "limits.exhaustion",
    "Fitted": "context.account",
    "HookResult": "context.hook",
    "IterationBudget": "retry.budget",
    "IterationBudgetExhaustedError": "retry.budget",
    "Limits": "supervision.plan",
    "MemorySessions": "context.sessions",
    "NotAdmittedError": "supervision.admission",
    "Notice": "context.hook",
    "PROFILES": "retry.policy",
    "Policy": "retry.policy",
    "PruneState": "context.state",
    "RateGuard": "limits.guard",
    "RateLimitedError": "limits.guard",
    "RateState": "limits.guard",
    "Relay": "relay.monitor",
    "RelayHaltedError": "supervision.step_error",
    "RelayMonitor": "relay.monitor",
    "RelaySettings": "relay.config",
    "Retry": "retry.retry",
    "RetryState": "context.state",
    "RetryWatch": "retry.watch",
    "Run": "supervision.plan",
    "SessionState": "context.state",
    "SessionStore": "context.sessions",
    "StateBusyError": "limits.state_file",
    "StateError": "limits.state_file",
    "StateFile": "limits.state_file",
    "StepError": "supervision.step_error",
    "Streams": "supervision.instance",
    "SystemClock": "waiting",
    "TokenLimit": "context.token_limit",
    "TokenUsage": "supervision.observer",
    "Transcript": "relay.transcript",
    "TruncateState": "context.state",
    "Turn": "relay.transcript",
    "WaitCancelledError": "waiting",
    "is_token_limit_error": "context.token_limit",
    "outline": "context.sessions",
    "parse_token_limit_error": "context.token_limit",
    "supervise": "supervision.supervisor",
}

__all__ = [
    "PROFILES",
    "AgentPool",
    "Attempts",
    "Backoff",
    "Checkpoint",
    "Clock",
    "CommandSummarizer",
    "Compression",
    "ContextRecovery",
    "ContextRecoveryHook",
    "ContextSettings",
    "Credential",
    "Exhaustion",
    "Fitted",
    "HookResult",
    "IterationBudget",
    "IterationBudgetExhaustedError",
    "Limits",
    "MemorySessions",
    "NotAdmittedError",
    "Notice",
    "Policy",
    "PruneState",
    "RateGuard",
    "RateLimitedError",
    "RateState",
    "Relay",
    "RelayHaltedError",
    "RelayMonitor",
    "RelaySettings",
    "Retry",
    "RetryState",
    "RetryWatch",
    "Run",
    "SessionState",
    "SessionStore",
    "StateBusyError",
    "StateError",
    "StateFile",
    "StepError",
    "Streams",
    "SystemClock",
    "TokenLimit",
    "TokenUsage",
    "Transcript",
    "TruncateState",
    "Turn",
    "WaitCancelledError",
    "is_token_limit_error",
    "outline",
    "parse_token_limit_error",
    "supervise",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"analyzer.recovery.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
