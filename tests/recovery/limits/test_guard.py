"""The rate guard: one knowledge of limits for all processes, and the wait until they reset."""

from __future__ import annotations

import asyncio
import copy
import json
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from analyzer.recovery import RateGuard, RateLimitedError, StateError, WaitCancelledError
from analyzer.recovery.limits.state_file import StateFile
from tests.recovery.simulated import FakeClock, threads_at_state_files
from tests.recovery.supervised import ENVIRONMENT


@pytest.fixture
def guard(tmp_path: Path, clock: FakeClock) -> RateGuard:
    """A guard with files, in simulated time."""
    return RateGuard(tmp_path / "limits", clock=clock)


def test_nothing_recorded_blocks_nothing(guard: RateGuard, clock: FakeClock) -> None:
    """An unknown provider is ready."""
    state = guard.state("openai")
    assert (state.ready, state.remaining, state.reset_at, state.wait_seconds) == (True, None, None, 0)
    assert guard.block_until_ready("openai") == 0
    assert clock.slept == []


@pytest.mark.parametrize("folder", ["limits", None])
def test_a_recorded_limit_blocks_until_it_resets(tmp_path: Path, clock: FakeClock, folder: str | None) -> None:
    """On disk or in memory: what has nothing left is waited for, to the moment."""
    guard = RateGuard(tmp_path / folder if folder else None, clock=clock)
    state = guard.record("openai", {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m2s"})
    assert (state.remaining, state.wait_seconds) == (0, 62)
    assert guard.block_until_ready("openai") == pytest.approx(62)
    assert guard.state("openai").ready


def test_a_limit_with_something_left_does_not_block(guard: RateGuard) -> None:
    """Headers of a success are kept, and hold nobody back."""
    state = guard.record("openai", {"x-ratelimit-remaining": "3", "x-ratelimit-reset": "60"})
    assert (state.ready, state.remaining) == (True, 3)


def test_the_smallest_remainder_and_the_latest_reset_win(guard: RateGuard, clock: FakeClock) -> None:
    """Whatever the order in which responses arrive, until the reset; then the next window counts anew."""
    guard.record("openai", {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "60"})
    clock.advance(5)
    state = guard.record("openai", {"x-ratelimit-remaining": "9", "x-ratelimit-reset": "20"})
    assert (state.remaining, state.wait_seconds) == (0, 55)
    clock.advance(56)
    state = guard.record("openai", {"x-ratelimit-remaining": "9", "x-ratelimit-reset": "20"})
    assert (state.ready, state.remaining) == (True, 9)


def test_a_limit_that_is_not_used_up_does_not_lengthen_the_wait(guard: RateGuard) -> None:
    """Requests are used up for a second; that the tokens fill up in six minutes holds nobody back."""
    state = guard.record(
        "openai",
        {
            "x-ratelimit-remaining-requests": "0",
            "x-ratelimit-reset-requests": "1s",
            "x-ratelimit-remaining-tokens": "90000",
            "x-ratelimit-reset-tokens": "6m0s",
        },
    )
    assert (state.remaining, state.wait_seconds) == (0, 1)


@pytest.mark.parametrize(
    ("headers", "wait", "expected"),
    [
        ({"retry-after": "5"}, 30, 5),
        ({"x-ratelimit-reset-requests": "8s", "x-ratelimit-reset-tokens": "20s"}, None, 20),
        ({}, 30, 30),
        (None, 30, 30),
        ({}, None, 60),
    ],
)
def test_a_refusal_always_blocks(guard: RateGuard, headers: object, wait: float | None, expected: float) -> None:
    """By the headers, else by what the error's text says, else for a minute."""
    state = guard.record("openai", headers, limited=True, wait_seconds=wait)
    assert state.wait_seconds == expected


def test_providers_have_their_own_limits_whatever_they_are_called(guard: RateGuard, tmp_path: Path) -> None:
    """Names that are no file names stay inside of the folder and do not meet each other."""
    names = ["openai", "OpenAI", "../../etc/passwd", "a/b", "a b", ".", "", "ä", "x" * 300]
    for number, name in enumerate(names, 1):
        guard.record(name, limited=True, wait_seconds=number)
    assert [guard.state(name).wait_seconds for name in names] == list(range(1, len(names) + 1))
    assert {path.parent for path in tmp_path.rglob("*.json")} == {tmp_path / "limits"}


def test_the_file_is_legible(guard: RateGuard, tmp_path: Path) -> None:
    """Provider, and by limit what is left, when it resets and when that was learned, as JSON."""
    guard.record("openai", {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "90s"})
    assert json.loads((tmp_path / "limits" / "openai.json").read_text()) == {
        "provider": "openai",
        "limits": {
            "tokens": {
                "remaining": 0.0,
                "reset_at": "2026-11-02T08:01:30.000Z",
                "recorded_at": "2026-11-02T08:00:00.000Z",
            }
        },
    }


@pytest.mark.parametrize(
    "limits",
    [
        "x",
        {"a": 1},
        {"a": {}},
        {"a": {"remaining": "0", "reset_at": "2027-01-01", "recorded_at": "2026-01-01"}},
        {"a": {"remaining": 0, "reset_at": "whenever", "recorded_at": 5}},
    ],
)
def test_a_file_that_says_nonsense_blocks_nothing(guard: RateGuard, tmp_path: Path, limits: object) -> None:
    """What is no limit is passed over, and the next record goes on."""
    StateFile(tmp_path / "limits" / "openai.json").update(lambda _: {"limits": limits})
    assert guard.state("openai").ready
    assert guard.record("openai", limited=True, wait_seconds=2).wait_seconds == 2


def test_no_limit_on_file_holds_for_ever(guard: RateGuard, tmp_path: Path) -> None:
    """A reset that lies further behind its record than any limit lasts is nonsense, too."""
    limit = {"remaining": 0, "recorded_at": "2026-01-01T00:00:00Z", "reset_at": "2199-01-01T00:00:00Z"}
    StateFile(tmp_path / "limits" / "openai.json").update(lambda _: {"limits": {"tokens": limit}})
    assert guard.state("openai").ready


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e300, -1.0])
def test_a_wait_that_is_no_time_counts_as_not_named(guard: RateGuard, seconds: float) -> None:
    """A refusal whose wait is nonsense holds for a minute, as one without any."""
    assert guard.record("openai", limited=True, wait_seconds=seconds).wait_seconds == 60


