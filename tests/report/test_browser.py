"""The HTML report in a real browser, under its own policy: charts are drawn, hostile text stays text."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analyzer.analysis import Overview
from analyzer.report import render_html

Report = Callable[..., Overview]
pytestmark = pytest.mark.slow
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ATTACK = '</script><script>document.title="pwned"</script><img id=injected src=x onerror=\'document.title="pwned"\'>'


def attributes_of(page: str) -> list[tuple[str, str]]:
    """Name and value of every attribute of every element."""
    found: list[tuple[str, str]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.extend((name, value or "") for name, value in attrs)  # type: ignore[method-assign]
    parser.feed(page)
    return found


def rendered(page: str, folder: Path) -> tuple[str, str]:
    """The document after its scripts have run, and what the browser's console said."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"THE REPORT WAS NOT CHECKED IN A BROWSER: none of {', '.join(BROWSERS)} is installed")
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


def test_charts_are_drawn_under_the_policy(report: Report, tmp_path: Path) -> None:
    """All six charts render with no complaint from the policy and no script error."""
    page, console = rendered(render_html(report()), tmp_path)
    drawn = re.findall(r'<div id="(chart-[a-z-]+)" class="[^"]*js-plotly-plot', page)
    assert len(drawn) == 6, console
    assert page.count('class="main-svg"') >= 6
    assert console == ""
    assert "<b>" not in page
    assert re.search(r"figma-probe 100\u202f?%", page)


def test_hostile_log_stays_text(report: Report, tmp_path: Path) -> None:
    """Scripts and elements in callers, messages, steps, lines and file names neither run nor come to be."""
    hostile = report(
        spiking=ATTACK,
        others=("<b>bold</b>", '<a href="javascript:alert(1)">go</a>', "%{x} {y} &lt;i&gt; $x$"),
        message=ATTACK,
        step=ATTACK,
        broken=ATTACK,
        broken_name="<img src=x onerror=alert(1)>.jsonl",
    )
    page, console = rendered(render_html(hostile), tmp_path)
    assert "<title>Agent errors: report</title>" in page
    assert page.count("main-svg") >= 6, console
    assert console == ""
    attributes = attributes_of(page)
    assert ("id", "injected") not in attributes
    assert not [name for name, _ in attributes if name.startswith("on")]
    assert all(value.startswith("#") for name, value in attributes if name in {"href", "xlink:href", "src"})
