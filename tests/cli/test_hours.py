"""`analyzer check --last 1h`: single hours against the same hours of the weeks before, for a job of every hour."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from analyzer.analysis import check, check_hours, handle, window
from analyzer.store import open_store
from tests.cli.conftest import Run
from tests.cli.nightly import day_of
from tests.cli.test_story_of_an_alarm import LIMITED, OVERLOADED, REFUSED, session

DAYS = 24
TODAY, DAY = day_of(DAYS), timedelta(days=1)
CALLERS = {"bot": "openai", "planner": "anthropic", "coder": "anthropic", "lint": "anthropic"}
STORE = ("--store", "x.duckdb")


def hours() -> Iterator[bytes]:
    """Eight sessions of each caller an hour, one of them with an error, but for two hours of the last day.

    From 10 on all of `bot` are refused, as on the day before, and from 12 on everything of one provider fails.
    """
    for number in range(DAYS + 1):
        for hour in (9, 10, 11, 12):
            for caller, provider in CALLERS.items():
                for place in range(8):
                    usual = [(OVERLOADED, LIMITED)[number % 2]] if place == number % 8 else []
                    wrong = number >= DAYS - 1 and hour == 10 and caller == "bot"
                    down = number == DAYS and hour == 12 and provider == "anthropic"
                    errors = [REFUSED] if wrong else [OVERLOADED] * 2 if down else usual
                    yield from session(caller, number, 100 * hour + place, errors, hour + place / 10)


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of these logs."""
    folder = tmp_path_factory.mktemp("hours")
    (folder / "x.jsonl").write_bytes(b"".join(hours()))
    with open_store(folder / "x.duckdb", writable=True) as store:
        store.ingest([str(folder / "x.jsonl")])
        store.judge_history()
    return folder


def judged(folder: Path, since: int, until: int, timezone: str = "UTC") -> list[tuple[str, str | None, str, str]]:
    """Kind, whom, severity and state of what some hours of the last day have."""
    with open_store(folder / "x.duckdb") as store:
        night = check_hours(store, window(f"{TODAY}T{since:02}:00", f"{TODAY}T{until:02}:00", None, timezone))
    return [(one.finding, one.scope.caller or one.scope.provider, one.severity, one.state) for one in night.findings]


def test_an_hour_of_refusals_is_told_in_the_hour(run: Run, logged: Path, tmp_path: Path) -> None:
    """Exit 1, in words with the time, in the forms of a night; the hour before it was quiet."""
    shutil.copytree(logged, tmp_path, dirs_exist_ok=True)
    asked = ("check", *STORE, "--since", f"{TODAY}T10:00", "--until", f"{TODAY}T11:00")
    done = run(*asked, "--json")
    assert done.returncode == 1
    night = json.loads(done.stdout)
    assert night["window"] == {"since": f"{TODAY}T10:00:00.000Z", "until": f"{TODAY}T11:00:00.000Z", "timezone": "UTC"}
    (one,) = night["findings"]
    assert one["explanation"].startswith(
        "every session of bot has failed with auth_error since 10:00 UTC: "
        "8 of 8 sessions met auth_error errors (normally 0.0); 8 errors in all. 8 of 8 sessions failed."
    )
    assert (one["severity"], one["cost"]["sessions_seen"]) == ("critical", 8)
    text = run(*asked).stdout
    assert text.startswith(
        f"1 new finding for {TODAY} 10:00 to 11:00 UTC.\n\nCRITICAL  new  More errors than usual: bot, "
    )
    quiet = run("check", *STORE, "--since", f"{TODAY}T09:00", "--until", f"{TODAY}T10:00")
    assert (quiet.returncode, quiet.stdout) == (0, "")
    assert quiet.stderr == f"No findings for {TODAY} 09:00 to 10:00 UTC.\n"


def test_hours_are_counted_back_from_a_moment_of_the_past(run: Run, logged: Path, tmp_path: Path) -> None:
    """`--last` goes back from `--until`, and logs that end there give the same answer as those that go on behind it."""
    shutil.copytree(logged, tmp_path, dirs_exist_ok=True)
    asked = ("check", "--last", "1h", "--until", f"{TODAY}T11:00", "--json", "--store")
    replayed = json.loads(run(*asked, "x.duckdb").stdout)
    assert replayed["window"]["since"] == f"{TODAY}T10:00:00.000Z"
    with open_store(tmp_path / "then.duckdb", writable=True) as store:
        then = [line for line in hours() if json.loads(line)["timestamp"] < f"{TODAY}T11:00"]
        (tmp_path / "then.jsonl").write_bytes(b"".join(then))
        store.ingest([str(tmp_path / "then.jsonl")])
        store.judge_history()
    live = json.loads(run(*asked, "then.duckdb").stdout)
    figures = [[(one["id"], one["explanation"], one["cost"]) for one in each["findings"]] for each in (replayed, live)]
    assert figures[0] == figures[1]
    assert len(figures[0]) == 1


def test_an_outage_of_an_hour_is_one_finding(logged: Path) -> None:
    """Of the provider, and of none of its callers; what goes on from the hour before is told as such."""
    assert judged(logged, 12, 13) == [("outage", "anthropic", "critical", "new")]
    assert judged(logged, 11, 12) == []
    assert judged(logged, 10, 12) == [("volume", "bot", "warning", "new")]


def test_hours_are_those_that_clocks_show(logged: Path) -> None:
    """In another zone the same stretch has another name and the same findings."""
    assert judged(logged, 12, 13, "Europe/Berlin") == [("volume", "bot", "critical", "new")]


def test_an_hour_continues_what_the_night_knew(logged: Path, tmp_path: Path) -> None:
    """What the last night left open goes on under its id, and stays silent if somebody wants it to."""
    shutil.copytree(logged, tmp_path, dirs_exist_ok=True)
    chosen = window(f"{TODAY}T10:00", f"{TODAY}T11:00")
    with open_store(tmp_path / "x.duckdb", writable=True) as store:
        (own,) = check_hours(store, window(f"{TODAY - DAY}T10:00", f"{TODAY - DAY}T11:00")).findings
        night = check(store, until=TODAY.isoformat())
        known = next(one for one in night.findings if one.scope.caller == "bot")
        assert known.id == own.id
        (one,) = (again := check_hours(store, chosen)).findings
        assert (one.id, one.state, one.opened_on) == (known.id, "ongoing", TODAY - DAY)
        assert again.fails("warning")
        handle(store, known.id, "acknowledged", note="the key is being rotated")
        assert not check_hours(store, chosen).fails("info")
        assert store.sql("select count(*) as n from nights")["n"].item() == 1


def test_what_is_no_stretch_of_hours_is_refused(run: Run, logged: Path, tmp_path: Path) -> None:
    """More than 23 hours are nights; results of single hours are not stored, so nothing can be judged anew."""
    shutil.copytree(logged, tmp_path, dirs_exist_ok=True)
    for arguments, said in (
        (("--last", "2d"), "one night has no beginning to choose"),
        (("--last", "1h", "--again"), "results of single hours are not stored"),
    ):
        done = run("check", *STORE, *arguments)
        assert done.returncode == 2
        assert said in done.stderr
        assert "hint:" in done.stderr
