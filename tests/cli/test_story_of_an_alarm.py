"""Some incidents end to end: logs are ingested, every night is checked, and what an operator reads of them is held."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from analyzer.events import Event, encode
from analyzer.store import open_store
from tests import Native
from tests.cli.conftest import Run
from tests.cli.nightly import NEW_ON, after, day_of, write_nights

CHANGE = 24
"""The day of the incident."""
DAYS = 29
CALLERS = {"deploy-bot": ("openai", 20), "planner": ("anthropic", 8), "coder": ("anthropic", 10)}
"""Provider, and sessions a day."""
MORE = {f"{name}-{number}": ("anthropic", 6) for name in ("lint", "docs") for number in range(2)}
REFUSED = {"status": 401, "message": "invalid x-api-key"}
OVERLOADED = {"status": 529, "message": "Overloaded"}
LIMITED = {"status": 429, "message": "Too Many Requests, slow down"}
GONE = {"status": 404, "message": "model: claude-old is retired"}
RETIRED_AT = ("coder", "lint-0", "docs-1")
"""Callers that use a model which is retired one day."""


def session(caller: str, number: int, place: int, errors: list[dict[str, Any]], hour: float) -> Iterator[bytes]:
    """The lines of one session: that it was, and its errors."""
    name, day = f"{caller}-{number}-{place}", day_of(number)
    begin = datetime(day.year, day.month, day.day) + timedelta(hours=hour)
    known = {"caller": caller, "retry_visibility": "full", "requests": 9, "tools": {"tickets": 4, "Read": 5}}
    yield encode(Event("session.observed", begin, name, known, f"{name}-s"))
    reasons = {401: "auth_error", 404: "network_permanent", 529: "network_transient", 429: "rate_limited"}
    model = "claude-old" if caller in RETIRED_AT else "claude-new"
    for at, facts in enumerate(errors):
        payload = {"caller": caller, "provider": CALLERS.get(caller, ("anthropic",))[0], "model": model, "facts": facts}
        payload["reason"] = reasons[facts["status"]]
        yield encode(Event("error.classified", begin + timedelta(seconds=at + 1), name, payload, f"{name}-{at}"))


def broken(name: str, caller: str, number: int, hour: float) -> Iterator[bytes]:
    """The lines of a tool that fails twice in a session."""
    day = day_of(number)
    for place in range(2):
        at = datetime(day.year, day.month, day.day) + timedelta(hours=hour, seconds=10 + place)
        payload = {"caller": caller, "tool": "tickets", "kind": "other", "message": "no such board"}
        yield encode(Event("tool.failed", at, name, payload, f"{name}-tool-{place}"))


def behind(caller: str, number: int, place: int, hour: float, *, down: bool) -> Iterator[bytes]:
    """What a caller does behind an error: it retries, for long and in vain where its provider is down, and hands off
    to a fresh context then.
    """
    name, day = f"{caller}-{number}-{place}", day_of(number)
    at = datetime(day.year, day.month, day.day) + timedelta(hours=hour, minutes=5)
    chain = {"operation": f"{name}-c", "caller": caller, "reason": "network_transient"}
    waited, outcome = (95.0, "exhausted") if down else (1.5, "recovered")
    settled = {**chain, "outcome": outcome, "attempts": 3, "waited_seconds": waited}
    yield encode(Event("retry.settled", at, name, settled, f"{name}-c"))
    for relay in range(3 if down else number % 5 == place % 5):
        known = {"relay": f"{name}-r{relay}", "caller": caller, "step_id": "implement", "trigger": "auto"}
        yield encode(Event("relay.triggered", at, name, known, f"{name}-r{relay}"))
        resumed = Event("relay.resumed", at + timedelta(seconds=9), name, known, f"{name}-rr{relay}")
        yield encode(resumed)


def again(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The same lines as another shipper sends them: with ids and a session of its own."""
    for line in lines:
        known = {key: value for key, value in json.loads(line).items() if key != "crc"}
        known |= {"id": f"{known['id']}-again", "sessionId": f"copy/{known['sessionId']}"}
        yield json.dumps(known).encode() + b"\n"


