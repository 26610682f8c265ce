"""One run, one answer: never green for a run that did not do its work."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.analysis.verdict.answer import EXIT_CODES, GRAVEST, MEANINGS, RunVerdict, run_verdict
from analyzer.analysis.verdict.output import read_output
from analyzer.errors import InputError
from analyzer.importers.acts import SAYS_WORK
from tests import REPOSITORY, each_row
from tests.analysis.verdicts.outputs import (
    DONE,
    Case,
    again,
    answer,
    claude,
    codex,
    end,
    got,
    lines,
    said,
    say,
    synthetic,
    turn_failed,
    use,
    work,
)
from tests.analysis.verdicts.runs import DEV, HELD_BACK, LATER
from tests.shown_formats import FILES, LOGS

NOON = datetime(2026, 3, 5, 12)
KEY = "sk-ant-" + "api03-" + "Zk3" * 30
Judge = Callable[..., RunVerdict]


def log_of(name: str) -> bytes:
    """The log of a format that shows everything."""
    sample = (REPOSITORY / "sample_events" / FILES[name]).read_bytes() if name in FILES else b""
    rows = LOGS.get(name, [])
    return sample + "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode()


def shapes() -> list[object]:
    """Records with each odd value in each place that is looked at."""
    places = ("message", "payload", "item", "part", "data", "event", "messages", "content", "toolCalls", "tool_calls")
    odd: tuple[object, ...] = (
        None,
        7,
        "x",
        [],
        [7],
        [None],
        {},
        {"content": [{"type": "text", "text": 7}]},
        {"type": ["x"], "role": 7},
    )
    return [{"type": "user", place: value} for place in places for value in odd]


@pytest.fixture
def judged(tmp_path: Path) -> Judge:
    """`judged(text, more text, exit_code=1)`: the verdict on outputs, each in a file of its own."""

    def call(*outputs: str, **given: object) -> RunVerdict:
        paths = [tmp_path / f"run{place}.ndjson" for place in range(len(outputs))]
        for path, output in zip(paths, outputs, strict=True):
            path.write_text(output, "utf-8")
        return run_verdict([str(path) for path in paths], at=NOON, **given)  # type: ignore[arg-type]

    return call


@each_row("case", DEV)
def test_every_run_that_it_was_built_with_has_its_verdict(case: Case, judged: Judge) -> None:
    """The answer and its reason are right."""
    found = judged(case.text, exit_code=case.exit_code, agent=case.agent)
    assert (found.verdict, found.reason) == (case.verdict, case.reason or found.reason), found.sentence


@pytest.mark.parametrize("cases", [HELD_BACK, LATER], ids=["held back", "later"])
def test_runs_that_were_held_back_are_judged_as_well(cases: Sequence[Case], judged: Judge) -> None:
    """No run that failed is green, at most one that passed is red, and every answer is the right one of the six."""
    wrong = [
        (case.name, found.verdict)
        for case in cases
        if (found := judged(case.text, exit_code=case.exit_code, agent=case.agent)).verdict != case.verdict
    ]
    assert wrong == []


@pytest.mark.parametrize("cases", [DEV, HELD_BACK])
def test_both_sets_hold_every_verdict(cases: Sequence[Case]) -> None:
    """Sixty runs each, with all six answers among them."""
    assert len(cases) == len({case.name for case in cases}) == 60
    assert {case.verdict for case in cases} == set(EXIT_CODES) == set(GRAVEST) == set(MEANINGS)


def test_forty_runs_speak_of_limits_and_met_none() -> None:
    """Runs that passed, or whose own work failed, with the words of a limit or of another error in their output."""
    words = re.compile(r"limit|429|quota|exhausted|overloaded|credit|api key", re.IGNORECASE)
    named = [case for case in (*DEV, *HELD_BACK, *LATER) if case.verdict in ("passed", "failed")]
    assert sum(bool(words.search(case.text)) for case in named) >= 40


SILENT = {"claude_print", "codex_exec", "openhands", "aider", "qwen", "pi"}
"""Formats whose log in `shown_formats` holds no work; runs of theirs stand in both sets."""


@pytest.mark.parametrize("name", sorted(SAYS_WORK - SILENT))
def test_the_work_of_each_format_is_seen(name: str, tmp_path: Path) -> None:
    """A reply or a call of a tool, in the log of everything that such a log can show."""
    path = tmp_path / "log"
    path.write_bytes(log_of(name))
    output = read_output(str(path))
    assert output.format == name
    assert output.run.replies + len(output.run.calls) > 0


@pytest.mark.parametrize("row", shapes(), ids=str)
def test_no_shape_of_a_record_breaks_it(row: object, tmp_path: Path) -> None:
    """Whatever stands where a message, a part or a call is looked for, the run is judged."""
    path = tmp_path / "run.ndjson"
    path.write_text(claude(say("Done."), row, end("Done.")), "utf-8")  # type: ignore[arg-type]
    assert run_verdict([str(path)], exit_code=0, at=NOON).verdict == "passed"


def test_a_limit_tells_when_it_resets(judged: Judge) -> None:
    """The moment and the seconds until then are in the answer, and the line that says so."""
    found = judged(lines(end("Claude AI usage limit reached|1772715600", error=True)), exit_code=1)
    assert (found.verdict, found.reset_at) == ("wait", datetime(2026, 3, 5, 13))
    assert found.retry_after_seconds == 3600
    assert [(one.line, one.text) for one in found.evidence] == [(1, "Claude AI usage limit reached|1772715600")]
    assert found.sentence.startswith("wait: until 2026-03-05 13:00 UTC: rate_limited (usage_limit): ")


def test_a_limit_that_has_reset_is_no_wait_any_more(judged: Judge) -> None:
    """No seconds are left."""
    found = judged(lines(end("Claude AI usage limit reached|1772704800", error=True)), exit_code=1)
    assert (found.verdict, found.retry_after_seconds) == ("wait", 0)


@pytest.mark.parametrize(("seconds", "verdict"), [(20, "retry"), (900, "retry"), (901, "wait")])
def test_a_job_sits_through_short_waits_alone(judged: Judge, seconds: int, verdict: str) -> None:
    """Up to a quarter of an hour it is a retry, with its seconds; beyond it is a wait, with its moment."""
    found = judged(codex(turn_failed(f"Rate limit reached for requests. Please try again in {seconds}s.")), exit_code=1)
    assert (found.verdict, found.retry_after_seconds) == (verdict, seconds)
    assert (found.reset_at is not None) is (verdict == "wait")


def test_a_retry_without_seconds_gets_some(judged: Judge) -> None:
    """Where nothing tells how long to wait, it is the longest pause of a backoff."""
    from analyzer.recovery.retry.policy import Backoff

    found = judged(codex(turn_failed("stream disconnected before completion")), exit_code=1)
    assert (found.verdict, found.retry_after_seconds) == ("retry", Backoff().cap_seconds)


def test_secrets_are_in_no_part_of_an_answer(judged: Judge) -> None:
    """Neither the sentence nor the evidence repeats a key."""
    output = claude(
        synthetic(f"Invalid API key {KEY}", error="authentication_failed"), end(f"Invalid API key {KEY}", error=True)
    )
    found = json.dumps(judged(output, exit_code=1).to_dict())
    assert "blocked" in found
    assert "Zk3Zk3" not in found


def test_tokens_and_cost_are_told_where_the_output_counts_them(judged: Judge) -> None:
    """Of Claude Code both, of Codex tokens alone, of a text neither."""
    found = judged(claude(*answer("Done.")), exit_code=0)
    assert (found.tokens, found.cost_usd) == ({"input_tokens": 900, "output_tokens": 80}, 0.02)
    assert found.model == answer("Done.")[0]["message"]["model"]
    found = judged(codex(said("Done."), DONE), exit_code=0)
    assert (found.tokens, found.cost_usd) == ({"input_tokens": 500, "output_tokens": 40}, None)
    assert judged("Done.\n", agent="claude").tokens is None


def test_the_gravest_of_several_outputs_is_the_answer(judged: Judge) -> None:
    """One part at its limit keeps the whole run from being green, in whatever order."""
    good, bad = codex(said("Done."), DONE), codex(turn_failed("You've hit your usage limit."))
    assert judged(good, bad).verdict == judged(bad, good).verdict == "wait"
    assert judged(good, good).verdict == "passed"


def test_stderr_explains_a_stream_that_broke_off(judged: Judge) -> None:
    """Where the records do not tell why the command failed, the text beside them does."""
    found = judged(codex(), "ERROR: You've hit your usage limit. Try again in 3 hours.\n", exit_code=1)
    assert (found.verdict, found.evidence[0].line) == ("wait", 1)
    assert found.evidence[0].file.endswith("run1.ndjson")


def test_stderr_does_not_blame_the_provider_for_a_step_that_failed_later(judged: Judge) -> None:
    """The agent says that it is done; what another command of the step prints is the work's own failure."""
    found = judged(codex(said("Done."), DONE), "npm ERR! 429 Too Many Requests\n", exit_code=1)
    assert (found.verdict, found.rule) == ("failed", "exit_code")


