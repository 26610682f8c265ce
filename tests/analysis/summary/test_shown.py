"""What a notebook shows of an overview and its parts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from analyzer.analysis import Overview, check, churn, overview, spikes, unknowns
from analyzer.events import Event, decode, encode
from analyzer.events.times import now
from analyzer.store import Store
from tests.analysis.histories import DAYS, START, every_finding


@pytest.fixture
def content(memory: Store, samples: Path) -> Overview:
    """The overview of the samples."""
    memory.ingest([str(samples)])
    return overview(memory)


def test_an_overview_shows_its_verdict_and_figures(content: Overview) -> None:
    """On one line; in a notebook as a small table."""
    said = "errors 121, sessions 28, unknown 14.0%, retry chains 42, relays 14"
    assert repr(content) == (
        "<Overview warning 'Unknown errors spiked for figma-probe, and 1 more finding.': "
        f"from 2026-11-02 09:04, to 2026-11-10 08:15 UTC, findings 2, {said}>"
    )
    shown = content._repr_html_()
    assert shown.count("<tr>") == 8
    assert "Overview warning &#x27;Unknown errors spiked for figma-probe, and 1 more finding.&#x27;" in shown


def test_the_parts_of_an_overview_are_lines_as_well(content: Overview) -> None:
    """No frame of theirs is printed in full."""
    table = content.tables["errors-by-reason"]
    assert repr(table) == f"<Table errors-by-reason: rows 8, columns {table.frame.width}>"
    case, _ = content.cases
    assert repr(case).startswith("<Case 'figma-probe, 09:12–15:58 on 9 November: 11 of 15 distinct errors")
    assert repr(case).endswith(f"sessions {case.sessions.height}, templates {case.templates.height}>")
    assert "<caption>Case " in case._repr_html_()


def test_what_a_log_says_is_shown_and_never_obeyed(memory: Store, tmp_path: Path) -> None:
    """A caller made of a tag and of what turns a line around is text in both."""
    lines = [each for each in every_finding() if b'"caller":"spike"' in each]
    (tmp_path / "log.jsonl").write_bytes(b"".join(map(hostile, lines)))
    memory.ingest([str(tmp_path)])
    content = overview(memory)
    assert content.cases
    for shown in (content, *content.cases, *content.findings):
        text, page = repr(shown), shown._repr_html_()
        assert "<img src=x>\\u202e" in text
        assert "&lt;img src=x&gt;\\u202e" in page
        assert "\u202e" not in text + page
        assert "<img" not in page
    for rows in (
        spikes(memory),
        check(memory, until=str(START + timedelta(days=DAYS))),
        unknowns(memory),
        churn(memory),
    ):
        assert "\n" not in repr(rows)
        assert "\u202e" not in repr(rows)
        assert "<img" not in rows._repr_html_()
        assert "<table" in rows._repr_html_()


def hostile(line: bytes) -> bytes:
    """The line of another caller."""
    event = decode(line, now())
    assert isinstance(event, Event)
    return encode(replace(event, payload={**event.payload, "caller": "<img src=x>\u202e"}))


def test_results_say_what_they_found(memory: Store, samples: Path) -> None:
    """In one line each."""
    memory.ingest([str(samples)])
    night = check(memory, until="2026-11-10")
    assert repr(night) == f"<Night '2 new findings for 2026-11-09.': worst warning, callers 4, ruleset {night.ruleset}>"
    said = "'figma-probe, 09:12–15:58 on 9 November: 11 of 15 distinct errors"
    assert repr(night.findings[0]).startswith(f"<Finding {said}")
    assert repr(night.findings[0]).endswith("finding spike, severity warning, state new, since 2026-11-09>")
    assert repr(spikes(memory)).endswith("found 1, unjudged 0>")
    assert repr(spikes(memory, "..2026-11-09")) == "<Spikes, no rise of unknown errors: found 0, unjudged 0>"
    unknown = unknowns(memory)
    assert repr(unknown) == f"<Unknowns {unknown.headline!r}: errors 17, sessions 8, templates 6>"
    tried = churn(memory)
    assert repr(tried) == f"<Churn {tried.ruleset}: recovered 0, regressed 0, moved 0, errors 0 of 121>"


def test_an_empty_overview_shows_that(memory: Store) -> None:
    """Without a time, and without a share of nothing."""
    assert repr(overview(memory)) == (
        "<Overview empty 'There is nothing in these logs.': "
        "from –, to –, findings 0, errors 0, sessions 0, unknown –, retry chains 0, relays 0>"
    )
