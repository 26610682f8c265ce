"""`analyzer report`: which logs and stores it reads, what it writes, and what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.conftest import Run

CALLERS = ("mcp-transport", "watch-authorities", "update-check", "budget-enforcer", "claude-code", "wave/")


def test_report_names_the_caller_of_the_finding_and_no_other(run: Run, samples: Path, tmp_path: Path) -> None:
    """The main job: summary on stdout, HTML in a file, exit 0 whatever it finds."""
    done = run("report", str(samples))
    assert done.returncode == 0
    assert done.stdout.startswith("WARNING  Unknown errors spiked: figma-probe, 09:12–15:58 on 9 November.\n")
    assert not [caller for caller in CALLERS if caller in done.stdout]
    lines = done.stdout.splitlines()
    assert len(lines) <= 30
    assert max(len(line) for line in lines if " analyzer " not in line) <= 80
    assert done.stderr.splitlines()[0] == "report written to report.html"
    html = (tmp_path / "report.html").read_text("utf-8")
    assert "figma-probe" in html
    assert "mcp-transport" in html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html"]


def test_report_in_other_formats(run: Run, samples: Path, tmp_path: Path) -> None:
    """Markdown and JSON go to stdout or a file, and write no HTML."""
    log = str(samples / "unknown-spike.jsonl")
    markdown = run("report", log, "--format", "markdown")
    assert markdown.stdout.startswith("#")
    assert "figma-probe" in markdown.stdout
    data = json.loads(run("report", log, "--json").stdout)
    assert (data["schema"], data["verdict"]["level"]) == ("analyzer.report/1", "unjudged")
    assert run("report", log, "-f", "json", "-o", "r.json").stdout == ""
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["totals"] == data["totals"]
    assert run("report", log, "-f", "html", "-o", "r.html", "-q").stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]


def test_report_on_a_store_and_a_window(run: Run, store: str) -> None:
    """Without paths, on what is stored; the window decides what is seen."""
    assert run("report", "--store", store, "--until", "2026-11-04").stdout.startswith("NOT JUDGED")
    assert (
        "One session handed its work to a fresh context 7"
        in run("report", "--store", store, "--until", "2026-11-05").stdout
    )
    assert "on 4 November.\n  Not seen since." in run("report", "--store", store, "--until", "2026-11-09").stdout


def test_report_reads_paths_into_a_store_that_is_named(run: Run, samples: Path, tmp_path: Path) -> None:
    """One command a night."""
    log = str(samples / "gdd-events.jsonl")
    assert run("report", log, "--store", "n.duckdb").returncode == 0
    assert (tmp_path / "n.duckdb").exists()
    assert json.loads(run("ingest", log, "--store", "n.duckdb", "--json").stdout)["events"] == 0


def test_report_reads_no_paths_into_a_store_of_the_environment(run: Run, samples: Path, store: str) -> None:
    """`$ANALYZER_STORE` says which store to ask; logs are read into one only where the command names it."""
    before = Path(store).read_bytes()
    log = samples / "healthy-week.jsonl"
    done = run("report", str(log), "--json", env={"ANALYZER_STORE": store})
    assert json.loads(done.stdout)["completeness"]["sources"] == 1
    assert Path(store).read_bytes() == before


def test_a_mistyped_path_costs_no_page(run: Run, samples: Path, tmp_path: Path) -> None:
    """Yesterday's page stays where none of the files is a log, also in the place that is named; nor is one made."""
    page = tmp_path / "report.html"
    page.write_text("yesterday")
    (tmp_path / "README.md").write_text("# No log\n")
    done = run("report", "README.md")
    assert (done.returncode, page.read_text()) == (3, "yesterday")
    assert "analyzer: none of these files is a log that is read" in done.stderr
    assert "report.html is left as it was" in done.stderr
    assert run("report", "README.md", "-f", "html", "-o", "report.html").returncode == 3
    assert page.read_text() == "yesterday"
    assert run("report", "README.md", "-f", "html", "-o", "new.html", "-q").returncode == 3
    assert not (tmp_path / "new.html").exists()
    (tmp_path / "empty.jsonl").write_text("")
    assert run("report", "empty.jsonl").returncode == 0
    assert page.read_text() == "yesterday"
    assert run("report", str(samples / "unknown-spike.jsonl")).returncode == 0
    assert "figma-probe" in page.read_text("utf-8")


def test_a_store_is_never_made_of_another_file(run: Run, samples: Path, tmp_path: Path) -> None:
    """Nor is it advised to make one again in its place."""
    (tmp_path / "README.md").write_text("# No store\n" * 9)
    for command in (("ingest", str(samples)), ("report",), ("check",), ("doctor",)):
        done = run(*command, "--store", "README.md")
        assert done.returncode == (1 if command == ("doctor",) else 3)
        assert "rebuild" not in done.stderr + done.stdout
        assert "another file with --store" in done.stderr + done.stdout
    assert (tmp_path / "README.md").read_text() == "# No store\n" * 9


