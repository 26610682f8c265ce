"""What a program does about a classified error, and the events it leaves.

Names load on first use: who wants the rate guard does not pay for context recovery or processes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.recovery.backoff import Backoff
    from analyzer.recovery.budget import IterationBudget, IterationBudgetExhaustedError
    from analyzer.recovery.checkpoint import Checkpoint
    from analyzer.recovery.context import ContextRecovery, ContextSettings, TokenLimit, parse_token_limit_error
    from analyzer.recovery.context_hook import ContextRecoveryHook, HookResult, Notice
    from analyzer.recovery.context_sessions import MemorySessions, SessionStore, outline
    from analyzer.recovery.conversation import Compression
    from analyzer.recovery.exhaustion import Exhaustion
    from analyzer.recovery.guard import RateGuard, RateLimitedError, RateState
    from analyzer.recovery.policy import PROFILES, Policy
    from analyzer.recovery.pool import AgentPool
    from analyzer.recovery.relay import Relay, RelayMonitor
    from analyzer.recovery.relay_command import CommandSummarizer
    from analyzer.recovery.relay_config import RelaySettings
    from analyzer.recovery.relay_transcript import Transcript, Turn
    from analyzer.recovery.retry import Retry
    from analyzer.recovery.retry_advice import Credential
    from analyzer.recovery.retry_watch import RetryWatch
    from analyzer.recovery.state_file import StateBusyError, StateError, StateFile
    from analyzer.recovery.step_error import RelayHaltedError, StepError
    from analyzer.recovery.supervise_admission import NotAdmittedError
    from analyzer.recovery.supervise_instance import Streams
    from analyzer.recovery.supervise_observer import TokenUsage
    from analyzer.recovery.supervise_plan import Limits, Run
    from analyzer.recovery.supervisor import supervise
    from analyzer.recovery.waiting import Clock, SystemClock, WaitCancelledError

_HOMES = {
    "AgentPool": "pool",
    "Backoff": "backoff",
    "Checkpoint": "checkpoint",
    "Clock": "waiting",
    "CommandSummarizer": "relay_command",
    "Compression": "conversation",
    "ContextRecovery": "context",
    "ContextRecoveryHook": "context_hook",
    "ContextSettings": "context",
    "Credential": "retry_advice",
    "Exhaustion": "exhaustion",
    "HookResult": "context_hook",
    "IterationBudget": "budget",
    "IterationBudgetExhaustedError": "budget",
    "Limits": "supervise_plan",
    "MemorySessions": "context_sessions",
    "NotAdmittedError": "supervise_admission",
    "Notice": "context_hook",
    "PROFILES": "policy",
    "Policy": "policy",
    "RateGuard": "guard",
    "RateLimitedError": "guard",
    "RateState": "guard",
    "Relay": "relay",
    "RelayHaltedError": "step_error",
    "RelayMonitor": "relay",
    "RelaySettings": "relay_config",
    "Retry": "retry",
    "RetryWatch": "retry_watch",
    "Run": "supervise_plan",
    "SessionStore": "context_sessions",
    "StateBusyError": "state_file",
    "StateError": "state_file",
    "StateFile": "state_file",
    "StepError": "step_error",
    "Streams": "supervise_instance",
    "SystemClock": "waiting",
    "TokenLimit": "context",
    "TokenUsage": "supervise_observer",
    "Transcript": "relay_transcript",
    "Turn": "relay_transcript",
    "WaitCancelledError": "waiting",
    "outline": "context_sessions",
    "parse_token_limit_error": "context",
    "supervise": "supervisor",
}

__all__ = [
    "PROFILES",
    "AgentPool",
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
    "HookResult",
    "IterationBudget",
    "IterationBudgetExhaustedError",
    "Limits",
    "MemorySessions",
    "NotAdmittedError",
    "Notice",
    "Policy",
    "RateGuard",
    "RateLimitedError",
    "RateState",
    "Relay",
    "RelayHaltedError",
    "RelayMonitor",
    "RelaySettings",
    "Retry",
    "RetryWatch",
    "Run",
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
    "Turn",
    "WaitCancelledError",
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
