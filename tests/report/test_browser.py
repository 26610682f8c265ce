"""The HTML report in a real browser, under its own policy: charts are drawn, hostile text stays text."""

from __future__ import annotations

import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analyzer.analysis import Overview
from analyzer.report import render_html
from tests.report.driving import browser_or_skip
from tests.security.hostile import write_logs

Report = Callable[..., Overview]
pytestmark = pytest.mark.slow
ATTACK = '</script><script>document.title="pwned"</script><img id=injected src=x onerror=\'document.title="pwned"\'>'


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine: its address, and what it has been asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Not on stderr."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def attributes_of(page: str) -> list[tuple[str, str]]:
    """Name and value of every attribute of every element."""
    found: list[tuple[str, str]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.extend((name, value or "") for name, value in attrs)  # type: ignore[method-assign]
    parser.feed(page)
    return found


def rendered(page: str, folder: Path) -> tuple[str, str]:
    """The document after its scripts have run, and what the browser's console said."""
    browser = browser_or_skip("THE REPORT WAS NOT CHECKED IN A BROWSER")
    path = folder / "report.html"
    path.write_text(page, "utf-8")
    command = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
        f"--user-data-dir={folder / 'profile'}", "--window-size=1200,2000", "--virtual-time-budget=8000",
        "--enable-logging=stderr", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    console = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if "CONSOLE" in line]
    return done.stdout.decode("utf-8", "replace"), "\n".join(console)


def test_charts_are_there_without_a_script(report: Report, tmp_path: Path) -> None:
    """All seven charts stand in the browser's document before any script has run; it complains of nothing."""
    source = render_html(report())
    assert source.count("<script") == 1
    assert source.index("<script") > source.rindex('<svg id="chart-')
    page, console = rendered(source, tmp_path)
    assert len(re.findall(r'<svg id="chart-[a-z0-9-]+" class="plot" role="img"', page)) == 7
    assert console == ""
    assert "onset 2026-11-21" in page


def test_charts_are_drawn_by_plotly_under_the_policy(report: Report, tmp_path: Path) -> None:
    """Where the page is to be interactive, all seven charts render with no complaint from the policy and no error."""
    page, console = rendered(render_html(report(), interactive=True), tmp_path)
    drawn = re.findall(r'<div id="(chart-[a-z0-9-]+)" class="[^"]*js-plotly-plot', page)
    assert len(drawn) == 7, console
    assert page.count('class="main-svg"') >= 7
    assert console == ""
    assert "<b>" not in page
    assert "onset 2026-11-21" in page


@pytest.mark.parametrize("interactive", [False, True])
def test_hostile_log_stays_text(report: Report, tmp_path: Path, interactive: bool) -> None:
    """Scripts and elements in callers, messages, steps, lines and file names neither run nor come to be."""
    hostile = report(
        spiking=ATTACK,
        others=("<b>bold</b>", '<a href="javascript:alert(1)">go</a>', "%{x} {y} &lt;i&gt; $x$"),
        message=ATTACK,
        step=ATTACK,
        broken=ATTACK,
        broken_name="<img src=x onerror=alert(1)>.jsonl",
    )
    page, console = rendered(render_html(hostile, interactive=interactive), tmp_path)
    assert "<title>Agent errors" in page
    assert page.count("main-svg" if interactive else 'class="plot"') >= 6, console
    assert console == ""
    attributes = attributes_of(page)
    assert ("id", "injected") not in attributes
    assert not [name for name, _ in attributes if name.startswith("on")]
    assert all(value.startswith("#") for name, value in attributes if name in {"href", "xlink:href", "src"})


def test_a_report_of_hostile_logs_asks_nobody(tmp_path: Path, listener: tuple[str, list[str]]) -> None:
    """Every text field of several formats attacks; the page of the command line runs none of it and reaches no one."""
    url, asked = listener
    write_logs(tmp_path / "logs", url)
    command = [sys.executable, "-c", "from analyzer.cli import main; main()", "report", "logs", "-q"]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    # 3, for the planted link, which is told and not followed.
    assert (done.returncode, b"not followed" in done.stderr) == (3, True)
    source = (tmp_path / "report.html").read_text("utf-8")
    assert source.count("img id=injected") > 20
    (tmp_path / "browser").mkdir()
    page, console = rendered(source, tmp_path / "browser")
    assert asked == []
    assert console == ""
    assert "<title>Agent errors" in page
    assert page.count('class="plot"') >= 6
    attributes = attributes_of(page)
    assert ("id", "injected") not in attributes
    assert not [name for name, _ in attributes if name.startswith("on")]
    assert all(value.startswith("#") for name, value in attributes if name in {"href", "xlink:href", "src"})
    assert not re.search(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", source)


def test_the_listener_would_have_heard(tmp_path: Path, listener: tuple[str, list[str]]) -> None:
    """A page without our policy and escapes does reach it, so silence means something."""
    url, asked = listener
    page, _ = rendered(f"<title>x</title><img src={url}/pixel><script>document.title='pwned'</script>", tmp_path)
    assert asked == ["/pixel"]
    assert "<title>pwned</title>" in page
