"""Event-sourced telemetry and classifier-drift analysis for LLM agents.

The names that a first program needs are here, the others in `analyzer.recovery`,
`analyzer.analysis` and `analyzer.report`. Names are loaded on first use, so that a program that
only appends events does not load the database.
"""

from __future__ import annotations

from importlib import import_module

from analyzer.lazy import face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from analyzer import analysis as analysis
    from analyzer import classifier as classifier
    from analyzer import errors as errors
    from analyzer import events as events
    from analyzer import recovery as recovery
    from analyzer import report as report
    from analyzer import store as store
    from analyzer.analysis import check, compare, overview, spikes, unknowns
    from analyzer.classifier import Classification, classify
    from analyzer.errors import AnalyzerError
    from analyzer.events import EventLog
    from analyzer.recovery import ContextRecovery, RateGuard, Retry, observe, supervise
    from analyzer.store import Store, open_store

_HOMES = {
    "analysis": "check compare overview spikes unknowns",
    "classifier": "Classification classify",
    "errors": "AnalyzerError",
    "events": "EventLog",
    "recovery": "ContextRecovery RateGuard Retry observe supervise",
    "store": "Store open_store",
}
_load, _ = face(__name__, _HOMES)
_ROOMS = ("analysis", "classifier", "errors", "events", "recovery", "report", "store")

__all__ = [
    "AnalyzerError", "Classification", "ContextRecovery", "EventLog", "RateGuard", "Retry", "Store", "check",
    "classify", "compare", "observe", "open_store", "overview", "spikes", "supervise", "unknowns",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"analyzer.{name}")
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("agent-error-analyzer")
        except PackageNotFoundError:
            return "0+unknown"
    return _load(name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS, "__version__"])
