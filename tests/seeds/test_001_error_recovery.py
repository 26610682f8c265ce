"""The document "Error recovery": its protocol, the table of actions, the callers, the budget and the telemetry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import analyzer
from analyzer.classifier import REASONS, classify
from analyzer.classifier.recovery_table import RECOVERY
from analyzer.recovery import (
    PROFILES,
    Backoff,
    ContextRecovery,
    IterationBudget,
    IterationBudgetExhaustedError,
    RateGuard,
    RateLimitedError,
    Retry,
)
from analyzer.store import Store
from tests.recovery.simulated import (
    OVERFLOW,
    FakeClock,
    Flaky,
    HttpError,
    Log,
    alone,
    conversation,
    limited,
    note,
    settled,
)

LINE = (
    '{ "type": "error.classified", "timestamp": "…", "sessionId": "…", '
    '"payload": { "reason": "rate_limited", "retryable": true, "caller": "figma-probe" } }'
)
RETRYABLE = {
    "rate_limited": True,
    "context_overflow": True,
    "auth_error": False,
    "network_transient": True,
    "network_permanent": False,
    "tool_not_found": False,
    "validation": False,
    "unknown": False,
}
"""The column of the table."""


def surfaced(error: Exception, reason: str, detail: str, settings: dict[str, Any], log: Log) -> None:
    """Assert that an error is called once, reaches the caller with a detail, and is logged as surfaced."""
    call = Flaky(error, "never")
    with pytest.raises(type(error)):
        Retry("planner", **settings).call(call)
    assert len(call.calls) == 1
    assert detail in note(error)
    assert (alone(log)["reason"], alone(log)["outcome"]) == (reason, "surfaced")


class TestRecoveryActionTable:
    """One row of the table a test."""

    def test_001_19_the_eight_reasons_are_retryable_as_the_table_says(self) -> None:
        """There are eight reasons, in the table's order, and each is retryable or not as its row says."""
        assert tuple(RETRYABLE) == REASONS
        assert {reason: RECOVERY[reason].retryable for reason in REASONS} == RETRYABLE

    def test_001_17_the_classifier_returns_the_action_of_the_table(self) -> None:
        """A classification carries the action of its reason, and one line that says what to do."""
        for error, reason, action in (
            ({"status": 429}, "rate_limited", "wait_then_retry"),
            (OVERFLOW, "context_overflow", "compress_then_retry"),
            ({"status": 503}, "network_transient", "retry"),
            ({"status": 401}, "auth_error", "surface"),
        ):
            found = classify(error)
            assert (found.reason, found.action) == (reason, action)
            assert found.remediation

    def test_001_21_rate_limited_records_the_headers_and_waits_until_the_reset(
        self, settings: dict[str, Any], clock: FakeClock, tmp_path: Path
    ) -> None:
        """The headers go to the guard, siblings share the reset on disk, and the retry has the jitter of attempt 0."""
        guard = RateGuard(tmp_path / "limits", clock=clock)
        seen: list[float] = []
        clock.at_sleep = lambda _: seen.append(
            RateGuard(tmp_path / "limits", clock=clock).state("anthropic").wait_seconds
        )
        call = Flaky(limited(None, x_ratelimit_remaining="0", x_ratelimit_reset="20"), "fine")
        assert Retry("planner", guard=guard, **settings).call(call) == "fine"
        assert max(seen) > 0
        assert sum(clock.slept) == pytest.approx(20.1, abs=0.1)

    def test_001_7_context_overflow_drops_old_turns_and_retries_once(self, settings: dict[str, Any], log: Log) -> None:
        """An overflow drops the oldest turns, about half of the tokens, and the call is made once more."""
        messages = conversation()
        call = Flaky(HttpError(413), "fine")
        assert Retry("planner", compress=ContextRecovery().compress, **settings).call(call, messages) == "fine"
        (change,) = log.payloads("context.recovered")
        assert 0.4 < change["post_tokens"] / change["pre_tokens"] < 0.6
        assert (messages[0]["role"], len(call.calls)) == ("system", 2)

    def test_001_22_context_overflow_drops_the_oldest_attachments(self, settings: dict[str, Any], log: Log) -> None:
        """Where there are attachments, the oldest of them go, and every turn stays."""
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4_000}}
        messages: list[dict[str, Any]] = []
        for _ in range(4):
            messages.append({"role": "user", "content": [image, {"type": "text", "text": "and this?"}]})
            messages.append({"role": "assistant", "content": "a cat"})
        messages.append({"role": "user", "content": "thank you"})
        retry = Retry("planner", compress=ContextRecovery().compress, **settings)
        assert retry.call(Flaky(HttpError(400, OVERFLOW), "fine"), messages) == "fine"
        assert [message["content"][0]["type"] for message in messages[0:8:2]] == ["text", "text", "text", "image"]
        assert len(messages) == 9
        assert log.payloads("context.recovered")[0]["strategy"] == "drop_attachments"

    def test_001_22_a_second_context_overflow_escalates(self, settings: dict[str, Any], log: Log) -> None:
        """If the retry overflows too, it is escalated to the user: more compression would destroy information."""
        call = Flaky(HttpError(400, OVERFLOW), HttpError(400, OVERFLOW), "never")
        with pytest.raises(HttpError) as caught:
            Retry("planner", compress=ContextRecovery().compress, **settings).call(call, conversation())
        assert (len(call.calls), settled(log)["outcome"]) == (2, "escalated")
        assert "does not fit (210000 of 200000 tokens) again after it was compressed" in note(caught.value)

    def test_001_23_auth_error_surfaces_with_its_renewal_path(self, settings: dict[str, Any]) -> None:
        """A refused credential is not tried again; the note names variable, provider and where to renew it."""
        call = Flaky(error := HttpError(401, "invalid x-api-key"), "never")
        with pytest.raises(HttpError):
            Retry("planner", **settings).call(call)
        assert len(call.calls) == 1
        assert all(word in note(error) for word in ("anthropic", "ANTHROPIC_API_KEY", "https://"))

    def test_001_11_network_transient_backs_off_at_most_three_times(
        self, settings: dict[str, Any], clock: FakeClock, log: Log
    ) -> None:
        """A transient error is tried again with jittered backoff, capped at three attempts."""
        call = Flaky(*(ConnectionResetError("reset by peer") for _ in range(4)))
        with pytest.raises(ConnectionResetError):
            Retry("planner", **settings).call(call)
        assert len(call.calls) == 3
        assert clock.slept == pytest.approx([0.1, 0.2])

    def test_001_24_exhausted_retries_are_network_permanent(self, settings: dict[str, Any], log: Log) -> None:
        """When the retries are used up, the chain ends as network_permanent and surfaces."""
        with pytest.raises(HttpError) as caught:
            Retry("planner", budget=IterationBudget(5), **settings).call(Flaky(*(HttpError(503) for _ in range(3))))
        assert note(caught.value).startswith("planner: cannot reach anthropic; gave up after 3 calls")
        assert {each["reason"] for each in log.payloads("error.classified")} == {"network_transient"}
        end = settled(log)
        assert (end["reason"], end["outcome"], end.get("ended_by")) == ("network_permanent", "exhausted", None)

    def test_001_25_network_permanent_surfaces(self, settings: dict[str, Any], log: Log) -> None:
        """A wrong endpoint or a resource that is gone is surfaced and not tried again."""
        surfaced(HttpError(404, "not found"), "network_permanent", "Check the URL", settings, log)

    def test_001_26_tool_not_found_surfaces(self, settings: dict[str, Any], log: Log) -> None:
        """A tool that nobody offers is surfaced by its name and not tried again by itself."""
        surfaced(
            RuntimeError("Unknown tool: get_metadata"), "tool_not_found", "Unknown tool: get_metadata", settings, log
        )

    def test_001_27_validation_surfaces_its_detail(self, settings: dict[str, Any], log: Log) -> None:
        """A refused request is surfaced with the detail of the refusal, and the same request is not sent again."""
        surfaced(HttpError(422, "temperature: too high"), "validation", "temperature: too high", settings, log)

    def test_001_28_unknown_surfaces_the_raw_error(self, settings: dict[str, Any], log: Log) -> None:
        """An error that no rule knows is surfaced as it is, not tried again, and leaves a row of telemetry."""
        surfaced(RuntimeError("Canvas shard 4 is parked"), "unknown", "Canvas shard 4 is parked", settings, log)

    def test_001_26_tool_not_found_is_reprobed_before_anything_is_retried(self, settings: dict[str, Any]) -> None:
        """The connection is probed first, and only then the call is made again."""
        order: list[str] = []

        def call() -> str:
            order.append("call")
            if order.count("call") == 1:
                raise RuntimeError("Unknown tool: get_metadata")
            return "fine"

        assert Retry("planner", reprobe=lambda: order.append("probe"), **settings).call(call) == "fine"
        assert order == ["call", "probe", "call"]


