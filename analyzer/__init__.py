"""Event-sourced telemetry and classifier-drift analysis for LLM agents.

Names are loaded on first use, so that a program that only appends events never loads the database.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.analysis import overview, spikes, unknowns
    from analyzer.classifier import Classification, Facts, classify
    from analyzer.errors import AnalyzerError
    from analyzer.events import Event, EventLog
    from analyzer.store import open_store

_HOMES = {
    "AnalyzerError": "analyzer.errors",
    "Classification": "analyzer.classifier",
    "Event": "analyzer.events",
    "EventLog": "analyzer.events",
    "Facts": "analyzer.classifier",
    "classify": "analyzer.classifier",
    "open_store": "analyzer.store",
    "overview": "analyzer.analysis",
    "spikes": "analyzer.analysis",
    "unknowns": "analyzer.analysis",
}

__all__ = [
    "AnalyzerError",
    "Classification",
    "Event",
    "EventLog",
    "Facts",
    "classify",
    "open_store",
    "overview",
    "spikes",
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
