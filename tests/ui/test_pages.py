"""The pages in a real browser: each of them, a button, what arrives while a log grows, back, keys, and a phone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from analyzer.events.times import now
from tests.report.driving import Browser, browser_or_skip, browsing

pytestmark = pytest.mark.slow
PAGES = (
    "/now",
    "/incidents",
    "/errors?last=2y",
    "/sessions?last=2y",
    "/report?last=2y&section=errors",
    "/ask?sql=from+nights",
)
ROWS = "[...document.querySelectorAll('main tbody tr:not(.notes)')].length"
TITLE = "document.querySelector('h1')?.textContent"
_PATIENCE_SECONDS = 30


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log that an agent has begun."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "live.jsonl").touch()
    return folder


@pytest.fixture(scope="module")
def address(served: Path, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address that the command prints, with its token."""
    folder = shutil.copytree(served, tmp_path_factory.mktemp("pages"), dirs_exist_ok=True)
    words = ["ui", str(logs), "--store", str(folder / "s.duckdb"), "--no-browser", "--quiet"]
    command = [sys.executable, "-W", "error", "-m", "analyzer", *words]
    environment = {**os.environ, "ANALYZER_UI_TOKEN": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(_PATIENCE_SECONDS) == 130


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of this file."""
    path = browser_or_skip("THE PAGES WERE NOT OPENED IN A BROWSER")
    with browsing(path, tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.fixture
def go(browser: Browser, address: str) -> Iterator[Callable[[str], None]]:
    """Leads the browser to a path of the server; whatever a test does there, nothing complains."""
    browser.complaints.clear()
    base, _, token = address.partition("/?token=")
    browser.open(f"{base}/incidents?token={token}")
    yield lambda path: browser.open(base + path)
    assert browser.complaints == []


def until(browser: Browser, expression: str) -> None:
    """Wait until an expression of the page is true, also while another page loads."""
    ends = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < ends:
        with suppress(AssertionError):  # the page has gone while it was asked
            if browser.value(expression):
                return
        time.sleep(0.02)
    raise AssertionError((expression, browser.value("document.body.innerText")))


def test_the_token_does_not_stay_in_the_address(browser: Browser, go: Callable[[str], None]) -> None:
    """What is shared or kept as a bookmark does not open the pages for others."""
    assert browser.value("location.pathname + location.search") == "/incidents"
    assert browser.value("document.cookie") == ""


@pytest.mark.parametrize("path", PAGES)
def test_each_page_fits_its_window(browser: Browser, go: Callable[[str], None], path: str) -> None:
    """On a desk and on a phone no page is wider than its window, and it says something."""
    go(path)
    for width in (1100, 390):
        browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        assert browser.value("document.documentElement.scrollWidth <= innerWidth"), width
    assert browser.value("document.querySelector('main').innerText.length > 40")
    assert browser.value("document.querySelector('nav a[aria-current]').pathname") == path.partition("?")[0]


def test_a_record_arrives_while_it_is_written(
    browser: Browser, go: Callable[[str], None], logs: Path, native: Callable[..., bytes]
) -> None:
    """The page Now shows an error that a log has just got, and moves nothing that is read."""
    go("/now")
    until(browser, "!document.querySelector('.alive').hidden")
    at = now().isoformat()
    with open(logs / "live.jsonl", "ab") as log:
        log.write(
            native("live-1", at=at, session="work-1", caller="planner", reason="unknown", facts={"message": "<b>lost"})
        )
    until(browser, "document.querySelector('main').innerText.includes('<b>lost')")
    assert browser.value("document.querySelector('main a').textContent") == "work-1"
    assert browser.value("document.querySelectorAll('main b').length") == 0


def test_keys_open_a_row_and_back_leads_to_the_filters(browser: Browser, go: Callable[[str], None]) -> None:
    """By the keyboard: search, down, open; back and reload show the same search again."""
    go("/sessions?last=2y")
    browser.value("document.activeElement.blur()")
    for name in ("/", "reviewer-30-2", "Enter"):
        press(browser, name)
    until(browser, f"location.search.includes('reviewer-30-2') && document.readyState === 'complete' && {ROWS} === 1")
    browser.reload()
    assert browser.value(ROWS) == 1
    for name in ("j", "Enter"):
        press(browser, name)
    until(browser, f"location.pathname === '/session' && {TITLE} === 'Session reviewer-30-2'")
    browser.value("history.back()")
    until(browser, f"location.pathname === '/sessions' && {ROWS} === 1")
    assert browser.value("document.querySelector('input[name=text]').value") == "reviewer-30-2"
    press(browser, "?")
    assert browser.value("document.getElementById('keys').open")


def test_a_chart_zooms_once_the_mouse_reaches_it(browser: Browser, go: Callable[[str], None]) -> None:
    """Plotly comes from this server and draws the picture again, under the policy of the pages."""
    go("/ask?sql=select+caller,count(*)+from+errors+group+by+all")
    assert browser.value("document.querySelector('figure svg.plot') !== null && !window.Plotly")
    browser.value("document.querySelector('figure .chart').dispatchEvent(new PointerEvent('pointerenter'))")
    until(browser, "document.querySelector('figure .plotly-graph-div .barlayer .point') !== null")


def press(browser: Browser, name: str) -> None:
    """Press a key as a person does; a longer text than a character is typed."""
    if name == "Enter":
        browser.press("Enter")
    elif len(name) > 1:
        browser.write(name)
    else:
        browser.ask("Input.dispatchKeyEvent", type="keyDown", key=name, text=name)
        browser.ask("Input.dispatchKeyEvent", type="keyUp", key=name)


def test_a_button_acknowledges_an_incident(browser: Browser, go: Callable[[str], None]) -> None:
    """A note is typed, the button clicked, and the decision stands on the page and in the list."""
    go("/incidents")
    browser.click("document.querySelector('main a')")
    until(browser, "location.pathname === '/incident' && document.readyState === 'complete'")
    browser.value("document.querySelector('input[name=note]').focus()")
    browser.write("the gateway moves")
    browser.click("document.querySelector('button[value=acknowledge]')")
    until(browser, "document.querySelector('main')?.innerText.includes('the gateway moves')")
    go("/incidents")
    assert "acknowledged" in browser.value("document.querySelector('main').innerText")
