"""The server refuses whoever has no token or comes from another site, and shows hostile texts as texts."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from analyzer.analysis import findings
from analyzer.classifier import ruleset_for
from analyzer.cli import cli
from analyzer.cli.commands import ui
from analyzer.cli.stores import NamedStore
from analyzer.command_lines import Asking
from analyzer.errors import AnalyzerError, StoreBusyError
from analyzer.events.times import format_time, now
from analyzer.store import Store, open_store
from analyzer.ui.guard import MAX_ADDRESS, MAX_BODY
from analyzer.ui.live import Live, waiting
from analyzer.ui.pages import MAX_SQL
from analyzer.ui.server import KEPT_PAGES, Access, Pages
from tests.ui.conftest import HOSTILE

TOKEN = "a-token-of-a-test"
OWN = "http://127.0.0.1:8377"
COOKIE = {"cookie": f"analyzer-8377={TOKEN}"}
ALL = "last=2y"
ANSWER = {"columns": [HOSTILE], "truncated": True, "rows": [{HOSTILE: HOSTILE}]}
"""What the process answers that runs a statement."""
SESSION = quote(f"{HOSTILE}-1")


class Busy:
    """A store that can be held by another process."""

    def __init__(self, store: NamedStore) -> None:
        self.store, self.is_held = store, False

    def __call__(self) -> Store:
        """Open the store for questions."""
        if self.is_held:
            raise StoreBusyError("another process is writing", "try again")
        return self.store.open_for_queries()


@pytest.fixture
def held(folder: Path) -> Busy:
    """The store of the pages, which a test may hold."""
    return Busy(NamedStore(str(folder / "s.duckdb")))


@pytest.fixture
def client(held: Busy) -> TestClient:
    """A program that asks the server, without a token."""
    access = Access(
        read=held,
        write=held.store.open_for_decisions,
        sql=lambda statement, form: json.dumps(ANSWER).encode(),
        rules=lambda: ruleset_for(None),
        asking=Asking(held.store.name),
        person="tester",
    )
    app = Pages(access, Live([]), TOKEN).app("127.0.0.1", 8377)
    return TestClient(app, base_url=OWN, follow_redirects=False)


@pytest.fixture
def incident(held: Busy) -> str:
    """The id of the open incident."""
    with open_store(held.store.name) as store:
        return findings(store)[0].id


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 403),
        ({"cookie": "analyzer-8377=wrong"}, 403),
        ({"cookie": f"analyzer-8378={TOKEN}"}, 403),
        ({**COOKIE, "host": "evil.example"}, 421),
        ({**COOKIE, "host": "127.0.0.1.evil.example:8377"}, 421),
        ({**COOKIE, "host": ""}, 421),
        ({**COOKIE, "origin": "http://evil.example"}, 403),
        ({**COOKIE, "origin": "null"}, 403),
        ({**COOKIE, "origin": "http://127.0.0.1:9999"}, 403),
        (COOKIE, 200),
        ({**COOKIE, "host": "localhost:8377", "origin": "http://localhost:8377"}, 200),
    ],
)
def test_only_a_page_of_this_server_with_the_token_is_answered(
    client: TestClient, headers: dict[str, str], status: int
) -> None:
    """Without the token, under a foreign name or from a foreign page there is no answer, and no word of the store."""
    answer = client.get("/incidents", headers=headers)
    assert answer.status_code == status
    assert ("Unknown errors" in answer.text) == (status == 200)


def test_the_token_of_the_address_becomes_a_cookie_and_leaves_the_address(client: TestClient) -> None:
    """The cookie is for this server's pages only; the rest of the address stays, on this host."""
    answer = client.get(f"/sessions?token={TOKEN}&sort=errors")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sessions?sort=errors")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    client.cookies.clear()
    assert client.get(f"{OWN}//evil.example/?token={TOKEN}").headers["location"] == "/evil.example/"


