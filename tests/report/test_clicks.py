"""The page's filters, tables, buttons and links, used in a real browser as a person uses them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from analyzer.analysis import Overview
from analyzer.report import render_html
from tests.report.driving import Browser, browser_or_skip, browsing
from tests.report.places import button, column, head, rows, select, table, tools, unfold

Report = Callable[..., Overview]
Open = Callable[..., Browser]
pytestmark = pytest.mark.slow
ATTACK = '</script><script>document.title="pwned"</script><img src=x onerror=\'document.title="pwned"\'>'
FORMULA = '=cmd|"/c calc"!A1, and\tmore'
STILL = [{"name": "prefers-reduced-motion", "value": "reduce"}]
"""Pages go where they are led at once."""
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))"
"""What waits until the page has been painted again."""
FINDINGS = "[...document.querySelectorAll('article.finding')].filter(each => each.offsetParent)"
SESSIONS = "Sessions"
BY_CALLER, BY_REASON, OUTCOMES = "Errors by caller", "Errors by reason", "Errors by reason, caller and outcome"
BY_BOTH = "Errors by caller and reason"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of this file."""
    path = browser_or_skip("THE REPORT WAS NOT CLICKED IN A BROWSER")
    with browsing(path, tmp_path_factory.mktemp("browser")) as started:
        started.ask("Emulation.setEmulatedMedia", features=STILL)
        yield started


@pytest.fixture(scope="module")
def address(report: Report, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the fleet, as a file."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render_html(report()), "utf-8")
    return path.as_uri()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Browser]:
    """The page of the fleet, newly opened; whatever a test does there, nothing complains."""
    browser.complaints.clear()
    browser.open(address)
    yield browser
    assert browser.complaints == []


