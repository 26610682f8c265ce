"""Event-sourced telemetry and classifier-drift analysis for LLM agents.

The names that a first program needs are here, the others in `analyzer.recovery`,
`analyzer.analysis` and `analyzer.report`. Names are loaded on first use, so that a program that
only appends events does not load the database.
"""

from __future__ import annotations

from analyzer.lazy import face

_load, _names, __all__ = face(__name__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("agent-error-analyzer")
        except PackageNotFoundError:
            return "0+unknown"
    return _load(name)


def __dir__() -> list[str]:
    return [*_names(), "__version__"]