def loop(profile: str, clock: FakeClock, log: Log, **more: Any) -> Retry:
    """A caller of the table of integration points."""
    return Retry(profile, provider="figma", policy=PROFILES[profile], clock=clock, log=log, **more)


class TestIntegrationPoints:
    """One caller a test."""

    def test_001_34_budget_enforcer(self, clock: FakeClock, log: Log) -> None:
        """The check before a spawn short-circuits where upstream is limited already, before anything is started."""
        guard = RateGuard(clock=clock)
        guard.record("figma", limited=True, wait_seconds=30)
        spawn = Flaky("never")
        with pytest.raises(RateLimitedError):
            loop("pre_spawn", clock, log, guard=guard).call(spawn)
        assert spawn.calls == []
        assert log.payloads("call.short_circuited")[0]["reason"] == "rate_limited"

    @pytest.mark.parametrize("profile", ["probe", "fetch"])
    def test_001_35_figma_probe_and_watch_authorities_fetcher(self, clock: FakeClock, log: Log, profile: str) -> None:
        """A probe retries transient errors with backoff, waits for a limit, and stops at a credential with a note."""
        guard = RateGuard(clock=clock)
        guard.record("figma", limited=True, wait_seconds=30)
        retry = loop(profile, clock, log, guard=guard)
        assert retry.call(Flaky(HttpError(502), limited(5), "fine")) == "fine"
        assert 35 < sum(clock.slept) < 36
        error = HttpError(401)
        with pytest.raises(HttpError):
            retry.call(Flaky(error, "never"))
        assert "renew it" in note(error)

    def test_001_36_the_fetcher_meets_validation_on_a_stale_etag(self, clock: FakeClock, log: Log) -> None:
        """A fetcher takes an answer of 304 as a validation, and does not try again."""
        with pytest.raises(HttpError):
            loop("fetch", clock, log).call(Flaky(HttpError(304, "Not Modified"), "never"))
        assert alone(log)["reason"] == "validation"

    def test_001_37_update_check(self, clock: FakeClock, log: Log) -> None:
        """The update check fails silently: classified and logged, neither surfaced nor retried."""
        error = HttpError(503)
        assert loop("silent", clock, log).call(Flaky(error, "never")) is None
        assert (clock.slept, getattr(error, "__notes__", [])) == ([], [])
        assert (alone(log)["reason"], alone(log)["action"]) == ("network_transient", "record")

    def test_001_38_mcp_transport(self, clock: FakeClock, log: Log) -> None:
        """A missing tool is probed and called again, a credential stops, transient errors are retried."""
        probes: list[int] = []
        retry = loop("transport", clock, log, reprobe=lambda: probes.append(1))
        assert retry.call(Flaky(RuntimeError("Unknown tool: get_metadata"), HttpError(503), "fine")) == "fine"
        call = Flaky(HttpError(401), "never")
        with pytest.raises(HttpError):
            retry.call(call)
        assert (probes, len(call.calls)) == ([1], 1)
        with pytest.raises(RuntimeError):
            retry.call(Flaky(*(RuntimeError("Unknown tool: get_metadata") for _ in range(2)), "never"))
        assert probes == [1, 1]


