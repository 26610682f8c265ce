"""What a night found is told to chats, on-call services and by mail, each in its own form and to a real server."""

from __future__ import annotations

import email.policy
import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from email import message_from_bytes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from analyzer.analysis import Night
from analyzer.analysis.nightly.decisions import Undelivered
from analyzer.cli.delivery import FORMS, Target, UndeliveredError, deliver, post
from analyzer.errors import AnalyzerError, StoreBusyError
from tests import each_row
from tests.cli.conftest import Run
from tests.cli.nightly import NEW_ON, after

NIGHT = ("check", "--store", "x.duckdb", "--until", after(NEW_ON), "--quiet")
QUIET = ("check", "--store", "x.duckdb", "--until", after(NEW_ON - 1), "--quiet")
OVER = ("check", "--store", "x.duckdb", "--until", after(NEW_ON + 1), "--quiet")
ALERTMANAGER = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")


@pytest.fixture
def store(judged: Path, tmp_path: Path) -> Path:
    """A copy of the store whose nights are judged, in the folder that commands run in."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    return tmp_path / "x.duckdb"


def test_each_chat_gets_the_night_in_its_own_form(run: Run, store: Path, hook: Any) -> None:
    """Of each finding the headline, the sentence and the command to look closer; nobody is called.

    Slack: a header, a section a finding, and a text for notifications. Teams: one attachment in the envelope of a
    workflow, with the severity in words and not in colour alone. Discord: an embed that mentions nobody.
    """
    forms = [word for form in ("slack", "teams", "discord") for word in ("--deliver", f"{form}:{hook.url}")]
    assert run(*NIGHT, *forms).returncode == 1
    slack, teams, discord = hook.bodies
    assert slack["text"].startswith("WARNING: planner, 08:00–08:10 on 7 October: 6 of 18 distinct errors ")
    header, day, section = slack["blocks"]
    assert day["elements"][0]["text"] == "1 new finding for 2026-10-07."
    assert header["text"] == {"type": "plain_text", "text": slack["text"], "emoji": False}
    assert section["text"]["text"].startswith("🟠 *warning, new*: Unknown errors spiked: planner, ")
    assert "`analyzer unknowns" in section["text"]["text"]
    (attachment,) = teams["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    title, day, head, said, command = attachment["content"]["body"]
    assert title["text"].startswith("WARNING: planner, 08:00–08:10 on 7 October: 6 of 18 distinct errors ")
    shown = (day["text"], head["text"], head["color"])
    assert shown == ("1 new finding for 2026-10-07.", "🟠 warning, new", "warning")
    assert said["text"].startswith("Unknown errors spiked: planner, ")
    assert command["text"].startswith("analyzer unknowns")
    assert discord["allowed_mentions"] == {"parse": []}
    assert discord["content"].startswith("**WARNING: planner, 08:00–08:10 on 7 October: ")
    assert discord["content"].endswith("**\n1 new finding for 2026-10-07.")
    assert discord["embeds"][0]["title"] == "🟠 warning, new"
    assert discord["embeds"][0]["description"].startswith("Unknown errors spiked: planner, ")


def test_pagerduty_is_told_what_opens_and_what_resolves_under_one_key(run: Run, store: Path, hook: Any) -> None:
    """The finding's id is the key; what somebody closed here is silent here, and resolved there."""
    target = ("--deliver", f"pagerduty:R0UT1NG@{hook.url}")
    night = json.loads(run(*NIGHT, *target, "--json").stdout)
    (finding,) = night["findings"]
    assert run("findings", "close", finding["id"], "--store", "x.duckdb").returncode == 0
    run(*OVER, *target)
    opened, resolved = hook.bodies
    assert (opened["event_action"], resolved["event_action"]) == ("trigger", "resolve")
    assert opened["dedup_key"] == resolved["dedup_key"] == finding["id"]
    assert opened["routing_key"] == "R0UT1NG"
    assert opened["payload"]["severity"] == "warning"
    assert opened["payload"]["source"] == "planner"
    assert opened["payload"]["summary"] == finding["explanation"]


def test_a_quiet_night_tells_nobody(run: Run, store: Path, hook: Any) -> None:
    """No chat and no service is asked; the exit code is 0."""
    every = [f"{form}:{hook.url}" for form in ("slack", "teams", "discord", "alertmanager", "webhook")]
    done = run(*QUIET, env={"ANALYZER_DELIVER": " ".join(every)})
    assert (done.returncode, hook.bodies) == (0, [])


