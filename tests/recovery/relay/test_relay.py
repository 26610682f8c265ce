"""Relay: when it is due, what it leaves, when it halts; for a program that holds its conversation itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.errors import AnalyzerError
from analyzer.events import EventLog
from analyzer.recovery.process.step_error import RelayHaltedError
from analyzer.recovery.relay.checkpoint import SummarizerLimitError, Transcript, Turn, parse
from analyzer.recovery.relay.config import RelaySettings, relay_config, threshold
from analyzer.recovery.relay.monitor import MOST, Relay, RelayMonitor, Summarizer
from analyzer.recovery.relay.summarizers import summarize
from tests import each_row
from tests.recovery.supervised import events

SESSION = Transcript("Add the endpoint", (Turn("assistant", "- [ ] the handler\n- [ ] the tests"),))


class Step:
    """A step with a relay and its log."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def relay(self, settings: RelaySettings | None = None, summarizer: Summarizer | None = None, **who: str) -> Relay:
        """The relay of one worker."""
        monitor = RelayMonitor(settings or RelaySettings(), **({"step_id": "implement"} | who))
        log = EventLog(self._folder / "log")
        return Relay(monitor, self._folder / "checkpoints", summarizer=summarizer, log=log, caller="claude")

    def events(self) -> list[tuple[str, dict[str, Any]]]:
        """Types and payloads."""
        return [(event["type"], event["payload"]) for event in events(self._folder / "log")]


@pytest.fixture
def step(tmp_path: Path) -> Step:
    """A step."""
    return Step(tmp_path)


@pytest.mark.parametrize(
    ("text", "percent"), [("token_limit_80%", 80), ("80%", 80), ("80", 80), (80, 80), (62.5, 62.5), ("62.5%", 62.5)]
)
def test_thresholds_as_people_write_them(text: object, percent: float) -> None:
    """A number, a percentage, and the trigger of a pipeline's step mean the same."""
    assert threshold(text) == percent


@each_row("text", ["", "0", "101%", "token_limit", "half", True, None, -5, float("nan")])
def test_thresholds_that_are_none(text: object) -> None:
    """Nothing, zero, more than all and words are refused."""
    with pytest.raises(AnalyzerError, match="no threshold"):
        threshold(text)


def test_settings_for_all_steps_and_for_one() -> None:
    """A step's own settings override those for all, key by key."""
    config = relay_config(
        {
            "threshold_percent": "80%",
            "summarizer": "brief",
            "steps": {"implement": {"threshold_percent": "token_limit_60%"}, "review": {"summarizer": "other"}},
        }
    )
    assert config.of_step(None).threshold_percent == config.of_step("deploy").threshold_percent == 80
    assert (config.of_step("implement").threshold_percent, config.of_step("implement").summarizer) == (60, "brief")
    assert (config.of_step("review").threshold_percent, config.of_step("review").summarizer) == (80, "other")


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"treshold_percent": 70}, "threshold_percent"),
        ({"strategy": "forget"}, "summarize_to_checkpoint"),
        ({"summarizer": ""}, "summarizer"),
        ({"checkpoint_token_cap": 0}, "checkpoint_token_cap"),
        ({"steps": []}, r"\[relay.steps"),
        ({"steps": {"implement": 70}}, r"\[relay.steps.implement"),
    ],
)
def test_settings_that_cannot_be_used(section: dict[str, Any], says: str) -> None:
    """Unknown keys, strategies and values are refused with what would do."""
    with pytest.raises(AnalyzerError) as caught:
        relay_config(section)
    assert says.replace("\\", "") in f"{caught.value.message} {caught.value.hint}"


def test_the_window_is_the_model_s() -> None:
    """A million tokens for a model that has them, what the stream says, and what the settings say above all."""
    monitor = RelayMonitor(RelaySettings())
    monitor.observe_model("some-model[1m]")
    assert not monitor.observe(500_000)
    monitor.observe_window(500_000)
    assert monitor.observe(500_000)
    settled = RelayMonitor(RelaySettings(context_window=1_000))
    settled.observe_window(500_000)
    assert settled.observe(700)