class TestIterationBudget:
    """Retries consume the budget of the whole task."""

    def test_001_44_a_cache_hit_is_refunded(self, settings: dict[str, Any]) -> None:
        """On a cache hit the iteration that would have been spent is given back."""
        budget = IterationBudget(5)
        retry = Retry("planner", budget=budget, was_cached=lambda result: result == "cached", **settings)
        assert retry.call(Flaky(HttpError(503), "cached")) == "cached"
        assert (budget.consumed, budget.refunded, budget.remaining) == (1, 1, 5)

    def test_001_45_a_retry_that_does_real_work_consumes_one_before_it(self, settings: dict[str, Any]) -> None:
        """Each retry consumes one iteration of the budget before the call is made; the first call consumes none."""
        budget = IterationBudget(5)
        remaining: list[int] = []

        def call() -> str:
            remaining.append(budget.remaining)
            if len(remaining) < 3:
                raise HttpError(503)
            return "fine"

        assert Retry("planner", budget=budget, **settings).call(call) == "fine"
        assert remaining == [5, 4, 3]

    def test_001_46_nothing_remaining_throws(self, settings: dict[str, Any], log: Log) -> None:
        """With nothing remaining, further retries throw IterationBudgetExhaustedError, from the error of the call."""
        call = Flaky(HttpError(503), "never")
        with pytest.raises(IterationBudgetExhaustedError) as caught:
            Retry("planner", budget=IterationBudget(0), **settings).call(call)
        assert len(call.calls) == 1
        assert isinstance(caught.value.__cause__, HttpError)
        assert log.payloads("budget.exhausted")[0]["limit"] == 0

    def test_001_48_an_infinite_fix_loop_ends(self, settings: dict[str, Any]) -> None:
        """A blocker that comes back after every fix cannot burn more than the budget."""
        budget = IterationBudget(7)
        retry = Retry("planner", budget=budget, **settings)
        calls = 0
        with pytest.raises(IterationBudgetExhaustedError):
            for _ in range(100):
                blocker = Flaky(HttpError(503), "fixed")
                retry.call(blocker)
                calls += len(blocker.calls)
        assert (calls, budget.remaining) == (14, 0)


