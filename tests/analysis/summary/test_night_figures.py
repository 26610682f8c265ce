"""The figures of a night: bounded in number, whole in their sums, and of the judged day alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.analysis import Night
from analyzer.analysis.summary.day_figures import MAX_CALLERS, OTHERS, night_figures
from analyzer.events import Event, encode
from analyzer.store import Store, open_store
from tests.analysis.made_nights import night_of

MORE = 5
"""Callers beyond those that are named."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A busy caller, many with one error, one without any, one named as the rest is, and a line that is none."""
    lines: list[bytes] = []

    def told(kind: str, at: datetime, session: str, **payload: object) -> None:
        lines.append(encode(Event(kind, at, session, payload, f"e-{len(lines)}")))

    def error(caller: str, session: str, reason: str, at: datetime) -> None:
        facts = {"message": f"{reason} came"}
        told("error.classified", at, session, caller=caller, reason=reason, retryable=False, facts=facts)

    noon = datetime(2026, 11, 9, 12)
    for session, reason in (("a", "unknown"), ("a", "validation"), ("b", "validation"), ("b", "validation")):
        error("busy", session, reason, noon)
    error("busy", "early", "unknown", datetime(2026, 11, 8, 22, 59))  # the day before, in Berlin too
    error("busy", "late", "unknown", datetime(2026, 11, 9, 23, 30))  # the day after in Berlin
    for number in range(MAX_CALLERS + MORE - 2):
        error(f"caller-{number:03}", f"s-{number}", "validation", noon)
    error(OTHERS, "o", "unknown", noon)
    told("session.observed", noon, "calm", caller="calm")
    lines.append(b'{"type": "error.classified", "v": 1\n')
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"".join(lines))
    with open_store(tmp_path / "s.duckdb", writable=True) as opened:
        opened.ingest([str(log)])
        yield opened


def test_no_more_callers_are_named_than_the_bound_and_none_is_lost(store: Store) -> None:
    """The rest is summed under one name, with the caller of that very name; the day is that of the night's zone."""
    figures = night_figures(store, _night("Europe/Berlin"))
    assert figures.errors["busy", "unknown"] == 1
    assert figures.errors["busy", "validation"] == 3
    assert figures.error_sessions["busy", "validation"] == 2
    assert figures.unknown_share["busy"] == 1 / 4
    assert sum(figures.errors.values()) == 4 + MAX_CALLERS + MORE - 2 + 1
    assert len(figures.sessions) <= MAX_CALLERS + 1
    assert {caller for caller, _ in figures.errors} <= set(figures.sessions)
    assert figures.errors[OTHERS, "unknown"] == 1
    assert 0 < figures.unknown_share[OTHERS] <= 1
    assert sum(figures.sessions.values()) == 2 + MAX_CALLERS + MORE - 2 + 1 + 1


def test_how_the_store_stands(store: Store, tmp_path: Path) -> None:
    """The line that could not be read, the file with what waits beside it, and the moment of the ingest."""
    figures = night_figures(store, _night("UTC"))
    assert figures.quarantine_rows == 1
    assert figures.store_bytes is not None
    assert figures.store_bytes >= (tmp_path / "s.duckdb").stat().st_size
    assert figures.last_ingest_seconds is not None


def test_an_empty_store_has_figures_too() -> None:
    """Nothing by caller, no ingest, no file."""
    with open_store(":memory:") as opened:
        figures = night_figures(opened, _night("UTC"))
    assert (figures.errors, figures.sessions, figures.unknown_share) == ({}, {}, {})
    assert (figures.last_ingest_seconds, figures.quarantine_rows, figures.store_bytes) == (None, 0, None)


def _night(timezone: str) -> Night:
    return night_of(timezone=timezone, judged_at=datetime(2026, 11, 10, 3), caller_days=0, callers=0)