def days(incident: str) -> Iterator[bytes]:
    """Logs in which every fourth session meets a limit or an overload, but for the incident."""
    for number in range(DAYS):
        for caller, (provider, sessions) in {**CALLERS, **MORE}.items():
            for place in range(sessions):
                hour = 2 + 10 / 60 + 0.5 * place
                errors = [(OVERLOADED, LIMITED)[(number + place) % 2]] if (number + place) % 4 == 0 else []
                if incident == "refused" and caller == "deploy-bot" and number == CHANGE:
                    errors = [REFUSED]
                if incident == "outage" and provider == "anthropic" and number == CHANGE:
                    errors = [OVERLOADED] * 3
                down = incident == "four hours" and provider == "anthropic" and number == CHANGE and 3 <= hour < 7
                if down:
                    errors = [OVERLOADED] * 3
                if incident == "key" and number in {CHANGE, CHANGE + 1}:
                    errors = [REFUSED]
                if incident == "retired" and caller in RETIRED_AT and number in {CHANGE, CHANGE + 1}:
                    errors = [GONE]
                if incident == "silence" and caller == "deploy-bot" and number in {CHANGE, CHANGE + 1}:
                    continue
                yield from session(caller, number, place, errors, hour)
                if incident == "twice" and caller == "deploy-bot" and number == CHANGE:
                    yield from again(session(caller, number, place, errors, hour))
                if incident == "four hours" and errors:
                    yield from behind(caller, number, place, hour, down=down)
                if incident == "tool" and place % 5 < (4 if number == CHANGE else 1):
                    yield from broken(f"{caller}-{number}-{place}", caller, number, hour)


Story = Callable[[str], None]
EACH_DAY = ("check", "--each-day", "--since", after(CHANGE - 2), "--until", after(DAYS - 1), "--store", "x.duckdb")


