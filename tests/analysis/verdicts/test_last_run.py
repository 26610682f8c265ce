"""The last run of an output decides, and a run whose end was not read is never green."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from analyzer.analysis.verdict.answer import RunVerdict, run_verdict
from analyzer.errors import InputError
from tests import LONG_RUNS, each_row
from tests.analysis.verdicts.outputs import (
    DONE,
    OC_START,
    OC_STOP,
    aider,
    answer,
    claude,
    codex,
    copilot,
    end,
    g,
    g_end,
    g_said,
    gemini,
    goose,
    lines,
    oc,
    oc_error,
    oc_said,
    oc_tool,
    pi,
    pi_said,
    qwen,
    qwen_said,
    ran,
    rollout,
    said,
    say,
    synthetic,
    text,
    transcript,
    turn_failed,
    work,
)

NOON = datetime(2026, 3, 5, 12)
GOOD = {
    "claude": claude(say("On it."), *work(), *answer("Done.")),
    "codex": codex(ran("ls"), said("Done."), DONE),
    "gemini": gemini(g("tool_use", tool_name="ls", tool_id="c", parameters={}), g_said("Done."), g_end()),
    "opencode": lines(OC_START, oc_tool(), oc("step_finish", reason="tool-calls"), OC_START, oc_said("Done."), OC_STOP),
    "rollout": rollout(
        {"type": "task_started"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        {"type": "task_complete", "last_agent_message": "Done."},
    ),
}
"""A run that passes, in each format that tells beginning and end."""
BAD = {
    "claude": claude(say("On it."), end("API Error: 401", error=True, subtype="error_during_execution")),
    "codex": codex(turn_failed("You've hit your usage limit.")),
    "gemini": gemini(g_said("On it."), g_end("error", "Error", "[API Error: 503]")),
    "opencode": lines(OC_START, oc_error("APIError", message="invalid x-api-key", statusCode=401)),
    "rollout": rollout({"type": "task_started"}, {"type": "error", "message": "You've hit your usage limit."}),
}
REPLIES = {
    "transcript": transcript({"type": "user", "message": {"role": "user", "content": "go"}}, *work(), say("Done.")),
    "copilot": copilot(
        ("user.message", {"content": "go"}),
        ("tool.execution_start", {"toolCallId": "c", "toolName": "bash"}),
        ("assistant.message", {"content": "Done."}),
    ),
    "pi": pi({"role": "user", "content": [text("go")]}, pi_said("Done.")),
    "goose": goose(("user", text("go")), ("assistant", text("Done."))),
    "aider": aider("#### go", "", "Done."),
    "qwen": qwen({"type": "user", "message": {"role": "user", "parts": [{"text": "go"}]}}, qwen_said("Done.")),
}
"""Logs of sessions that tell no end: the reply to the last prompt is it."""
UNREAD = [
    b'{"type":"result","total_cost_usd":NaN,"is_error":true}',
    b'{"type":"result","is_error":true,"result":"\xff\xfe"}',
    b'{"type":"result","subty',
    b'{"type":"system"}{"type":"result","is_error":true}',
    b'\0\0{"type":"result"}',
    b'[12:00:01] {"type":"result","is_error":true,"result":NaN}',
    b'\x1b[31m{"type":"result","is_error":true}',
    b'data: {"type":"error"}',
    b'{"x":' + b"[" * 3_000 + b"]" * 3_000 + b"}",
    b'{"type":"fatal","message":"of no known kind"}',
    b'{"error":{"message":"of no known kind"}}',
    '{"type":"result","is_error":true}'.encode("utf-16-le"),
    gzip.compress(b'{"type":"result","is_error":true}', mtime=0).replace(b"\n", b""),
    b"{'type': 'result', 'is_error': True}",
    b'"{\\"type\\":\\"result\\",\\"is_error\\":true}"',
    b'{"event":{"type":"result","subtype":"error_during_execution"}}',
    b'{"log":"{\\"type\\":\\"turn.completed\\"}","stream":"stdout"}',
    b'{\n  "type": "result",\n  "is_error": true\n}',
    b'{\r\n\t"type": "result",\r\n\t"is_error": NaN\r\n}',
    b'{\n  "message": {\n    "role": "assi',
    b'{\n  "error": "of no known kind"\n}\n' + b"words\n" * 40_000,
    b'{\n  "type": "result",\n  "is_error": true\n}\n{"n":1}',
]
"""Lines that may tell how a run ended, and that nobody can read."""
HARMLESS = [
    b'{"type":"a later kind","n":1}',
    b"{}",
    b"plain words",
    b"",
    b"\x1b[0m",
    b'sent {"a": 1}',
    b'{\n  "a": 1\n}',
    b'[\n  {\n    "name": "x",\n    "version": "1"\n  }\n]',
    b"{\n  color: red;\n}",
    "größe ✓".encode(),
    b'{"stdout":"{\\"a\\": 1}","data":{"n":1}}',
]


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., RunVerdict | None]:
    """`judge(data, exit_code=0)`: the verdict on an output; None where it is refused."""

    def call(data: bytes, exit_code: int | None = 0, agent: str | None = None) -> RunVerdict | None:
        path = tmp_path / "run"
        path.write_bytes(data)
        try:
            return run_verdict([str(path)], exit_code=exit_code, agent=agent, at=NOON)
        except InputError:
            return None

    return call


Judge = Callable[..., RunVerdict | None]


def is_green(judged: RunVerdict | None) -> bool:
    """Tell whether a pipeline would go on."""
    return judged is not None and judged.verdict == "passed"


def cuts(data: bytes, first: int = 0) -> Iterator[int]:
    """Give lengths that leave the last record incomplete: round each end of a line, and a sample of all others."""
    last = data.rstrip().rfind(b"}")
    step = 1 if LONG_RUNS > 1 else 11
    ends = [place + near for place, byte in enumerate(data) if byte == 10 for near in (-1, 0, 1, 2)]
    yield from sorted({*range(first, last, step), *(place for place in ends if first <= place <= last)})


@pytest.mark.parametrize("name", GOOD)
def test_a_stream_that_is_cut_is_never_green(name: str, judge: Judge) -> None:
    """Wherever the output breaks off before the end of its last record, the run has not passed."""
    data = GOOD[name].encode()
    assert is_green(judge(data))
    assert is_green(judge(data.rstrip()))
    assert [cut for cut in cuts(data) if is_green(judge(data[:cut]))] == []


@each_row("name", GOOD)
@each_row("first", GOOD)
def test_the_last_run_of_a_file_decides(first: str, name: str, judge: Judge) -> None:
    """After a run that passed or failed, the next one is green if it ended well, and not if it failed or broke off."""
    for before in (GOOD[first].encode(), BAD[first].encode()):
        data = before + GOOD[name].encode()
        assert is_green(judge(data))
        assert not is_green(judge(before + BAD[name].encode()))
        assert [cut for cut in cuts(data, len(before) + 1) if is_green(judge(data[:cut]))] == []


@pytest.mark.parametrize("name", REPLIES)
def test_a_session_without_an_end_passes_by_the_reply_to_its_last_prompt(name: str, judge: Judge) -> None:
    """It passes weakly; a cut before that reply, or another prompt after it, is no pass."""
    data = REPLIES[name].encode()
    judged = judge(data)
    assert judged is not None
    assert (judged.verdict, judged.confidence) == ("passed", "weak")
    assert [cut for cut in cuts(data) if is_green(judge(data[:cut]))] == []
    assert not is_green(judge(data + data[: data.rstrip().rfind(b"\n") + 1]))


@each_row("name", GOOD)
@each_row("line", UNREAD)
def test_what_cannot_be_read_after_the_end_is_never_green(name: str, line: bytes, judge: Judge) -> None:
    """Such a line after the last record is what decides; one that the end follows changes nothing."""
    *records, last = GOOD[name].encode().splitlines(keepends=True)
    judged = judge(b"".join([*records, last, line, b"\n"]))
    assert judged is not None
    assert (is_green(judged), judged.evidence[0].line) == (False, len(records) + 2)
    if not judged.reason:  # a reader may still find an error in it
        assert (judged.verdict, judged.rule) == ("hollow", "unreadable")
        assert is_green(judge(b"".join([*records, line, b"\n", last])))


@pytest.mark.parametrize("name", GOOD)
def test_other_lines_change_no_verdict(name: str, judge: Judge) -> None:
    """Words, and records of kinds that nobody knows, may stand anywhere behind the first record."""
    head, *rest = GOOD[name].encode().splitlines(keepends=True)
    for line in HARMLESS:
        for place in range(len(rest) + 1):
            assert is_green(judge(b"".join([head, *rest[:place], line, b"\n", *rest[place:]]))), (line, place)


@pytest.mark.parametrize("name", ["claude", "opencode"])
def test_a_document_that_is_cut_before_its_last_record_ends_is_never_green(name: str, judge: Judge) -> None:
    """One JSON array holds the records of a run; its last record tells the end of the run."""
    rows = [json.loads(line) for line in GOOD[name].splitlines()]
    for indent in (None, 1):
        data = json.dumps(rows, indent=indent).encode()
        end = data.rindex(b"}") + 1
        assert is_green(judge(data))
        assert [cut for cut in cuts(data) if cut < end and is_green(judge(data[:cut]))] == []


@pytest.mark.parametrize("name", GOOD)
def test_a_packed_output_that_is_cut_is_never_green(name: str, judge: Judge) -> None:
    """Neither before nor after the last byte of the records themselves: their checksum is missing."""
    data = gzip.compress(GOOD[name].encode())
    assert is_green(judge(data))
    assert [cut for cut in range(len(data)) if is_green(judge(data[:cut]))] == []
    text_data = gzip.compress(b"Done.\n")
    assert not is_green(judge(text_data[:-1], agent="claude"))


@each_row(
    "last",
    [
        {**end("Done."), "session_id": "another"},
        end("Done.", subtype="interrupted"),
        end("Done.", is_error="true"),
        end("Done.", is_error=1),
        end("Done.", subtype="Error_max_turns"),
        end("Done.", errors=["API Error: 401"]),
        end("Done.", error={"message": "API Error: 401"}),
        end("Done.", terminal_reason="model_error"),
        {"type": "result", "session_id": "s"},
        json.dumps(end("Done."))[:-1] + ', "is_error": false}',
    ],
)
def test_an_end_is_a_success_only_where_it_says_so(last: dict[str, object] | str, judge: Judge) -> None:
    """Another session's end, an unknown outcome, a flag of the wrong type or a key that stands twice is none."""
    assert not is_green(judge(claude(say("Done."), last).encode()))


