"""The HTML report as a text: what is in it, and what can never be."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from html.parser import HTMLParser

import polars as pl
import pytest
from plotly.offline import get_plotlyjs

from analyzer.analysis import Overview
from analyzer.analysis.summary.overview import TABLES
from analyzer.analysis.summary.window_findings import MAX_CASES
from analyzer.classifier import REASONS
from analyzer.command_lines import HERE, Asking
from analyzer.report import render_html
from analyzer.report.overview import Made, render_markdown, render_text
from analyzer.report.rows import MEANINGS
from analyzer.report.sections import heat_map, table_of
from tests import REPOSITORY

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
    """One file holds one copy of plotly.js and seven charts, one a finding, and their pictures."""
    page = render_html(report(), interactive=True)
    assert page.count(get_plotlyjs()) == 1
    assert without_plotly(page).count("Plotly.newPlot(") == 7
    assert page.count('<noscript><svg id="chart-') == 7


def test_charts_need_no_script(report: Report) -> None:
    """The page holds seven pictures, each with a name and a description; its only script comes after them."""
    page = render_html(report())
    elements = Elements(page)
    assert elements.tags.count("script") == 1
    assert page.rindex('<svg id="chart-') < page.index("<script>")
    assert page.count('<svg id="chart-') == 7
    ids = [value for name, value in elements.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    named = [value for name, value in elements.attributes if name in {"aria-labelledby", "aria-describedby"}]
    assert len(named) == 14
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
        assert elements.tags.count("script") == elements.tags.count("/script") == (10 if interactive else 1)


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


def test_columns_that_say_nothing_are_left_out(report: Report) -> None:
    """A project that every caller names stands once; a column that few logs fill goes where all rows leave it empty."""
    overview = report()
    rows = {"caller": ["a@shop", "b"], "project": ["shop", None], "provider": [None, None], "errors": [1, 2]}
    frame = pl.DataFrame(rows, {"caller": str, "project": str, "provider": str, "errors": int})
    other = frame.with_columns(project=pl.Series(["shop", "market"]), provider=pl.Series([None, "openai"]))

    def columns(frame: pl.DataFrame) -> list[str]:
        table = replace(overview.tables["errors-by-caller"], frame=frame, columns=dict.fromkeys(frame.columns, "…"))
        shown = replace(overview, tables={"errors-by-caller": table})
        return [*table_of(shown, "errors-by-caller", HERE).columns]

    assert columns(frame) == ["caller", "errors"]
    assert columns(other) == ["caller", "project", "provider", "errors"]
    assert columns(frame.clear()) == ["caller", "project", "provider", "errors"], (
        "without rows the heads say what is asked"
    )


def test_long_tables_say_what_is_missing(report: Report) -> None:
    """A table of more than fifty rows is cut, and says how many there are and where."""
    page = render_html(report(others=[f"caller-{number}" for number in range(60)]))
    assert "50 of 62 rows." in page
    assert "<code>analyzer query errors-by-caller</code>" in page


@pytest.mark.slow
def test_the_largest_page_is_light(report: Report) -> None:
    """A year of two hundred callers and eight reasons, with as many findings as are shown, leaves room under 1.2 MB."""
    found = report()
    days = pl.DataFrame({"day": [date(2025, 11, 22) + timedelta(day) for day in range(365)]})
    counts = {"errors": 20, "sessions": 10, "unknown_errors": 5, "unknown_share": 0.25, "unknown_sessions": 4}
    frames = {
        "errors-timeline": days.join(pl.DataFrame({"reason": [*REASONS]}), how="cross"),
        "unknown-share": days.join(pl.DataFrame({"caller": [f"caller-{place}" for place in range(200)]}), how="cross"),
    }
    tables = {
        name: replace(found.tables[name], frame=frame.with_columns(**counts).select(found.tables[name].frame.columns))
        for name, frame in frames.items()
    }
    case = found.cases[0]
    cases = tuple(
        replace(case, finding=replace(case.finding, id=f"{place:08}{case.finding.id[8:]}")) for place in range(40)
    )
    spikes = replace(found.spikes, share=tables["unknown-share"])
    page = render_html(replace(found, cases=cases, spikes=spikes, tables={**found.tables, **tables}))
    assert page.count('<article id="finding-') == MAX_CASES
    assert page.count("2025-12-01: 140 rate_limited</title>") == 1
    # The findings of a real fleet have more sessions, messages and lines of logs than these.
    assert len(page.encode()) < 1_000_000


def test_verdict_reads_without_colour(report: Report, nothing: Overview) -> None:
    """The level is a word and a sign as well as a colour."""
    assert "▲</span> CRITICAL" in render_html(report())
    assert "○</span> EMPTY" in render_html(nothing)


def test_too_little_history_is_no_quiet(report: Report) -> None:
    """A history that is too young has a level of its own, and the page says why."""
    found = report()
    page = render_html(replace(found, cases=(), too_little="History has 1 day."))
    assert "?</span> NOT JUDGED" in page
    assert "History has 1 day." in page


def test_nothing_needs_no_plotly(nothing: Overview) -> None:
    """A report without charts carries no chart library."""
    page = render_html(nothing)
    assert len(page) < 30_000
    assert "<script" not in page
    assert page.count("<p ") == 0, "nothing to report is followed by nothing"


def numbers_of(text: str) -> set[str]:
    """The numbers in a text without its elements."""
    return set(re.findall(r"\d[\d,]*(?:\.\d+)?%?", re.sub(r"<[^>]*>", " ", text)))


def test_a_number_that_stands_twice_is_the_same(report: Report) -> None:
    """The first screen, the leads of sections and the rows of their tables count the same errors."""
    found = report()
    page = render_html(found)
    errors = f"{found.totals.errors:,}"
    first = page[page.index("<header") : page.index("</header>")]
    leads = dict(re.findall(r'<section id="([a-z]+)">\s*<h2>[^<]*</h2>\s*<p class="lead">([^<]*)</p>', page))
    assert errors in numbers_of(first) & numbers_of(leads["errors"])
    sums = {found.tables[name].frame["errors"].sum() for name in ("errors-by-caller", "errors-timeline")}
    heat = next(block for block in heat_map(found, HERE))
    sums |= {sum(int(row[-1].replace(",", "")) for row in heat.rows)}
    assert {f"{each:,}" for each in sums} == {errors}


def test_the_page_begins_with_what_is_wrong(report: Report) -> None:
    """What and when, how bad against what is normal, what it cost, what to do; a chart; then the figures that moved."""
    page = html.unescape(render_html(report()))
    first = re.sub(r"<svg.*?</svg>|<[^>]+>", "", page[page.index("<header") : page.index("</header>")])
    order = [
        "CRITICAL",
        "Unknown errors spiked: figma-probe, 08:15 on 21 November.",
        "12 of 12 distinct errors matched no rule (100.0%, normally 4.6%",
        "Write a rule for them",
        "analyzer unknowns --suggest --caller figma-probe",
        "normal range",
        "All time: 2026-11-01 08:15 to 2026-11-21 08:15 UTC: 133 errors",
        "The 7 days to 2026-11-21",
        "Share of errors that are unknown",
    ]
    places = [first.find(text) for text in order]
    assert -1 not in places and places == sorted(places), list(zip(order, places, strict=True))
    assert page.count('class="tile"') == 3


def test_a_quiet_page_says_so_in_one_sentence(report: Report) -> None:
    """Without a finding there is neither a list of findings nor a chart on the first screen."""
    page = render_html(replace(report(), cases=()))
    first = page[page.index("<header") : page.index("</header>")]
    assert re.search(r"<h1 .*Nothing unusual in \d+ sessions and 133 errors\.", first)
    assert 'class="plot"' not in first
    assert 'id="findings"' not in page


def test_the_bar_names_the_window(report: Report) -> None:
    """The bar that stays on the screen says which days all figures are of."""
    page = render_html(report())
    bar = page[page.index('<nav class="contents"') : page.index("</nav>")]
    assert "All time: 2026-11-01 08:15 to 2026-11-21 08:15 UTC" in re.sub(r"<[^>]+>", "", bar)


def test_a_report_says_its_window_before_its_figures(report: Report) -> None:
    """In the terminal and as Markdown no sentence about the window stands before the line that names it."""
    found = report()
    for text in (render_text(found, 100), render_markdown(found)):
        before = " ".join(text[: text.index("2026-11-01 08:15 to")].split())
        assert [one.text for one in found.leading if one.text.partition(". ")[0] in before] == []


def test_the_title_says_whose_and_when(report: Report) -> None:
    """Store, host, window and the moment of making; without them what is known."""
    found = report()
    title, *_ = re.findall("<title>(.*?)</title>", render_html(found, Made("build-7", "/srv/fleet.duckdb")))
    assert title.startswith("Agent errors of fleet on build-7: All time: 2026-11-01 08:15 to 2026-11-21")
    assert title.endswith(f"made {found.generated_at:%Y-%m-%d %H:%M} UTC")


def test_a_finding_can_be_acknowledged_and_resumed(report: Report) -> None:
    """The command names the store and the finding; a session of a known agent comes with what takes it up again."""
    found = report()
    case = replace(found.cases[0], reported=True)
    session = case.sessions["session"][0]
    places = case.places.with_columns(agent=pl.lit("claude-code"), cwd=pl.lit("~/my shop"))
    made = Made("h", "my fleet.duckdb", Asking("my fleet.duckdb"))
    page = render_html(replace(found, cases=(replace(case, places=places),)), made)
    text = html.unescape(page)
    assert f"analyzer findings ack {case.finding.id} --store 'my fleet.duckdb'" in text
    assert f"cd ~/'my shop' && claude --resume {session}" in text
    assert re.search(r"\.jsonl:\d+(<wbr>)?</td>", text)
    assert "first create a store" in render_html(found)


def test_the_words_are_those_of_the_glossary() -> None:
    """Each meaning is how the entry of the glossary begins."""
    text = (REPOSITORY / "docs" / "reference" / "glossary.md").read_text("utf-8")
    flat = re.sub(r"\s+", " ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))
    assert [word for word, meaning in MEANINGS.items() if f"## {word} {meaning[:-1]}" not in flat] == []