def test_no_script_but_the_servers_own_may_run(client: TestClient) -> None:
    """The policy names only this server, and neither frames nor other sites may hold a page."""
    headers = client.get("/now", headers=COOKIE).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["form-action"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("fields", "headers", "status"),
    [
        ({"token": "wrong"}, {"origin": OWN}, 403),
        ({}, {"origin": OWN}, 403),
        ({"token": TOKEN}, {}, 403),
        ({"token": TOKEN}, {"origin": "http://evil.example"}, 403),
        ({"token": TOKEN, "note": "x" * MAX_BODY}, {"origin": OWN}, 413),
        ({"token": TOKEN, "act": "drop"}, {"origin": OWN}, 400),
        ({"token": TOKEN, "act": "snooze", "span": "soon"}, {"origin": OWN}, 400),
        ({"token": TOKEN, "id": "none-such"}, {"origin": OWN}, 400),
    ],
)
def test_a_decision_that_is_not_of_its_form_writes_nothing(
    client: TestClient, held: Busy, incident: str, fields: dict[str, str], headers: dict[str, str], status: int
) -> None:
    """A write needs the cookie, the token in the form, its own origin, and a decision that exists."""
    form = {"id": incident, "act": "acknowledge", **fields}
    assert client.post("/decide", data=form, headers={**COOKIE, **headers}).status_code == status
    with open_store(held.store.name) as store:
        assert findings(store)[0].handling is None


@pytest.mark.parametrize(
    ("act", "written"), [("acknowledge", "acknowledged"), ("snooze", "snoozed"), ("close", "closed")]
)
def test_a_button_writes_a_decision_with_its_note(
    client: TestClient, held: Busy, incident: str, act: str, written: str
) -> None:
    """Each button does what `analyzer findings` does, and leads back to the incident."""
    form = {"id": incident, "token": TOKEN, "act": act, "note": HOSTILE, "span": "7d"}
    answer = client.post("/decide", data=form, headers={**COOKIE, "origin": OWN})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/incident?id={incident}")
    page = client.get(answer.headers["location"], headers=COOKIE).text
    assert f"{written}" in page and "<script>document" not in page
    with open_store(held.store.name) as store:
        (finding,) = [finding for finding in findings(store, every=True) if finding.id == incident]
    assert finding.handling is not None
    assert (finding.handling.act, finding.handling.note, finding.handling.by) == (written, HOSTILE, "tester")


def test_what_is_too_long_or_no_page_is_refused(client: TestClient) -> None:
    """Addresses have a bound, methods and paths are those of the pages."""
    assert client.get("/now?x=" + "x" * MAX_ADDRESS, headers=COOKIE).status_code == 414
    assert client.put("/now", headers=COOKIE).status_code == 405
    for path in ("/../s.duckdb", "/page.css/../../s.duckdb", "/%2e%2e/s.duckdb", "/nothing"):
        assert client.get(path, headers=COOKIE).status_code == 404


PAGES = {
    "sessions": f"/sessions?{ALL}&text={quote(HOSTILE)}",
    "session": f"/session?id={SESSION}",
    "errors": f"/errors?{ALL}&caller={quote(HOSTILE)}",
    "sections": f"/report?{ALL}&section=tools",
    "incidents": "/incidents?which=all",
    "ask": f"/ask?sql={quote(HOSTILE)}",
    "catalogue": f"/ask?{ALL}&query=errors-by-caller",
    "refusal": f"/error?fingerprint={quote(HOSTILE)}",
}


class Elements(HTMLParser):
    """Collects the elements of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add an element."""
        self.seen.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", PAGES)
def test_hostile_texts_are_shown_as_texts(client: TestClient, name: str) -> None:
    """Names, messages, ids and words of the address come back escaped, and no element or handler comes out of them."""
    answer = client.get(PAGES[name], headers=COOKIE)
    assert answer.status_code == (400 if name == "refusal" else 200), answer.text
    if name != "incidents":
        assert "&lt;script&gt;document" in answer.text
    elements = Elements()
    elements.feed(answer.text)
    assert [attributes for tag, attributes in elements.seen if tag == "script"] == [{"src": "/page.js", "defer": None}]
    assert not [
        tag for tag, attributes in elements.seen if tag == "img" or any(key.startswith("on") for key in attributes)
    ]


