"""One hostile text through every exit: nothing of it arrives that steers, hides, links or calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from html import unescape
from typing import Any

import polars as pl
import pytest

from analyzer.analysis import Night, Overview
from analyzer.analysis.charts.figures import label
from analyzer.analysis.kinds.detection import Detection
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.kinds.finding_fields import Handling
from analyzer.analysis.summary.day_figures import NightFigures
from analyzer.readable import stand_in
from analyzer.report import render_html, render_json, render_markdown, render_text
from analyzer.report.charts.elements import element
from analyzer.report.escape import json_text
from analyzer.report.night.document import (
    finding_document,
    findings_document,
    night_document,
    night_subject,
    nights_document,
)
from analyzer.report.night.job import JobStep, job_document
from analyzer.report.night.messages import (
    alertmanager_alerts,
    chat_message,
    pagerduty_events,
)
from analyzer.report.night.metrics import render_prometheus
from analyzer.report.rows import render_rows
from analyzer.report.writers.html import to_html
from analyzer.report.writers.mail import to_mail
from analyzer.report.writers.markdown import to_markdown
from analyzer.report.writers.text import to_text
from analyzer.store.shown import Shown
from tests import each_row
from tests.analysis.made_nights import night_of

STEERS = "\x1b[31m \r \n \x00 \x7f \x9b1m \u202e \u2066 \u061c \u2028 \u2029 \ud800"
HIDES = (
    "\u200b \u200d \xad \ufeff \u2065 \u3164 \u115f \uffa0 \u2800 \u17b4 \u034f \ufe0f \ufff5"
    " \U0001d159 \U000e0041 \U000e01ef"
)

WIDE = "a\xa0b\u3000c\u2003d\u1680e"
CALLS = "@everyone <!channel> <@U1> #123 GH-5 a@mail.example"
LINKS = "https://evil.example/x www.evil.example evil.example [x](evil.example) <https://evil.example|y> evil。example"
BREAKS = "<b>b</b> *c* `d` | e & f\\"
HOSTILE = " ".join((STEERS, HIDES, WIDE, CALLS, LINKS, BREAKS))
OUR_BREAK = "\u200b"
"""What the exits to chats and mail put in themselves."""


@pytest.fixture
def night() -> Night:
    """A night whose findings say the hostile text wherever a log's text may stand."""
    day = date(2026, 11, 9)
    latest = Detection(day=day, caller=HOSTILE, finding="new_template", template=HOSTILE, scope=HOSTILE, note=HOSTILE)
    one = Finding(
        id="f1",
        state="new",
        severity="critical",
        opened_on=day,
        last_on=day,
        latest=latest,
        explanation=HOSTILE,
        advice=f"analyzer unknowns --caller '{HOSTILE}'",
        samples=(HOSTILE,),
    )
    handling = Handling("acknowledged", datetime(2026, 11, 9), None, HOSTILE, HOSTILE)
    over = replace(one, id="f2", state="resolved", resolved_on=day, resolution="quiet")
    found = (one, over, replace(one, id="f3", state="ongoing", handling=handling))
    return night_of(*found, since=day, notes=(HOSTILE,))


