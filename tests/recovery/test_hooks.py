"""`analyzer hook` run as Claude Code runs it: JSON on standard input, exit code 0 whatever comes, and quick."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import analyzer
from analyzer.cli import call
from analyzer.recovery.hooks import log_limits, status_line
from tests import REPOSITORY
from tests.recovery.supervised import ENVIRONMENT

PLUGIN = REPOSITORY / "contrib" / "claude-code"
COMMON = {
    "session_id": "s-1",
    "transcript_path": "/nowhere.jsonl",
    "cwd": "/home/me/shop",
    "permission_mode": "default",
}
FAILED = {
    **COMMON,
    "hook_event_name": "StopFailure",
    "error": "rate_limit",
    "error_details": "429 Too Many Requests",
    "last_assistant_message": "API Error: Rate limit reached",
}
TOOL = {
    **COMMON,
    "hook_event_name": "PostToolUseFailure",
    "tool_name": "Bash",
    "tool_input": {"command": "npm test --token zebra", "description": "zebra"},
    "tool_use_id": "toolu_1",
    "error": "Exit code 1\nzebra\nnpm ERR! missing script: test",
    "is_interrupt": False,
}
ENDED = {**COMMON, "hook_event_name": "SessionEnd", "reason": "prompt_input_exit"}


def hook(folder: Path, given: object, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run the hook as the plugin's command does."""
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    return subprocess.run(
        [sys.executable, "-c", "from analyzer.__main__ import main; main()", "hook", *words],
        input=data,
        env=ENVIRONMENT | {"ANALYZER_HOOKS": str(folder)},
        capture_output=True,
        timeout=60,
        check=False,
    )


def rows(folder: Path, *queries: str) -> list[list[tuple[Any, ...]]]:
    """The rows of queries over what hooks wrote, of which nothing is quarantined."""
    with analyzer.open_store(":memory:") as store:
        assert store.ingest([str(folder)]).total.quarantined == 0
        return [store.sql(query).rows() for query in queries]


def test_what_hooks_say_is_read_as_events(tmp_path: Path) -> None:
    """A failed turn, a failed tool and the end of a session become an error, a failed tool and the session."""
    for given in (FAILED, TOOL, {**TOOL, "tool_name": "Edit", "error": "cut off", "is_interrupt": True}, ENDED):
        done = hook(tmp_path, given)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    errors, tools, sessions = rows(
        tmp_path,
        "select session_id, agent, reason, outcome, message from errors",
        "select tool, kind, exit_code, message from tool_failures order by tool",
        "select session_id, agent from sessions",
    )
    message = "429 Too Many Requests; API Error: Rate limit reached"
    assert errors == [("s-1", "claude-code", "rate_limited", "surfaced", message)]
    assert tools == [
        ("Bash", "exit_code", 1, "Exit code 1: npm ERR! missing script: test"),
        ("Edit", "cancelled", None, "cut off"),
    ]
    assert sessions == [("s-1", "claude-code")]


def test_what_a_transcript_tells_as_well_counts_once(tmp_path: Path) -> None:
    """The error of a hook and that of the transcript, within seconds, are one."""
    hook(tmp_path / "hooks", FAILED)
    told = {
        "type": "assistant",
        "uuid": "u-1",
        "sessionId": "s-1",
        "timestamp": datetime.now(UTC).isoformat(),
        "isApiErrorMessage": True,
        "error": "rate_limit",
        "message": {"role": "assistant", "model": "<synthetic>", "content": "API Error: Rate limit reached"},
    }
    (tmp_path / "t.jsonl").write_text(json.dumps(told) + "\n", "utf-8")
    assert rows(
        tmp_path, "select count(*) from events where type = 'error.classified'", "select source_format from errors"
    ) == [[(2,)], [("claude_code",)]]


