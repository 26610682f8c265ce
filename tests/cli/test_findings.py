"""`analyzer findings` as a command: what is listed, what a decision does to the nights after it, and that it stays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from analyzer.store import open_store
from tests.cli.conftest import Run
from tests.cli.nightly import NEW_ON, after

STORE = ("--store", "x.duckdb")
REPORT = (*STORE, "--until", after(NEW_ON + 1), "--format")
Night = Callable[[int], Any]


@pytest.fixture
def night(judged: Path, tmp_path: Path, run: Run) -> Night:
    """Check so many days after the first night with a finding, in a folder with a copy of the store."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    return lambda later: run("check", *STORE, "--until", after(NEW_ON + later), "--json")


def only_one(run: Run, *arguments: str) -> dict[str, Any]:
    """The one finding that is listed."""
    (one,) = json.loads(run("findings", "list", *STORE, "--json", *arguments).stdout)["findings"]
    assert isinstance(one, dict)
    return one


def test_an_acknowledged_finding_is_told_and_fails_no_night(run: Run, night: Night) -> None:
    """It keeps its place, with the note; the exit code is 0 until somebody takes it up again."""
    name = only_one(run)["id"]
    done = run("findings", "ack", name[:6], *STORE, "--note", "the provider knows", "--by", "ada")
    assert (done.returncode, done.stderr) == (0, f"finding {name}: acknowledged\n")
    later = night(1)
    assert later.returncode == 0
    (told,) = json.loads(later.stdout)["findings"]
    assert (told["id"], told["handling"]["act"], told["handling"]["note"]) == (
        name,
        "acknowledged",
        "the provider knows",
    )
    (id_and_place,) = [one["id"] for one in json.loads(run("report", *REPORT, "json").stdout)["findings"]]
    assert id_and_place == name
    told_by = (("check", *STORE, "--until", after(NEW_ON + 1)), ("report", *REPORT, "html", "-o", "-"))
    for command in (*told_by, ("report", *REPORT, "markdown"), ("findings", "list", *STORE)):
        said = run(*command).stdout
        assert "acknowledged by ada on " in said
        assert ": the provider knows" in said
    assert run("findings", "reopen", name, *STORE).returncode == 0
    assert night(2).returncode == 1


def test_findings_are_decided_by_what_they_are_about(run: Run, night: Night) -> None:
    """All open ones of a caller, a kind or a provider at once, beside IDs; where there is none, it says so."""
    one = only_one(run)
    about = ("--caller", one["scope"]["caller"], "--kind", one["finding"])
    done = run("findings", "ack", one["id"], *about, *STORE)
    assert (done.returncode, done.stderr) == (0, f"finding {one['id']}: acknowledged\n")
    assert night(1).returncode == 0
    nobody = run("findings", "close", "--provider", "nobody", *STORE)
    assert nobody.returncode == 2
    assert "no open finding of provider nobody" in nobody.stderr
    assert "name findings by their IDs" in run("findings", "reopen", *STORE).stderr


def test_a_snoozed_finding_speaks_again_when_its_time_is_over(run: Run, night: Night, tmp_path: Path) -> None:
    """Until then it fails no night."""
    name = only_one(run)["id"]
    assert run("findings", "snooze", name, "2w", *STORE).returncode == 0
    assert night(1).returncode == 0
    with open_store(tmp_path / "x.duckdb", writable=True) as store:
        past = {"finding_id": name, "act": "snoozed", "snoozed_until": "2026-10-08T00:00:00.000Z", "note": ""}
        store.decide([("finding.handled", past)])
    assert night(2).returncode == 1


def test_a_closed_finding_is_over_whatever_is_still_seen_of_it(run: Run, night: Night) -> None:
    """The next night tells its end, the nights after that nothing; a store that is made again knows of it."""
    name = only_one(run)["id"]
    assert run("findings", "close", name, *STORE, "--note", "key rotated").returncode == 0
    after_it = night(1)
    (told,) = json.loads(after_it.stdout)["findings"]
    assert (after_it.returncode, told["state"], told["resolution"]) == (0, "resolved", "closed")
    assert json.loads(night(2).stdout)["findings"] == []
    assert json.loads(run("findings", "list", *STORE, "--json").stdout)["findings"] == []
    assert run("rebuild", *STORE).returncode == 0
    assert only_one(run, "--all")["handling"]["note"] == "key rotated"
    refused = run("findings", "ack", name, *STORE)
    assert refused.returncode == 2
    assert "is resolved" in refused.stderr


def test_one_finding_is_shown_whole(run: Run, night: Night) -> None:
    """With its sentence, its messages and the ids of its events; no line is wider than the terminal."""
    name = only_one(run)["id"]
    done = run("findings", "show", name[:8], *STORE)
    assert done.returncode == 0
    for word in (name, "planner", "lattice gate", "planner-30-0-u", "analyzer unknowns --suggest"):
        assert word in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if not line.startswith("  analyzer ")) <= 80
    assert json.loads(run("findings", "show", name, *STORE, "--json").stdout)["schema"] == "analyzer.finding/1"
    listed = run("findings", "list", *STORE).stdout
    assert name[:8] in listed
    assert "critical" in listed or "warning" in listed


def test_what_is_no_finding_is_refused_in_words(run: Run, night: Night) -> None:
    """Unknown and too short ids, and lengths of time that are none."""
    name = only_one(run)["id"]
    for arguments, said in (
        (("ack", "zzzzzz"), "no finding zzzzzz"),
        (("ack", name[:2]), "too short"),
        (("snooze", name, "0d"), "a year at most"),
        (("snooze", name, "900d"), "a year at most"),
        (("snooze", name, "soon"), "not a length of time"),
    ):
        done = run("findings", *arguments, *STORE)
        assert done.returncode == 2
        assert said in done.stderr
        assert "hint:" in done.stderr
    missing = run("findings", "ack", name, "--store", "none.duckdb")
    assert missing.returncode == 3


def test_a_store_without_findings_says_so(run: Run, tmp_path: Path) -> None:
    """In words, and as an empty list."""
    open_store(tmp_path / "x.duckdb", writable=True).close()
    assert run("findings", "list", *STORE).stdout == "No open findings.\n"
    assert json.loads(run("findings", "list", *STORE, "--json").stdout) == {
        "schema": "analyzer.findings/1",
        "findings": [],
    }


def test_the_webhook_gets_what_is_new_worse_or_over() -> None:
    """What goes on as before is counted, and a night with nothing else is not posted."""
    from dataclasses import replace

    from analyzer.report.night.messages import chat_message
    from tests.analysis.nightly.test_recording import found, night_of

    new, same = found(1), replace(found(2), state="ongoing")
    worse, known = replace(found(3), state="ongoing", worse=True), found(4)
    from analyzer.analysis import Handling

    known = replace(known, handling=Handling("acknowledged", datetime(2026, 10, 7)))
    told = night_of(new, same, worse, known)
    assert told.news() == (new, worse)
    text = chat_message("webhook", told)["text"]
    assert "caller-1 says" in text
    assert "ongoing, worse: A new unknown message: caller-3, 2026-10-07. caller-3 says" in text
    assert "caller-2" not in text
    assert "And 2 findings as before." in text
    assert night_of(same).news() == ()