@pytest.fixture(scope="module")
def two_findings(report: Report, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page of two findings, of an agent and a project each, whose sessions can be taken up again."""
    found = report()
    case = found.cases[0]
    cases = []
    for place, (agent, project) in enumerate((("claude-code", "shop"), ("codex", "till"))):
        where = case.places.with_columns(agent=pl.lit(agent), project=pl.lit(project), cwd=pl.lit("~/my shop"))
        cases.append(replace(case, places=where, finding=replace(case.finding, id=f"{place}-{case.finding.id}")))
    path = tmp_path_factory.mktemp("two") / "report.html"
    path.write_text(render_html(replace(found, cases=tuple(cases))), "utf-8")
    return path.as_uri()


def test_a_finding_is_found_by_project_agent_and_reason(browser: Browser, two_findings: str) -> None:
    """Each filter leaves the findings of what it names; unknown errors are of the reason unknown."""
    browser.open(two_findings)
    ids = f"{FINDINGS}.map(each => each.id[8])"
    for name, option, wanted in (
        ("project", "till", ["1"]),
        ("agent", "claude-code", []),
        ("project", "shop", ["0"]),
        ("reason", "unknown", ["0"]),
        ("reason", "rate_limited", []),
    ):
        browser.choose(select(name), option)
        assert browser.value(ids) == wanted, (name, option)
        assert browser.value("document.querySelector('.filters .said').textContent").startswith(f"{len(wanted)} of 2 ")
    assert browser.complaints == []


def test_a_link_to_what_is_filtered_away_shows_it(browser: Browser, two_findings: str) -> None:
    """A link of the first screen is never dead: the filters that hide its finding are taken back."""
    browser.open(two_findings)
    browser.choose(select("project"), "till")
    link = "document.querySelector('header .head a[href^=\"#finding-0\"]')"
    browser.click(link)
    assert browser.value(f"{FINDINGS}.length") == 2
    assert browser.value(f"{select('project')}.value") == ""
    browser.value(FRAME)
    assert browser.value("document.querySelector(':target').getBoundingClientRect().top") < 200
    assert browser.complaints == []


def test_cells_leave_as_they_are_shown_without_their_buttons(browser: Browser, two_findings: str) -> None:
    """A command in a cell is copied, searched and given as CSV without the label of the button beside it."""
    browser.open(two_findings)
    wanted = browser.value(f"[...{table(SESSIONS)}.querySelectorAll('code.command')].map(each => each.textContent)")
    assert len(wanted) == 10
    assert all(" && claude --resume u-" in each for each in wanted)
    browser.click(button(SESSIONS, "Copy"))
    names, *lines = [line.split("\t") for line in browser.clipboard().splitlines()]
    assert [line[names.index("resume_with")] for line in lines] == wanted
    assert browser.complaints == []


def test_a_copy_without_the_clipboard(page: Browser) -> None:
    """Where a browser refuses its clipboard it is asked in the old way, the focus stays; what fails is said."""
    refuse = "navigator.clipboard.writeText = async () => { throw new Error('no'); }"
    code = "document.querySelector('code.command')"
    page.value(f"void ({refuse})")
    page.click(f"{code}.nextElementSibling")
    page.value("new Promise(done => setTimeout(done, 50))")
    assert page.clipboard() == page.value(f"{code}.textContent")
    assert page.value(f"document.activeElement === {code}.nextElementSibling")
    page.value("void (document.execCommand = () => false)")
    page.click(f"{code}.nextElementSibling")
    page.value("new Promise(done => setTimeout(done, 50))")
    assert page.value(f"{code}.nextElementSibling.textContent") == "Not copied"


def test_small_numbers_are_sorted_by_their_powers(page: Browser) -> None:
    """7.1e-10 is less than 0.0005."""
    title = page.value("document.querySelector('article th[data-column=p_value]').closest('[aria-label]').ariaLabel")
    unfold(page, title)
    page.click(head(title, "p_value"))
    down = column(page, title, "p_value")
    assert [float(text) for text in down] == sorted(map(float, down), reverse=True)
    assert any("e-" in text for text in down)
    page.click(head(title, "p_value"))
    assert column(page, title, "p_value") == down[::-1] != down


def test_the_contents_say_where_one_is(page: Browser) -> None:
    """One link is marked: the section that a click led to, or that was scrolled to; nothing glides unasked."""
    marked = "[...document.querySelectorAll('nav.contents a[aria-current]')].map(each => each.hash)"
    assert page.value(marked) == ["#latest"]
    links = page.value("[...document.querySelectorAll('nav.contents a')].map(each => each.hash)")
    for link in [*links[1:], links[0]]:
        page.click(f"document.querySelector('nav.contents a[href=\"{link}\"]')")
        page.value(FRAME)
        assert page.value(marked) == [link]
    page.value("document.querySelector('#retries').scrollIntoView()")
    page.value(FRAME)
    assert page.value(marked) == ["#retries"]
    assert page.value("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    page.ask("Emulation.setEmulatedMedia", features=[])
    assert page.value("getComputedStyle(document.documentElement).scrollBehavior") == "smooth"
    page.ask("Emulation.setEmulatedMedia", features=STILL)


def test_a_filter_leaves_what_it_names(page: Browser) -> None:
    """Rows and findings are of the caller that was chosen; filters add up; one click shows all again."""
    unfold(page, OUTCOMES)
    unfold(page, BY_CALLER)
    all_rows, callers = rows(page, OUTCOMES), column(page, BY_CALLER, "caller")
    assert len(set(callers)) == 4
    page.choose(select("caller"), "lint-hook")
    assert rows(page, OUTCOMES) == [row for row in all_rows if "lint-hook" in row] != []
    assert column(page, BY_CALLER, "caller") == ["lint-hook"]
    assert column(page, BY_BOTH, "caller") == ["lint-hook"]
    findings = "[...document.querySelectorAll('article.finding')].filter(each => each.offsetParent).length"
    assert page.value(findings) == 0
    assert page.value("document.querySelector('.said').textContent").startswith("0 of 1 findings")
    page.choose(select("caller"), "figma-probe")
    assert page.value(findings) == 1
    assert page.value(f"{tools(BY_REASON)}.querySelector('.said').textContent") == "of every caller"
    page.choose(select("reason"), "unknown")
    assert column(page, BY_BOTH, "caller") == ["figma-probe"]
    assert column(page, BY_BOTH, "unknown") == ["12"]
    assert rows(page, OUTCOMES) == [row for row in all_rows if {"figma-probe", "unknown"} <= {*row}] != []
    page.click("document.querySelector('.filters button')")
    assert rows(page, OUTCOMES) == all_rows
    assert len(rows(page, BY_BOTH)) > 3
    assert page.value(f"{tools(BY_REASON)}.querySelector('.said').textContent") == ""
    assert column(page, BY_CALLER, "caller") == callers
    assert page.value(f"{select('caller')}.value + {select('reason')}.value") == ""
    assert page.value("document.querySelector('.filters button').hidden")


def test_a_table_is_sorted_by_the_column_that_is_clicked(page: Browser) -> None:
    """Numbers from the most down and then up, texts by the alphabet; one column at a time says how."""
    unfold(page, BY_CALLER)

    def sorted_by() -> list[list[str]]:
        marked = (
            f"[...{table(BY_CALLER)}.querySelectorAll('th[aria-sort]')].map(th => [th.dataset.column, th.ariaSort])"
        )
        found: list[list[str]] = page.value(marked)
        return found

    page.click(head(BY_CALLER, "errors"))
    down = [int(text.replace(",", "")) for text in column(page, BY_CALLER, "errors")]
    assert down == sorted(down, reverse=True)
    assert len(set(down)) > 1
    assert sorted_by() == [["errors", "descending"]]
    page.click(head(BY_CALLER, "errors"))
    assert [int(text.replace(",", "")) for text in column(page, BY_CALLER, "errors")] == down[::-1]
    assert sorted_by() == [["errors", "ascending"]]
    page.click(head(BY_CALLER, "caller"))
    assert column(page, BY_CALLER, "caller") == ["c", "figma-probe", "lint-hook", "mcp-search"]
    assert sorted_by() == [["caller", "ascending"]]
    page.click(head(BY_CALLER, "caller"))
    assert column(page, BY_CALLER, "caller") == ["mcp-search", "lint-hook", "figma-probe", "c"]


def test_a_search_leaves_rows_that_say_it(page: Browser) -> None:
    """In any column, in any case, beside a filter; no match leaves nothing, and clearing brings all back."""
    title = "Unknown share by day and caller"
    unfold(page, title)
    every = rows(page, title)
    box = f"{tools(title)}.querySelector('input[type=search]')"
    page.click(box)
    page.write("LINT")
    assert rows(page, title) == [row for row in every if "lint-hook" in row] != []
    page.choose(select("caller"), "figma-probe")
    assert rows(page, title) == []
    page.click("document.querySelector('.filters button')")
    page.click(box)
    page.value(f"{box}.select()")
    page.write("no such word")
    assert rows(page, title) == []
    assert page.value(f"{tools(title)}.querySelector('.said').textContent") == f"0 of {len(every)} rows"
    page.press("Escape")
    assert page.value(f"{box}.value + {tools(title)}.querySelector('.said').textContent") == ""
    assert rows(page, title) == every


def test_csv_and_copy_are_the_rows_that_are_shown(page: Browser) -> None:
    """Under the names of the columns, in the order of the screen; CSV opens in spreadsheets, the copy has tabs."""
    unfold(page, BY_CALLER)
    page.choose(select("caller"), "figma-probe")
    page.click("document.querySelector('.filters button')")
    page.click(head(BY_CALLER, "caller"))
    names = page.value(f"[...{table(BY_CALLER)}.querySelectorAll('th')].map(th => th.dataset.column)")
    wanted = [names, *rows(page, BY_CALLER)]
    page.click(button(BY_CALLER, "CSV"))
    raw = page.downloaded("errors-by-caller.csv")
    assert raw.startswith(b"\xef\xbb\xbf")
    assert [*csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""))] == wanted
    page.click(button(BY_CALLER, "Copy"))
    assert [line.split("\t") for line in page.clipboard().splitlines()] == wanted
    # The button says so itself by now, and is found by its place.
    assert page.value(f"{tools(BY_CALLER)}.querySelector('button').textContent") == "Done"


def test_a_command_is_copied_as_it_stands(page: Browser) -> None:
    """The button beside a command takes the command, not its own label."""
    visible = "each => each.checkVisibility({contentVisibilityAuto: true})"
    seen = f"[...document.querySelectorAll('code.command')].filter({visible})"
    commands = page.value(f"{seen}.map(each => each.textContent)")
    assert commands
    for place, command in enumerate(commands):
        page.click(f"{seen}[{place}].nextElementSibling")
        assert page.clipboard() == command


def test_links_lead_below_the_bar_that_stays(page: Browser, address: str) -> None:
    """The contents and a finding's own link put their place on the screen, not under the bar, and into the address."""
    below = (
        "(e => { const top = e.getBoundingClientRect().top; "
        "const bar = document.querySelector('nav.contents').getBoundingClientRect(); "
        "return bar.top === 0 && top >= bar.bottom - 1 && top < innerHeight; })"
    )
    for link in ("nav.contents a[href='#unknown']", "article.finding a[href^='#finding-']"):
        page.click(f"document.querySelector({json.dumps(link)})")
        page.value(FRAME)
        target = page.value("location.hash")
        assert target.startswith(("#unknown", "#finding-"))
        assert page.value(f"{below}(document.querySelector('{target}'))"), target
    page.open(address + target)
    page.value(FRAME)
    assert page.value(f"{below}(document.querySelector('{target}'))")


@pytest.mark.parametrize("width", [390, 700, 1440])
def test_links_lead_below_the_bar_at_any_width(browser: Browser, two_findings: str, width: int) -> None:
    """The bar is as high as its filters need; a link, and a focus that goes up, end below it."""
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    try:
        browser.open(f"{two_findings}#errors")
        bar = "document.querySelector('nav.contents').getBoundingClientRect()"
        for hash_ in ("#errors", "#unknown"):
            browser.value(f"location.hash = '{hash_}'")
            browser.value(FRAME)
            gap = browser.value(f"document.querySelector('{hash_}').getBoundingClientRect().top - {bar}.bottom")
            assert 0 <= gap < 20, hash_
        browser.value("[...document.querySelectorAll('#errors summary')].pop().focus()")
        for _ in range(25):
            browser.press("Tab", shift=True)
            below = f"e => e.closest('nav.contents') || e.getBoundingClientRect().top >= {bar}.bottom"
            assert browser.value(f"Boolean(({below})(document.activeElement))")
        assert browser.value("document.documentElement.scrollWidth <= innerWidth")
        assert browser.complaints == []
    finally:
        browser.ask("Emulation.clearDeviceMetricsOverride")


BACK = "new Promise(done => { addEventListener('hashchange', () => done(), {once: true}); history.back(); })"


def test_a_filtered_page_is_one_that_can_be_linked(browser: Browser, two_findings: str) -> None:
    """The address holds each filter, a page opened at it shows what was seen, and Back takes the last choice back."""
    browser.open(two_findings)
    browser.choose(select("project"), "till")
    browser.choose(select("reason"), "unknown")
    shown = browser.value(f"{FINDINGS}.map(each => each.id)")
    told = browser.value("document.querySelector('.filters .said').textContent")
    linked = browser.value("location.href")
    assert linked == f"{two_findings}#project=till&reason=unknown"
    browser.value(BACK)
    assert browser.value("location.href") == f"{two_findings}#project=till"
    assert browser.value(f"{select('reason')}.value + {select('project')}.value") == "till"
    browser.value(BACK)
    assert browser.value("location.href") == two_findings
    assert browser.value(f"{FINDINGS}.length") == 2
    for _ in range(2):
        browser.open(linked)
        assert browser.value(f"{FINDINGS}.map(each => each.id)") == shown
        assert browser.value("document.querySelector('.filters .said').textContent") == told
        assert browser.value(f"{select('project')}.value + {select('reason')}.value") == "tillunknown"
    browser.click("document.querySelector('.filters button')")
    assert browser.value("location.href") == two_findings
    assert browser.complaints == []


def test_links_of_a_filtered_page_keep_its_filters(browser: Browser, two_findings: str) -> None:
    """The address names both, a page opened at it leads there, and what is not on the page is said."""
    browser.open(f"{two_findings}#project=till")
    browser.click("document.querySelector('nav.contents a[href=\"#errors\"]')")
    browser.value(FRAME)
    assert browser.value("location.hash") == "#errors&project=till"
    browser.open(browser.value("location.href"))
    browser.value(FRAME)
    assert browser.value(f"{FINDINGS}.length") == 1
    assert 0 < browser.value("document.querySelector('#errors').getBoundingClientRect().top") < 200
    browser.open(f"{two_findings}#project=gone&caller=%3Cb%3E")
    assert browser.value(f"{FINDINGS}.length") == 2
    assert browser.value("document.querySelector('.filters .said').textContent").count("Nothing here is of “") == 2
    assert browser.complaints == []


def test_a_page_loaded_again_is_as_its_address_says(page: Browser, address: str) -> None:
    """Its filters stay, a search does not."""
    unfold(page, BY_CALLER)
    every = rows(page, BY_CALLER)
    page.choose(select("caller"), "lint-hook")
    page.reload()
    unfold(page, BY_CALLER)
    assert [row[0] for row in rows(page, BY_CALLER)] == ["lint-hook"]
    page.open(address)
    unfold(page, BY_CALLER)
    assert rows(page, BY_CALLER) == every
    assert page.value(f"{select('caller')}.value") == ""


@pytest.mark.parametrize("width", [390, 1440])
def test_a_page_is_as_long_as_what_is_on_it(browser: Browser, two_findings: str, width: int) -> None:
    """No length changes as one scrolls, and a picture of the whole page shows each card."""
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=True)
    cards = "[...document.querySelectorAll('.finding, section')]"
    try:
        browser.open(two_findings)
        claimed = browser.value(f"{cards}.map(each => each.offsetHeight)")
        places = browser.value(
            f"{cards}.map(each => [each.getBoundingClientRect().left, each.offsetTop, each.offsetWidth])"
        )
        for (left, top, across), high in zip(places, claimed, strict=True):
            clip = {"x": left, "y": top, "width": across, "height": high, "scale": 1}
            picture = browser.ask("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
            # A card of one colour takes a few bytes for each of its lines.
            assert len(picture["data"]) > 20 * high, (top, len(picture["data"]))
        browser.value(f"{cards}.forEach(each => each.scrollIntoView())")
        browser.value(FRAME)
        assert browser.value(f"{cards}.map(each => each.offsetHeight)") == claimed
    finally:
        browser.ask("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize("width", [390, 1440])
def test_dates_and_figures_stand_in_line(browser: Browser, two_findings: str, width: int) -> None:
    """No date of the first list is broken, the figures of tiles side by side share a line, filters show their words."""
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=True)
    try:
        browser.open(two_findings)
        times = "[...document.querySelectorAll('header time')]"
        assert browser.value(f"{times}.length") > 4
        assert browser.value(f"{times}.every(each => each.getClientRects().length === 1)")
        places = browser.value(
            "[...document.querySelectorAll('.tile')].map(each => "
            "[each.offsetTop, each.querySelector('.figure').offsetTop])"
        )
        assert len({tile for tile, _ in places}) == len(set(map(tuple, places)))
        assert browser.value("[...document.querySelectorAll('.filters select')].every(each => each.offsetWidth >= 100)")
    finally:
        browser.ask("Emulation.clearDeviceMetricsOverride")


def test_the_keyboard_reaches_all_of_it(page: Browser) -> None:
    """Tab meets links, filters, heads and buttons in the order of the page, each with a ring; Enter and space press."""
    page.value(f"{table(BY_CALLER)}.closest('details').open = true")
    active = "document.activeElement"
    seen = []
    for _ in range(400):
        page.press("Tab")
        seen.append(
            page.value(f"{active}.tagName + ' ' + ({active}.ariaLabel ?? {active}.textContent.trim().slice(0, 40))")
        )
        ring = page.value(
            f"(s => s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0)(getComputedStyle({active}))"
        )
        assert ring, seen[-1]
        if page.value(f"{active} === {head(BY_CALLER, 'errors')}"):
            break
    assert seen[0].startswith("A ")
    assert seen.index("SELECT Only one caller") < seen.index("SELECT Only one reason") < len(seen) - 1
    page.press("Enter")
    down = column(page, BY_CALLER, "errors")
    page.press(" ")
    assert column(page, BY_CALLER, "errors") == down[::-1] != down
    page.press("Tab", shift=True)
    assert page.value(f"{active} === {head(BY_CALLER, 'caller')}")


def test_without_scripts_nothing_is_missing_and_nothing_is_dead(browser: Browser, address: str) -> None:
    """No button, list or box stands there that would do nothing; tables, charts and folds are all there."""
    browser.open(address, scripts=False)
    try:
        assert browser.value("document.querySelectorAll('button, select, input').length") == 0
        assert browser.value("document.querySelectorAll('svg.plot').length") == 7
        browser.click(f"{table(BY_CALLER)}.closest('details').querySelector('summary')")
        assert len(rows(browser, BY_CALLER)) == 4
    finally:
        browser.open("about:blank")
    assert browser.complaints == []


def test_hostile_names_are_filtered_sorted_and_exported_as_text(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    """A name that is a script, a formula or very long is an option, a cell and a field of CSV, and never more."""
    found = report(spiking=ATTACK, others=(FORMULA, "x" * 300, "\u202eright"), message=ATTACK, step=ATTACK)
    path = tmp_path / "hostile.html"
    path.write_text(render_html(found), "utf-8")
    browser.open(path.as_uri())
    options = browser.value(f"[...{select('caller')}.options].map(each => each.text)")
    assert len(options) == 6
    assert max(map(len, options)) <= 40
    formula = next(text for text in options if text.startswith("=cmd"))
    browser.choose(select("caller"), formula)
    unfold(browser, BY_CALLER)
    assert len(rows(browser, BY_CALLER)) == 1
    browser.click(button(BY_CALLER, "CSV"))
    raw = browser.downloaded("errors-by-caller.csv").decode("utf-8-sig")
    _, line = csv.reader(io.StringIO(raw, newline=""))
    assert line[0].startswith("'=cmd|")
    assert int(line[1]) > 0
    browser.click("document.querySelector('.filters button')")
    browser.click(f"{tools(BY_CALLER)}.querySelector('button')")
    copied = [line.split("\t")[0] for line in browser.clipboard().splitlines()]
    assert "x" * 300 in copied
    assert line[0] in copied
    cell = f"{table(BY_CALLER)}.querySelector('td details')"
    fold = f"{cell}.offsetHeight - {cell}.querySelector('summary').offsetHeight"
    assert browser.value(fold) == 0
    browser.ask("Emulation.setEmulatedMedia", media="print", features=STILL)
    assert browser.value(fold) > 10
    browser.ask("Emulation.setEmulatedMedia", media="", features=STILL)
    assert browser.value("document.title").startswith("Agent errors")
    assert not browser.value("document.querySelector('img, #injected')")
    assert browser.value("document.documentElement.scrollWidth <= innerWidth")
    assert browser.complaints == []