def test_one_that_fails_costs_the_others_nothing(run: Run, store: Path, hook: Any) -> None:
    """Three calls, a line that names form and host but no address, exit 3; the next target gets its message."""
    hook.codes = [500] * 3
    done = run(*NIGHT, "--deliver", f"slack:{hook.url}", "--deliver", f"discord:{hook.url}")
    assert done.returncode == 3
    assert len(hook.bodies) == 4
    assert "embeds" in hook.bodies[3]
    assert "slack at 127.0.0.1 did not take the result: HTTP 500" in done.stderr
    assert "secret-token" not in done.stderr


EVERY = ("slack", "teams", "discord", "webhook", "pagerduty")


def addressed(form: str, url: str, name: str = "a") -> tuple[str, str]:
    """A target of a form, one of several there."""
    return ("--deliver", f"pagerduty:KEY{name}@{url}" if form == "pagerduty" else f"{form}:{url}?{name}")


def test_a_night_that_is_run_again_tells_nobody_twice(run: Run, store: Path, hook: Any) -> None:
    """Neither by the same command, nor by `nightly`, nor after the store was made again from its journal."""
    places = [word for form in EVERY for word in addressed(form, hook.url)]
    for _ in range(2):
        assert run(*NIGHT, *places).returncode == 1
        assert len(hook.bodies) == len(EVERY)
    assert run("rebuild", "--store", "x.duckdb").returncode == 0
    again = run("nightly", "logs", *NIGHT[1:], "--page", "p.html", "--json", *places)
    assert [step["said"] for step in json.loads(again.stdout)["steps"] if step["step"] == "deliver"] == [
        "nothing new to tell"
    ]
    assert len(hook.bodies) == len(EVERY)


def test_what_failed_is_told_again_and_nothing_else(run: Run, store: Path, hook: Any) -> None:
    """One target of several that is down costs the others no second message, and hears of all once it is back."""
    places = [word for name in "abc" for word in addressed("slack", hook.url, name)]
    hook.codes = [200, 500, 500, 500, 200]
    assert run(*NIGHT, *places).returncode == 3
    assert len(hook.bodies) == 5
    assert run(*NIGHT, *places).returncode == 1
    assert hook.paths[5:] == ["/secret-token?b"]


def test_another_state_of_a_finding_is_told_once(run: Run, store: Path, hook: Any) -> None:
    """What is new on one night is over on another."""
    place = addressed("pagerduty", hook.url)
    (finding,) = json.loads(run(*NIGHT, *place, "--json").stdout)["findings"]
    assert run("findings", "close", finding["id"], "--store", "x.duckdb").returncode == 0
    for _ in range(2):
        run(*OVER, *place)
        assert [body["event_action"] for body in hook.bodies] == ["trigger", "resolve"]


@pytest.fixture
def night(run: Run, store: Path) -> Night:
    """A night with a new finding of severity `warning`."""
    return Night.from_dict(json.loads(run(*NIGHT, "--json").stdout))


def test_a_graver_state_is_told_and_a_lesser_one_is_not(night: Night) -> None:
    """The same finding of the same night, judged again with events that came late; and what got worse, or is over."""
    (new,) = night.findings
    known = frozenset({(new.id, "new", "warning", "here")})

    def left(target: str, **changed: Any) -> int:
        return len(Undelivered(replace(night, findings=(replace(new, **changed),)), known).to(target).findings)

    assert [left("here"), left("here", severity="info"), left("here", severity="critical")] == [0, 0, 1]
    assert [left("here", state="ongoing", worse=True), left("here", state="resolved"), left("there")] == [1, 1, 1]


def test_a_service_that_fails_half_way_is_told_the_rest(night: Night, hook: Any) -> None:
    """PagerDuty takes one event a finding: those that it took are not sent again."""
    hook.codes = [200, 400]
    findings = tuple(replace(night.findings[0], id=f"{number:032x}") for number in range(3))
    told: list[str] = []

    @contextmanager
    def opened() -> Iterator[Any]:
        yield SimpleNamespace(decide=lambda decisions: told.extend(payload["finding_id"] for _, payload in decisions))

    target, whole = Target("pagerduty", f"KEY@{hook.url}"), replace(night, findings=findings)
    with pytest.raises(AnalyzerError, match="did not take"):
        deliver(Undelivered(whole, frozenset()), [target], opened)
    assert told == [f"{0:032x}"]
    known = frozenset({(findings[0].id, findings[0].state, findings[0].severity, target.key)})
    deliver(Undelivered(whole, known), [target], opened)
    assert [body["dedup_key"] for body in hook.bodies[2:]] == told[1:] == [f"{number:032x}" for number in (1, 2)]


