"""Event-sourced telemetry and classifier-drift analysis for LLM agents.

Names are loaded on first use, so that a program that only appends events never loads the database.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.analysis import check, each_night, overview, spikes, unknowns
    from analyzer.classifier import Classification, Facts, classify
    from analyzer.errors import AnalyzerError
    from analyzer.events import Event, EventLog
    from analyzer.recovery import (
        AgentPool,
        Backoff,
        ContextRecovery,
        ContextRecoveryHook,
        IterationBudget,
        IterationBudgetExhaustedError,
        Policy,
        RateGuard,
        RateLimitedError,
        Retry,
        RetryWatch,
        supervise,
    )
    from analyzer.store import open_store

_HOMES = {
    "AgentPool": "analyzer.recovery",
    "AnalyzerError": "analyzer.errors",
    "Backoff": "analyzer.recovery",
    "Classification": "analyzer.classifier",
    "ContextRecovery": "analyzer.recovery",
    "ContextRecoveryHook": "analyzer.recovery",
    "Event": "analyzer.events",
    "EventLog": "analyzer.events",
    "Facts": "analyzer.classifier",
    "check": "analyzer.analysis",
    "IterationBudget": "analyzer.recovery",
    "IterationBudgetExhaustedError": "analyzer.recovery",
    "Policy": "analyzer.recovery",
    "RateGuard": "analyzer.recovery",
    "RateLimitedError": "analyzer.recovery",
    "Retry": "analyzer.recovery",
    "RetryWatch": "analyzer.recovery",
    "classify": "analyzer.classifier",
    "each_night": "analyzer.analysis",
    "open_store": "analyzer.store",
    "overview": "analyzer.analysis",
    "spikes": "analyzer.analysis",
    "supervise": "analyzer.recovery",
    "unknowns": "analyzer.analysis",
}

__all__ = [
    "AgentPool",
    "AnalyzerError",
    "Backoff",
    "Classification",
    "ContextRecovery",
    "ContextRecoveryHook",
    "Event",
    "EventLog",
    "Facts",
    "IterationBudget",
    "IterationBudgetExhaustedError",
    "Policy",
    "RateGuard",
    "RateLimitedError",
    "Retry",
    "RetryWatch",
    "check",
    "classify",
    "each_night",
    "open_store",
    "overview",
    "spikes",
    "supervise",
    "unknowns",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("agent-error-analyzer")
        except PackageNotFoundError:
            return "0+unknown"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