@pytest.mark.parametrize("name", GOOD)
def test_work_after_the_end_needs_an_end_of_its_own(name: str, judge: Judge) -> None:
    """Any record of the run that stands there once more, but the end itself, leaves it open."""
    *records, _ = GOOD[name].encode().splitlines(keepends=True)
    assert [record for record in records if is_green(judge(GOOD[name].encode() + record))] == []


def test_no_success_overcomes_an_end_that_failed(judge: Judge) -> None:
    """Two ends of one run: the failed one counts; an end that follows new work is that of the next run."""
    failed = end("", error=True, subtype="error_during_execution")
    assert not is_green(judge(claude(say("On it."), failed, end("Done.")).encode()))
    assert is_green(judge(claude(say("On it."), failed, say("Again."), end("Done.")).encode()))


@pytest.mark.parametrize(
    ("words", "verdict"), [("The flux capacitor is out of sync", "hollow"), ("Invalid API key", "blocked")]
)
def test_an_error_after_the_end_opens_the_run_again(words: str, verdict: str, judge: Judge) -> None:
    """In the place of a reply, whether a rule knows it or not."""
    judged = judge((GOOD["claude"] + lines(synthetic(words))).encode())
    assert judged is not None
    assert judged.verdict == verdict


def test_another_run_has_to_work_itself(judge: Judge) -> None:
    """What the first run did is no answer of the second one."""
    judged = judge((GOOD["codex"] + codex(DONE)).encode())
    assert judged is not None
    assert (judged.verdict, judged.rule) == ("hollow", "no_answer")


