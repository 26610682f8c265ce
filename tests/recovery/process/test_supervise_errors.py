"""How a run failed is told by its result record first, then by its words and its exit code."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from analyzer.classifier import REASONS, RECOVERY
from analyzer.recovery.process.step_error import Observed, Observer, StepError, TokenUsage, step_error
from tests import each_row
from tests.recovery.supervised import LINE


def observed(*records: dict[str, Any] | str, stderr: str = "") -> Observed:
    """What a stream of these lines shows, cut into pieces of seven bytes."""
    lines = (record if isinstance(record, str) else json.dumps(record) for record in records)
    data = "".join(line + "\n" for line in lines).encode()
    observer = Observer()
    for start in range(0, len(data), 7):
        observer.stdout(data[start : start + 7])
    observer.stderr(stderr.encode())
    return observer.observed()


def result(**keys: Any) -> dict[str, Any]:
    """A result record that says that its run failed."""
    return {"type": "result", "subtype": "success", "is_error": True, "session_id": "s-1", **keys}


def failed(seen: Observed, exit_code: int = 1, timed_out_after: float | None = None) -> StepError:
    """How the run failed, which it did."""
    error = step_error(seen, exit_code, timed_out_after=timed_out_after)
    assert error is not None
    return error


@pytest.mark.parametrize("exit_code", [0, 1, 143])
def test_a_timeout_is_one_whatever_the_command_makes_of_its_end(exit_code: int) -> None:
    """A command that ends well on SIGTERM was stopped all the same: the same reason, which is tried again."""
    error = failed(observed({"type": "result", "subtype": "success"}), exit_code, timed_out_after=5)
    verdict = error.classification
    assert (error.failure_reason, verdict.reason, verdict.detail) == ("timeout", "network_transient", "timeout")
    assert verdict.retryable


def test_the_message_says_the_reason_where_it_is_known() -> None:
    """A general error is told by its reason, as the report will count it; without one by its own word."""
    limited = failed(observed(result(result="API Error: 429 Too Many Requests")))
    assert limited.message == "rate_limited, exit code 1: API Error: 429 Too Many Requests"
    assert failed(observed(result(subtype="error_during_execution"))).message.startswith("general error")


def test_a_run_that_went_well_has_no_error() -> None:
    """Exit code 0 without a failed result is no failure, whatever was printed."""
    assert step_error(observed("Error: prompt is too long", {"type": "result", "subtype": "success"}), 0) is None


def test_a_failure_without_a_result_is_judged_by_its_words() -> None:
    """What stands on stderr of a failed command gives the reason; without a subtype the step's word is unknown."""
    error = failed(observed("working", stderr="Error: connect ECONNREFUSED 10.0.0.1:443\n"))
    assert (error.classification.reason, error.failure_reason) == ("network_transient", "unknown")


USED = {"input_tokens": 1200, "output_tokens": 34}


@pytest.mark.parametrize(
    ("keys", "message", "advice"),
    [
        ({"num_turns": 12}, "turn limit reached after 12 turns", "its turn limit after 12 turns, before"),
        ({"num_turns": 12}, "turn limit reached after 12 turns", "raise it, as in --max-turns 24, or split"),
        ({}, "turn limit reached", "its turn limit before its work was done: raise it with --max-turns, or split"),
    ],
)
def test_a_turn_limit_is_told_with_its_turns_and_how_it_is_raised(
    keys: dict[str, Any], message: str, advice: str
) -> None:
    """It is no complaint about the input: the message and the advice name the limit, as far as the record knows it."""
    error = failed(observed(result(subtype="error_max_turns", **keys)))
    assert error.message == f"{message}, exit code 1"
    assert advice in error.remediation


OF_EACH_REASON = {
    "rate_limited": {"result": "API Error: 429 Too Many Requests"},
    "context_overflow": {"result": "Prompt is too long"},
    "auth_error": {"result": "API Error: 401 invalid key"},
    "network_transient": {"result": "API Error: 529 Overloaded"},
    "network_permanent": {"errors": ["getaddrinfo ENOTFOUND api.example.com"]},
    "tool_not_found": {"result": "Unknown tool: recolour"},
    "validation": {"result": "API Error: 422 messages: at least one is required"},
    "unknown": {"result": "it went wrong"},
}


@each_row("reason", REASONS)
def test_each_reason_is_told_to_the_person_who_ran_it(reason: str) -> None:
    """One sentence says what happened, then what to do; a refused credential is told with its provider."""
    error = failed(observed(result(**OF_EACH_REASON[reason])))
    assert error.classification.reason == reason
    assert re.fullmatch(r"[^.]{15,}[:;] [^.]{15,}\.", error.remediation)
    assert error.remediation != RECOVERY[reason].remediation
    assert reason == "auth_error" or error.remediation == RECOVERY[reason].advice


