"""A finding without new evidence, in every medium: one line, no alarm, no message, until it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from analyzer.analysis import Finding, Night, check, overview
from analyzer.analysis.summary.day_figures import night_figures
from analyzer.cli.agent_answers import recent_failures
from analyzer.report import render_html, render_text
from analyzer.report.night.document import (
    finding_document,
    findings_document,
    night_document,
    night_subject,
)
from analyzer.report.night.messages import alertmanager_alerts, chat_message, news_document, pagerduty_events
from analyzer.report.night.metrics import render_prometheus
from analyzer.report.writers.mail import to_mail
from analyzer.report.writers.markdown import to_markdown
from analyzer.report.writers.text import to_text
from analyzer.store import Store, open_store

LINE = "Open, last seen 4 November: craftsman: many hand-offs"


class Told(NamedTuple):
    """The nights of the samples' hand-offs, by what is said of them."""

    store: Store
    new: Night
    open: Night
    over: Night

    @property
    def finding(self) -> Finding:
        """The finding while it is open."""
        return next(one for one in self.open.findings if one.finding == "relays")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, samples: Path) -> Iterator[Told]:
    """Judge the day of the hand-offs, one on which their caller was silent, and the last of two silent weeks."""
    with open_store(tmp_path_factory.mktemp("open") / "x.duckdb", writable=True) as store:
        store.ingest([str(samples)])
        yield Told(store, *(check(store, until=f"2026-11-{day}") for day in ("05", "06", "19")))


def test_it_fails_no_night_and_is_no_news(told: Told) -> None:
    """The night on which all is open has no severity, fails at none, and its subject and headline say so."""
    assert [told.new.fails("info"), told.open.fails("info"), told.open.worst()] == [True, False, None]
    assert told.open.news() == ()
    assert night_subject(told.open) == "analyzer: 1 open finding for 2026-11-05."


def test_json_says_when_it_was_last_seen(told: Told) -> None:
    """State and day are in JSON, and the night is read back as it was written down."""
    (one,) = told.open.to_dict()["findings"]
    assert (one["state"], one["last_seen"], one["last_error_at"][:10]) == ("open", "2026-11-04", "2026-11-04")
    again = check(told.store, until="2026-11-06")
    assert again.recorded
    assert again.findings == told.open.findings


def test_documents_have_one_line_of_it(told: Told) -> None:
    """The night names it in a line, without its sentence; a report says all of it, and that it was not seen since."""
    one = told.finding
    report = overview(told.store, until="2026-11-06")
    shown = [
        to_text(night_document(told.open)),
        to_text(night_document(told.open), 78),
        to_markdown(night_document(told.open)).replace("\\", ""),
        to_mail(night_document(told.open)),
    ]
    for text in shown:
        assert text.count(LINE) == 1
        assert one.explanation[:40] not in text
    assert all(len(line) <= 80 for line in to_text(night_document(told.open)).splitlines() if LINE in line)
    head = "WARNING Many hand-offs: craftsman, 13:04–15:36 on 4 November. Not seen since."
    assert " ".join(render_text(report).split()).startswith(head)
    page = re.sub("</?(?:time|bdi)>", "", render_html(report))
    assert "WARNING · open since 2026-11-04, last seen 2026-11-04" in page
    assert "It goes on" not in page


def test_lists_say_when_it_was_last_seen(told: Told) -> None:
    """`findings`, `findings show` and the answer to an agent say that it is open, and since when it is quiet."""
    one = told.finding
    assert "open since 2026-11-04, last seen 2026-11-04" in to_text(findings_document([one]))
    assert "last seen on  2026-11-04" in to_text(finding_document(one))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("analyzer.analysis.nightly.decisions.findings", lambda _store: [one])
        assert f"- {one.id[:8]} warning: {LINE}\n" in recent_failures(told.store, "2d") + "\n"


def test_nobody_is_told_of_it(told: Told) -> None:
    """No chat, mailbox or pager hears of it; Alertmanager does, else its alert would end; Prometheus counts it."""
    assert pagerduty_events(told.open, "key") == []
    assert told.finding.id not in json.dumps(chat_message("slack", told.open))
    assert [str(block) for block in news_document(told.open) if "craftsman" in str(block)] == []
    (alert,) = alertmanager_alerts(told.open)
    assert alert["labels"]["finding_id"] == told.finding.id
    gauges = render_prometheus(told.open, night_figures(told.store, told.open)).decode()
    assert 'analyzer_findings{severity="warning",state="open"} 1.0' in gauges
    assert 'analyzer_findings{severity="warning",state="ongoing"} 0.0' in gauges


def test_its_end_is_told_once(told: Told) -> None:
    """What was open for two weeks is resolved in one message, with the id that it was opened under."""
    (ended,) = [one for one in told.over.findings if one.id == told.finding.id]
    assert (ended.state, ended.resolution) == ("resolved", "silent")
    assert ended in told.over.news()
    events = [event for one, event in pagerduty_events(told.over, "key") if one.id == ended.id]
    assert [event["event_action"] for event in events] == ["resolve"]


def test_what_got_worse_is_told_whole(told: Told) -> None:
    """Late events may make an open finding graver: that is news, with its sentence."""
    worse = replace(told.open, findings=(replace(told.finding, severity="critical", worse=True),))
    assert worse.news() == worse.findings
    assert told.finding.statement[1:40] in " ".join(to_text(night_document(worse)).split())
    assert "Open, last seen" not in to_text(night_document(worse))