def test_stderr_alone_is_no_answer(judged: Judge) -> None:
    """A run that printed nothing on stdout and noise on stderr is hollow."""
    assert judged("", "OpenAI Codex v0.98.0\n", agent="codex", exit_code=0).verdict == "hollow"


def test_a_run_without_a_known_exit_code_is_judged_by_its_records(judged: Judge) -> None:
    """A stream that breaks off has failed; one that ends has passed."""
    assert judged(codex(said("Working."))).verdict == "failed"
    assert judged(codex(said("Done."), DONE)).verdict == "passed"


def test_a_failure_that_work_followed_is_over(judged: Judge) -> None:
    """Retries before a reply decide nothing; those after the last one do."""
    assert judged(claude(again(1, 529, "overloaded"), *answer("Done.")), exit_code=0).verdict == "passed"
    assert judged(claude(say("Hm."), again(1, 529, "overloaded")), exit_code=137).verdict == "retry"


@pytest.mark.parametrize("last", ["API Error: rate limited", "Looking.", ""])
def test_the_words_of_an_end_overcome_no_failure(judged: Judge, last: str) -> None:
    """Work began, the limit came, and the last record says success, in whatever words."""
    output = claude(say("Looking."), *work(), synthetic("You've hit your limit · resets 3pm"), end(last))
    assert judged(output, exit_code=0).verdict == "wait"