def test_nothing_that_was_said_and_no_secret_is_written(tmp_path: Path) -> None:
    """Not what a tool was called with, not the middle of what it printed, and no key."""
    key = "sk-ant-api03-" + "a" * 93
    hook(tmp_path, TOOL)
    hook(tmp_path, {**FAILED, "error_details": f"401 invalid x-api-key: {key}"})
    (written,) = tmp_path.iterdir()
    assert "zebra" not in written.read_text("utf-8") and key not in written.read_text("utf-8")
    assert written.read_text("utf-8").count("REDACTED") == 1
    assert written.stat().st_mode & 0o777 == 0o600


TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LONG = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn" + "Q" * 600 + "." + "s" * 43 + " "
ARMOUR = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEF\n" * 3 + "c2VjcmV0bGFzdGxpbmU="


@pytest.mark.parametrize("length", [990, 1_000, 16_384, 1 << 20])
def test_no_half_of_a_token_is_written(length: int, tmp_path: Path) -> None:
    """Wherever a text is cut, the secrets in it were taken out before, however many shorten what stands before them."""
    cuts = range(5, len(TOKEN), 6)
    for kept in cuts:
        begins = LONG * ((length - kept) // len(LONG)) + "x " * length
        text = begins[: length - kept - 1] + " " + TOKEN
        hook(tmp_path, {**TOOL, "error": text})
    (written,) = tmp_path.iterdir()
    lines = written.read_text("utf-8").splitlines()
    assert len(lines) == len(cuts) and not any("ghp_" in line for line in lines)


def test_a_secret_of_several_lines_is_taken_out_before_a_line_is_picked(tmp_path: Path) -> None:
    """Of a key in armour, nothing is left in the last line of a tool's output."""
    hook(tmp_path, {**TOOL, "error": f"Exit code 1\n{ARMOUR}"})
    (written,) = tmp_path.iterdir()
    assert "c2VjcmV0" not in written.read_text("utf-8") and "REDACTED" in written.read_text("utf-8")


@pytest.mark.parametrize("size", [1 << 20, 17 << 20])
def test_a_long_input_is_an_event_all_the_same(size: int, tmp_path: Path) -> None:
    """What a failed tool was called with may be long; beyond 16 MiB the event is marked, and says whose it is."""
    hook(tmp_path, {**TOOL, "tool_input": {"content": "x" * size}})
    [[(session, tool, message)]] = rows(tmp_path, "select session_id, tool, message from tool_failures")
    assert (session, tool, "longer than 16 MiB" in message) == ("s-1", "Bash", size > 16 << 20)


@pytest.mark.parametrize(
    "given",
    [b"", b"\xff\xfe", b"{", b"[]", b"null", b"7", b'"x"', b'{"hook_event_name":["StopFailure"]}', b"[" * 200_000,
     b'{"hook_event_name":"StopFailure","error":7,"error_details":{"a":[]},"session_id":[1]}',
     b'{"hook_event_name":"PostToolUseFailure","error":{"x":1},"tool_name":null}',
     b'{"hook_event_name":"Stop"}', b"\0" * 3_000_000],
)  # fmt: skip
@pytest.mark.parametrize("words", [(), ("status",), ("codex",), ("gemini",)])
def test_a_hook_never_fails_its_agent(given: bytes, words: tuple[str, ...], tmp_path: Path) -> None:
    """Exit code 0 for whatever comes; what is written, if anything, is read without a complaint."""
    assert hook(tmp_path, given, *words).returncode == 0
    assert rows(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    """Exit code 0, and a word on stderr; a link in the file's place is not followed."""
    (tmp_path / "file").write_text("", "utf-8")
    done = hook(tmp_path / "file" / "below", FAILED)
    assert (done.returncode, done.stderr) == (0, b"analyzer hook: NotADirectoryError\n")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / time.strftime("claude-code-%Y-%m.jsonl", time.gmtime())).symlink_to(tmp_path / "elsewhere")
    assert hook(hooks, FAILED).returncode == 0
    assert not (tmp_path / "elsewhere").exists()


def test_hooks_side_by_side_do_not_mix(tmp_path: Path) -> None:
    """Many hooks at once leave whole lines, one each."""
    command = [sys.executable, "-c", "from analyzer.__main__ import main; main()", "hook"]
    environment = ENVIRONMENT | {"ANALYZER_HOOKS": str(tmp_path)}
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) for _ in range(12)]
    for number, process in enumerate(running):
        process.communicate(json.dumps({**FAILED, "session_id": f"s-{number}"}).encode(), timeout=60)
    (written,) = tmp_path.iterdir()
    assert len([json.loads(line) for line in written.read_text("utf-8").splitlines()]) == 12


