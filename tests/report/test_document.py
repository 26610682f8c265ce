"""Documents, and what their writers make of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from html import unescape
from typing import Any

import pytest

from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import Handling
from analyzer.report.document import (
    Block,
    Command,
    FindingBlock,
    Heading,
    Items,
    Paragraph,
    TableBlock,
)
from analyzer.report.night.document import night_document
from analyzer.report.night.messages import chat_message
from analyzer.report.writers.chat import CHATS, to_chat
from analyzer.report.writers.html import to_html
from analyzer.report.writers.mail import to_mail
from analyzer.report.writers.markdown import to_markdown
from analyzer.report.writers.monospace import width_of
from analyzer.report.writers.text import to_text
from tests import each_row
from tests.analysis.made_nights import night_of

FINDING = FindingBlock(
    "critical",
    "critical",
    "ongoing, worse",
    "Unknown errors spiked: planner",
    "planner: most of its errors are unknown.",
    ("part of it: sessions, too",),
    "draft of a rule: validation, text 'no such field'",
    "open since 2026-11-07",
    "f-1",
    "write a rule for them",
    "analyzer unknowns",
    "analyzer unknowns --caller planner",
)
DOCUMENT: tuple[Block, ...] = (
    Heading("One finding."),
    TableBlock(("name", "count"), (("a|b", "1"), ("c", "1,000"))),
    FINDING,
    Items(("one", "two"), "messages"),
    Command("analyzer doctor", "see what is wrong"),
    Items(("see below",), "Nothing is lost", "QUIET", "quiet"),
    Paragraph("Judged from little."),
)
ENTRIES = TableBlock((), (("7 errors", "probe"),), (("said so", Command("analyzer show 7", "all of it")),), "2 more")
WRITERS: dict[str, Callable[[tuple[Block, ...]], str]] = {
    "text": lambda document: " ".join(to_text(document, 60).split()),
    "markdown": lambda document: to_markdown(document).replace("\\", ""),
    "HTML": lambda document: unescape(to_html(document, "A night")),
    "mail": lambda document: unescape(to_mail(document)).replace("\u200b", ""),
    **{form: lambda document, write=write: " ".join(_texts(write(document))) for form, write in CHATS.items()},
    "webhook": to_chat,
}


@each_row("writer", WRITERS)
def test_every_writer_writes_every_block(writer: str) -> None:
    """Rows with their notes, lists, verdicts and commands stand in every medium, and chats read them as lines."""
    written = WRITERS[writer]((*DOCUMENT, ENTRIES)).replace("\\", "").replace("\u200b", "")
    texts = (
        "One finding.",
        "Judged from little.",
        "QUIET",
        "Nothing is lost",
        "see below",
        "1,000",
        "7 errors",
        "probe",
    )
    texts += ("said so", "all of it", "analyzer show 7", "2 more", "see what is wrong", "analyzer doctor", "messages")
    assert [text for text in texts if text not in written] == []


@pytest.mark.parametrize("writer", ["text", "markdown", "HTML", "mail"])
def test_every_writer_tells_all_of_a_finding(writer: str) -> None:
    """Its severity, sentence, parts, draft, course, id, advice and a command stand in all four."""
    written = WRITERS[writer](DOCUMENT)
    told = (FINDING.sentence, *FINDING.details, FINDING.course, "id f-1", FINDING.advice, FINDING.command)
    assert [each for each in told if each.lower() not in written.lower()] == []
    assert "critical" in written.lower()
    assert "see what is wrong" in written
    assert "analyzer doctor" in written


def test_text_is_as_wide_as_asked() -> None:
    """Sentences fold, numbers are flush right, and a command stays in one piece."""
    lines = to_text((*DOCUMENT, Command(f"analyzer query {'x' * 90}"), Paragraph("漢字 " * 60)), 60).splitlines()
    assert max(width_of(line) for line in lines if not line.strip().startswith("→")) <= 60
    assert f"→ analyzer query {'x' * 90}" in lines
    assert lines[2:5] == ["name  count", "a|b       1", "c     1,000"]


def test_markdown_tables_keep_their_columns() -> None:
    """A mark of a table in a cell is escaped, and columns of numbers are flush right."""
    assert "| name | count |\n| --- | ---: |\n| a\\|b | 1 |" in to_markdown(DOCUMENT)


def test_chats_are_told_the_same_of_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack, Teams, Discord and webhooks: the news in one choice, and the rest of the night as a count."""
    day = date(2026, 11, 9)
    known = Handling("acknowledged", datetime(2026, 11, 9), None, "", "")
    one = Finding(
        id="f-1",
        state="new",
        severity="warning",
        opened_on=day,
        last_on=day,
        latest=Detection(day=day, caller="planner", finding="new_template"),
        explanation="planner, 2026-11-09: it spiked.",
    )
    night = night_of(*[one] * 12, Finding(**{**_fields(one), "state": "ongoing", "handling": known}), since=day)
    for form in ("slack", "teams", "discord", "webhook"):
        message = chat_message(form, night)
        texts = " ".join(_texts(message if form != "webhook" else message["text"]))
        assert texts.count("It spiked") == 10
        assert "And 2 more, 1 finding as before." in texts
    assert sum(isinstance(block, FindingBlock) for block in night_document(night)) == 13


def test_a_webhook_has_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text has the title of a finding, and neither Slack's entities nor its marks; nobody is called by it."""
    day = date(2026, 11, 9)
    latest = Detection(day=day, caller="planner", finding="outage", scope="anthropic")
    said = "planner, 2026-11-09: a < b & <!channel>. More."
    known = {"state": "new", "severity": "warning", "opened_on": day, "last_on": day, "latest": latest}
    one = Finding(id="f-1", explanation=said, **known)  # type: ignore[arg-type]
    night = night_of(one, since=day)
    title, head, line = chat_message("webhook", night)["text"].split("\n")
    assert title.startswith("WARNING: planner, 2026-11-09: a < b & <") and "More" not in title
    assert head == "1 new finding for 2026-11-09."
    assert line.startswith("• warning, new: A provider fails for many callers: planner, 2026-11-09. A < b & <")
    assert "<!" not in line and "&amp;" not in line and "`" not in line


def _fields(one: Finding) -> dict[str, Any]:
    return {name: getattr(one, name) for name in Finding.__slots__}


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [value] if isinstance(value, str) else []
