"""`analyzer report`: which logs and stores it reads, what it writes, and what it says."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Run

CALLERS = ("mcp-transport", "watch-authorities", "update-check", "budget-enforcer", "claude-code", "wave/")


def test_report_names_the_caller_of_the_finding_and_no_other(run: Run, samples: Path, tmp_path: Path) -> None:
    """The main job: summary on stdout, HTML in a file, exit 0 whatever it finds."""
    done = run("report", str(samples))
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].endswith("Unknown errors spiked for figma-probe.")
    assert not [caller for caller in CALLERS if caller in done.stdout]
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr.splitlines()[0] == "report written to report.html"
    html = (tmp_path / "report.html").read_text("utf-8")
    assert "figma-probe" in html
    assert "mcp-transport" in html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html"]


def test_report_in_other_formats(run: Run, samples: Path, tmp_path: Path) -> None:
    """Markdown and JSON go to stdout or a file, and write no HTML."""
    markdown = run("report", str(samples), "--format", "markdown")
    assert markdown.stdout.startswith("#")
    assert "mcp" in markdown.stdout
    data = json.loads(run("report", str(samples), "--json").stdout)
    assert (data["schema"], data["verdict"]["level"]) == ("analyzer.report/1", "warning")
    assert run("report", str(samples), "-f", "json", "-o", "r.json").stdout == ""
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["totals"] == data["totals"]
    assert run("report", str(samples), "-f", "html", "-o", "r.html", "-q").stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]


def test_report_on_a_store_and_a_window(run: Run, store: str) -> None:
    """Without paths, on what is stored; the window decides what is seen."""
    assert "No findings" in run("report", "--store", store, "--until", "2026-11-09").stdout
    assert "figma-probe" in run("report", "--store", store, "--since", "2026-11-09").stdout
    assert "figma-probe" in run("report", env={"ANALYZER_STORE": store}).stdout


def test_report_reads_paths_into_a_store_that_is_named(run: Run, samples: Path, tmp_path: Path) -> None:
    """One command a night."""
    done = run("report", str(samples), "--store", "n.duckdb")
    assert done.returncode == 0
    assert (tmp_path / "n.duckdb").exists()
    assert json.loads(run("ingest", str(samples), "--store", "n.duckdb", "--json").stdout)["events"] == 0


def test_report_reads_no_paths_into_a_store_of_the_environment(run: Run, samples: Path, store: str) -> None:
    """`$ANALYZER_STORE` says which store to ask; logs are read into one only where the command names it."""
    before = Path(store).read_bytes()
    log = samples / "healthy-week.jsonl"
    done = run("report", str(log), "--json", env={"ANALYZER_STORE": store})
    assert json.loads(done.stdout)["completeness"]["sources"] == 1
    assert Path(store).read_bytes() == before


def test_report_says_which_store_its_commands_want(run: Run, samples: Path, store: str, tmp_path: Path) -> None:
    """The commands that a summary names work after the line on stderr was followed, and none stands where they do."""
    told = run("report", str(samples)).stderr.splitlines()
    assert told[1:] == [f"for the commands above, keep a store: analyzer ingest {samples}"]
    assert run("query", "errors-by-caller").returncode == 3
    assert run(*told[1].partition(": analyzer ")[2].split()).returncode == 0
    assert run("query", "errors-by-caller").returncode == 0
    assert run("report").stderr.splitlines() == ["report written to report.html"]
    other = run("report", "--store", store).stderr.splitlines()
    assert other[1:] == [f"for the commands above: export ANALYZER_STORE={store}"]
    assert len(run("report", env={"ANALYZER_STORE": store}).stderr.splitlines()) == 1


def test_report_on_an_empty_window_says_where_the_events_are(run: Run, store: str) -> None:
    """A window beside the logs is no quiet one: the summary names the days that they hold."""
    told = run("report", "--store", store, "--until", "2026-11-01").stdout
    assert told.startswith(
        "EMPTY  There is nothing in this window.\n  The logs go from 2026-11-02 09:04 to 2026-11-10 08:15"
    )
    markdown = run("report", "--store", store, "--until", "2026-11-01", "--format", "markdown").stdout
    assert "The logs go from 2026-11-02 09:04" in markdown


def test_report_spans_what_happened_and_not_what_was_decided(run: Run, store: str) -> None:
    """A check writes its night into the store, but the window of all time ends with the last event of the logs."""
    before = json.loads(run("report", "--store", store, "--json").stdout)["totals"]
    assert run("check", "--store", store).returncode == 1
    assert json.loads(run("report", "--store", store, "--json").stdout)["totals"] == before
    (age,) = [line for line in run("doctor", "--store", store).stdout.splitlines() if line.startswith("ok       age")]
    assert "to 2026-11-10 08:15 UTC" in age


def test_an_interactive_page_has_plotly_inside(run: Run, store: str, tmp_path: Path) -> None:
    """Without the option there are pictures and no script; JSON and Markdown know no such thing."""
    for option in ([], ["--interactive"]):
        assert run("report", "--store", store, "--format", "html", *option).returncode == 0
        page = (tmp_path / "report.html").read_text("utf-8")
        assert ('<svg id="chart-' in page, "Plotly.newPlot" in page) == (True, bool(option))
    done = run("report", "--store", store, "--interactive", "--json")
    assert (done.returncode, "--interactive is for a page" in done.stderr) == (2, True)
