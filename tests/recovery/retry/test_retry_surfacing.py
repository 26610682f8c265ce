"""Overflows that are compressed once, and errors that surface with what a person has to know."""

from __future__ import annotations

import traceback
from typing import Any

import pytest

from analyzer.recovery import Compression, ContextRecovery, Credential, Retry
from analyzer.recovery.process.step_error import Observed, step_error
from tests.recovery.simulated import OVERFLOW, FakeClock, Flaky, HttpError, Log, alone, conversation, note, settled


def test_an_overflow_is_compressed_once(settings: dict[str, Any], log: Log, clock: FakeClock) -> None:
    """About half of the tokens goes, oldest turns first, instructions stay; then the call is made again."""
    messages = conversation()
    before = len(str(messages))
    call = Flaky(HttpError(400, OVERFLOW), "fine")
    retry = Retry("planner", compress=ContextRecovery().compress, **settings)
    assert retry.call(call, messages) == "fine"
    first, second = (made[0] for made in call.calls)
    assert second == messages
    assert second[0]["role"] == "system"
    assert second[1:] == first[-len(second) + 1 :]
    assert 0.4 < len(str(second)) / before < 0.6
    assert clock.slept == [0]
    assert log.types() == ["error.classified", "context.recovered", "retry.scheduled", "retry.settled"]
    (change,) = log.payloads("context.recovered")
    assert (change["strategy"], change["attempt"]) == ("drop_oldest_turns", 1)
    assert change["removed_messages"] == len(first) - len(second)
    assert 0.4 < change["post_tokens"] / change["pre_tokens"] < 0.6


def test_what_cannot_be_compressed_escalates_at_once(settings: dict[str, Any], log: Log) -> None:
    """There is only one message, and it is not a tool's: no second call."""
    call = Flaky(HttpError(400, OVERFLOW), "never")
    with pytest.raises(HttpError):
        Retry("planner", compress=ContextRecovery().compress, **settings).call(call, [{"role": "user", "content": "x"}])
    assert len(call.calls) == 1
    assert log.types() == ["error.classified", "context.unrecovered", "retry.settled"]
    assert settled(log)["outcome"] == "escalated"


def test_an_overflow_surfaces_where_nobody_can_compress(settings: dict[str, Any], log: Log) -> None:
    """Without `compress` the same prompt would fail the same way."""
    with pytest.raises(HttpError):
        Retry("planner", **settings).call(Flaky(HttpError(400, OVERFLOW)))
    assert (alone(log)["outcome"], alone(log)["action"]) == ("surfaced", "surface")


@pytest.mark.parametrize(
    ("error", "reason", "said"),
    [
        (HttpError(401, "invalid x-api-key"), "auth_error", "ANTHROPIC_API_KEY; renew it (https://"),
        (HttpError(402, "Your credit balance is too low"), "auth_error", "no credit or quota left"),
        (HttpError(403, "insufficient permissions"), "auth_error", "may not do this at anthropic"),
        (HttpError(404, "not found"), "network_permanent", "cannot reach anthropic. Check the URL"),
        (RuntimeError("Unknown tool: get_metadata"), "tool_not_found", "Unknown tool: get_metadata"),
        (HttpError(422, "temperature: too high"), "validation", "temperature: too high"),
        (RuntimeError("Canvas shard 4 is parked"), "unknown", "no rule knows; it was not tried again: Canvas shard"),
    ],
)
def test_the_rest_surfaces_with_what_to_do(
    settings: dict[str, Any], log: Log, clock: FakeClock, error: Exception, reason: str, said: str
) -> None:
    """One call, the call's own error, and a note that names credential, provider, variable or URL."""
    with pytest.raises(type(error)) as caught:
        Retry("planner", **settings).call(Flaky(error, "never"))
    assert caught.value is error
    assert clock.slept == []
    assert (alone(log)["reason"], alone(log)["outcome"]) == (reason, "surfaced")
    assert said in note(error)
    assert note(error) in "".join(traceback.format_exception(error))


def test_a_note_names_the_credential_that_the_caller_told_of(settings: dict[str, Any]) -> None:
    """For a provider that nobody has heard of."""
    error = HttpError(401, "no")
    retry = Retry("planner", credential=Credential("ACME_TOKEN", "https://api.example.com/keys"), **settings)
    with pytest.raises(HttpError):
        retry.call(Flaky(error))
    assert "refused the credential in ACME_TOKEN; renew it (https://api.example.com/keys)" in note(error)


def test_a_note_and_a_supervised_run_tell_the_same_of_a_credential(settings: dict[str, Any]) -> None:
    """One text, in both: which credential, which provider, the page of its key and the login."""
    error = HttpError(401, "invalid x-api-key")
    with pytest.raises(HttpError):
        Retry("planner", **settings).call(Flaky(error))
    failed = step_error(Observed(stderr="API Error: 401 invalid x-api-key"), 1, agent="claude")
    assert failed is not None
    told = failed.remediation
    assert note(error).startswith(f"planner: {told[:-1]}")
    assert all(each in told for each in ("ANTHROPIC_API_KEY", "https://console.anthropic.com", "claude /login"))


def test_a_note_of_a_turn_limit_says_how_it_is_raised(settings: dict[str, Any]) -> None:
    """An SDK's cap on the turns of a run is no complaint about the input."""
    error = RuntimeError("Reached max turns (12)")
    with pytest.raises(RuntimeError):
        Retry("planner", **settings).call(Flaky(error))
    assert "reached its turn limit" in note(error)
    assert "--max-turns" in note(error)


def test_a_note_names_the_url_without_its_secrets(settings: dict[str, Any]) -> None:
    """Host and path of the request that failed; neither query nor password."""

    class Request:
        url = "https://user:hunter2@api.example.com:8443/v1/x?key=hunter2"

    error = HttpError(404, "not found")
    error.request = Request()  # type: ignore[attr-defined]
    with pytest.raises(HttpError):
        Retry("planner", **settings).call(Flaky(error))
    assert "cannot reach https://api.example.com:8443/v1/x." in note(error)
    assert "hunter2" not in note(error)


def test_a_compressor_of_ones_own_is_asked_with_the_calls_arguments(settings: dict[str, Any], log: Log) -> None:
    """And its account goes to the log."""
    asked: list[Any] = []

    def compress(prompt: str, *, model: str) -> Compression:
        asked.append((prompt, model))
        return Compression("trim", 100, 50, 0, 1)

    def call(prompt: str, *, model: str) -> str:
        if not asked:
            raise HttpError(400, OVERFLOW)
        return "fine"

    assert Retry("planner", compress=compress, **settings).call(call, "p", model="m") == "fine"
    assert asked == [("p", "m")]
    assert log.payloads("context.recovered")[0]["strategy"] == "trim"


def test_where_no_turn_can_go_long_tool_outputs_are_cut(settings: dict[str, Any], log: Log) -> None:
    """One question and one huge answer of a tool, as an attachment is: the answer is cut, and the call made again."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "what is in it?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "content": "x" * 400_000},
    ]
    retry = Retry("planner", compress=ContextRecovery().compress, **settings)
    assert retry.call(Flaky(HttpError(400, OVERFLOW), "fine"), messages) == "fine"
    assert len(messages) == 3
    assert len(messages[2]["content"]) < 50_000
    assert log.payloads("context.recovered")[0]["strategy"] == "truncate_tool_outputs"
