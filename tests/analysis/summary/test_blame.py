"""Whose fault errors were, by the company that they had: twenty stories, labelled before anything judged them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.analysis.summary.leading import WHOSE, blame
from analyzer.classifier import classify
from analyzer.classifier.recovery_table import PARTIES
from analyzer.store import open_store
from tests.analysis.histories import line

TABLE = tomllib.loads(Path(__file__).with_name("party_stories.toml").read_text("utf-8"))
STORIES = {each["name"]: each for each in TABLE["story"]}
NOON = datetime(2026, 9, 7, 13)


def lines(story: dict[str, Any]) -> Iterator[bytes]:
    """The log of a story: a session every minute of its caller, the first ones with an error."""
    for caller, host, provider, sessions, failed, error in story["at_work"]:
        for number in range(sessions):
            name, when = f"{caller}-{number}", NOON + timedelta(minutes=number)
            known = {"caller": caller, "provider": provider, "host": host}
            yield line(f"{name}-w", "session.observed", when.isoformat(), name, requests=1, **known)
            if number < failed:
                facts = TABLE["errors"][error]
                verdict = classify(facts)
                named = {"reason": verdict.reason, "detail": verdict.detail}
                at = (when + timedelta(seconds=9)).isoformat()
                yield line(f"{name}-e", at=at, session=name, facts=facts, **named, **known)


def judged(story: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What is said first of the errors at the provider of a story."""
    (folder / "log.jsonl").write_bytes(b"".join(lines(story)))
    with open_store(":memory:") as store:
        store.ingest([str(folder)])
        return store.query("errors-blame", provider=story["provider"]).row(0, named=True)


MISSED = {"a gateway that its headers alone name limits"}
"""Facts keep no header that names a server. The first run missed the other gateway, too: 18 of 20."""


@pytest.mark.parametrize("name", STORIES)
def test_errors_are_laid_at_the_right_door(name: str, tmp_path: Path) -> None:
    """By what they say, and by who else met them."""
    row = judged(STORIES[name], tmp_path)
    assert (row["party"] == STORIES[name]["party"]) == (name not in MISSED), blame(row)


def test_the_sentence_gives_what_it_rests_on(tmp_path: Path) -> None:
    """How many sessions and callers of how many, from when to when, and what was elsewhere."""
    row = judged(STORIES["connections to one provider break for everybody, those to the other hold"], tmp_path)
    assert blame(row) == (
        "likely the provider: 40 of 50 sessions at openai met network_transient errors, 13:00–13:15 UTC on"
        " 2026-09-07, in all 3 callers; 1 of 40 sessions elsewhere"
    )


def test_every_party_has_its_words() -> None:
    """But for errors that name nobody."""
    assert set(WHOSE) == set(PARTIES) - {"unknown"}