def test_what_was_told_is_written_down_when_somebody_interrupts(
    night: Night, hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle of the second target: the first one hears nothing twice."""
    told: list[str] = []

    @contextmanager
    def opened() -> Iterator[Any]:
        yield SimpleNamespace(decide=lambda decisions: told.extend(payload["target"] for _, payload in decisions))

    def interrupted(*_: object) -> Iterator[Any]:
        raise KeyboardInterrupt

    monkeypatch.setitem(FORMS, "teams", replace(FORMS["teams"], send=interrupted))
    first = Target("slack", hook.url)
    with pytest.raises(KeyboardInterrupt):
        deliver(Undelivered(night, frozenset()), [first, Target("teams", hook.url)], opened)
    assert told == [first.key]


def test_what_cannot_be_written_down_is_said(night: Night, hook: Any) -> None:
    """Who was told, and why the same command will tell them again; with the exit code of the store's failure."""

    def opened() -> AbstractContextManager[Any]:
        raise StoreBusyError("the store is in use by process 7", "wait for it")

    said = r"told slack at 127\.0\.0\.1, which could not be written down: the store is in use"
    with pytest.raises(AnalyzerError, match=said) as failed:
        deliver(Undelivered(night, frozenset()), [Target("slack", hook.url)], opened)
    assert (failed.value.exit_code, len(hook.bodies)) == (75, 1)


def test_alertmanager_hears_of_an_open_finding_again(run: Run, store: Path, hook: Any) -> None:
    """An alert that is not sent again ends there by itself; the same labels are the same alert."""
    place = ("--deliver", f"alertmanager:{hook.url}")
    for _ in range(2):
        run(*NIGHT, *place)
    assert len(hook.bodies) == 2


def test_no_address_stands_in_what_is_written_down(run: Run, store: Path, hook: Any) -> None:
    """The journal knows a target by a hash, and keeps it as it is."""
    run(*NIGHT, *addressed("slack", hook.url))
    parts = (store.parent / "x.journal").glob("*.jsonl")
    journal = "".join(part.read_text("utf-8") for part in parts)
    (line,) = [json.loads(line) for line in journal.splitlines() if '"finding.delivered"' in line]
    assert line["payload"]["target"] == Target("slack", f"{hook.url}?a").key
    assert "secret-token" not in journal


@each_row(
    "target, said",
    [
        ("slak:https://e.example/x", "did you mean 'slack'"),
        ("slack:ftp://e.example/secret-token", "slack: takes the address of an incoming webhook"),
        ("pagerduty:not-a-key!", "routing key"),
        ("mail:nobody", "one mail address"),
        ("mail:a@b.example", "$ANALYZER_SMTP"),
        ("nonsense", "form of delivery"),
    ],
)
def test_a_target_that_is_none_is_refused_before_any_work(run: Run, store: Path, target: str, said: str) -> None:
    """Exit 2, and no address in the message."""
    done = run(*NIGHT, "--deliver", target)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "secret-token" not in done.stderr


class _Inbox:
    """Keeps the mails that a server took."""

    def __init__(self) -> None:
        self.mails: list[Any] = []

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:
        self.mails.append((envelope.rcpt_tos, message_from_bytes(envelope.content, policy=email.policy.default)))
        return "250 OK"


@pytest.fixture
def inbox() -> Iterator[tuple[_Inbox, str]]:
    """A mail server on the loopback, and its address."""
    box = _Inbox()
    controller = Controller(box, hostname="127.0.0.1", port=_free_port())
    controller.start()
    yield box, f"smtp://reports%40fleet.example@127.0.0.1:{controller.port}"
    controller.stop()


def test_mail_has_the_verdict_as_subject_and_two_parts(run: Run, store: Path, inbox: tuple[_Inbox, str]) -> None:
    """The text is that of the terminal, the other part a page without anything to load."""
    box, address = inbox
    done = run(*NIGHT, "--deliver", "mail:ops@fleet.example", env={"ANALYZER_SMTP": address})
    assert (done.returncode, done.stderr) == (1, "")
    ((to, mail),) = box.mails
    assert to == ["ops@fleet.example"]
    assert mail["Subject"].startswith("analyzer: WARNING: planner, 08:00–08:10 on 7 October: 6 of 18 distinct errors ")
    assert mail["From"] == "reports@fleet.example"
    text, page = mail.get_body(("plain",)).get_content(), mail.get_body(("html",)).get_content()
    assert "Unknown errors spiked: planner" in text
    assert "<strong>warning, new</strong>: Unknown errors spiked: planner, " in page
    assert not any(word in page for word in ("<script", "<img", "http", "<link"))


def test_a_password_is_not_sent_without_encryption(run: Run, store: Path, inbox: tuple[_Inbox, str]) -> None:
    """A server that offers no STARTTLS gets neither the password nor the mail; exit 3."""
    box, address = inbox
    environment = {"ANALYZER_SMTP": address, "ANALYZER_SMTP_PASSWORD": "hunter2-secret"}
    done = run(*NIGHT, "--deliver", "mail:ops@fleet.example", env=environment)
    assert (done.returncode, box.mails) == (3, [])
    assert "the password is not sent without" in done.stderr
    assert "hunter2" not in done.stderr


def test_a_mail_server_that_is_not_there_is_said(run: Run, store: Path) -> None:
    """After three calls, with its name and what the system said."""
    done = run(*NIGHT, "--deliver", "mail:ops@fleet.example", env={"ANALYZER_SMTP": f"smtp://127.0.0.1:{_free_port()}"})
    assert done.returncode == 3
    assert "mail at ops@fleet.example did not take the result: Connection refused" in done.stderr


@pytest.mark.skipif(ALERTMANAGER is None, reason="no Alertmanager on this machine: its API was not tried")
def test_a_real_alertmanager_takes_what_opens_and_ends_what_is_over(run: Run, store: Path, tmp_path: Path) -> None:
    """An alert is there with its labels after the night, the same one the next night, and gone when it is over."""
    port = _free_port()
    (tmp_path / "am.yml").write_text("route: {receiver: none}\nreceivers: [{name: none}]\n", "utf-8")
    process = subprocess.Popen(
        [
            str(ALERTMANAGER),
            f"--config.file={tmp_path}/am.yml",
            f"--storage.path={tmp_path}/am",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        with suppress(subprocess.TimeoutExpired):
            said = process.communicate(timeout=2)[1].decode().splitlines()
            pytest.skip(f"ALERTMANAGER WAS NOT TRIED, it does not start on this machine: {said[-1] if said else ''}")
        target = ("--deliver", f"alertmanager:http://127.0.0.1:{port}")
        _answer(f"http://127.0.0.1:{port}/-/ready")
        assert run(*NIGHT, *target).returncode == 1
        run(*NIGHT, *target)
        (alert,) = json.loads(_answer(f"http://127.0.0.1:{port}/api/v2/alerts"))
        assert alert["labels"]["alertname"] == "AgentFinding"
        assert (alert["labels"]["caller"], alert["labels"]["severity"]) == ("planner", "warning")
        assert alert["status"]["state"] == "active"
        assert run("findings", "close", alert["labels"]["finding_id"], "--store", "x.duckdb").returncode == 0
        run(*OVER, *target)
        assert json.loads(_answer(f"http://127.0.0.1:{port}/api/v2/alerts")) == []
    finally:
        process.terminate()
        process.communicate(timeout=10)


def _answer(url: str) -> str:
    """What a server says that may still be starting, which takes long on a machine with other work."""
    for _ in range(300):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return str(answer.read().decode())
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"{url} never answered")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_answer_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then keeps a socket from timing out; the call ends all the same, and its own errors are told."""
    monkeypatch.setattr("analyzer.cli.delivery.ATTEMPT_SECONDS", 0.3)
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle() -> None:
            taken, _ = listener.accept()
            with taken, suppress(OSError):
                taken.sendall(b"HTTP/1.1 200 OK\r\n")
                while not ended.wait(0.05):
                    taken.sendall(b"X-A: b\r\n")

        (thread := threading.Thread(target=trickle)).start()
        began = time.monotonic()
        with pytest.raises(UndeliveredError, match=r"no whole answer within 0\.3 s"):
            post(f"http://127.0.0.1:{listener.getsockname()[1]}/secret-token", {})
        assert time.monotonic() - began < 30  # the answer has no end
        ended.set()
        thread.join()
    with pytest.raises(UndeliveredError, match="unknown url type: nowhere"):
        post("nowhere:secret-token", {})
