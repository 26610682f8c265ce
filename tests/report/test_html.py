"""The HTML report as a text: what is in it, and what can never be."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from plotly.offline import get_plotlyjs

from analyzer.analysis import Overview
from analyzer.analysis.summary.overview import TABLES
from analyzer.report import render_html

Report = Callable[..., Overview]
HOSTILE = (
    '</script><script>document.title="pwned"</script><img src=x onerror=alert(1)><a href="http://evil.example">x</a>'
)


class Elements(HTMLParser):
    """Collects tags, attributes, ids and the texts of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.policy = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count the element."""
        self.tags.append(tag)
        known = {name: value or "" for name, value in attrs}
        self.attributes += known.items()
        if known.get("http-equiv") == "Content-Security-Policy":
            self.policy = known["content"]

    def handle_data(self, data: str) -> None:
        """Keep what a script says."""
        if self.tags and self.tags[-1] == "script" and data.strip():
            self.scripts.append(data)

    def handle_endtag(self, tag: str) -> None:
        """Count the end."""
        self.tags.append(f"/{tag}")


@pytest.fixture
def hostile(report: Report) -> tuple[str, str]:
    """The page and the interactive page about a log whose every text tries to break out."""
    found = report(
        spiking=HOSTILE, others=(f"b{HOSTILE}",), message=HOSTILE, step=HOSTILE, broken=HOSTILE,
        broken_name="<script>alert(1)<" + "img src=x>.jsonl",
    )  # fmt: skip
    return render_html(found), render_html(found, interactive=True)


def without_plotly(page: str) -> str:
    """The page less the source of plotly.js."""
    return page.replace(get_plotlyjs(), "")


def test_plotly_is_inlined_once_where_it_is_wanted(report: Report) -> None:
    """One file holds one copy of plotly.js and eight charts, one a finding, and their pictures."""
    page = render_html(report(), interactive=True)
    assert page.count(get_plotlyjs()) == 1
    assert without_plotly(page).count("Plotly.newPlot(") == 8
    assert page.count('<noscript><svg id="chart-') == 8


def test_charts_need_no_script(report: Report) -> None:
    """The page holds eight pictures, each with a name and a description, and no script; the policy allows none."""
    page = render_html(report())
    elements = Elements(page)
    assert "script" not in elements.tags
    assert "script-src 'none'" in elements.policy
    assert page.count('<svg id="chart-') == 8
    ids = [value for name, value in elements.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    named = [value for name, value in elements.attributes if name in {"aria-labelledby", "aria-describedby"}]
    assert len(named) == 16
    assert set(named) <= set(ids)


def test_no_address_outside(hostile: tuple[str, str]) -> None:
    """Nothing in the page refers to another place: no source, no address in a style, links only to its own sections."""
    for page in hostile:
        elements = Elements(page)
        outward = {"src", "srcset", "action", "data", "poster"}
        assert not [value for name, value in elements.attributes if name in outward]
        assert all(value.startswith("#") for name, value in elements.attributes if name == "href")
        assert "link" not in elements.tags
        # The fills of bars are patterns of the same picture.
        assert re.findall(r"url\((?!#chart-)", without_plotly(page)) == []


def test_ordinary_page_has_no_address_at_all(report: Report) -> None:
    """Beyond the source of plotly.js no http address occurs, not even as text."""
    assert not re.findall(r"https?://", without_plotly(render_html(report())))


def test_log_text_makes_no_element(hostile: tuple[str, str], report: Report) -> None:
    """A hostile log gives the same kinds of elements as a kind one, and no event handler."""
    kind = report()
    for page, interactive in zip(hostile, (False, True), strict=True):
        elements = Elements(page)
        known = set(Elements(render_html(kind, interactive=interactive)).tags)
        assert set(elements.tags) <= known | {"details", "summary", "/details", "/summary"}
        assert "img" not in elements.tags
        assert not [name for name, _ in elements.attributes if name.startswith("on")]
        assert elements.tags.count("script") == elements.tags.count("/script") == 10 * interactive


def test_policy_allows_exactly_our_scripts(hostile: tuple[str, str]) -> None:
    """The policy forbids everything but inline styles, data images and the page's own scripts by their hashes."""
    for page in hostile:
        elements = Elements(page)
        allowed = set(re.findall(r"'sha256-([^']+)'", elements.policy))
        present = {base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in elements.scripts}
        assert allowed == present
        assert "default-src 'none'" in elements.policy
        assert "connect-src 'none'" in elements.policy
        assert "unsafe-eval" not in elements.policy
        assert re.search(r"script-src[^;]*unsafe", elements.policy) is None


def test_policy_stands_before_any_script(report: Report) -> None:
    """A policy in the page rules only what follows it."""
    page = render_html(report(), interactive=True)
    assert page.index("Content-Security-Policy") < page.index("<style>") < page.index("<script>")


def test_every_table_names_its_query(report: Report) -> None:
    """Each table of the overview stands in the page with the query that gives its numbers."""
    page = render_html(report())
    assert [name for name in TABLES if f"analyzer query {name}" not in page] == []


def test_columns_explain_themselves(report: Report) -> None:
    """A heading carries the meaning of its column as a tooltip."""
    assert 'title="unknown_errors / errors, 0..1">Unknown share</th>' in render_html(report())


def test_long_tables_say_what_is_missing(report: Report) -> None:
    """A table of more than fifty rows is cut, and says how many there are and where."""
    page = render_html(report(others=[f"caller-{number}" for number in range(60)]))
    assert "50 of 62 rows; all: analyzer query errors-by-caller" in page


def test_verdict_reads_without_colour(report: Report, nothing: Overview) -> None:
    """The level is a word and a sign as well as a colour."""
    assert "▲</span> CRITICAL" in render_html(report())
    assert "○</span> EMPTY" in render_html(nothing)


def test_too_little_history_is_no_quiet(report: Report) -> None:
    """Days that could not be judged have a level of their own and are counted."""
    found = report()
    page = render_html(replace(found, cases=(), spikes=replace(found.spikes, unjudged=2)))
    assert "?</span> NOT JUDGED" in page
    assert "2 days of callers with many unknown errors have too little history before them" in page


def test_nothing_needs_no_plotly(nothing: Overview) -> None:
    """A report without charts carries no chart library."""
    page = render_html(nothing)
    assert len(page) < 30_000
    assert "<script" not in page
    assert "None." in page
