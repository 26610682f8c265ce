"""Retry chains put together in the order of a log: failures that will be tried again, and what ended them.

A chain is named by its first failure. At most `MOST_OPEN` of them stay open.
"""

from __future__ import annotations

from typing import Any

from analyzer.agent_stream.values import mapping
from analyzer.events.model import settled_reason
from analyzer.importers.base import forget_oldest


class Chains:
    """The chains of one source that may still go on, by the conversation that each belongs to."""

    def __init__(self, state: object) -> None:
        self._open: dict[str, dict[str, Any]] = {key: dict(mapping(run)) for key, run in mapping(state).items()}

    def __contains__(self, key: str) -> bool:
        return key in self._open

    def attempts(self, key: str) -> int:
        """Calls of the open chain that failed; 0 where none is open."""
        return int(self._open[key]["attempt"]) if key in self._open else 0

    def failed(self, key: str, identity: str) -> tuple[str, int]:
        """Count a failed call; returns the chain that it belongs to and its 1-based number in it."""
        run = self._open.setdefault(key, {"operation": identity, "attempt": 0, "waited": 0.0, "retried": False})
        run["attempt"] += 1
        return run["operation"], run["attempt"]

    def begin_anew(self, key: str, attempt: int | None) -> None:
        """Forget an open chain whose failures are as many as the log's number of the next one: another chain begins."""
        if attempt is not None and self.attempts(key) >= attempt:
            del self._open[key]

    def renumber(self, key: str, attempt: int) -> int:
        """Take the number that the log gives the failed call, where it is higher; returns the number that holds."""
        run = self._open[key]
        run["attempt"] = max(run["attempt"], attempt)
        return int(run["attempt"])

    def note(self, key: str, reason: str, caller: str) -> None:
        """Remember what the last failed call was, and whose."""
        self._open[key] |= {"reason": reason, "caller": caller}

    def scheduled(self, key: str, *, delay_seconds: float | None) -> dict[str, Any]:
        """The payload of the retry that the last failed call is given."""
        run = self._open[key]
        run |= {"retried": True, "waited": run["waited"] + (delay_seconds or 0.0)}
        return {
            "operation": run["operation"],
            "caller": run["caller"],
            "reason": run["reason"],
            "attempt": run["attempt"],
            "delay_seconds": round(delay_seconds, 3) if delay_seconds is not None else None,
        }

    def settled(self, key: str, outcome: str, *, made: int = 0, reason: str | None = None) -> dict[str, Any] | None:
        """The payload of the chain's end, after so many more calls; None where nothing of it was retried."""
        run = self._open.pop(key, None)
        if run is None or not run["retried"]:
            return None
        return {
            "operation": run["operation"],
            "caller": run["caller"],
            "reason": settled_reason(reason or run["reason"], outcome),
            "outcome": outcome,
            "attempts": run["attempt"] + made,
            "waited_seconds": round(run["waited"], 3),
        }

    def state(self) -> dict[str, Any]:
        """The open chains, ready for JSON."""
        forget_oldest(self._open)
        return self._open
