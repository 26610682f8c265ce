"""A night in the forms of chats and pagers, and before a real Alertmanager where there is one."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest

from analyzer.analysis import Handling, Night
from analyzer.cli.options import webhook_form_option
from analyzer.events.times import now
from analyzer.report.documents.webhook_forms import FORMS, MAX_DISCORD_CHARS, webhook_bodies
from tests.analysis.nightly.test_recording import found, night_of

NOW = datetime(2026, 10, 8, 2, 15)


@pytest.fixture
def night() -> Night:
    """One that is new, one that goes on, one that is worse, and one that is over and was acknowledged."""
    gone = replace(found(4), state="resolved", resolved_on=date(2026, 10, 7), resolution="quiet")
    gone = replace(gone, handling=Handling("acknowledged", datetime(2026, 10, 7)))
    same, worse = (
        replace(found(2), state="ongoing"),
        replace(found(3), state="ongoing", worse=True, severity="critical"),
    )
    return night_of(found(1), same, worse, gone)


def test_the_option_has_every_form() -> None:
    """The command line names what the report can make."""

    def command() -> None: ...

    option = webhook_form_option(command).__click_params__[0]  # type: ignore[attr-defined]
    assert tuple(option.type.choices) == FORMS


def test_chats_get_what_is_new_worse_or_over(night: Night) -> None:
    """In the shape that each one reads; nobody is called."""
    slack, teams, discord = (webhook_bodies(night, form, NOW)[0] for form in ("slack", "teams", "discord"))
    assert "caller-1 says" in slack["text"]
    card = teams["attachments"][0]
    assert (teams["type"], card["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    assert (card["content"]["type"], card["content"]["version"]) == ("AdaptiveCard", "1.4")
    assert any("caller" in block["text"] for block in card["content"]["body"])
    assert "caller" in discord["content"]
    assert discord["allowed_mentions"] == {"parse": []}
    quiet = night_of(replace(found(2), state="ongoing"))
    assert [webhook_bodies(quiet, form, NOW) for form in ("json", "slack", "teams", "discord")] == [[], [], [], []]


def test_a_long_night_fits_into_discord() -> None:
    """What does not fit is cut, and the cut is shown."""
    content = webhook_bodies(night_of(*(replace(found(n), explanation="x" * 400) for n in range(9))), "discord", NOW)
    assert len(content[0]["content"]) == MAX_DISCORD_CHARS
    assert content[0]["content"].endswith("…")


def test_pagerduty_opens_and_resolves_by_the_id_of_the_finding(night: Night) -> None:
    """What goes on is not sent again; what is over is resolved though somebody acknowledged it."""
    events = webhook_bodies(night, "pagerduty", NOW, "k")
    said = [(event["event_action"], event["dedup_key"]) for event in events]
    assert said == [("trigger", found(1).id), ("trigger", found(3).id), ("resolve", found(4).id)]
    assert {event["routing_key"] for event in events} == {"k"}
    assert events[1]["payload"]["severity"] == "critical"


def test_alertmanager_keeps_what_is_open_and_ends_what_is_over(night: Night) -> None:
    """Open ones last until after the next night; one that got worse ends as grave as it was before."""
    alerts = webhook_bodies(night, "alertmanager", NOW)[0]
    ends = {
        (each["labels"]["id"], each["labels"]["severity"]): each["endsAt"] > "2026-10-08T02:15:01" for each in alerts
    }
    open_ones = {key for key, lasts in ends.items() if lasts}
    assert open_ones == {(one.id, one.severity) for one in night.findings[:3]}
    assert (found(3).id, "warning") in ends
    assert (found(4).id, found(4).severity) in ends


def test_a_real_alertmanager_takes_them(night: Night, tmp_path: Path) -> None:
    """Those that are open are active there, each once however often it is posted."""
    program = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if program is None:
        pytest.skip("no Alertmanager here: apt-get install prometheus-alertmanager")
    with socket.socket() as found_port:
        found_port.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{found_port.getsockname()[1]}"
    (tmp_path / "am.yml").write_text("route: {receiver: none}\nreceivers: [{name: none}]\n", "utf-8")
    options = [f"--web.listen-address={place}", "--cluster.listen-address=", f"--storage.path={tmp_path}"]
    server = subprocess.Popen([program, *options, f"--config.file={tmp_path / 'am.yml'}"], stderr=subprocess.DEVNULL)
    try:
        url = f"http://{place}/api/v2/alerts"
        _when_up(url)
        data = json.dumps(webhook_bodies(night, "alertmanager", now())[0]).encode()
        for _ in range(2):
            request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert answer.status == 200
        with urllib.request.urlopen(url, timeout=10) as answer:
            active = sorted(alert["labels"]["id"] for alert in json.load(answer))
        assert active == sorted(one.id for one in night.findings[:3])
    finally:
        server.kill()
        server.wait()


def _when_up(url: str) -> None:
    for _ in range(300):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.URLError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("Alertmanager did not start")
