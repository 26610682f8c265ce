"""`analyzer nightly` as a command: its steps, its summary and its one exit code."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from analyzer.report.night.job import JobStep, gravest_code, job_document, job_units
from analyzer.report.writers.text import to_text
from analyzer.store import open_store
from tests import REPOSITORY
from tests.cli.conftest import Run
from tests.cli.nightly import NEW_ON, after

JOB = ("nightly", "logs", "--store", "x.duckdb", "--until", after(NEW_ON), "--last", "9000d")


@pytest.fixture
def store(fed: Path, tmp_path: Path) -> Path:
    """A copy of it in the folder that commands run in."""
    shutil.copytree(fed, tmp_path, dirs_exist_ok=True)
    return tmp_path / "x.duckdb"


def test_one_command_does_all_of_the_nights_work(run: Run, store: Path) -> None:
    """The finding is told and written down, the page and the gauges are made, what is too old is gone; exit 1."""
    done = run(*JOB, "--keep", "1d", "--prometheus", "x.prom")
    assert (done.returncode, done.stderr) == (1, "")
    steps = [line.split()[:2] for line in done.stdout.split("\n\n")[0].splitlines()[1:]]
    assert steps == [
        ["ingest", "ok"],
        ["check", "findings"],
        ["report", "ok"],
        ["prune", "ok"],
        ["prometheus", "ok"],
    ]
    assert done.stdout.count("1 new finding for 2026-10-07.") == 1
    assert "Unknown errors spiked: planner" in done.stdout
    assert "Most failures" not in done.stdout
    assert "\nErrors by cause: your account " in done.stdout
    days = "--caller planner --since 2026-10-07 --until 2026-10-08"
    assert f"  analyzer unknowns --suggest {days} --store x.duckdb\n" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if "  analyzer " not in line) <= 80
    folder = store.parent
    assert "planner" in (folder / "report.html").read_text("utf-8")
    assert "analyzer_findings" in (folder / "x.prom").read_text("utf-8")
    with open_store(store) as opened:
        assert opened.sql("select count(*) from events where type = 'night.judged'").item() == 1


def test_what_fails_is_told_and_the_rest_is_done(run: Run, store: Path) -> None:
    """A missing path, a page that cannot be written and a webhook that nobody answers: judged and pruned, exit 3.

    The summary of a job of GitHub Actions has all of that, and below it the night.
    """
    hook, summary = "webhook:http://127.0.0.1:1/secret-token", store.parent / "summary.md"
    summary.write_text("before\n", "utf-8")
    told = ("--page", "no/such/page.html", "--keep", "9000d", "--deliver", hook, "--json")
    done = run(*JOB, "nowhere", *told, env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert done.returncode == 3
    job = json.loads(done.stdout)
    codes = {step["step"]: step["exit_code"] for step in job["steps"]}
    assert codes == {"ingest": 3, "check": 1, "report": 3, "prune": 0, "deliver": 3}
    assert (job["schema"], job["exit_code"], job["store"]) == ("analyzer.nightly/1", 3, "x.duckdb")
    assert job["night"]["schema"] == "analyzer.check/1"
    assert "no/such/page.html: cannot be written" in done.stderr
    assert "nowhere: no such file or folder" in done.stderr
    assert "secret-token" not in done.stdout + done.stderr
    text = summary.read_text("utf-8")
    head = "| Step | Result | Exit code | What came of it |\n| --- | --- | ---: | --- |\n"
    assert text.startswith(f"before\n{head}| ingest | FAILED | 3 | ")
    assert "\n| report | FAILED | 3 | no/such/page.html: cannot be written: " in text
    assert "\n\n## 1 new finding for 2026-10-07." in text
    assert "| warning | new | Unknown errors spiked | planner |" in text
    assert [each.split(":")[0].rpartition(" ")[2] for each in job["opening"]] == ["cause"]
    assert all(each in text.replace("\\", "") for each in job["opening"])
    assert "secret-token" not in text
    page = (REPOSITORY / "docs" / "reference" / "json.md").read_text("utf-8")
    section = page.partition("## analyzer.nightly/1")[2].partition("\n## ")[0]
    assert [key for key in [*job, *job["steps"][0]] if f"`{key}`" not in section] == []


def test_strict_tells_of_quarantine_and_a_second_night_has_nothing_new(run: Run, samples: Path) -> None:
    """Exit 4 where lines went to quarantine; the same logs again leave none."""
    line = ("nightly", str(samples), "--store", "s.duckdb", "--until", "2020-01-01", "--strict")
    done = run(*line)
    assert done.returncode == 4
    assert "\ningest  partial" in done.stdout
    assert run(*line).returncode == 0


def test_a_second_job_is_told_to_come_back(run: Run, store: Path) -> None:
    """Exit 75 while another process has the store open; nothing is written."""
    with open_store(store, writable=True):
        done = run(*JOB)
    assert (done.returncode, done.stdout) == (75, "")
    assert not os.path.exists(store.parent / "report.html")


def test_what_is_wrong_with_the_line_is_said_before_anything_is_done(run: Run, tmp_path: Path) -> None:
    """Exit 2, and no store."""
    for wrong in (("--keep", "soon"), ("--last", "soon"), ("--timezone", "Nowhere/Land"), ("--until", "soon")):
        assert run("nightly", "logs", "--store", "y.duckdb", *wrong).returncode == 2
    assert not os.path.exists(tmp_path / "y.duckdb")


@pytest.mark.parametrize(
    ("codes", "one"), [((0, 0), 0), ((0, 1), 1), ((1, 4), 4), ((4, 2), 2), ((3, 2, 1), 3), ((3, 75), 75), ((), 0)]
)
def test_the_gravest_step_gives_the_exit_code(codes: tuple[int, ...], one: int) -> None:
    """What could not be done comes before what was found."""
    assert gravest_code([JobStep("ingest", code, "") for code in codes]) == one


def test_the_texts_of_logs_do_not_move_the_cursor() -> None:
    """What a step says is escaped, and wrapped at words."""
    shown = to_text(job_document([JobStep("report", 3, "a\x1b[2J" + " word" * 30)], None), 60)
    assert "\x1b" not in shown
    assert all(len(line) <= 60 and not line.endswith("wor") for line in shown.splitlines())


ODD = ["/opt/py thon", "nightly", "it's 5%", "--store", '$x"y\\z.duckdb']


def test_a_unit_runs_the_same_line_in_the_same_folder(run: Run, tmp_path: Path) -> None:
    """What asks for the unit is left out, a store that the environment names is put in, and nothing is read."""
    line = ("nightly", "logs", "--strict", "--install", "launchd", "--", "-odd", "--write")
    done = run(*line, env={"ANALYZER_STORE": "y.duckdb"})
    assert (done.returncode, done.stderr) == (0, "")
    job = plistlib.loads(done.stdout.encode())
    assert job["WorkingDirectory"] == str(tmp_path)
    start = [sys.executable, "-m", "analyzer", "nightly", "--store", "y.duckdb"]
    assert job["ProgramArguments"] == [*start, "logs", "--strict", "--", "-odd", "--write"]
    assert os.listdir(tmp_path) == []


def test_arguments_are_quoted_for_whoever_reads_the_unit() -> None:
    """A shell, behind cron's own percent signs; systemd's specifiers, variables and quotes; YAML's single quotes."""
    cron = job_units("cron", ODD, "/a b")[""].replace("\\%", "%")
    assert shlex.split(cron.partition(" >nightly.log")[0])[5:] == ["cd", "/a b", "&&", *ODD]
    service, timer = job_units("systemd", ODD, "/a %b").values()
    assert "WorkingDirectory=/a %%b\n" in service
    line = service.partition("ExecStart=")[2].partition("\n")[0]
    assert line == '"/opt/py thon" "nightly" "it\'s 5%%" "--store" "$$x\\"y\\\\z.duckdb"'
    assert "OnFailure=" in service
    assert "OnCalendar=*-*-* 02:15:00" in timer
    workflow = job_units("github-actions", ODD, "/a")[".github/workflows/nightly.yml"]
    quoted = workflow.partition("run: '")[2].partition("'\n")[0].replace("''", "'")
    assert shlex.split(quoted) == ODD


