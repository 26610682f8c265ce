"""What a program does about a classified error, and the events it leaves.

Names load on first use: who wants the rate guard does not pay for context recovery.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.recovery.backoff import Backoff
    from analyzer.recovery.budget import IterationBudget, IterationBudgetExhaustedError
    from analyzer.recovery.context import ContextRecovery, ContextSettings, TokenLimit, parse_token_limit_error
    from analyzer.recovery.context_hook import ContextRecoveryHook, HookResult, Notice
    from analyzer.recovery.context_sessions import MemorySessions, SessionStore, outline
    from analyzer.recovery.conversation import Compression
    from analyzer.recovery.guard import RateGuard, RateLimitedError, RateState
    from analyzer.recovery.policy import PROFILES, Policy
    from analyzer.recovery.retry import Retry
    from analyzer.recovery.retry_advice import Credential
    from analyzer.recovery.retry_watch import RetryWatch
    from analyzer.recovery.state_file import StateBusyError, StateError, StateFile
    from analyzer.recovery.waiting import Clock, SystemClock, WaitCancelledError

_HOMES = {
    "Backoff": "backoff",
    "Clock": "waiting",
    "Compression": "conversation",
    "ContextRecovery": "context",
    "ContextRecoveryHook": "context_hook",
    "ContextSettings": "context",
    "Credential": "retry_advice",
    "HookResult": "context_hook",
    "IterationBudget": "budget",
    "IterationBudgetExhaustedError": "budget",
    "MemorySessions": "context_sessions",
    "Notice": "context_hook",
    "PROFILES": "policy",
    "Policy": "policy",
    "RateGuard": "guard",
    "RateLimitedError": "guard",
    "RateState": "guard",
    "Retry": "retry",
    "RetryWatch": "retry_watch",
    "SessionStore": "context_sessions",
    "StateBusyError": "state_file",
    "StateError": "state_file",
    "StateFile": "state_file",
    "SystemClock": "waiting",
    "TokenLimit": "context",
    "WaitCancelledError": "waiting",
    "outline": "context_sessions",
    "parse_token_limit_error": "context",
}

__all__ = [
    "PROFILES",
    "Backoff",
    "Clock",
    "Compression",
    "ContextRecovery",
    "ContextRecoveryHook",
    "ContextSettings",
    "Credential",
    "HookResult",
    "IterationBudget",
    "IterationBudgetExhaustedError",
    "MemorySessions",
    "Notice",
    "Policy",
    "RateGuard",
    "RateLimitedError",
    "RateState",
    "Retry",
    "RetryWatch",
    "SessionStore",
    "StateBusyError",
    "StateError",
    "StateFile",
    "SystemClock",
    "TokenLimit",
    "WaitCancelledError",
    "outline",
    "parse_token_limit_error",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"analyzer.recovery.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