def test_an_error_of_a_subagent_is_not_the_runs(judged: Judge) -> None:
    """One dies, the main one goes on and another one lives: the run passed."""
    output = claude(
        use("a", "Task"),
        use("b", "Task"),
        synthetic("API Error: 529 Overloaded", sub="a"),
        got("a", "API Error: 529 Overloaded", error=True),
        got("b", "Two findings."),
        say("Done."),
        end("Done."),
    )
    assert judged(output, exit_code=0).verdict == "passed"


@pytest.mark.parametrize(
    ("tokens", "verdict"), [({"output_tokens": 0}, "wait"), ({}, "wait"), ({"output_tokens": 25}, "passed")]
)
def test_a_success_that_is_an_error_in_words_is_none_where_no_model_wrote_it(
    judged: Judge, tokens: dict[str, int], verdict: str
) -> None:
    """One record that says success and the limit: its tokens tell whether it is an answer."""
    output = lines(end("Claude AI usage limit reached|1772715600", usage=tokens))
    assert judged(output, exit_code=0).verdict == verdict


def test_the_line_of_a_text_is_that_of_its_file(judged: Judge) -> None:
    """Behind records, and at the end of a text of which the end alone is kept."""
    found = judged(codex() + "\nERROR: You've hit your usage limit. Try again in 3 hours.\n", exit_code=1)
    assert (found.verdict, found.evidence[0].line) == ("wait", 4)
    found = judged("working\n" * 50_000 + "\nCredit balance is too low\n", exit_code=1, agent="claude")
    assert (found.verdict, found.evidence[0].line) == ("blocked", 50_002)


def test_a_line_without_an_end_is_no_record(judged: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is dropped as it is read, and what stands behind it is judged."""
    monkeypatch.setattr("analyzer.analysis.verdict.output.LONGEST_HEAD", 1_000_000)
    found = judged(claude("x" * 9_000_000, *answer("Done.")), exit_code=0)
    assert (found.verdict, found.evidence[0].line) == ("passed", 4)


def test_a_document_and_a_packed_file_are_read(judged: Judge, tmp_path: Path) -> None:
    """`--output-format json --verbose` prints one array; a log may be packed."""
    rows = [json.loads(line) for line in claude(*answer("Done.")).splitlines()]
    assert judged(json.dumps(rows), exit_code=0).verdict == "passed"
    packed = tmp_path / "run.ndjson.gz"
    packed.write_bytes(gzip.compress(codex(turn_failed("You've hit your usage limit.")).encode()))
    assert run_verdict([str(packed)], exit_code=1, at=NOON).verdict == "wait"


@pytest.mark.parametrize("output", ['{"a": 1}\n', "[1, 2]", "\0\1\2", "plain words\n"])
def test_what_no_agent_printed_is_refused(judged: Judge, output: str) -> None:
    """Neither green nor red: it says what it was given."""
    with pytest.raises(InputError):
        judged(output)


@pytest.mark.parametrize(
    "broken", ['{"type":"result"', '{"type":"assistant","message":7}', "[]", '{"type":[]}', "\udcff"]
)
def test_broken_and_odd_lines_change_nothing(tmp_path: Path, broken: str) -> None:
    """A record that is cut or is of another shape is passed over."""
    path = tmp_path / "run.ndjson"
    text = claude(say("Done."), broken, end("Done."))
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert run_verdict([str(path)], exit_code=0, at=NOON).verdict == "passed"


def test_a_log_without_work_is_an_answer_only_by_itself(judged: Judge) -> None:
    """Beside an answer its silence says nothing; what fails in it counts all the same."""
    log = "2026-03-05 10:00:04,000 INFO [s] agent.conversation_loop: API call #1: model=m provider=p in=1 out=1\n"
    assert judged(log, exit_code=0).verdict == "hollow"
    assert judged("Done.\n", log, agent="hermes", exit_code=0).verdict == "passed"
    assert judged(codex(said("Done."), DONE), log, exit_code=0).verdict == "passed"
