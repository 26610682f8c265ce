"""What every medium says of a made-up night is what a second, plain count of its lines says."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from tests import LONG_RUNS, REPOSITORY
from tests.report.nights import make_night
from tests.report.oracle import differences
from tests.report.recount import About, Night, Reader

SAMPLE = (13, 17, 24)
"""An outage, more errors, a wording that spikes and is over, hand-offs and failing tools, in three zones."""


@pytest.mark.parametrize("seed", SAMPLE if LONG_RUNS == 1 else range(10 * LONG_RUNS))
def test_every_sentence_is_what_the_events_say(seed: int) -> None:
    """Terminal, Markdown, JSON, chats, mail, page and `show` of a finding say no number, time, name or text else."""
    assert differences(seed) == []


def test_what_the_events_do_not_say_is_found() -> None:
    """A number, a day, a quoted text and a name that are wrong, and words that no sentence accounts for."""
    made = make_night(13)
    night = Night(made.lines, made.timezone)
    errors = len(night.errors)
    reader = Reader(night)
    assert reader.read(f"{len({e.caller for e in night.events})} callers met {errors} errors.") == []
    (wrong,) = reader.read(f"{len({e.caller for e in night.events})} callers met {errors + 1} errors.")
    assert f"recounted {errors}" in wrong
    for text in (
        "in 7 sessions",
        "last seen 2025-04-06",
        "most often “upstream gone”",
        "at planner",
        "$4.20",
        "at 13:31",
    ):
        assert reader.read(text), text
    assert reader.read("nothing of it is to be counted here") == []


def test_a_finding_is_read_beside_its_own_events() -> None:
    """Figures of another finding, or of another day, are no figures of it."""
    made = make_night(13)
    night = Night(made.lines, made.timezone)
    error = next(error for error in reversed(night.errors) if not night.recovered(error))
    scope = dict.fromkeys(("provider", "model", "project", "tool", "template", "step", "session"))
    days = {"since": f"{error.day}", "until": f"{error.day}"}
    finding = {"finding": "volume", "scope": {**scope, "caller": error.caller, "reason": error.reason}, "window": days}
    about = About(night, {**finding, "onset": f"{error.day}", "samples": [], "evidence": []})
    failed, seen = len(night.failed(about.on(error.day))), len(night.sessions({error.caller}, [error.day]))
    usd = re.search(
        r"recounted ([\d.]+)", Reader(night, about).read(f"; {failed} of {seen} sessions on {error.day} failed")[0]
    )
    assert usd is not None
    whole = f"; {failed} of {seen} sessions on {error.day} failed. These sessions cost ${usd[1]}"
    assert Reader(night, about).read(whole) == []
    assert Reader(night, about).read(whole.replace(f" of {seen} ", f" of {seen + 1} ")) != []


def test_the_second_count_knows_nothing_of_the_program() -> None:
    """The lines of a night and their count are made without a module of the program."""
    names = ("nights", "recount", "recount_tables", "recount_report")
    imported = "; ".join(f"import tests.report.{name}" for name in names)
    listed = f"import json, sys; {imported}; print(json.dumps([name for name in sys.modules if 'analyzer' in name]))"
    done = subprocess.run([sys.executable, "-c", listed], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