_REDACTION = ("armour", "automata", "engine", "families", "keys", "places", "unfolding", "values", "walk")
LOADED = {
    *("analyzer", "analyzer.__main__", "analyzer.lazy", "analyzer.recovery", "analyzer.recovery.hooks"),
    *("analyzer.redaction", *(f"analyzer.redaction.{name}" for name in _REDACTION), "re2", "re2._re2"),
}
"""What a hook may load of all that is installed; `python -X importtime` says what each of them costs."""
HEAVY = {"asyncio", "dataclasses", "datetime", "email", "hashlib", "inspect", "logging", "pathlib", "subprocess"}


def loaded(folder: Path, given: object, *words: str) -> set[str]:
    """The modules that a hook loads, as the interpreter tells them."""
    start = f"import sys; sys.argv = ['analyzer', 'hook', *{words!r}]; from analyzer.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", "-c", f"import sys; sys.path += {sys.path!r}; {start}"],
        input=json.dumps(given),
        env={**os.environ, "ANALYZER_HOOKS": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()[1:]}


@pytest.mark.parametrize("words", [(), ("gemini",), ("status",)])
def test_a_hook_loads_json_and_redaction_alone(words: tuple[str, ...], tmp_path: Path) -> None:
    """No command line, codec or classifier, and nothing of the standard library that takes long: an agent waits."""
    given = {**TOOL, "rate_limits": {"five_hour": {"used_percentage": 7}}, "tool_response": {"error": {"message": "x"}}}
    given["hook_event_name"] = "AfterTool" if words == ("gemini",) else "PostToolUseFailure"
    names = loaded(tmp_path, given, *words)
    installed = {name for name in names if name.partition(".")[0] not in sys.stdlib_module_names}
    assert installed <= LOADED
    assert not names & HEAVY
    assert list(tmp_path.iterdir())


def test_a_status_line_without_news_loads_json_alone(tmp_path: Path) -> None:
    """Where no limit has changed nothing is searched for secrets, for nothing is written."""
    assert "analyzer.redaction" not in loaded(tmp_path, COMMON, "status")


GEMINI = {
    **COMMON,
    "timestamp": "2026-11-26T12:00:00.000Z",
    "hook_event_name": "AfterTool",
    "tool_name": "run_shell_command",
    "tool_input": {"command": "zebra"},
    "tool_response": {
        "llmContent": "zebra",
        "returnDisplay": "zebra",
        "error": {"message": "Command not found: zap\nzebra", "type": "shell_execute_error"},
    },
}
CODEX = {
    "type": "agent-turn-complete",
    "thread-id": "t-1",
    "turn-id": "12",
    "cwd": "/home/me/shop",
    "client": "codex-tui",
    "input-messages": ["zebra"],
    "last-assistant-message": "zebra",
}