def test_names_that_begin_like_options_are_read(run: Run, samples: Path, tmp_path: Path) -> None:
    """As a shell gives them for `*` among Claude Code's projects; an option of the same name is still one."""
    logs = {"-home-u-shop": "healthy-week.jsonl", "-r": "healthy-week.jsonl", "--no-log": "healthy-week.jsonl"}
    for name, log in logs.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.jsonl").write_bytes((samples / log).read_bytes())
    names = sorted(logs)
    assert json.loads(run("report", *names, "--json").stdout)["completeness"]["sources"] == 3
    assert json.loads(run("ingest", *names, "--store", "s.duckdb", "--json").stdout)["files"] == 3
    assert "No such option" not in run("doctor", *names, "--store", "s.duckdb").stderr
    assert run("rebuild", *names, "--store", "s.duckdb").returncode == 0
    (tmp_path / "--json").write_text("")
    assert json.loads(run("report", names[0], "--json").stdout)["schema"] == "analyzer.report/1"
    assert run("report", "--no-such-name").returncode == 2


def test_report_on_an_empty_window_is_on_all_there_is(run: Run, store: str, tmp_path: Path) -> None:
    """A window beside the logs is no quiet one: the first line says so, and the errors outside of it are shown."""
    said = "Nothing until 2026-11-01 00:00 UTC; shown instead: all that the logs hold."
    page = tmp_path / "page.html"
    told = run("report", "--store", store, "--until", "2026-11-01", "--output", str(page)).stdout
    assert told.splitlines()[0] == said
    assert "All time: 2026-11-02 09:04 to 2026-11-10 08:15 UTC" in told and "121 errors" in told
    assert said in re.sub("</?(?:time|bdi)>", "", page.read_text("utf-8"))
    for kind in ("markdown", "json"):
        shown = run("report", "--store", store, "--until", "2026-11-01", "--format", kind).stdout
        assert said in shown if kind == "markdown" else json.loads(shown)["asked_window"]["until"].startswith("2026")


def test_a_query_on_an_empty_window_says_where_the_logs_are(run: Run, store: str) -> None:
    """Rows are those of the window alone; what is outside of it is told beside them."""
    done = run("query", "errors-by-reason", "--store", store, "--until", "2026-11-01", "--json")
    assert json.loads(done.stdout)["rows"] == []
    assert "no row in this window; the logs go from 2026-11-02 09:04 to 2026-11-10 08:15 UTC" in done.stderr


def test_report_spans_what_happened_and_not_what_was_decided(run: Run, store: str) -> None:
    """A check writes its night into the store, but the window of all time ends with the last event of the logs."""
    before = json.loads(run("report", "--store", store, "--json").stdout)["totals"]
    assert run("check", "--store", store, "--until", "2026-11-10").returncode == 1
    assert json.loads(run("report", "--store", store, "--json").stdout)["totals"] == before
    (age,) = [line for line in run("doctor", "--store", store).stdout.splitlines() if line.split()[:2] == ["ok", "age"]]
    assert "to 2026-11-10 08:15 UTC" in age


def test_an_interactive_page_has_plotly_inside(run: Run, store: str, tmp_path: Path) -> None:
    """Without the option there are pictures and no script; JSON and Markdown know no such thing."""
    for option in ([], ["--interactive"]):
        assert run("report", "--store", store, "--format", "html", *option).returncode == 0
        page = (tmp_path / "report.html").read_text("utf-8")
        assert ('<svg id="chart-' in page, "Plotly.newPlot" in page) == (True, bool(option))
    done = run("report", "--store", store, "--interactive", "--json")
    assert (done.returncode, "--interactive needs a page" in done.stderr) == (2, True)


def test_a_token_in_a_folder_s_name_is_not_shown(run: Run, samples: Path, tmp_path: Path) -> None:
    """Neither page, Markdown nor terminal shows a token that is the name of a log's folder."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    folder = tmp_path / token
    folder.mkdir()
    (folder / "events.jsonl").write_bytes((samples / "unknown-spike.jsonl").read_bytes() + b'{"torn\n')
    assert run("ingest", token, "--store", "s.duckdb").returncode == 0
    commands = (
        ("report", "-o", "r.html"),
        ("report", "-f", "markdown"),
        ("query", "quarantine-lines"),
        ("doctor",),
    )
    for command in commands:
        done = run(*command, "--store", "s.duckdb")
        assert token not in done.stdout + done.stderr, command
    page = (tmp_path / "r.html").read_text("utf-8")
    assert token not in page and "[REDACTED:github_token:" in page