@pytest.mark.parametrize(
    ("seen", "detail", "happened"),
    [
        (observed(), "no_detail", "The command failed and said nothing about why"),
        (observed(result(subtype="error_max_budget_usd")), "max_budget", "The run spent its own budget"),
    ],
)
def test_details_are_told_in_their_own_words(seen: Observed, detail: str, happened: str) -> None:
    """Where a detail says more than its reason."""
    error = failed(seen)
    assert error.classification.detail == detail
    assert error.remediation.startswith(happened)


ANTHROPIC = (
    "ANTHROPIC_API_KEY; renew it (https://console.anthropic.com/settings/keys), or log in again (claude /login)."
)
OPENAI = "OPENAI_API_KEY; renew it (https://platform.openai.com/api-keys), or log in again (codex login)."
NOBODY_S = "; renew it: another key in its environment variable, or another login."


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        ({"agent": "claude"}, f"anthropic refused the credential in {ANTHROPIC}"),
        ({"agent": "claude", "provider": "openai"}, f"openai refused the credential in {OPENAI}"),
        ({"agent": "codex"}, f"openai refused the credential in {OPENAI}"),
        ({"agent": "agent.sh", "provider": "acme"}, f"acme refused the credential{NOBODY_S}"),
        ({"agent": "agent.sh"}, f"the provider refused the credential{NOBODY_S}"),
    ],
)
def test_a_refused_credential_is_told_with_its_renewal(names: dict[str, str], advice: str) -> None:
    """The person at the terminal reads which credential of which provider, its variable, page and login."""
    error = step_error(observed(result(result="API Error: 401 invalid key")), 1, **names)  # type: ignore[arg-type]
    assert error is not None
    assert error.classification.reason == "auth_error"
    assert error.remediation == advice


def test_parse_output_with_subtype() -> None:
    """The result record, session, version and tokens are found in a stream, wherever its pieces are cut."""
    reply = {
        "input_tokens": 5,
        "cache_read_input_tokens": 90_000,
        "cache_creation_input_tokens": 900,
        "output_tokens": 95,
    }
    used = {"usage": {"input_tokens": 11, "output_tokens": 22}, "modelUsage": {"m": {"contextWindow": 200_000}}}
    side = {"type": "assistant", "message": {"usage": {"input_tokens": 7}}, "parent_tool_use_id": "toolu_9"}
    seen = observed(
        "a warning in front",
        {"type": "system", "subtype": "init", "session_id": "s-1", "claude_code_version": "2.1.3"},
        {"type": "assistant", "message": {"usage": reply}, "parent_tool_use_id": None},
        side,
        {"type": "user", "message": {"content": 'they said {"type":"result","subtype":"error_x"}'}},
        result(subtype="error_max_turns", **used),
    )  # fmt: skip
    assert (seen.session, seen.agent_version, seen.result["subtype"]) == ("s-1", "2.1.3", "error_max_turns")
    assert seen.usage == TokenUsage(11, 22, 91_000, 200_000)
    assert seen.stdout == "a warning in front"


@pytest.mark.parametrize(
    "line", ["{", '{"type":"result"', '{"type":"result","usage":7,"modelUsage":[1]}', "[" * 100_000]
)
def test_a_broken_record_is_no_reason_to_fail(line: str) -> None:
    """Lines that only look like records are let go."""
    assert failed(observed(line)).failure_reason == "unknown"


def test_a_limit_line_ends_megabytes_of_output() -> None:
    """The signature of a usage limit counts at the end, of whatever length, and not where megabytes come after it."""
    observer = Observer()
    observer.stdout(b"working\n" * 20_000)
    observer.stdout(f"{LINE}\n".encode())
    assert failed(observer.observed()).classification.detail == "usage_limit"
    observer.stdout(b"working\n" * 20_000)
    assert failed(observer.observed()).classification.detail is None


def test_memory_stays_flat_for_lines_without_end() -> None:
    """A line of 200 MB is handed on and forgotten, and the record behind it is read."""
    import tracemalloc

    observer = Observer()
    piece = b"x" * (1024 * 1024)
    tracemalloc.start()
    try:
        for _ in range(200):
            observer.stdout(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    observer.stdout(b"\n" + json.dumps(result(subtype="error_max_turns")).encode() + b"\n")
    assert peak < 20 * 1024 * 1024
    assert observer.observed().result["subtype"] == "error_max_turns"