def test_a_hand_off(step: Step) -> None:
    """Due, summarized, checked, written, resumed: three events of one relay, and a checkpoint to begin with."""
    relay = step.relay()
    assert relay.monitor.observe(164_000)
    checkpoint = relay.hand_off(lambda: SESSION)
    assert checkpoint is not None
    assert checkpoint.remaining_work == ("the handler", "the tests")
    assert relay.path is not None
    assert parse(relay.path.read_text()) == checkpoint == relay.checkpoint
    relay.resumed(21_000)
    (_, triggered), (_, checkpointed), (_, resumed) = found = step.events()
    assert [kind for kind, _ in found] == ["relay.triggered", "relay.checkpointed", "relay.resumed"]
    assert triggered | {"relay": ""} == {
        "relay": "",
        "caller": "claude",
        "step_id": "implement",
        "relay_count": 1,
        "token_usage_percent": 82.0,
        "threshold_percent": 70.0,
        "pre_tokens": 164_000,
        "strategy": "summarize_to_checkpoint",
        "trigger": "auto",
    }
    assert checkpointed["checkpoint_tokens"] == checkpoint.tokens
    assert (resumed["post_tokens"], resumed["relay_count"]) == (21_000, 1)
    assert {payload["relay"] for _, payload in found} == {triggered["relay"]}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(139_000, 141_000)), max_size=20))
def test_two_workers_near_their_threshold_are_told_apart(readings: list[tuple[str, int]]) -> None:
    """In whatever order their replies come, each is due by its own tokens and count, as if it were alone."""
    together = {name: RelayMonitor(RelaySettings(), step_id="implement", worker_id=name) for name in "ab"}
    alone = {name: RelayMonitor(RelaySettings(), step_id="implement", worker_id=name) for name in "ab"}
    seen = []
    for name, tokens in readings:
        seen.append((name, together[name].observe(tokens)))
        if seen[-1][1]:
            together[name].handed_off()
    for name, monitor in alone.items():
        own = [tokens for who, tokens in readings if who == name]
        due = [monitor.observe(tokens) and (monitor.handed_off() or True) for tokens in own]
        assert [is_due for who, is_due in seen if who == name] == due == [tokens >= 140_000 for tokens in own]
        assert (together[name].relay_count, together[name].tokens) == (monitor.relay_count, monitor.tokens)


def _too_large(_: Transcript, __: int) -> str:
    raise SummarizerLimitError("the summarizer's own context is too small")


def _too_long(_: Transcript, cap: int) -> str:
    return summarize(SESSION, cap).replace("the tests", "the tests " * cap)


@pytest.mark.parametrize(
    ("settings", "summarizer", "cause"),
    [
        (RelaySettings(summarizer_token_cap=5), summarize, "more than the summarizer's 5 tokens"),
        (RelaySettings(), _too_large, "own context is too small"),
        (RelaySettings(checkpoint_token_cap=200), _too_long, "more than 200"),
        (RelaySettings(checkpoint_token_cap=20), summarize, "more than 20 tokens"),
    ],
)
def test_summarizer_hits_its_own_limit(
    step: Step, settings: RelaySettings, summarizer: Callable[[Transcript, int], str], cause: str
) -> None:
    """The step halts, and says so; there is no summary of a summary."""
    relay = step.relay(settings, summarizer)
    relay.monitor.observe(150_000)
    with pytest.raises(RelayHaltedError, match=cause):
        relay.hand_off(lambda: SESSION)
    kind, payload = step.events()[-1]
    assert kind == "relay.halted"
    assert cause in payload["cause"]
    assert relay.checkpoint is None


def test_a_step_without_end_halts(step: Step) -> None:
    """Hand-offs of one step are bounded."""
    relay = step.relay()
    for _ in range(MOST):
        relay.monitor.observe(150_000)
        relay.hand_off(lambda: SESSION)
        relay.resumed(10_000)
    relay.monitor.observe(150_000)
    with pytest.raises(RelayHaltedError, match="no end"):
        relay.hand_off(lambda: SESSION)


def test_a_summarizer_that_fails_costs_the_relay_only(step: Step) -> None:
    """Without a checkpoint the agent goes on with what it has; the next relay is due when that is fuller."""
    relay = step.relay(summarizer=lambda session, cap: "I would rather not.")
    relay.monitor.observe(150_000)
    assert relay.hand_off(lambda: SESSION) is None
    assert relay.skipped is not None
    assert (relay.monitor.relay_count, relay.monitor.due) == (0, False)
    assert not relay.monitor.observe(159_000)
    assert relay.monitor.observe(160_000)
    assert [kind for kind, _ in step.events()] == ["relay.triggered", "relay.skipped"]
