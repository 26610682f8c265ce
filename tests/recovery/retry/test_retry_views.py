"""The analyzer sees the recovery that the loop caused: flaky calls, ingest, one row a chain."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from analyzer.recovery import ContextRecovery, IterationBudget, Policy, RateGuard, RateLimitedError, Retry
from analyzer.recovery.retry.policy import IterationBudgetExhaustedError
from analyzer.store import Store, open_store
from tests.recovery.simulated import OVERFLOW, STEADY, FakeClock, Flaky, HttpError, Log, conversation, limited
from tests.recovery.supervised import ENVIRONMENT


def test_every_outcome_stands_in_the_views(memory: Store, clock: FakeClock, log: Log) -> None:
    """Each chain, with attempts, waits and reason; a failure that was not tried again has its outcome in `errors`."""

    def run(caller: str, *answers: object, budget: IterationBudget | None = None, policy: Policy = STEADY) -> None:
        retry = Retry(
            caller,
            policy=policy,
            clock=clock,
            log=log,
            session="s-1",
            budget=budget,
            compress=ContextRecovery().compress,
        )
        try:
            retry.call(Flaky(*answers), conversation())
        except (Exception, KeyboardInterrupt) as error:
            assert error is answers[-1] or isinstance(error, IterationBudgetExhaustedError)

    run("recovers", HttpError(503), limited(20), "fine")
    run("exhausts", HttpError(503), HttpError(503), HttpError(503))
    run("surfaces", HttpError(401))
    run("escalates", HttpError(400, OVERFLOW), HttpError(400, OVERFLOW))
    run("aborts", HttpError(503), KeyboardInterrupt())
    run("overspends", HttpError(503), budget=IterationBudget(0))
    run("works", "fine")
    run("given up", HttpError(503), policy=Policy(max_attempts={"network_transient": 1}))
    memory.ingest([log.folder])
    rows = memory.sql(
        "select caller, reason, outcome, attempts, round(waited_seconds, 3), session_id from retries order by caller"
    ).rows()
    assert rows == [
        ("aborts", "network_transient", "aborted", 2, 0.1, "s-1"),
        ("escalates", "context_overflow", "escalated", 2, 0.0, "s-1"),
        ("exhausts", "network_permanent", "exhausted", 3, 0.3, "s-1"),
        ("overspends", "network_transient", "exhausted", 1, 0.0, "s-1"),
        ("recovers", "rate_limited", "recovered", 3, 20.2, "s-1"),
    ]
    errors = memory.sql("select reason, outcome, count(*) from errors where caller = 'exhausts' group by all").rows()
    assert errors == [("network_transient", "exhausted", 3)]
    alone = memory.sql("select caller, reason, outcome from errors where operation is null order by all").rows()
    assert alone == [("given up", "network_transient", "surfaced"), ("surfaces", "auth_error", "surfaced")]
    recovered = memory.sql("select strategy, recovered, caller from context_recoveries").rows()
    assert recovered == [("drop_oldest_turns", True, "escalates")]
    types = dict(memory.sql("select type, count(*) from events group by all").rows())
    assert types["budget.exhausted"] == 1
    assert memory.sql("select count(*) from quarantine").item() == 0


FLAKY_AGENT = """
import sys, time
from analyzer import EventLog, RateGuard, Retry
from analyzer.recovery import RateLimitedError
folder, mode, seconds = sys.argv[1:]
log, guard = EventLog(folder + "/telemetry"), RateGuard(folder + "/limits")
retry = Retry(mode, provider="example", log=log, guard=guard, session="s-9")
class Limited(Exception):
    status_code, headers = 429, {"retry-after": seconds}
answers = iter([ConnectionResetError("reset"), Limited("Too many requests"), "fine"])
def call():
    answer = next(answers)
    if isinstance(answer, Exception):
        raise answer
    print("limited" if mode == "first" else "called", flush=True)
    return answer
begun = time.monotonic()
if mode == "first":
    print(retry.call(call), round(time.monotonic() - begun, 3))
else:
    print("loaded", flush=True)
    sys.stdin.readline()
    try:
        retry.call(call)
    except RateLimitedError:
        print("short-circuited")
"""


def test_in_real_time_from_two_processes_to_the_report(tmp_path: Path) -> None:
    """One process waits out a limit, another one is stopped by it before its call; the store tells both."""
    for seconds in (4, 20, 100):
        # On a busy machine a short limit may be over before the other process has asked for it.
        folder = tmp_path / str(seconds)
        said, stopped = _limited_beside_another(folder, seconds)
        if stopped == "short-circuited\n":
            break
    assert stopped == "short-circuited\n"
    assert said[:2] == ["limited", "fine"]
    assert seconds + 0.08 + 0.08 <= float(said[2])
    with open_store(":memory:") as store:
        store.ingest([str(folder / "telemetry")])
        ((caller, outcome, attempts, waited),) = store.sql(
            "select caller, outcome, attempts, waited_seconds from retries where caller = 'first'"
        ).rows()
        short = store.sql("select count(*) from events where type = 'call.short_circuited'").item()
    assert (caller, outcome, attempts, short) == ("first", "recovered", 3, 1)
    # A limit runs from when it was heard of: a busy machine leaves less of it to be waited for.
    assert seconds - 1 <= waited


def _limited_beside_another(folder: Path, seconds: int) -> tuple[list[str], str]:
    """What the process prints that meets a limit of so many seconds, and what the one beside it prints."""
    command = [sys.executable, "-W", "error", "-c", FLAKY_AGENT, str(folder)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    second = subprocess.Popen([*command, "second", str(seconds)], **pipes)
    assert second.stdout is not None
    assert second.stdout.readline() == "loaded\n"
    first = subprocess.Popen([*command, "first", str(seconds)], **pipes)
    state = RateGuard(folder / "limits")
    while state.state("example").ready and first.poll() is None:
        time.sleep(0.005)
    stopped = second.communicate("\n", timeout=300)[0]
    return first.communicate(timeout=300)[0].split(), stopped


def test_siblings_come_back_together_but_not_at_once(clock: FakeClock, tmp_path: Path) -> None:
    """Behind one shared limit, who met it and who only heard of it spread over the jitter of attempt 0."""
    guard = RateGuard(tmp_path / "limits", clock=clock)
    ends = []
    for seed in range(20):
        sibling = FakeClock()
        shared = RateGuard(tmp_path / "limits", clock=sibling)
        patient = Policy(wait_when_blocked=True)
        retry = Retry("x", provider="example", guard=shared, clock=sibling, rng=random.Random(seed), policy=patient)
        retry.call(Flaky(*([] if seed else [limited(10)]), "fine"))
        ends.append(sibling.monotonic() - 1000)
    assert guard.state("example").wait_seconds == 10
    assert 10.08 <= min(ends) < max(ends) <= 10.12
    assert len(set(ends)) == 20


def test_a_waiting_policy_has_its_bound(clock: FakeClock, log: Log) -> None:
    """Before the first call too: a limit of days short-circuits instead of being waited for."""
    guard = RateGuard(clock=clock)
    guard.record("x", limited=True, wait_seconds=200_000)
    with pytest.raises(RateLimitedError):
        Retry("x", guard=guard, clock=clock, log=log, policy=Policy(wait_when_blocked=True)).call(Flaky("never"))
    assert clock.slept == []
    assert log.types() == ["call.short_circuited"]