@pytest.fixture
def story(stories: Callable[[str], Path], tmp_path: Path) -> Story:
    """Put the store of an incident into the folder that commands run in."""
    return lambda incident: shutil.copytree(stories(incident), tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Make a folder with the store of an incident, once."""

    @cache
    def make(incident: str) -> Path:
        folder = tmp_path_factory.mktemp("story")
        (folder / "events.jsonl").write_bytes(b"".join(days(incident)))
        with open_store(folder / "x.duckdb", writable=True) as store:
            store.ingest([str(folder / "events.jsonl")])
        return folder

    return make


def nights(run: Run, story: Story, incident: str) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit code of all nights from the incident on, and what each told."""
    story(incident)
    done = run(*EACH_DAY, "--json")
    return done.returncode, json.loads(done.stdout)["nights"]


def told(every: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """What the night of a day told."""
    (night,) = (night for night in every if night["window"]["since"] == day_of(number).isoformat())
    return list(night["findings"])


def test_a_day_of_refusals_is_told_first_and_in_plain_words(run: Run, story: Story) -> None:
    """20 of 20 sessions are refused: critical, with the time of the first; over on the next day."""
    code, every = nights(run, story, "refused")
    assert code == 1
    (one,) = told(every, CHANGE)
    assert (one["finding"], one["severity"], one["state"]) == ("volume", "critical", "new")
    assert one["explanation"].startswith(
        "every session of deploy-bot has failed with auth_error since 02:10 UTC: 20 of 20 sessions met auth_error "
    )
    assert "20 of 20 sessions failed" in one["explanation"]
    cost = {"error_sessions": 20, "sessions_failed": 20, "sessions_seen": 20, "waited_seconds": 0.0}
    since = {"reason": "auth_error", "failed_since": "2026-10-01T02:10:01.000Z", "every_session": True}
    assert one["cost"] == {**cost, **since, "callers": ["deploy-bot"], "failed_usd": None}
    states = [[(each["id"] == one["id"], each["state"]) for each in told(every, CHANGE + later)] for later in range(5)]
    assert states == [[(True, "new")], [(True, "resolved")], [], [], []]
    (over,) = told(every, CHANGE + 1)
    assert (over["resolution"], over["severity"]) == ("quiet", "critical")
    assert over["explanation"].startswith("every session of deploy-bot failed with auth_error from 02:10 UTC on")
    assert run(*EACH_DAY).stdout.startswith("1 finding in 6 nights, 0 still open on the last.")
    once = run("check", "--store", "x.duckdb", "--until", after(CHANGE), "--fail-on", "critical")
    assert once.returncode == 1
    first, said = once.stdout.splitlines()[2:4]
    assert first == "CRITICAL  new  More errors than usual: deploy-bot, 02:10–11:40 on 1 October"
    assert said.strip().startswith("Every session of deploy-bot has failed with auth_error since 02:10 UTC")


def test_an_outage_of_a_provider_is_one_finding(run: Run, story: Story) -> None:
    """Six callers fail on one day: what is told is the provider, critical, and nothing of a caller."""
    code, every = nights(run, story, "outage")
    assert code == 1
    (one,) = told(every, CHANGE)
    assert (one["finding"], one["scope"]["provider"], one["severity"]) == ("outage", "anthropic", "critical")
    assert one["explanation"].startswith("every session of the callers of anthropic has failed with network_transient")
    assert one["cost"]["sessions_failed"] == one["cost"]["sessions_seen"] == 42
    opened = {each["id"] for night in every for each in night["findings"]}
    assert opened == {one["id"]}
    assert told(every, CHANGE + 1)[0]["resolution"] == "quiet"


def test_an_outage_of_four_hours_is_one_finding_with_what_follows_from_it(run: Run, story: Story) -> None:
    """The provider is named; retries in vain, long waits and hand-offs of its callers are told with it, and none of
    them opens a finding of its own, then or on the quiet nights behind.
    """
    _, every = nights(run, story, "four hours")
    (one,) = told(every, CHANGE)
    assert (one["finding"], one["scope"]["provider"], one["severity"]) == ("outage", "anthropic", "critical")
    assert one["scope"]["reason"] == "network_transient"
    assert " waited longer for retries" in one["explanation"]
    assert " handed off more often" in one["explanation"]
    assert {each["id"] for night in every for each in night["findings"]} == {one["id"]}
    assert told(every, CHANGE + 1)[0]["resolution"] == "quiet"
    once = run("check", "--store", "x.duckdb", "--until", after(CHANGE))
    assert once.returncode == 1
    assert "CRITICAL  new  A provider fails for many callers: anthropic" in once.stdout
    for later in (1, 2, 3):
        quiet = run("check", "--store", "x.duckdb", "--until", after(CHANGE + later))
        assert quiet.returncode == 0
    assert run("findings", "list", "--store", "x.duckdb", "--json").stdout.count('"state": "open"') == 0


@pytest.mark.parametrize(
    ("incident", "finding", "named"),
    [("key", "fleet_outage", ("reason", "auth_error")), ("retired", "model_outage", ("model", "claude-old"))],
)
def test_what_breaks_for_many_callers_is_one_finding(
    run: Run, story: Story, incident: str, finding: str, named: tuple[str, str]
) -> None:
    """A key of all callers, at both providers, is the fleet's; a model that is retired is the model's: on both days."""
    _, every = nights(run, story, incident)
    (one,) = told(every, CHANGE)
    scope, name = named
    assert (one["finding"], one["scope"][scope], one["severity"]) == (finding, name, "critical")
    assert {each["id"] for night in every for each in night["findings"]} == {one["id"]}


def test_a_caller_that_falls_silent_is_told_until_it_is_heard_again(run: Run, tmp_path: Path, story: Story) -> None:
    """Two days without a session of the twenty: page, terminal and JSON say so; over on the first day with work."""
    code, every = nights(run, story, "silence")
    assert code == 1
    (one,) = told(every, CHANGE)
    assert (one["finding"], one["scope"]["caller"], one["severity"]) == ("silence", "deploy-bot", "warning")
    assert one["explanation"] == "deploy-bot, 2026-10-01: no session on 2026-10-01 (normally 20)."
    states = [[each["state"] for each in told(every, CHANGE + later)] for later in range(5)]
    assert states == [["new"], ["ongoing"], ["resolved"], [], []]
    once = run("check", "--store", "x.duckdb", "--until", after(CHANGE + 1)).stdout
    assert "WARNING  new  Sessions are missing: deploy-bot" in once
    window = ("--since", after(CHANGE - 9), "--until", after(CHANGE + 1), "--store", "x.duckdb")
    page = run("report", *window, "--format", "html", "--output", "x.html")
    assert page.returncode == 0, page.stderr
    days = "<time>2026-10-01</time> to <time>2026-10-02</time>"
    assert f"No session from {days} (normally 40)" in Path(tmp_path, "x.html").read_text()


def test_a_tool_that_begins_to_fail_is_told_by_its_name(run: Run, story: Story) -> None:
    """In four of five sessions, where it was one of five: one finding of the tool, none of the callers; then over."""
    code, every = nights(run, story, "tool")
    assert code == 1
    (one,) = told(every, CHANGE)
    assert (one["finding"], one["scope"]["tool"], one["severity"]) == ("tool_failures", "tickets", "warning")
    assert one["explanation"].startswith(
        "tickets, 02:10–11:10 on 1 October: the tool tickets failed in 51 of 62 sessions that used it on 2026-10-01, "
    )
    assert {each["id"] for night in every for each in night["findings"]} == {one["id"]}
    assert told(every, CHANGE + 1)[0]["resolution"] == "quiet"


def test_a_log_that_is_shipped_twice_is_told_as_that(run: Run, story: Story) -> None:
    """Twice the sessions with the same texts and times under other ids: no rise, but what it is; then over."""
    code, every = nights(run, story, "twice")
    assert code == 1
    (one,) = told(every, CHANGE)
    assert (one["finding"], one["scope"]["caller"], one["severity"]) == ("shipped_twice", "deploy-bot", "warning")
    assert {each["id"] for night in every for each in night["findings"]} == {one["id"]}
    assert told(every, CHANGE + 1)[0]["resolution"] == "quiet"


SAID = {
    "four hours": ("A provider fails for many callers", "anthropic", " network_transient errors (normally "),
    "tool": (
        "A tool fails more often",
        "tickets",
        "The tool tickets failed in 51 of 62 sessions that used it on 2026-10-01, ",
    ),
}
"""Of each story its headline, whose it is, and how it begins."""


@pytest.mark.parametrize("incident", SAID)
def test_terminal_page_and_chat_say_the_same_words(
    run: Run, tmp_path: Path, story: Story, hook: Any, incident: str
) -> None:
    """The headline with its name, and the first sentence, which is all that a chat has."""
    title, whose, said = SAID[incident]
    story(incident)
    done = run("check", "--store", "x.duckdb", "--until", after(CHANGE), "--deliver", f"slack:{hook.url}")
    assert done.returncode == 1
    assert f"new  {title}: {whose}, " in done.stdout
    assert said in " ".join(done.stdout.split())
    window = ("--since", after(CHANGE - 9), "--until", after(CHANGE), "--store", "x.duckdb")
    assert run("report", *window, "--format", "html", "--output", "x.html").returncode == 0
    page = re.sub("</?(?:time|bdi)>", "", Path(tmp_path, "x.html").read_text())
    assert title in page and said.removesuffix(".") in page
    assert ("waited longer for retries" in page) == (incident == "four hours")
    (sent,) = hook.bodies
    chat = json.dumps(sent, ensure_ascii=False)
    assert said in chat


def test_from_a_new_wording_to_a_quiet_night(run: Run, tmp_path: Path, native: Native) -> None:
    """Check fails on that night, a draft takes the wording, backtest shows what that buys, the next night is quiet."""
    write_nights(tmp_path / "logs", native, 40)
    assert run("ingest", "logs", "--store", "x.duckdb").returncode == 0

    quiet = run("check", "--store", "x.duckdb", "--until", after(NEW_ON - 1))
    assert (quiet.returncode, quiet.stdout) == (0, "")
    assert quiet.stderr.startswith("No findings for 2026-10-06.")

    failed = run("check", "--store", "x.duckdb", "--until", after(NEW_ON), "--json")
    assert failed.returncode == 1
    (spike,) = json.loads(failed.stdout)["findings"]
    assert (spike["finding"], spike["state"], spike["scope"]["caller"]) == ("spike", "new", "planner")
    (fingerprint,) = {part["scope"]["template"] for part in spike["parts"] if part["finding"] == "template"}

    assert run("unknowns", "--store", "x.duckdb", "--suggest", "--output", "draft.toml").returncode == 0
    groups = json.loads(run("unknowns", "--store", "x.duckdb", "--json").stdout)["groups"]
    (new,) = [group for group in groups if fingerprint in group["fingerprints"]]
    assert new["template"] == "lattice gate <*> closed by curator <*>"
    _choose_a_reason(tmp_path / "draft.toml", "network_transient")
    assert run("rules", "test", "--rules", "draft.toml").returncode == 0

    arguments = ("rules", "backtest", "--rules", "draft.toml", "--store", "x.duckdb")
    tried = json.loads(run(*arguments, "--json").stdout)
    assert [change["fingerprint"] for change in tried["recovered"]] == [fingerprint]
    assert {(alarm["finding"], alarm["caller"]) for alarm in tried["alarms"]["vanished"]} >= {("spike", "planner")}
    assert (tried["alarms"]["appeared"], tried["alarms"]["stayed"]) == ([], [])
    assert "Alarms of past nights: 1 vanished, 0 appeared, 0 stayed." in run(*arguments).stdout

    assert run("reclassify", "--rules", "draft.toml", "--apply", "--store", "x.duckdb").returncode == 0
    cleared = run("check", "--store", "x.duckdb", "--until", after(NEW_ON + 1), "--json")
    assert cleared.returncode == 0
    (ended,) = json.loads(cleared.stdout)["findings"]
    assert (ended["id"], ended["state"], ended["resolution"]) == (spike["id"], "resolved", "explained")
    rows = run("sql", "select finding, state, resolution from findings", "--store", "x.duckdb", "--format", "csv")
    assert rows.stdout.splitlines()[1:] == ['"spike","resolved","explained"']
    assert run("check", "--store", "x.duckdb", "--until", after(NEW_ON + 2)).stdout == ""


def _choose_a_reason(path: Path, reason: str) -> None:
    """What an operator does to a draft without evidence: keep the entry of the new wording, and fill the reason in."""
    entries = path.read_text("utf-8").split("\n\n")
    (entry,) = [entry for entry in entries if 'id = "lattice_gate' in entry]
    if "# [[rule]]" in entry:
        entry = "[[rule]]" + entry.partition("# [[rule]]")[2].replace("\n# ", "\n").replace(
            'reason = ""', f'reason = "{reason}"'
        )
    path.write_text(entry + "\n", "utf-8")