def test_a_unit_is_written_once_and_overwrites_nothing(run: Run, tmp_path: Path) -> None:
    """It is said where it is and what comes next; the same again is fine, and another one in its place is refused."""
    line = ("nightly", "logs", "--install", "systemd", "--write")
    done = run(*line)
    assert (done.returncode, done.stdout) == (0, "")
    folder = tmp_path / ".config" / "systemd" / "user"
    assert [each.name for each in sorted(folder.iterdir())] == ["analyzer.service", "analyzer.timer"]
    assert f"written: {folder / 'analyzer.service'}" in done.stderr
    assert "systemctl --user enable --now analyzer.timer" in done.stderr
    assert run(*line).returncode == 0
    (folder / "analyzer.timer").write_text("mine", "utf-8")
    refused = run(*line)
    assert refused.returncode == 2
    assert "says something else" in refused.stderr
    assert (folder / "analyzer.timer").read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    "line",
    [
        ("--write",),
        ("--install", "cron", "--write"),
        ("--install", "systemd", "--deliver", "slack:http://x/secret"),
        ("two\nlines", "--install", "cron"),
        ("\udcff.jsonl", "--install", "systemd"),
    ],
)
def test_what_cannot_be_installed_is_refused(run: Run, line: tuple[str, ...], tmp_path: Path) -> None:
    """Without --install, into a crontab, with a secret, with a name that is no text in a line: exit 2 and a hint."""
    done = run("nightly", "logs", *line)
    assert (done.returncode, done.stdout) == (2, "")
    assert "hint:" in done.stderr
    assert "secret" not in done.stderr
    assert os.listdir(tmp_path) == []