def test_the_page_of_a_session_has_its_events_with_their_lines(client: TestClient) -> None:
    """The time line has a lane for each kind, and the list names the file and the line of each event."""
    page = client.get(f"/session?id={SESSION}", headers=COOKIE).text
    for lane in ("errors, 1", "retries, 1", "tools, 1"):
        assert lane in page
    assert re.search(r"hostile\.jsonl:[234]\b", page)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("/sessions?last=soon", "soon"),
        ("/sessions?least_usd=much", "no amount of dollars"),
        ("/session?id=none-such", "no session, finding or operation"),
        ("/incident?id=ffffffff", "no finding"),
        ("/report?section=nothing", "unknown section"),
        ("/ask?query=nothing", "unknown query"),
        ("/rows?form=exe&sql=x", "csv and parquet"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_in_words(client: TestClient, address: str, message: str) -> None:
    """What is wrong with an address stands on a page."""
    answer = client.get(address, headers=COOKIE)
    assert answer.status_code == 400
    assert message in answer.text


def test_a_session_shows_what_it_had_spent_and_a_lane_for_each_further_log(
    client: TestClient, held: Busy, tmp_path: Path, native: Callable[..., bytes]
) -> None:
    """Tokens and cost grow from event to event; a sub-agent writes a log of its own. An ingest makes new answers."""
    assert "no session, finding" in client.get("/session?id=work-1", headers=COOKIE).text
    assert "work-1" not in client.get(f"/sessions?{ALL}&text=work-1", headers=COOKIE).text.partition("<main>")[2]
    spent = {"session": "work-1", "model": "made-up", "output_tokens": 50, "cost_usd": 0.25}

    def failed(number: int) -> bytes:
        return native(f"f-{number}", "tool.failed", f"2026-10-07T10:00:{number:02}", session="work-1", tool="bash")

    def request(number: int) -> bytes:
        at = f"2026-10-07T10:00:{number:02}"
        return native(f"r-{number}", "usage.recorded", at, request=f"r-{number}", input_tokens=1000, **spent)

    (tmp_path / "work.jsonl").write_bytes(failed(1) + request(2) + failed(3) + request(5) + failed(6))
    (tmp_path / "agent-explore.jsonl").write_bytes(request(4))
    with open_store(held.store.name, writable=True) as store:
        store.ingest([str(tmp_path / "work.jsonl"), str(tmp_path / "agent-explore.jsonl")])
    page = client.get("/session?id=work-1", headers=COOKIE).text
    assert re.findall(r'<td class="number">([\d.,]+)</td>', page)[:6] == ["0", "0.00", "1,050", "0.25", "3,150", "0.75"]
    for lane in ("requests, 3", "tools, 3", "log agent-explore.jsonl, 1"):
        assert f">{lane}<" in page
    assert "work-1" in client.get(f"/sessions?{ALL}&text=work-1", headers=COOKIE).text.partition("<main>")[2]


def test_an_incident_begins_with_its_cost_and_shows_its_chart(client: TestClient, incident: str) -> None:
    """What happened, what it cost and what to do come first; the chart, messages, lines and sessions follow."""
    page = client.get(f"/incident?id={incident}", headers=COOKIE).text.partition("<main>")[2]
    parts = [
        "Cost: 6 sessions failed",
        "analyzer unknowns --suggest",
        "<svg",
        "Messages",
        "/session?id=planner",
        ".jsonl:",
    ]
    places = [page.find(part) for part in parts]
    assert -1 not in places and places == sorted(places)


def test_an_answer_with_numbers_has_a_chart(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first column of numbers is drawn by the first other one; hostile names stay texts, in the figure, too."""
    rows = [{"who": HOSTILE, "n": 3}, {"who": None, "n": 1.5}, {"who": "b", "n": None}]
    monkeypatch.setitem(ANSWER, "rows", rows)
    monkeypatch.setitem(ANSWER, "columns", ["who", "n"])
    page = client.get("/ask?sql=x", headers=COOKIE).text
    assert "n by who" in page and 'class="plot"' in page
    figure = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', page)[0])
    assert figure["data"][0]["x"] == [3, 1.5, 0]
    assert "<script>document" not in page
    assert client.get("/plotly.js", headers=COOKIE).headers["cache-control"] == "private, max-age=3600"


def test_a_statement_is_answered_as_by_sql(client: TestClient) -> None:
    """Its rows are a table and a file; what the database refuses, or is too long, is said below the statement."""
    refused = client.get("/ask?sql=" + "x" * (MAX_SQL + 1), headers=COOKIE)
    assert refused.status_code == 200 and "a statement of more than" in refused.text
    rows = client.get("/rows?form=csv&sql=from+errors", headers=COOKIE)
    assert rows.headers["content-type"].startswith("text/csv")
    assert "attachment" in rows.headers["content-disposition"]
    assert json.loads(rows.text) == ANSWER


def test_filters_and_order_of_sessions_stand_in_the_address(client: TestClient) -> None:
    """A filter leaves only what matches, and the next page goes on where one ends."""
    few = client.get(f"/sessions?{ALL}&text=reviewer-&sort=errors", headers=COOKIE).text
    assert "reviewer-1-" in few and "planner-1-" not in few
    first = client.get(f"/sessions?{ALL}", headers=COOKIE).text
    further = re.search(r'href="([^"]*from=100[^"]*)"', first)
    assert further is not None
    second = client.get(further[1].replace("&amp;", "&"), headers=COOKIE).text
    ids = [set(re.findall(r'session\?id=([^"]+)"', page)) for page in (first, second)]
    assert len(ids[0]) == 100 and ids[1] and not ids[0] & ids[1]


def test_an_unknown_error_comes_with_a_draft_of_a_rule(client: TestClient) -> None:
    """Its page says what the draft takes of history, and which command accepts it."""
    page = client.get(f"/errors?{ALL}", headers=COOKIE).text
    link = re.search(r'href="(/error\?fingerprint=[^"]+)">(?=lattice)', page)
    assert link is not None
    page = client.get(link[1], headers=COOKIE).text
    assert "[[rule]]" in page
    assert re.search(r"Takes \d+ unknown errors", page)
    assert "analyzer rules accept" in page


def test_while_the_store_is_written_the_last_page_is_shown(client: TestClient, held: Busy) -> None:
    """A page that was shown comes again and says of when it is; another one says to wait."""
    assert "planner" in client.get("/incidents", headers=COOKIE).text
    held.is_held = True
    again = client.get("/incidents", headers=COOKIE)
    assert again.status_code == 200
    assert "The store is being written" in again.text and "planner" in again.text
    assert client.get("/errors", headers=COOKIE).status_code == 503
    held.is_held = False
    for number in range(KEPT_PAGES):
        client.get(f"/incidents?x={number}", headers=COOKIE)
    held.is_held = True
    assert client.get("/incidents", headers=COOKIE).status_code == 503


def test_the_page_now_says_what_sessions_wait_for(tmp_path: Path, native: Callable[..., bytes]) -> None:
    """A retry and a limit have their ends, silence is named, and who wrote nothing for an hour is not at work."""
    at = now()

    def line(kind: str, session: str, minutes: int, **payload: Any) -> bytes:
        moment = (at - timedelta(minutes=minutes)).isoformat()
        return native(f"{session}-{minutes}", kind, moment, session=session, **payload)

    ends = format_time(at + timedelta(hours=2))
    (tmp_path / "a.jsonl").write_bytes(
        line("retry.scheduled", "s-1", 1, operation="o", delay_seconds=600)
        + line("error.classified", "s-2", 12, caller="coder", reason="unknown")
        + line("agent.exhausted", "s-3", 20, agent="codex", reset_at=ends)
        + line("error.classified", "s-4", 180, caller="coder", reason="unknown")
        + line("tool.failed", "s-5", 0, tool="bash")
    )
    live = Live([str(tmp_path)])
    thread = threading.Thread(target=live.run)
    thread.start()
    while not live.view().sessions:
        thread.join(0.01)
    live.stop()
    thread.join()
    view = live.view()
    assert {last.session_id: waiting(last, at) for last in view.sessions} == {
        "s-1": f"a retry, until {at + timedelta(minutes=9):%H:%M:%S} UTC",
        "s-2": "nothing for 12 minutes",
        "s-3": f"its limit, until {at + timedelta(hours=2):%H:%M:%S} UTC",
        "s-5": "the model, after a failed tool",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "8377"], "no address: 8377"),
        (["--listen", "127.0.0.1:99999"], "no address"),
        (["--listen", "0.0.0.0:0"], "can be reached from elsewhere"),
        (["--store", "none.duckdb"], "none.duckdb"),
    ],
)
def test_what_cannot_be_served_is_said_before_a_port_is_open(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    """An address that others reach needs a token of one's own; a store has to be there."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv(ui.TOKEN, raising=False)
    with pytest.raises(AnalyzerError, match=message):
        cli.main(["ui", *options, "--no-browser"], standalone_mode=False)


@pytest.mark.parametrize("token", ["short", "with a blank in it, and long"])
def test_a_token_that_can_be_guessed_is_refused(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    """A token of one's own has 16 characters or more that an address takes as they are."""
    monkeypatch.setenv(ui.TOKEN, token)
    with pytest.raises(AnalyzerError, match="is no token"):
        cli.main(["ui", "--no-browser"], standalone_mode=False)


def test_without_the_extra_the_command_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where starlette is not installed, the message says how to install it."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(AnalyzerError) as refused:
        cli.main(["ui", "--no-browser"], standalone_mode=False)
    assert "agent-error-analyzer[ui]" in refused.value.hint


def test_a_port_that_is_taken_is_an_error_with_a_hint(folder: Path) -> None:
    """Two servers cannot listen on one port; the second one names the option."""
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(AnalyzerError) as refused:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        cli.main(
            ["ui", "--store", str(folder / "s.duckdb"), "--listen", address, "--no-browser"], standalone_mode=False
        )
    assert "--listen" in refused.value.hint
