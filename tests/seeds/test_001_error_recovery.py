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
        """A classification carries the canonical action of its reason, and a line of text that says what to do."""
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

    def test_001_7_context_overflow_drops_the_oldest_turns_and_retries_once(
        self, settings: dict[str, Any], log: Log
    ) -> None:
        """About half of the tokens goes, the oldest turns that do not instruct, and the call is made once more."""
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
        with pytest.raises(HttpError):
            Retry("planner", compress=ContextRecovery().compress, **settings).call(call, conversation())
        assert (len(call.calls), settled(log)["outcome"]) == (2, "escalated")

    def test_001_23_auth_error_surfaces_with_credential_provider_and_renewal_path(
        self, settings: dict[str, Any]
    ) -> None:
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
        with pytest.raises(HttpError):
            Retry("planner", **settings).call(Flaky(*(HttpError(503) for _ in range(3))))
        assert (settled(log)["reason"], settled(log)["outcome"]) == ("network_permanent", "exhausted")

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
        """Transient errors back off and are retried, a limit blocks and is retried, a credential stops with a note."""
        retry = loop(profile, clock, log)
        assert retry.call(Flaky(HttpError(502), limited(5), "fine")) == "fine"
        assert sum(clock.slept) > 5
        error = HttpError(401)
        with pytest.raises(HttpError):
            retry.call(Flaky(error, "never"))
        assert "renew it" in note(error)

    def test_001_36_the_fetcher_meets_validation_on_a_stale_etag(self, clock: FakeClock, log: Log) -> None:
        """A 304 is a validation, and not tried again."""
        with pytest.raises(HttpError):
            loop("fetch", clock, log).call(Flaky(HttpError(304, "Not Modified"), "never"))
        assert alone(log)["reason"] == "validation"

    def test_001_37_update_check(self, clock: FakeClock, log: Log) -> None:
        """The update check fails silently: classified and logged, neither surfaced nor retried."""
        assert loop("silent", clock, log).call(Flaky(HttpError(503), "never")) is None
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


class TestIterationBudget:
    """Retries consume the budget of the whole task."""

    def test_001_44_a_cache_hit_is_refunded(self, settings: dict[str, Any]) -> None:
        """On a cache hit the iteration that would have been spent is given back."""
        budget = IterationBudget(5)
        retry = Retry("planner", budget=budget, was_cached=lambda result: result == "cached", **settings)
        assert retry.call(Flaky(HttpError(503), "cached")) == "cached"
        assert (budget.consumed, budget.refunded, budget.remaining) == (1, 1, 5)

    def test_001_45_a_retry_that_does_real_work_consumes_one_before_it(self, settings: dict[str, Any]) -> None:
        """Each retry consumes one iteration before the call is made; the first call consumes none."""
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
        """The example is read as it stands, from the very path that the document names."""
        path = tmp_path / ".design" / "telemetry" / "events.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(LINE + "\n", "utf-8")
        memory.ingest([str(tmp_path / ".design")])
        rows = memory.sql("select caller, reason, retryable from errors").rows()
        assert rows == [("figma-probe", "rate_limited", True)]

    def test_001_52_every_classification_that_is_retried_or_surfaced_is_an_event(
        self, settings: dict[str, Any], log: Log
    ) -> None:
        """Each has type, timestamp, sessionId and a payload with reason, retryable and caller."""
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

    def test_001_58_consumers_aggregate_by_reason_to_see_the_classifier_drift(
        self, memory: Store, tmp_path: Path
    ) -> None:
        """Errors are counted by reason, and the share of unknown ones can be asked for by day."""
        log = analyzer.EventLog(tmp_path / "log")
        for text in ("Overloaded", "Canvas shard 4 is parked"):
            log.error_classified(classify(text), caller="planner", session="s-1")
        memory.ingest([log.folder])
        counted = memory.query("errors-by-reason")
        assert dict(zip(counted["reason"], counted["errors"], strict=True)) == {"network_transient": 1, "unknown": 1}
        assert "unknown_share" in memory.query("unknown-share").columns
