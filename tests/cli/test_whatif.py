"""`analyzer whatif`, `change` and `objectives` as commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def test_a_policy_is_tried_on_the_samples(run: Run, store: str) -> None:
    """The answer comes first, in a terminal, as Markdown and as JSON."""
    done = run("whatif", "retry", "--attempts", "2", "--store", store)
    assert (done.returncode, done.stderr) == (0, "")
    assert " ".join(done.stdout.split()).startswith(
        "35 of 38 recoveries kept (92.1%; 79.2% to 97.3%), unknown for 1 chain; waiting: "
    )
    assert max(map(len, done.stdout.splitlines())) <= 80
    content = json.loads(run("whatif", "retry", "--attempts", "2", "--store", store, "--json").stdout)
    assert (content["schema"], content["total"]["kept"]) == ("analyzer.whatif-retry/1", 35)
    some = json.loads(
        run("whatif", "retry", "--attempts", "2", "--store", store, "--json", "--caller", "planner").stdout
    )
    assert some["total"]["chains"] == 0


def test_a_change_is_written_down_listed_and_withdrawn(run: Run, store: str) -> None:
    """The list has it until it is withdrawn."""
    noted = json.loads(run("change", "retries 5 to 3", "--at", "2026-11-06", "--store", store, "--json").stdout)
    assert noted["changed_at"] == "2026-11-06T00:00:00.000Z"
    listed = json.loads(run("change", "--store", store, "--json").stdout)["changes"]
    assert [change["text"] for change in listed] == ["retries 5 to 3"]
    assert "\\x1b[2J" in run("change", "clears \x1b[2J the screen", "--store", store).stdout
    run(
        "change",
        "--withdraw",
        json.loads(run("change", "--store", store, "--json").stdout)["changes"][0]["id"],
        "--store",
        store,
    )
    done = run("change", "--withdraw", noted["id"], "--store", store)
    assert (done.stdout, done.stderr) == ("No change is written down.\n", "withdrawn: retries 5 to 3\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("whatif", "retry", "--attempts", "0"), "0 attempts"),
        (("whatif", "retry", "--attempts", "3", "--backoff", "soon"), "not FIRST..LONGEST seconds"),
        (("whatif", "model", "claude-opus-4-5"), "not OLD=NEW"),
        (("change", "--expect", "errors=-3%"), "no change to write down"),
        (("change", "x", "--last", "7d"), "options of the list"),
        (("change", "x", "--expect", "errors=less"), "not FIGURE"),
        (("change", "x", "--expect", "errors=-300%"), "cannot fall by more than 100%"),
        (("change", "x", "--at", "0001-01-01"), "too long ago: 0001-01-01"),
        (("whatif", "model", "a=b", "--since", "2199-01-01"), "read logs: analyzer ingest PATH"),
    ],
)
def test_bad_input_is_refused(run: Run, store: str, words: tuple[str, ...], message: str) -> None:
    """Exit code 2, and what is wrong in one line."""
    done = run(*words, "--store", store)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_objectives_of_the_folder_are_in_their_command_and_the_report(run: Run, store: str, tmp_path: Path) -> None:
    """A missed one has exit code 1; without a table there is none, and a wrong one is refused."""
    asked = ("objectives", "--store", store, "--until", "2026-11-10T12:00")
    assert run(*asked).stdout.startswith("No objective is set.")
    (tmp_path / "analyzer.toml").write_text("[objective]\nsessions_done = 0.99\n", "utf-8")
    done = run(*asked, "--json")
    (state,) = json.loads(done.stdout)["objectives"]
    assert (done.returncode, state["measure"], state["is_missed"]) == (1, "sessions_done", True)
    report = run("report", "--store", store, "--until", "2026-11-11", "--json", "--quiet")
    assert json.loads(report.stdout)["objectives"][0]["is_missed"]
    text = " ".join(run("report", "--store", store, "--until", "2026-11-11").stdout.split())
    assert "Missed: sessions that do their work" in text
    run("check", "--store", store, "--until", "2026-11-10", "--prometheus", "x.prom")
    assert "analyzer_findings" in (tmp_path / "x.prom").read_text("utf-8")
    (tmp_path / "analyzer.toml").write_text("[objective]\nsessions_done = 99\n", "utf-8")
    done = run(*asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert "sessions_done = 99" in done.stderr


def test_a_budget_that_is_passed_fails_and_writes_the_file_that_stops_agents(
    run: Run, store: str, tmp_path: Path
) -> None:
    """The samples spent $0.21 on one day; a larger budget takes the file away."""
    asked = ("budget", "--at", "2026-11-05T23:00", "--store", store, "--stop", "stop", "--daily")
    done = run(*asked, "0.1")
    assert (done.returncode, done.stdout.partition(" spent")[0]) == (1, "PASSED  $0.21 of $0.10")
    assert (tmp_path / "stop").read_text("utf-8").startswith("$0.21 of $0.10 spent")
    assert run(*asked, "20").returncode == 0
    assert not (tmp_path / "stop").exists()
    assert "a budget of 0 dollars" in run(*asked, "0").stderr
    assert run(*asked[:-3], "--daily", "0.001").stdout.startswith("PASSED  $0.21 of $0.001 spent today")
    assert "name another file with --stop" in run(*asked[:-2], "missing/stop", "--daily", "0.1").stderr
    done = run(*asked, "20", "--project", "nosuch")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "NO USAGE  No log has a request of project nosuch.")


def test_longer_waits_are_not_called_saved(run: Run, store: str) -> None:
    """The headline says that they are more, and counts the chains that nobody can judge."""
    text = " ".join(run("whatif", "retry", "--attempts", "4", "--backoff", "20..300", "--store", store).stdout.split())
    assert text.startswith("37 of 37 recoveries kept (100.0%; 90.6% to 100.0%), unknown for 5 chains; waiting: 11 min")
    assert " more (" in text.partition(".")[0] + text.partition(";")[2]
    assert "-" not in text.partition(" chains of history")[0]