@pytest.mark.parametrize("words", ["\u200b", "\x1b[0m", "\u3164\n", "\ufeff \t"])
def test_a_reply_without_ink_is_none(words: str, judge: Judge) -> None:
    """Neither in a message nor in the end of the run."""
    judged = judge(claude(say(words), end(words)).encode())
    assert judged is not None
    assert (judged.verdict, judged.rule) == ("hollow", "no_answer")


def test_records_after_a_long_text_are_read(judge: Judge) -> None:
    """What a job printed before its agent, however much, hides neither a success nor a failure."""
    before = b"npm warn deprecated\n" * 2_000
    assert is_green(judge(before + GOOD["claude"].encode(), agent="claude"))
    assert not is_green(judge(before + BAD["claude"].encode(), agent="claude"))
    assert not is_green(judge(before + GOOD["claude"].encode()[:-30], agent="claude"))
    assert not is_green(judge(before + b'{"a": 1}\n' + before + GOOD["codex"].encode(), agent="claude"))


@each_row(
    "output, verdict",
    [
        ("", "hollow"),
        (" \n\t\n", "hollow"),
        ("\ufeff", "hollow"),
        ("\u200b\u2060\n", "hollow"),
        ("\u3164\n\u00a0", "hollow"),
        ("\x1b[2J\x1b[0m\n\x1b]0;title\x07", "hollow"),
        ("\x07\x08\r\n", "hollow"),
        ("\x1b[1", "hollow"),
        ("\x9b0m", "hollow"),
        ("⠋ working\x1b[2K\r⠙ working\r\x1b[K", "hollow"),
        ("\ufffd\ufffd\n---\n$ ", "hollow"),
        ("\x1b[32mDone.\x1b[0m\n", "passed"),
        ("Error: 401 invalid x-api-key\n\n \u200b\n", "blocked"),
        ("Error: 401 invalid x-api-key\n\n\x1b[?25h\n", "blocked"),
        ("Error: 401 invalid x-api-key\n\n$ \n", "blocked"),
        ("working 50 %\rError: 401 invalid x-api-key\r", "blocked"),
        ("Done.\n\n" + '{"type":"result","is_err', "hollow"),
    ],
)
def test_a_text_without_ink_is_no_answer(output: str, verdict: str, judge: Judge) -> None:
    """Codes of a terminal, marks, and what was written over are no words, neither of an answer nor of a paragraph."""
    judged = judge(output.encode(), agent="claude")
    assert judged is not None
    assert judged.verdict == verdict


@pytest.mark.parametrize(("exit_code", "verdict"), [(0, "hollow"), (None, "failed"), (1, "failed")])
def test_an_undecided_run_is_judged_by_its_exit_code(exit_code: int | None, verdict: str, judge: Judge) -> None:
    """It is hollow where the command says success, and has failed where it does not."""
    for data in (GOOD["claude"].encode()[:-30], GOOD["claude"].encode() + UNREAD[0]):
        judged = judge(data, exit_code=exit_code)
        assert judged is not None
        assert judged.verdict == verdict