def test_hooks_of_gemini_cli_tell_tools_that_failed(tmp_path: Path) -> None:
    """AfterTool with an error is a failed tool, without one it is nothing; SessionEnd is the session."""
    worked = {**GEMINI, "tool_response": {"llmContent": "zebra", "returnDisplay": "zebra"}}
    for given in (GEMINI, worked, {**COMMON, "hook_event_name": "SessionEnd", "reason": "exit"}):
        done = hook(tmp_path, given, "gemini")
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (written,) = tmp_path.iterdir()
    assert len(written.read_text("utf-8").splitlines()) == 2 and "zebra" not in written.read_text("utf-8")
    tools, sessions = rows(
        tmp_path,
        "select tool, agent, session_id, message from tool_failures",
        "select session_id, agent from sessions",
    )
    assert tools == [("run_shell_command", "gemini-cli", "s-1", "Command not found: zap")]
    assert sessions == [("s-1", "gemini-cli")]


def test_what_codex_notifies_of_is_its_session(tmp_path: Path) -> None:
    """The JSON comes behind the command, with nothing on standard input; nothing that was said is kept."""
    command = [sys.executable, "-c", "from analyzer.__main__ import main; main()", "hook", "codex"]
    environment = ENVIRONMENT | {"ANALYZER_HOOKS": str(tmp_path)}
    for given in (json.dumps(CODEX), json.dumps({**CODEX, "type": "another"}), "{", "[]"):
        done = subprocess.run(
            [*command, given], stdin=subprocess.DEVNULL, env=environment, check=True, capture_output=True
        )
        assert done.stdout == b""
    (written,) = tmp_path.iterdir()
    assert len(written.read_text("utf-8").splitlines()) == 1 and "zebra" not in written.read_text("utf-8")
    assert rows(tmp_path, "select session_id, agent from sessions") == [[("t-1", "codex")]]


NOW = datetime(2026, 11, 26, 12, 0, tzinfo=UTC).timestamp()
SOON = time.strftime("%H:%M", time.localtime(NOW + 60))


def transcript(path: Path, *records: dict[str, Any]) -> str:
    """A transcript of these records; its path."""
    path.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records), "utf-8")
    return str(path)


RETRY = {
    "type": "system",
    "subtype": "api_error",
    "retryAttempt": 1,
    "error": {"status": 529, "error": {"type": "overloaded_error", "message": "Overloaded"}},
}
REPLY = {"type": "assistant", "message": {"content": []}}


def test_the_status_line_says_retries_and_limits(tmp_path: Path) -> None:
    """Retries since the last reply and whose they are, how full a limit is, and when it is reached at this pace."""
    path = transcript(tmp_path / "t.jsonl", RETRY, REPLY, RETRY, RETRY)
    resets = NOW + 2 * 3600
    given = {"transcript_path": path, "rate_limits": {"five_hour": {"used_percentage": 71, "resets_at": resets}}}
    reached = time.strftime("%H:%M", time.localtime(resets - 5 * 3600 + 3 * 3600 / 0.71))
    assert status_line(given, NOW) == f"2 retries · theirs · 5h limit 71 %, reached ~{reached}"
    given["rate_limits"]["five_hour"]["used_percentage"] = 20
    given["transcript_path"] = transcript(tmp_path / "u.jsonl", RETRY, REPLY)
    given["rate_limits"]["seven_day"] = {"used_percentage": 41.2, "resets_at": "2026-11-29T00:00:00Z"}
    assert status_line(given, NOW) == "5h limit 20 % · 7d limit 41 %"


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ({"used_percentage": 100, "resets_at": NOW + 60}, f"5h limit 100 %, back {SOON}"),
        ({"used_percentage": 5, "resets_at": NOW + 5 * 3600 - 60}, "5h limit 5 %"),
        ({"used_percentage": 5, "resets_at": "soon"}, "5h limit 5 %"),
        ({"used_percentage": "many"}, "ok"),
        (None, "ok"),
        ("full", "ok"),
    ],
)  # fmt: skip
def test_a_limit_is_told_as_far_as_it_is_known(limit: object, said: str) -> None:
    """A window that has just begun has no pace, and what is no figure is left out."""
    assert status_line({"rate_limits": {"five_hour": limit}}, NOW) == said