def test_a_clock_set_back_makes_a_wait_no_longer_than_it_was(guard: RateGuard, clock: FakeClock) -> None:
    """A limit of a minute, recorded before the clock went back by a day, holds for a minute at most."""
    guard.record("openai", limited=True, wait_seconds=60)
    clock.set_back(86_400)
    assert guard.state("openai").wait_seconds == 60
    clock.advance(61)
    assert guard.state("openai").ready


def test_a_clock_set_back_during_a_wait_does_not_prolong_it(guard: RateGuard, clock: FakeClock) -> None:
    """Who waits counts on the steady clock, whether the step is long or short."""
    for step in (86_400.0, 10.0):
        guard.record("openai", limited=True, wait_seconds=60)
        begun = clock.monotonic()
        steps = [step]

        def set_back(_: float, begun: float = begun, steps: list[float] = steps) -> None:
            if steps and clock.monotonic() - begun > 30:
                clock.set_back(steps.pop())

        clock.at_sleep = set_back
        assert guard.block_until_ready("openai") == pytest.approx(60, abs=1.5)
        assert not steps
        clock.at_sleep = lambda _: None
        clock.advance(120_000)


def test_a_clock_set_forward_ends_the_wait(guard: RateGuard, clock: FakeClock) -> None:
    """Then the reset is past; were it not, the provider would say so again."""
    guard.record("openai", limited=True, wait_seconds=60)
    clock.wall += timedelta(hours=1)
    assert guard.block_until_ready("openai") == 0


def test_a_later_reset_that_a_sibling_learns_prolongs_the_wait(
    guard: RateGuard, clock: FakeClock, tmp_path: Path
) -> None:
    """Who waits looks at the file again."""
    sibling = RateGuard(tmp_path / "limits", clock=clock)
    guard.record("openai", limited=True, wait_seconds=10)
    told: list[float] = []

    def tell(_: float) -> None:
        if not told:
            told.append(sibling.record("openai", limited=True, wait_seconds=30).wait_seconds)

    clock.at_sleep = tell
    assert guard.block_until_ready("openai") == pytest.approx(31)


def test_a_wait_has_an_end_in_any_case(guard: RateGuard, clock: FakeClock) -> None:
    """Longer than `max_wait_seconds` it is refused at once, with the moment of the reset, also as a copy."""
    guard.record("openai", limited=True, wait_seconds=600)
    with pytest.raises(RateLimitedError, match="openai is rate limited until 2026-11-02T08:10:00") as caught:
        guard.block_until_ready("openai", max_wait_seconds=300)
    assert clock.slept == []
    assert caught.value.exit_code == 75
    assert copy.copy(caught.value).reset_at == caught.value.reset_at == clock.now() + timedelta(seconds=600)


def test_a_wait_can_be_cancelled(guard: RateGuard, clock: FakeClock) -> None:
    """The flag ends it before the reset."""
    cancel = threading.Event()
    guard.record("openai", limited=True, wait_seconds=60)
    clock.at_sleep = lambda _: cancel.set()
    with pytest.raises(WaitCancelledError):
        guard.block_until_ready("openai", cancel=cancel)
    assert len(clock.slept) == 1


def test_processes_share_what_they_learn(tmp_path: Path) -> None:
    """What another process recorded, and was killed right after, holds this one back."""
    program = (
        "import os, sys\nfrom analyzer.recovery import RateGuard\n"
        "RateGuard(sys.argv[1]).record('openai', {'Retry-After': '30'}, limited=True)\nos.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], env=ENVIRONMENT)
    assert done.returncode == -9
    assert 20 < RateGuard(tmp_path).state("openai").wait_seconds <= 30


def test_a_folder_that_cannot_be_used_is_an_error_with_a_hint(tmp_path: Path) -> None:
    """Not a lost limit."""
    (tmp_path / "limits").write_text("a file")
    with pytest.raises(StateError, match="cannot use the state file") as caught:
        RateGuard(tmp_path / "limits").record("openai", limited=True)
    assert caught.value.hint


def test_a_locked_state_file_does_not_block_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A coroutine that waits looks at the file in another thread, however long that takes."""
    guard = RateGuard(tmp_path)
    guard.record("openai", limited=True, wait_seconds=0.05)
    seen = threads_at_state_files(monkeypatch)
    asyncio.run(guard.block_until_ready_async("openai"))
    assert seen
    assert threading.get_ident() not in seen