def _texts(value: Any) -> Iterator[str]:
    """Every text of a message once its receiver has read the JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for pair in value.items() for one in pair for text in _texts(one))
    elif isinstance(value, Iterable):
        yield from (text for one in value for text in _texts(one))


def _frame() -> pl.DataFrame:
    return pl.DataFrame({HOSTILE.replace("\ud800", ""): [HOSTILE.replace("\ud800", "")], "n": [1]})


def _figures() -> NightFigures:
    by_caller = {HOSTILE.replace("\ud800", ""): 1.0}
    pairs = {(name, name): 1.0 for name in by_caller}
    return NightFigures(
        errors=pairs,
        error_sessions=pairs,
        sessions=by_caller,
        unknown_share=by_caller,
        last_ingest_seconds=1.0,
        quarantine_rows=0,
        store_bytes=1,
    )


class _Strange(Shown):
    def _shown(self) -> tuple[str, Mapping[str, str]]:
        return HOSTILE, {HOSTILE: HOSTILE}


STEPS = [JobStep("ingest", 3, HOSTILE, HOSTILE)]
EXITS: dict[str, Callable[[Night], Any]] = {
    "terminal: a night": lambda night: to_text(night_document(night), 80, colour=False),
    "terminal: nights": lambda night: to_text(nights_document([night])),
    "terminal: findings": lambda night: to_text(findings_document(list(night.findings)), 80),
    "terminal: a finding": lambda night: to_text(finding_document(night.findings[2]), 80),
    "terminal: the job": lambda night: to_text(job_document(STEPS, night)),
    "terminal: a table": lambda night: render_rows(_frame(), "table", name="x"),
    "csv": lambda night: render_rows(_frame(), "csv", name="x"),
    "markdown: a table": lambda night: render_rows(_frame(), "markdown", name="x"),
    "json: rows": lambda night: render_rows(_frame(), "json", name="x"),
    "jsonl: rows": lambda night: render_rows(_frame(), "jsonl", name="x"),
    "json: a night": lambda night: json_text(night.to_dict()),
    "markdown: a night": lambda night: to_markdown(night_document(night)),
    "markdown: the job's summary": lambda night: to_markdown(job_document(STEPS, night)),
    "html: an element": lambda night: str(element("text", HOSTILE)),
    "html: a label": lambda night: label(HOSTILE),
    "html: a notebook": lambda night: _Strange()._repr_html_(),
    "prometheus": lambda night: render_prometheus(night, _figures()).decode(),
    "slack": lambda night: list(_texts(chat_message("slack", night))),
    "teams": lambda night: list(_texts(chat_message("teams", night))),
    "discord": lambda night: list(_texts(chat_message("discord", night))),
    "webhook": lambda night: [chat_message("webhook", night)["text"], json.dumps(chat_message("webhook", night))],
    "pagerduty": lambda night: list(_texts([event for _, event in pagerduty_events(night, "KEY")])),
    "alertmanager": lambda night: list(_texts(alertmanager_alerts(night))),
    "html: a night": lambda night: to_html(night_document(night), night.headline),
    "mail: subject": night_subject,
    "mail: text": lambda night: to_text(night_document(night), 78),
    "mail: page": lambda night: unescape(to_mail(night_document(night))),
}
"""Exits → what arrives there of a night, or of the text itself."""


@each_row("name", EXITS)
def test_nothing_that_steers_or_hides_arrives(night: Night, name: str) -> None:
    """Every exit: what is there and cannot be seen is shown as its code, or as a plain space."""
    found = EXITS[name](night)
    allowed = {"\n", OUR_BREAK} if name in {"slack", "teams", "discord", "webhook", "mail: page"} else {"\n"}
    for text in [found] if isinstance(found, str) else found:
        assert {each for each in text if stand_in(each) is not None} <= allowed


def test_a_terminal_in_colours_shows_the_same(night: Night) -> None:
    """Beside the plain text there are our own colours alone; those of a log are shown as their codes."""
    coloured = to_text(night_document(night), 80, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == to_text(night_document(night), 80)


LINKING = ("slack", "teams", "discord", "webhook", "mail: page")


@pytest.mark.parametrize("name", LINKING)
def test_nothing_becomes_a_link_or_calls_anybody(night: Night, name: str) -> None:
    """Exits whose receivers link addresses, domains and names, but for commands, which can be copied as they are."""
    found = EXITS[name](night)
    said = ([found] if isinstance(found, str) else found)[:-1] if name == "webhook" else found
    for text in [said] if isinstance(said, str) else said:
        prose = re.sub(r"<pre.*?</pre>|analyzer unknowns --caller .*", "", text, flags=re.DOTALL)
        assert not re.search(r"https?://evil|www\.evil|evil[.。]example|@everyone|mail\.example|#123|\]\(", prose)
        assert name == "mail: page" or not re.search(r"(?<!\\)<[!@h]", prose)


def test_a_report_hides_nothing(report: Callable[..., Overview]) -> None:
    """The page, its Markdown, its JSON and its text, from events whose every name is the hostile text."""
    named = HOSTILE.replace("\ud800", "").replace("\x00", "")
    found = report(spiking=named, others=(f"o{named}",), message=named, step=named, broken=named)
    for text in (render_html(found), render_markdown(found), render_json(found), render_text(found, 80)):
        assert {each for each in text if stand_in(each) is not None} <= {"\n"}