class TestTelemetry:
    """What a classification leaves behind."""

    def test_001_55_the_line_of_the_document_is_an_event(self, memory: Store, tmp_path: Path) -> None:
        """An event of the documented shape is read from the documented path."""
        path = tmp_path / ".design" / "telemetry" / "events.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(LINE + "\n", "utf-8")
        memory.ingest([str(tmp_path / ".design")])
        rows = memory.sql("select caller, reason, retryable from errors").rows()
        assert rows == [("figma-probe", "rate_limited", True)]

    def test_001_52_every_classification_that_is_retried_or_surfaced_is_an_event(
        self, settings: dict[str, Any], log: Log
    ) -> None:
        """A classification that is retried or surfaced is an event with its time, session, reason and caller."""
        with pytest.raises(HttpError):
            Retry("planner", **settings).call(Flaky(HttpError(503), HttpError(401)))
        (path,) = Path(log.folder).glob("*.jsonl")
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        told = [line for line in lines if line["type"] == "error.classified"]
        assert [(each["payload"]["reason"], each["payload"]["retryable"]) for each in told] == [
            ("network_transient", True),
            ("auth_error", False),
        ]
        assert all(each["timestamp"] and each["sessionId"] == "s-1" for each in told)
        assert {each["payload"]["caller"] for each in told} == {"planner"}

    def test_001_58_consumers_aggregate_by_reason_to_see_drift(self, memory: Store, tmp_path: Path) -> None:
        """Errors are counted by reason, and the share of unknown ones can be asked for by day."""
        log = analyzer.EventLog(tmp_path / "log")
        for text in ("Overloaded", "Canvas shard 4 is parked"):
            log.error_classified(classify(text), caller="planner", session="s-1")
        memory.ingest([log.folder])
        counted = memory.query("errors-by-reason")
        assert dict(zip(counted["reason"], counted["errors"], strict=True)) == {"network_transient": 1, "unknown": 1}
        assert "unknown_share" in memory.query("unknown-share").columns


OUTCOMES = {
    "pre_spawn": {"limit": "recovered", "credential": "surfaced", "transient": "recovered", "tool": "surfaced"},
    "probe": {"limit": "recovered", "credential": "surfaced", "transient": "recovered", "tool": "surfaced"},
    "fetch": {"limit": "recovered", "credential": "surfaced", "transient": "recovered", "tool": "surfaced"},
    "silent": {"limit": "record", "credential": "record", "transient": "record", "tool": "record"},
    "transport": {"limit": "recovered", "credential": "surfaced", "transient": "recovered", "tool": "recovered"},
}
"""What becomes of a call that fails once, by caller and error; `record` is the action of a silent caller."""


@pytest.mark.parametrize("profile", OUTCOMES)
@pytest.mark.parametrize("name", ["limit", "credential", "transient", "tool"])
def test_001_32_each_caller_has_its_outcome_of_each_error(clock: FakeClock, log: Log, profile: str, name: str) -> None:
    """Callers treat the same error each in their own way: retried, surfaced, or recorded without a word."""
    error = {
        "limit": limited(5),
        "credential": HttpError(401),
        "transient": HttpError(502),
        "tool": RuntimeError("Unknown tool: paint"),
    }[name]
    call = Flaky(error, "fine")
    retry = loop(profile, clock, log, **({"reprobe": lambda: None} if profile == "transport" else {}))
    match OUTCOMES[profile][name]:
        case "surfaced":
            with pytest.raises(type(error)):
                retry.call(call)
            assert alone(log)["outcome"] == "surfaced"
        case "record":
            assert retry.call(call) is None
            assert alone(log)["action"] == "record"
        case outcome:
            assert retry.call(call) == "fine"
            assert settled(log)["outcome"] == outcome
    assert len(call.calls) == (2 if OUTCOMES[profile][name] == "recovered" else 1)


@pytest.mark.parametrize("attempt", [0, 3, 8, 9, 20, 5_000])
def test_001_24_backoff_is_jittered_and_capped(attempt: int) -> None:
    """The wait doubles with each attempt, varies by its jitter, and exceeds its cap by no more than that."""
    backoff = Backoff()
    expected = min(30.0, 0.1 * 2.0 ** min(attempt, 60))
    delays = {backoff.delay_seconds(attempt) for _ in range(50)}
    assert len(delays) > 1
    assert all(0.8 * expected <= delay <= 1.2 * expected for delay in delays)