def limits(used: float, resets: float) -> dict[str, Any]:
    """What Claude Code hands to its status line, with a limit of five hours and one of a week."""
    five, week = {"used_percentage": used, "resets_at": resets}, {"used_percentage": 20, "resets_at": resets + 9_000}
    return {**COMMON, "rate_limits": {"five_hour": five, "seven_day": week}}


def test_limits_are_logged_once_a_minute_and_where_they_changed(tmp_path: Path) -> None:
    """They are rows of the view `limits`; what is said again, sooner than that or the same, is not written again."""
    resets = NOW + 3 * 3600

    counts = []
    for used, after in [
        (60, 0),
        (61, 30),
        (61, 61),
        (61, 200),
        (61.004, 300),
        (75, 400),
        (74, 390),
        (76, 449),
        (77, 450),
    ]:
        before = counts[-1] if counts else 0
        log_limits(limits(used, resets), NOW + after, str(tmp_path))
        (written,) = tmp_path.iterdir()
        counts.append(len(written.read_bytes().splitlines()))
        if counts[-1] != before:
            os.utime(written, (NOW + after, NOW + after))
    assert counts == [1, 1, 2, 2, 2, 3, 4, 4, 5]
    (logged,) = rows(tmp_path, "select provider, agent, window_minutes, used_share from limits order by all")
    assert logged[:2] == [("anthropic", "claude-code", 300, 0.6), ("anthropic", "claude-code", 300, 0.61)]


def test_limits_of_claude_code_are_seen_ahead(tmp_path: Path) -> None:
    """What the status line logged over an hour tells when the limit is reached, as for other agents."""
    resets = datetime.fromtimestamp(NOW + 3 * 3600, UTC).replace(tzinfo=None)
    for minute in range(0, 61, 10):
        log_limits(limits(50 + minute / 3, NOW + 3 * 3600), NOW + 60 * minute, str(tmp_path))
        for written in tmp_path.iterdir():
            os.utime(written, (NOW + 60 * minute, NOW + 60 * minute))
    with analyzer.open_store(":memory:") as store:
        store.ingest([str(tmp_path)])
        found = store.query("limits-ahead").to_dicts()
    (row,) = [each for each in found if each["window_minutes"] == 300]
    assert (row["provider"], row["used_share"], row["reset_at"]) == ("anthropic", 0.7, resets)
    assert row["hourly_share"] == pytest.approx(0.2, abs=0.001)
    assert row["reached_at"] == datetime.fromtimestamp(NOW + 3600 + 5400, UTC).replace(tzinfo=None)


def test_a_status_line_logs_what_it_shows(tmp_path: Path) -> None:
    """Run as Claude Code runs it, twice: the line is printed each time, the limits are logged once."""
    given = limits(71, time.time() + 3600)
    for _ in range(2):
        assert b"5h limit 71 %" in hook(tmp_path, given, "status").stdout
    (written,) = tmp_path.iterdir()
    assert len(written.read_text("utf-8").splitlines()) == 1


def test_the_status_line_is_printed(tmp_path: Path) -> None:
    """One line on standard output, from what Claude Code hands over, also of versions that tell no limits."""
    given = {**COMMON, "version": "2.1.96", "transcript_path": transcript(tmp_path / "t.jsonl", RETRY)}
    assert hook(tmp_path, given, "status").stdout.decode() == "1 retry · theirs\n"


def test_the_plugin_names_what_there_is() -> None:
    """Manifest, server and hooks have the shape that Claude Code reads, and every command of theirs exists."""
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert manifest["name"] == "agent-error-analyzer" and manifest["version"].count(".") == 2
    (server,) = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"].values()
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
    assert set(hooks) == {FAILED["hook_event_name"], TOOL["hook_event_name"], ENDED["hook_event_name"]}
    commands = [each["command"].split() for entries in hooks.values() for entry in entries for each in entry["hooks"]]
    for program, *words in [*commands, [server["command"], *server["args"]]]:
        assert program == "analyzer"
        assert call([*words, "--help"]) == 0
