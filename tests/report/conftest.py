"""Overviews made from events that a test writes: through the log, the store and the analysis, as in real life."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest

from analyzer.analysis import Overview, overview, window
from analyzer.events import EventLog
from analyzer.store import open_store

START = datetime(2026, 11, 1, 8, 15)

_Written = tuple[str, dict[str, Any], str, datetime]


def _fleet(spiking: str, others: Iterable[str], message: str, step: str) -> list[_Written]:
    """Twenty quiet days of all callers, then one on which one of them meets `message`; retries, relays and a limit."""
    events: list[_Written] = []
    callers = [spiking, *others]
    for day in range(20):
        for place, caller in enumerate(callers):
            at = START + timedelta(days=day, minutes=place)
            session = f"s-{day}-{place}"
            operation = f"op-{day}-{place}"
            facts = {"status": 429, "message": f"quota of {day} used up"}
            error = {
                "caller": caller,
                "reason": "rate_limited",
                "retryable": True,
                "operation": operation,
                "facts": facts,
            }
            settled = {
                "operation": operation,
                "caller": caller,
                "reason": "rate_limited",
                "outcome": "recovered" if day % 3 else "exhausted",
                "attempts": 2,
                "waited_seconds": 12.5,
            }
            events += [("error.classified", error, session, at), ("error.classified", error, session, at)]
            events.append(("retry.settled", settled, session, at + timedelta(seconds=30)))
        relay = {
            "relay": f"r-{day}",
            "caller": callers[day % len(callers)],
            "step_id": step,
            "trigger": "auto",
            "token_usage_percent": 70.0 + day,
            "threshold_percent": 80.0,
            "pre_tokens": 150_000,
        }
        events.append(("relay.triggered", relay, f"s-{day}-0", START + timedelta(days=day)))
        events.append(("relay.halted", relay, f"s-{day}-0", START + timedelta(days=day, seconds=9)))
    for number in range(12):
        error = {"caller": spiking, "reason": "unknown", "facts": {"message": message}, "outcome": "surfaced"}
        events.append(("error.classified", error, f"u-{number}", START + timedelta(days=20)))
    limit = {"agent": callers[-1], "reason_text": message, "reset_at": "2026-11-21T18:00:00Z"}
    events.append(("agent.exhausted", limit, "s-x", START + timedelta(days=20)))
    return events


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Overview]:
    """Builds the overview of a fleet with one spiking caller; one that was built before is given again."""

    @functools.cache
    def built(spiking: str, others: tuple[str, ...], message: str, step: str, broken: str, name: str) -> Overview:
        folder = tmp_path_factory.mktemp("fleet")
        with EventLog(folder) as log:
            for kind, payload, session, at in _fleet(spiking, others, message, step):
                assert log.append(kind, payload, session=session, at=at) is not None
        literal = (
            '{"type":"error.classified","timestamp":"2026-11-02T10:00:00Z","sessionId":"s","payload":{"caller":"c"}}'
        )
        (folder / name).write_text(f"{literal}\n{broken}\n{broken}\n" + '{"type":"err', "utf-8")
        with open_store(":memory:") as store:
            store.ingest([str(folder)])
            return overview(store, window())

    def build(
        spiking: str = "figma-probe",
        others: Iterable[str] = ("lint-hook", "mcp-search"),
        message: str = "E_PIPE while draining",
        step: str = "implement",
        broken: str = "not json at all",
        broken_name: str = "broken.jsonl",
    ) -> Overview:
        return built(spiking, tuple(others), message, step, broken, broken_name)

    return build


@pytest.fixture(scope="session")
def nothing() -> Overview:
    """The overview of an empty store."""
    with open_store(":memory:") as store:
        return overview(store, window())
