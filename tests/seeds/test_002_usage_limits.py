"""Claude Exhaustion Detection: usage limits are told from other failures, and an agent at its limit leaves the pool.

Every success criterion and every test case of that document is a test here, and so is every kind of "arbitrary prompt
text" that it says is none. The runs are real: a shell prints what an agent would, under supervision, with a pool.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from analyzer.events import EventLog
from analyzer.recovery import AgentPool, Limits, RateGuard, Run, Streams, supervise
from analyzer.recovery.limits.pool import Exhaustion
from tests.recovery.simulated import FakeClock
from tests.recovery.supervised import LINE, RESET, events

BEFORE = datetime(2026, 2, 11, 18, tzinfo=UTC)
QUOTED = f"Claude AI usage limit reached|{BEFORE.timestamp() + 300:.0f}"
WORK = "Reading src/pool.py\nRunning the tests\n"
FAILURE = "Error: connect ECONNREFUSED 127.0.0.1:443"
_AGENT = ("sh", "-c", 'cat "$0"; cat "$1" >&2; exit "$2"')


class Bench:
    """A pool, a guard, a log, and an agent that prints what it is told. Its time stands still but for waits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FakeClock(BEFORE)
        self.pool = AgentPool(folder / "pool.json", clock=self.clock)
        self.guard = RateGuard(folder / "limits", clock=self.clock)

    def start(self, *command: str, holds: str = "pool", limits: Limits | None = None) -> Run:
        """One supervised run under the pool, the guard, or both."""
        with EventLog(self.folder / "log") as log:
            return supervise(
                command,
                agent="claude",
                log=log,
                pool=AgentPool(self.folder / "pool.json", log=log, clock=self.clock) if "pool" in holds else None,
                guard=self.guard if "guard" in holds else None,
                limits=limits,
                clock=self.clock,
                streams=Streams(None, None),
            )

    def prints(self, stdout: str = "", stderr: str = "", exit_code: int = 1) -> tuple[str, ...]:
        """The command of an agent that prints this and ends."""
        paths = [self.folder / "stdout", self.folder / "stderr"]
        for path, text in zip(paths, (stdout, stderr), strict=True):
            path.write_text(text, encoding="utf-8")
        return (*_AGENT, *map(str, paths), str(exit_code))

    def run(self, stdout: str = "", stderr: str = "", exit_code: int = 1) -> Exhaustion | None:
        """Why `claude` is out of the pool after a run with this output; None when it stays."""
        assert self.start(*self.prints(stdout, stderr, exit_code)).exit_code == exit_code
        return self.pool.out("claude")

    def events(self, kind: str) -> list[dict[str, Any]]:
        """The payloads of a type in the log."""
        return [event["payload"] for event in events(self.folder / "log", kind)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty pool."""
    return Bench(tmp_path)


def stream(*records: dict[str, Any]) -> str:
    """A stream-json output."""
    return "".join(json.dumps(record) + "\n" for record in records)


INIT = {"type": "system", "subtype": "init", "session_id": "s-1"}
FAILED = {"type": "result", "subtype": "error_during_execution", "is_error": True, "session_id": "s-1"}


def says(role: str, **content: Any) -> dict[str, Any]:
    """A message of a stream."""
    return {"type": role, "session_id": "s-1", "message": {"role": role, "content": [content]}}


# Exit code defense


def test_002_37_a_run_with_a_nonzero_exit_code_may_be_exhausted(bench: Bench) -> None:
    """A limit is considered only if the exit code is not 0."""
    assert bench.run(LINE, exit_code=1) is not None


@pytest.mark.parametrize("where", ["stdout", "stderr"])
def test_002_38_a_successful_run_is_never_marked_exhausted(bench: Bench, where: str) -> None:
    """The same text of a run with exit code 0 leaves the agent in the pool, and is no error."""
    assert bench.run(**{where: LINE}, exit_code=0) is None
    assert bench.events("agent.exhausted") == bench.events("error.classified") == []


# Stdout-based detection


def test_002_43_the_signature_on_stdout_is_an_exhausted_limit_with_its_reset(bench: Bench) -> None:
    """The line with an epoch on stdout is a usage limit, and says when the agent is back."""
    out = bench.run(stdout=LINE)
    assert out is not None
    (error,) = bench.events("error.classified")
    assert (error["reason"], error["detail"]) == ("rate_limited", "usage_limit")
    assert out.reset_at == RESET
    assert out.reason_text == f"usage limit reached, resets 2026-02-11 21:00 UTC: {LINE}"


# False positive prevention

QUOTING = {
    "prompt echoed, then work": (f"{QUOTED}\n{WORK}", FAILURE),
    "prompt echoed, then nothing but a failure on stderr": (f"{QUOTED}\n", FAILURE),
    "prompt echoed, then a failure on stdout": (f"{QUOTED}\n{WORK}{FAILURE}\n", ""),
    "megabytes of work behind it": (f"{QUOTED}\n" + WORK * 40_000, ""),
    "under the name of who says it": (f"{WORK}user\n{QUOTED}\n", ""),
    "behind a shell's prompt": (f"{WORK}$ cat notes.txt\n{QUOTED}\n", ""),
    "behind a call of a tool": (f"{WORK}⏺ Bash(cat notes.txt)\n  ⎿  {QUOTED}\n", ""),
    "a closed block of code": (f"The log says\n```\n{QUOTED}\n```\n", ""),
    "an open block of code": (f"The log says\n```text\n{WORK}{QUOTED}\n", ""),
    "an indented block of code": (f"The log says\n\n    {QUOTED}\n", ""),
    "a quotation": (f"{WORK}> {QUOTED}\n", ""),
    "a diff": (f"@@ -1 +1 @@\n+{QUOTED}\n", ""),
    "introduced by a sentence": (f"{WORK}The last line of the log is:\n\n{QUOTED}\n", ""),
    **{
        f"asked about: {line}": (f"{before}{line}\n{QUOTED}\n", "")
        for before in ("", WORK)
        for line in (
            "Explain this line to me.",
            "User: what does my agent mean by that?",
            "the prompt:",
            "Q: when may I go on?",
            "Please translate the words",
            "[user] Fix the parser",
            "### Instruction",
            "You get one line of a log. Classify it",
            "It stands in the following message",
            "What is the time in this one",
            "The log of last night was",
            "Tell me when that is\n",
        )
    },
    "in a sentence": (f"The prompt says: print {QUOTED} when done\n", ""),
    "a tool's stderr, then its end": ("", f"{QUOTED}\nnpm error code ELIFECYCLE\n"),
    "a tool's stderr, then the agent's failure": ("", f"npm test\n{QUOTED}\n{FAILURE}\n"),
    "a tool's stderr at the end, and another failure on stdout": ("API Error: 500 Internal server error\n", QUOTED),
    "an error line that is not the last": (f"Error: {QUOTED}\n{WORK}", ""),
    "a plain line before records": (QUOTED + "\n" + stream(INIT, says("assistant", type="text", text="Done.")), ""),
    "a plain line between records": (stream(INIT) + QUOTED + "\n" + stream(FAILED), ""),
    "a user's record": (stream(INIT, says("user", type="text", text=f"Explain\n{QUOTED}\n"), FAILED), ""),
    "a tool's result": (
        stream(INIT, says("user", type="tool_result", tool_use_id="t-1", content=f"{QUOTED}\n"), FAILED),
        FAILURE,
    ),
    "the last record, of a tool": (
        stream(INIT, says("user", type="tool_result", tool_use_id="t-1", is_error=True, content=QUOTED)),
        "",
    ),
    "the assistant's text": (stream(INIT, says("assistant", type="text", text=f"It says\n\n{QUOTED}"), FAILED), ""),
    "a result that tells of success": (
        stream(INIT, {**FAILED, "subtype": "success", "is_error": False, "result": QUOTED}),
        "",
    ),
    "a sentence of a result that failed": (stream(INIT, {**FAILED, "result": f"It says {QUOTED} there"}), ""),
    "a hit of grep as a result that failed": (stream(INIT, {**FAILED, "result": f"log.txt:3:{QUOTED}"}), ""),
    "a quotation as a result that failed": (stream(INIT, {**FAILED, "result": f"> {QUOTED}"}), ""),
    "a line amid a result that failed": (
        stream(INIT, {**FAILED, "result": f"It says\n\n{QUOTED}\n\nso I stopped"}),
        "",
    ),
    "a line behind a result that tells of success": (
        stream(INIT, {**FAILED, "subtype": "success", "is_error": False, "result": "Done."}) + QUOTED,
        "",
    ),
    "stderr beside a result with another cause": (
        stream(INIT, {**FAILED, "subtype": "success", "result": "API Error: 500 Internal server error"}),
        QUOTED,
    ),
    "stderr beside a result at its turn limit": (stream(INIT, {**FAILED, "subtype": "error_max_turns"}), QUOTED),
    "echoed alone": (f"> {QUOTED}\n", ""),
    "echoed alone on stderr": ("", f"> {QUOTED}\n"),
    "found by grep": (f"log.txt:3:{QUOTED}\n", ""),
    "found by grep, on stderr": ("", f"log.txt:3:{QUOTED}\n"),
    "in double quotes": (f'"{QUOTED}"\n', ""),
    "at the end of a line": (f"the log said: {QUOTED}\n", ""),
    "at the end of an error line": (f"{WORK}Error: the log said {QUOTED}\n", ""),
    "in a listing": (f"     1\t{QUOTED}\n", ""),
    "in a record that was printed over lines": (
        json.dumps({"type": "tool_result", "content": QUOTED}, indent=2) + "\n",
        "",
    ),
    "today's words, echoed": ("> Claude usage limit reached. Your limit will reset at 18:05 (UTC).\n", ""),
    "today's words, found by grep": ("log:3:Claude usage limit reached. Your limit will reset at 18:05 (UTC).\n", ""),
}


_WAITING_LONG = Limits(retries=1, max_wait_seconds=5 * 3_600)
_WAITING = Limits(retries=2, max_wait_seconds=10_000)


@pytest.mark.parametrize("name", QUOTING)
def test_002_49_a_mention_changes_neither_pool_nor_guard_nor_waits(bench: Bench, name: str) -> None:
    """A quoted line leaves pool, guard and waits as they were."""
    stdout, stderr = QUOTING[name]
    done = bench.start(*bench.prints(stdout, stderr), holds="pool and guard", limits=_WAITING)
    assert done.exit_code == 1
    assert done.waited_seconds < 60
    assert "ECONNREFUSED" in stdout + stderr or "500" in stdout + stderr or done.attempts == 1
    assert bench.pool.out("claude") is None
    assert bench.guard.state("claude").ready
    assert bench.events("agent.exhausted") == []
    assert {error.get("detail") for error in bench.events("error.classified")}.isdisjoint({"usage_limit"})
    assert list((bench.folder / "limits").glob("*")) == []
    at = bench.clock.now()
    assert bench.start("true", holds="pool and guard").outcome == "succeeded"
    assert bench.clock.now() == at


@pytest.mark.parametrize(
    "text",
    [
        "usage limit reached",
        "Claude AI usage limit reached",
        "Claude AI usage limit reached|soon",
        "We are near the usage limit; the limit resets at 1770843600.",
        "rate limit, quota, exhausted",
        "429 Too Many Requests",
        "Your credit balance is too low",
    ],
)
@pytest.mark.parametrize("where", ["stdout", "stderr"])
def test_002_50_loose_keywords_are_no_exhaustion(bench: Bench, text: str, where: str) -> None:
    """Words such as usage limit, without the format of the line, are no exhaustion."""
    assert bench.run(**{where: text}) is None


TRUE = {
    "alone": (LINE, ""),
    "last on stdout": (f"{WORK}{LINE}\n", ""),
    "last on stderr": ("", f"{WORK}{LINE}\n"),
    "on stderr behind an answer": (WORK, LINE),
    "with a debug line on stderr": (LINE, "debug: retrying in 5 s\n"),
    **{
        f"after: {line}": (f"{line}\n{LINE}\n", "")
        for line in (
            "I'll run the tests now.",
            "Let me look at this error message.",
            "Looking at the next log",
            "Done with 3 of 5 files.",
            "The parser handles empty lines now.",
            "✓ tests/test_pool.py",
            "- [x] Read the configuration",
            "Assistant: I have read the file.",
            "I have moved your parser.",
        )
    },
    "as an error line": (f"{WORK}Error: {LINE}\n", ""),
    "before blank lines": (f"{LINE}\n\n   \n\n", ""),
    "before resets of the terminal": (f"{WORK}\x1b[31m{LINE}\x1b[0m\n\x1b[0m\x1b[?25h\n\x1b[2K\r", ""),
    "before a farewell": (f"{LINE}\n\n • /upgrade to increase your usage limit.\nGoodbye!\n", ""),
    "before the costs": (f"{LINE}\n─────\nTotal cost:  $0.55\nTotal duration (API):  6m 19.7s\n", ""),
    "before what its starter says": (LINE, "Error: Claude Code process exited with code 1\n"),
    "behind one that was quoted": (f"{QUOTED}\n{WORK}{LINE}\n", ""),
    "behind a closed block of code": (f"```\n{QUOTED}\n```\n{LINE}\n", ""),
    "the result's text": (stream(INIT, {**FAILED, "subtype": "success", "result": LINE}), ""),
    "the result's text, with one that was quoted": (
        stream(
            INIT, says("user", type="text", text=QUOTED), {**FAILED, "subtype": "success", "result": LINE}
        ),
        "",
    ),
    "the result's text behind a label": (
        stream(INIT, {**FAILED, "subtype": "success", "result": f"API Error: {LINE}"}),
        "",
    ),
    "a plain line behind records": (stream(INIT, says("assistant", type="text", text="Working.")) + LINE, ""),
    "a plain line behind a result without a cause": (stream(INIT, FAILED) + LINE + "\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", TRUE)
def test_002_42_the_signature_that_ends_a_run_is_exhaustion(bench: Bench, name: str) -> None:
    """The line counts on stdout and on stderr where it ends the agent's own output."""
    out = bench.run(*TRUE[name])
    assert out is not None
    assert out.reset_at == RESET
    assert out.reason_text.endswith(LINE)


# Integration tests and test cases


def test_002_60_actual_exhaustion(bench: Bench) -> None:
    """The observed line on stdout and exit code 1: the agent is removed."""
    assert bench.pool.choose(["claude", "codex"]) == "claude"
    bench.run("Claude AI usage limit reached|1770843600\n", exit_code=1)
    assert bench.pool.choose(["claude", "codex"]) == "codex"


def test_002_61_exit_code_guard(bench: Bench) -> None:
    """The same stdout with exit code 0: the agent is not removed."""
    bench.run("Claude AI usage limit reached|1770843600\n", exit_code=0)
    assert bench.pool.choose(["claude", "codex"]) == "claude"


def test_002_62_no_signature(bench: Bench) -> None:
    """A failure with an unrelated text is not classified as exhaustion."""
    assert bench.run("error: cannot open notes.md\n", exit_code=2) is None
    assert bench.events("agent.exhausted") == []


def test_002_63_reset_parsing(bench: Bench) -> None:
    """The parsed epoch stands in the reason for the removal, in pool and log alike."""
    out = bench.run(LINE)
    assert out is not None
    (event,) = bench.events("agent.exhausted")
    assert event["reason_text"] == out.reason_text
    assert event["reset_at"] == "2026-02-11T21:00:00.000Z"
    assert "2026-02-11 21:00 UTC" in out.reason_text


def test_002_56_the_pool_uses_the_parsed_reason(bench: Bench) -> None:
    """The agent that was removed comes back at the parsed reset, not before."""
    bench.run(LINE)
    clock = FakeClock(BEFORE)
    pool = AgentPool(bench.folder / "pool.json", clock=clock)
    clock.advance((RESET - BEFORE).total_seconds() - 1)
    assert pool.out("claude") is not None
    clock.advance(1)
    assert pool.out("claude") is None


@pytest.mark.parametrize("holds", ["pool", "guard", "pool and guard"])
@pytest.mark.parametrize("stdout", [LINE, f"{WORK}{LINE}\n", f"> {QUOTED}\n{WORK}{LINE}\n"])
def test_002_3_a_limit_holds_the_next_run_until_its_reset(bench: Bench, stdout: str, holds: str) -> None:
    """An exhausted agent is refused until the moment that the line names, by pool and guard alike."""
    assert bench.start(*bench.prints(stdout), holds=holds).exit_code == 1
    bench.clock.advance((RESET - bench.clock.now()).total_seconds() - 61)
    refused = bench.start("true", holds=holds)
    assert (refused.exit_code, refused.outcome) == (75, "short_circuited")
    bench.clock.advance(61.001)
    assert bench.start("true", holds=holds).outcome == "succeeded"


def test_002_44_an_agent_returns_to_the_pool_behind_its_reset(bench: Bench) -> None:
    """An exhausted agent comes back to the pool at its reset, once, and so each time."""
    for times in (1, 2):
        reset = bench.clock.now() + timedelta(hours=3)
        bench.start(*bench.prints(f"Claude AI usage limit reached|{reset.timestamp():.0f}"))
        bench.clock.advance(3 * 3_600 - 61)
        assert bench.start("true").exit_code == 75
        assert bench.pool.choose(["claude", "codex"]) == "codex"
        bench.clock.advance(61)
        assert [bench.start("true").outcome for _ in range(2)] == ["succeeded"] * 2
        assert bench.pool.choose(["claude", "codex"]) == "claude"
        assert [len(bench.events(f"agent.{kind}")) for kind in ("exhausted", "restored")] == [times, times]


@pytest.mark.parametrize("holds", ["pool", "guard", "pool and guard", "nothing"])
def test_002_44_a_limit_is_waited_for_where_that_is_allowed(bench: Bench, holds: str) -> None:
    """A run that may wait waits until the reset, whoever keeps the limit, and then succeeds."""
    command = ("sh", "-c", f'test -e "$0" && exit 0; touch "$0"; echo "{LINE}"; exit 1', str(bench.folder / "seen"))
    done = bench.start(*command, holds=holds, limits=_WAITING_LONG)
    assert (done.outcome, done.attempts) == ("recovered", 2)
    assert 0 < (bench.clock.now() - RESET).total_seconds() < 2
    assert len(bench.events("agent.exhausted")) == len(bench.events("agent.restored")) == 1


def test_002_3_pools_and_agents_are_apart(bench: Bench) -> None:
    """An exhausted agent leaves its own pool only: another pool keeps it, and other agents stay in this one."""
    other = AgentPool(bench.folder / "other.json", clock=bench.clock)
    assert bench.run(LINE) is not None
    assert (bench.pool.out("claude") is None, bench.pool.out("codex") is None) == (False, True)
    assert other.out("claude") is None
    assert other.choose(["claude", "codex"]) == "claude"


def test_002_11_words_on_stderr_do_not_hide_it(bench: Bench) -> None:
    """The line on stdout counts, whatever harmless words stand on stderr."""
    assert bench.run(stdout=LINE, stderr="warning: the cache is cold\n") is not None


@pytest.mark.parametrize("exit_code", [1, 2, 130])
def test_002_15_any_exit_code_but_0_may_be_a_limit(bench: Bench, exit_code: int) -> None:
    """The line counts with every exit code but 0."""
    assert bench.run(LINE, exit_code=exit_code) is not None


def test_002_45_the_reason_says_that_the_reset_is_not_known(bench: Bench) -> None:
    """Where a limit does not say when it resets a person reads that in the reason."""
    out = bench.run("You've hit your session limit · resets soon\n")
    assert out is not None
    assert (out.reset_at, "does not say when it resets" in out.reason_text) == (None, True)


@pytest.mark.parametrize("epoch", ["1770843600", "1770843600000"])
def test_002_44_the_epoch_after_the_bar_is_the_reset(bench: Bench, epoch: str) -> None:
    """The number after the bar is read as a moment, in seconds or in milliseconds."""
    out = bench.run(f"Claude AI usage limit reached|{epoch}\n")
    assert out is not None
    assert out.reset_at == RESET


def test_002_54_the_observed_line_is_detected(bench: Bench) -> None:
    """The line as it was observed, with exit code 1, is an exhausted agent in pool and log."""
    assert bench.run("Claude AI usage limit reached|1770843600\n") is not None
    assert [event["agent"] for event in bench.events("agent.exhausted")] == ["claude"]


def test_002_55_the_same_text_of_a_good_run_is_none(bench: Bench) -> None:
    """With exit code 0 the same text leaves no event of exhaustion."""
    bench.run("Claude AI usage limit reached|1770843600\n", exit_code=0)
    assert bench.events("agent.exhausted") == []
