"""The plan "Context Exhaustion Handling": its layers, decisions, files and risks, each as one behaviour.

The tests of its testing strategy stand in `tests/recovery/`, under the names that the plan gives them.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from analyzer.errors import AnalyzerError
from analyzer.events import EventLog
from analyzer.recovery import Limits, RelayMonitor, RelaySettings, Run, Streams, supervise
from analyzer.recovery.process.step_error import Observer, StepError, step_error
from analyzer.store import open_store
from tests.recovery.supervised import agent, empty_stdin

__all__ = ["empty_stdin"]

FULL = "prompt is too long: 210000 tokens > 200000 maximum"


class Bench:
    """A folder in which agents run, and what their log says in the store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *command: object, timeout: float | None = None, grace: float = 3.0) -> Run:
        """One supervised run."""
        out_path, err_path, log_path = self.folder / "out", self.folder / "err", self.folder / "log"
        limits = Limits(timeout_seconds=timeout, grace_seconds=grace)
        with out_path.open("wb") as out, err_path.open("wb") as err, EventLog(log_path) as log:
            streams = Streams(out.fileno(), err.fileno())
            return supervise(list(map(str, command)), log=log, streams=streams, limits=limits)

    @property
    def out(self) -> str:
        """What arrived on stdout."""
        return (self.folder / "out").read_text()

    def row(self, *columns: str) -> tuple[Any, ...]:
        """The only error, as the store shows it."""
        with open_store(":memory:") as store:
            store.ingest([str(self.folder / "log")])
            (row,) = store.sql(f"select {', '.join(columns)} from errors").rows()
        return row


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A place to run agents."""
    return Bench(tmp_path)


def result(**keys: Any) -> dict[str, Any]:
    """The record at the end of a failed run."""
    return {"type": "result", "is_error": True, "session_id": "s-1", **keys}


def failure(*records: dict[str, Any], stderr: str = "", exit_code: int = 1, after: float | None = None) -> StepError:
    """How a run failed that printed these records."""
    observer = Observer()
    observer.stdout(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    observer.stderr(stderr.encode())
    error = step_error(observer.observed(), exit_code, timed_out_after=after)
    assert error is not None
    return error


# ─── The objective and its three layers ───


def test_000_5_a_full_context_and_a_timeout_are_told_apart() -> None:
    """One generic deadline becomes two accurate messages: the context held too much, or the time was too short."""
    full = failure(result(subtype="success", result=FULL), exit_code=143, after=600)
    timed_out = failure(exit_code=143, after=600)
    assert full.message.startswith("context exhaustion: prompt is too long")
    assert timed_out.message == "timeout: the command timed out after 600 s"
    assert "context deadline exceeded" not in full.message + timed_out.message


def test_000_11_failures_are_classified_by_subtype_and_content() -> None:
    """Subtype and text of the result tell a timeout, an exhausted context and a general error apart."""
    assert [
        failure(result(subtype="error_during_execution", result=text)).failure_reason
        for text in ("Request timed out", FULL, "The tool crashed")
    ] == ["timeout", "context_exhaustion", "general_error"]


def test_000_12_a_process_is_asked_before_it_is_killed(bench: Bench) -> None:
    """On a timeout the agent hears SIGTERM, and what it still says is read: here that its prompt is too long."""
    done = bench.run(*agent("polite", FULL), timeout=1.0)
    assert done.exit_code == 124
    assert FULL in bench.out
    assert isinstance(done.error, StepError)
    assert done.error.failure_reason == "context_exhaustion"


def test_000_13_messages_say_what_to_do_and_what_was_used() -> None:
    """A remediation names the next step and the tokens of the run."""
    used = {"input_tokens": 180_000, "output_tokens": 4_000}
    error = failure(result(subtype="success", result=FULL, usage=used))
    for words in ("split it into smaller", "210,000 of 200,000 tokens", "180,000 input and 4,000 output tokens"):
        assert words in error.remediation


# ─── The file mapping, as behaviour ───


def test_000_21_the_adapter_s_error_carries_its_failure_reason() -> None:
    """`StepError` has the classification, and the result of a run names the reason that it failed for."""
    error = failure(result(subtype="error_max_turns"))
    assert (error.failure_reason, error.classification.detail) == ("general_error", "max_turns")


def test_000_24_the_executor_unwraps_tokens_and_remediation_into_the_event(bench: Bench) -> None:
    """Reason, advice and tokens of a failed run stand in its event, and so in the view of errors."""
    done = bench.run(*agent("context_exhaustion"))
    assert isinstance(done.error, StepError)
    assert bench.row("failure_reason", "remediation", "input_tokens", "output_tokens", "tokens_used") == (
        "context_exhaustion",
        done.error.remediation,
        1_200,
        340,
        1_540,
    )


def test_000_25_failure_reason_and_remediation_of_a_pipeline_s_own_events_are_read(tmp_path: Path) -> None:
    """Failure reason and remediation that a pipeline writes into its events reach the store."""
    event = {
        "timestamp": "2026-11-03T10:00:00Z",
        "pipeline_id": "p-1",
        "step_id": "implement",
        "state": "failed",
        "message": "context deadline exceeded",
        "failure_reason": "context_exhaustion",
        "remediation": "Break the step into smaller steps",
        "tokens_used": 198_000,
    }
    (tmp_path / "events.jsonl").write_text(json.dumps(event) + "\n")
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path / "events.jsonl")])
        (row,) = store.sql("select reason, failure_reason, remediation, tokens_used from errors").rows()
    assert row == ("context_overflow", "context_exhaustion", "Break the step into smaller steps", 198_000)


def test_000_86_an_event_without_the_new_fields_is_read_as_before(tmp_path: Path) -> None:
    """A line of an older version keeps its meaning, and has nulls for the fields that it lacks."""
    event = {"timestamp": "2026-11-03T10:00:00Z", "pipeline_id": "p", "step_id": "a", "state": "failed"}
    (tmp_path / "events.jsonl").write_text(json.dumps({**event, "message": "connection reset by peer"}) + "\n")
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path / "events.jsonl")])
        (row,) = store.sql("select reason, failure_reason, input_tokens, tokens_used from errors").rows()
    assert row == ("network_transient", None, None, None)


# ─── Architecture decisions ───


def test_000_39_the_result_decides_and_not_the_exit_code() -> None:
    """The result record decides how a run failed; the exit code does not."""
    for exit_code in (0, 1, 2, 143):
        assert failure(result(subtype="success", result=FULL), exit_code=exit_code).failure_reason == (
            "context_exhaustion"
        )
    assert failure(result(subtype="error_during_execution", result="odd"), exit_code=1).failure_reason == (
        "general_error"
    )


@pytest.mark.parametrize("subtype", ["success", "error_max_turns", "error_during_execution"])
def test_000_41_each_subtype_may_come_with_a_full_context(subtype: str) -> None:
    """`prompt is too long` in the result counts under every subtype, unless the subtype names another cause."""
    error = failure(result(subtype=subtype, result=FULL))
    expected = "general_error" if subtype == "error_max_turns" else "context_exhaustion"
    assert error.failure_reason == expected


def test_000_47_three_seconds_are_enough_to_flush_the_last_record(bench: Bench) -> None:
    """An agent that takes two seconds to write its result after SIGTERM is waited for without any option."""
    code = (
        "import json, signal, sys, time\n"
        "def end(*_):\n"
        "    time.sleep(2)\n"
        "    usage = {'input_tokens': 7, 'output_tokens': 8}\n"
        "    print(json.dumps({'type': 'result', 'subtype': 'error_during_execution', 'is_error': True,"
        " 'result': 'stopped', 'usage': usage}), flush=True)\n"
        "    sys.exit(1)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        "time.sleep(600)\n"
    )
    done = bench.run(sys.executable, "-c", code, timeout=1.0)
    assert (done.exit_code, Limits().grace_seconds) == (124, 3.0)
    assert bench.row("failure_reason", "tokens_used") == ("timeout", 15)


def test_000_53_the_error_is_a_type_that_carries_all_of_it() -> None:
    """A caller catches `StepError`, and reads classification, usage and remediation without parsing its text."""
    used = {"input_tokens": 5, "output_tokens": 6}
    caught: AnalyzerError = failure(result(subtype="success", result=FULL, usage=used))
    assert isinstance(caught, StepError)
    assert caught.classification.reason == "context_overflow"
    assert (caught.usage.input_tokens, caught.usage.output_tokens) == (5, 6)
    assert caught.remediation == caught.hint


def test_000_59_a_relay_is_due_well_before_the_agent_compacts() -> None:
    """At 70 % a hand-off is due, so that it never races an agent that compacts itself at 95 %."""
    monitor = RelayMonitor(RelaySettings())
    due = [percent for percent in range(101) if monitor.observe(2_000 * percent)]
    assert (due[0], 95 in due) == (70, True)


# ─── Risks and their mitigations ───


def test_000_65_an_agent_that_does_not_hear_sigterm_is_killed(bench: Bench) -> None:
    """An agent that ignores SIGTERM is killed once the grace is over, and not before."""
    began = time.monotonic()
    done = bench.run(*agent("hang", bench.folder / "ids"), timeout=1.0, grace=1.0)
    assert done.exit_code == 124
    assert 2.0 <= time.monotonic() - began < 60.0  # left alone it would sleep for ten minutes


@pytest.mark.parametrize(
    "record",
    [
        result(result="It failed"),
        result(subtype="error_of_tomorrow", result="It failed"),
        result(subtype=["error"], result={"text": "It failed"}),
        {"type": "outcome", "failed": True},
    ],
)
def test_000_66_an_output_of_tomorrow_is_unknown(record: dict[str, Any]) -> None:
    """A result of a new subtype or of another shape is unknown, and the failure is still reported."""
    error = failure(record)
    assert error.failure_reason == "unknown"
    assert error.remediation


# ─── The testing strategy ───


def printing(*records: dict[str, Any], then: str = "exit 1") -> tuple[str, ...]:
    """Return the command of an agent that prints these records."""
    return ("sh", "-c", f'printf "%s\\n" "$@"; {then}', "agent", *map(json.dumps, records))


@pytest.mark.parametrize(
    ("record", "timed_out_after", "reason"),
    [
        (result(subtype="success", result=FULL), None, "context_exhaustion"),
        (result(subtype="error_during_execution", result=FULL), 60.0, "context_exhaustion"),
        (result(subtype="error_during_execution", result="stopped"), 60.0, "timeout"),
        (result(terminal_reason="prompt_too_long"), None, "context_exhaustion"),
        (result(subtype="error_max_turns"), None, "general_error"),
        (result(subtype="error_during_execution", result="The tool crashed"), None, "general_error"),
    ],
)
def test_000_73_failures_are_classified_three_ways(
    record: dict[str, Any], timed_out_after: float | None, reason: str
) -> None:
    """A failed run is a timeout, an exhausted context, or a general error."""
    assert failure(record, after=timed_out_after).failure_reason == reason


@pytest.mark.parametrize(
    ("record", "timed_out_after", "words"),
    [
        (result(subtype="success", result=FULL), None, "--relay"),
        (result(subtype="error_during_execution", result="stopped"), 60.0, "--timeout"),
        (result(subtype="error_max_turns", num_turns=30), None, "--max-turns 60"),
        (result(result="odd"), None, "raw error"),
    ],
)
def test_000_74_each_classification_has_its_remediation(
    record: dict[str, Any], timed_out_after: float | None, words: str
) -> None:
    """The remediation of a failure names the step to take against that kind of failure."""
    remediation = failure(record, after=timed_out_after).remediation
    assert remediation
    assert words in remediation


def test_000_75_the_subtype_is_read_from_the_last_result() -> None:
    """The subtype and the text of the last result record of a stream are what the run says of its end."""
    error = failure(result(subtype="success", result="Done.", is_error=False), result(subtype="error_max_turns"))
    assert error.classification.detail == "max_turns"


def test_000_76_buffered_output_is_read_when_the_time_is_over(bench: Bench) -> None:
    """What a run printed before its time was over decides how it failed, not the deadline."""
    done = bench.run(*printing(result(subtype="success", result=FULL), then="sleep 600"), timeout=1.0, grace=1.0)
    assert (done.exit_code, bench.row("failure_reason")) == (124, ("context_exhaustion",))


def test_000_77_a_run_that_ends_when_asked_is_not_killed(bench: Bench) -> None:
    """A command that ends upon SIGTERM says its last words, and nobody waits for the rest of the grace."""
    began = time.monotonic()
    bench.run("sh", "-c", "trap 'echo bye; exit 1' TERM; sleep 600 & wait", timeout=1.0, grace=300.0)
    assert bench.out == "bye\n"
    assert time.monotonic() - began < 200


def test_000_78_the_threshold_of_relays_is_70_percent() -> None:
    """Without a setting a relay is due at 70 % of the context window."""
    assert RelaySettings().threshold_percent == 70


def test_000_80_the_classification_reaches_the_events(bench: Bench) -> None:
    """The failure that a run is classified as stands in its event, with its reason and its advice."""
    bench.run(*printing(result(subtype="success", result=FULL)))
    reason, failure_reason, remediation = bench.row("reason", "failure_reason", "remediation")
    assert (reason, failure_reason) == ("context_overflow", "context_exhaustion")
    assert "smaller" in remediation


def test_000_82_tokens_are_captured_when_the_time_is_over(bench: Bench) -> None:
    """A run that is stopped before its result still tells the tokens of its last reply."""
    reply = {"type": "assistant", "message": {"usage": {"input_tokens": 900, "output_tokens": 80}}}
    bench.run(*printing(reply, then="sleep 600"), timeout=1.0, grace=1.0)
    assert bench.row("failure_reason", "tokens_used") == ("timeout", 980)


def test_000_85_the_output_of_a_run_passes_unchanged(bench: Bench) -> None:
    """A clearer message changes nothing for the caller: output and exit code of the command stay as they are."""
    done = bench.run(*printing(result(subtype="success", result=FULL), then="exit 7"))
    assert (done.exit_code, json.loads(bench.out)["result"]) == (7, FULL)


def test_000_68_a_result_without_a_subtype_is_judged_by_its_text() -> None:
    """A result record without a subtype is unknown only where its text says nothing either."""
    assert failure(result(result="odd")).failure_reason == "unknown"
    assert failure(result(result=FULL)).failure_reason == "context_exhaustion"