@pytest.mark.parametrize("error", [HttpError(413), HttpError(400, OVERFLOW)])
def test_001_7_a_413_and_an_overflow_are_compressed_alike(settings: dict[str, Any], error: Exception) -> None:
    """A status of 413 leads to the same compression as the text of an overflow."""
    messages = conversation()
    call = Flaky(error, "fine")
    assert Retry("planner", compress=ContextRecovery().compress, **settings).call(call, messages) == "fine"
    assert len(call.calls[1][0]) < len(call.calls[0][0])


def test_001_9_the_guard_is_asked_before_a_retry(clock: FakeClock, settings: dict[str, Any]) -> None:
    """After a 429 the next call is made only once the guard says that the provider is ready."""
    guard = RateGuard(clock=clock)
    ready: list[bool] = []

    def call() -> str:
        ready.append(guard.state("anthropic").ready)
        if len(ready) == 1:
            raise limited(20)
        return "fine"

    assert Retry("planner", guard=guard, **settings).call(call) == "fine"
    assert ready == [True, True]
    assert sum(clock.slept) >= 20


@pytest.mark.parametrize("error", [HttpError(500), HttpError(503), ConnectionResetError("ECONNRESET")])
def test_001_11_server_errors_and_resets_are_transient(settings: dict[str, Any], error: Exception) -> None:
    """A 5xx and a connection that was reset are tried again."""
    assert Retry("planner", **settings).call(Flaky(error, "fine")) == "fine"


def test_001_21_siblings_share_the_reset_on_disk(clock: FakeClock, tmp_path: Path) -> None:
    """A limit that one process meets holds its siblings until the same moment, and other providers not at all."""
    RateGuard(tmp_path, clock=clock).record("figma", limited=True, wait_seconds=30)
    sibling = RateGuard(tmp_path, clock=clock)
    assert (sibling.state("figma").ready, sibling.state("github").ready) == (False, True)
    clock.advance(31)
    assert sibling.state("figma").ready


def test_001_22_a_chain_is_compressed_once(settings: dict[str, Any], log: Log) -> None:
    """An overflow is compressed once in a chain, also where a transient error came before it."""
    call = Flaky(HttpError(503), HttpError(413), HttpError(413), "never")
    with pytest.raises(HttpError):
        Retry("planner", compress=ContextRecovery().compress, **settings).call(call, conversation())
    assert (len(call.calls), len(log.payloads("context.recovered"))) == (3, 1)


RULES = """
[[rule]]
id = "parked"
reason = "network_transient"
detail = "server_error"
text = ['\\bis parked\\b']
examples = ["Canvas shard 4 is parked", "Canvas 7 is parked"]
source = "a made-up gallery"
counter_examples = ["A parked car"]
"""


def test_001_58_history_is_reclassified_under_tighter_rules(memory: Store, tmp_path: Path) -> None:
    """A replay of the recorded errors under another ruleset says which reasons change, and changes none by itself."""
    log = analyzer.EventLog(tmp_path / "log")
    log.error_classified(classify("Canvas shard 4 is parked"), caller="planner", session="s-1")
    memory.ingest([log.folder])
    rules = tmp_path / "mine.toml"
    rules.write_text(RULES, "utf-8")
    found = memory.reclassify(rules)
    assert (found.examined, found.changed) == (1, 1)
    assert memory.sql("select reason from errors").item() == "unknown"


def test_001_58_a_spike_of_unknown_errors_is_found(memory: Store, tmp_path: Path) -> None:
    """A day with many more unknown errors than the days before is a finding of the classifier's drift."""
    lines = []
    for day in range(2, 16):
        for number in range(30):
            drifts = day == 15 and number < 25
            facts = {"message": f"the {'abcdefghijklmnopqrstuvwxyz'[number]} shelf fell"} if drifts else {"status": 503}
            payload = {"reason": "unknown" if drifts else "network_transient", "caller": "figma-probe", "facts": facts}
            at = f"2026-11-{day:02}T{8 + number // 6:02}:{number % 6:02}:00Z"
            line = {"type": "error.classified", "timestamp": at, "sessionId": f"s-{day}-{number}", "payload": payload}
            lines.append(json.dumps(line) + "\n")
    path = tmp_path / "events.jsonl"
    path.write_text("".join(lines), "utf-8")
    memory.ingest([str(path)])
    assert analyzer.spikes(memory).callers == ("figma-probe",)
