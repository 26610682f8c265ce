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
    name: home
    for home, names in {
        "context.account": "Fitted",
        "context.conversation": "Compression",
        "context.hook": "ContextRecoveryHook HookResult Notice",
        "context.recovery": "ContextRecovery ContextSettings",
        "context.sessions": "MemorySessions SessionStore outline",
        "context.state": "PruneState RetryState SessionState TruncateState",
        "context.token_limit": "TokenLimit is_token_limit_error parse_token_limit_error",
        "limits.exhaustion": "Exhaustion",
        "limits.guard": "RateGuard RateLimitedError RateState",
        "limits.pool": "AgentPool",
        "limits.state_file": "StateBusyError StateError StateFile",
        "relay.checkpoint": "Checkpoint",
        "relay.command": "CommandSummarizer",
        "relay.config": "RelaySettings",
        "relay.monitor": "Relay RelayMonitor",
        "relay.transcript": "Transcript Turn",
        "retry.advice": "Credential",
        "retry.attempts": "Attempts",
        "retry.backoff": "Backoff",
        "retry.budget": "IterationBudget IterationBudgetExhaustedError",
        "retry.policy": "PROFILES Policy",
        "retry.retry": "Retry",
        "retry.watch": "RetryWatch",
        "supervision.admission": "NotAdmittedError",
        "supervision.instance": "Streams",
        "supervision.observer": "TokenUsage",
        "supervision.plan": "Limits Run",
        "supervision.step_error": "RelayHaltedError StepError",
        "supervision.supervisor": "supervise",
        "waiting": "Clock SystemClock WaitCancelledError",
    }.items()
    for name in names.split()
}
"""The module of each public name."""

__all__ = [
    "PROFILES", "AgentPool", "Attempts", "Backoff", "Checkpoint", "Clock", "CommandSummarizer", "Compression",
    "ContextRecovery", "ContextRecoveryHook", "ContextSettings", "Credential", "Exhaustion", "Fitted", "HookResult",
    "IterationBudget", "IterationBudgetExhaustedError", "Limits", "MemorySessions", "NotAdmittedError", "Notice",
    "Policy", "PruneState", "RateGuard", "RateLimitedError", "RateState", "Relay", "RelayHaltedError", "RelayMonitor",
    "RelaySettings", "Retry", "RetryState", "RetryWatch", "Run", "SessionState", "SessionStore", "StateBusyError",
    "StateError", "StateFile", "StepError", "Streams", "SystemClock", "TokenLimit", "TokenUsage", "Transcript",
    "TruncateState", "Turn", "WaitCancelledError", "is_token_limit_error", "outline", "parse_token_limit_error",
    "supervise",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"analyzer.recovery.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
