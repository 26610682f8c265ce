"""`analyzer hook` run as Claude Code runs it: JSON on standard input, exit code 0 whatever comes, and quick."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import analyzer
from analyzer.cli import call
from analyzer.recovery.hooks import status_line
from tests import REPOSITORY

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
        env={**os.environ, "ANALYZER_HOOKS": str(folder), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_what_hooks_say_is_read_as_events(tmp_path: Path) -> None:
    """A failed turn, a failed tool and the end of a session become an error, a failed tool and the session."""
    for given in (FAILED, TOOL, {**TOOL, "tool_name": "Edit", "error": "cut off", "is_interrupt": True}, ENDED):
        done = hook(tmp_path, given)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    with analyzer.open_store(":memory:") as store:
        assert store.ingest([str(tmp_path)]).total.quarantined == 0
        errors = store.sql("select session_id, agent, reason, outcome, message from errors").rows()
        tools = store.sql("select tool, kind, exit_code, message from tool_failures order by tool").rows()
        sessions = store.sql("select session_id, agent from sessions").rows()
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
    with analyzer.open_store(":memory:") as store:
        store.ingest([str(tmp_path)])
        assert store.sql("select count(*) from events where type = 'error.classified'").item() == 2
        assert store.sql("select source_format from errors").rows() == [("claude_code",)]


def test_nothing_that_was_said_and_no_secret_is_written(tmp_path: Path) -> None:
    """Not what a tool was called with, not the middle of what it printed, and no key."""
    key = "sk-ant-api03-" + "a" * 93
    hook(tmp_path, TOOL)
    hook(tmp_path, {**FAILED, "error_details": f"401 invalid x-api-key: {key}"})
    (written,) = tmp_path.iterdir()
    assert "zebra" not in written.read_text("utf-8") and key not in written.read_text("utf-8")
    assert written.read_text("utf-8").count("REDACTED") == 1
    assert written.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "given",
    [b"", b"\xff\xfe", b"{", b"[]", b"null", b"7", b'"x"', b'{"hook_event_name":["StopFailure"]}', b"[" * 200_000,
     b'{"hook_event_name":"StopFailure","error":7,"error_details":{"a":[]},"session_id":[1]}',
     b'{"hook_event_name":"PostToolUseFailure","error":{"x":1},"tool_name":null}',
     b'{"hook_event_name":"Stop"}', b"\0" * 3_000_000],
)  # fmt: skip
@pytest.mark.parametrize("words", [(), ("status",)])
def test_a_hook_never_fails_its_agent(given: bytes, words: tuple[str, ...], tmp_path: Path) -> None:
    """Exit code 0 for whatever comes; what is written, if anything, is read without a complaint."""
    assert hook(tmp_path, given, *words).returncode == 0
    with analyzer.open_store(":memory:") as store:
        assert store.ingest([str(tmp_path)]).total.quarantined == 0


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
    environment = {**os.environ, "ANALYZER_HOOKS": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    running = [subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) for _ in range(12)]
    for number, process in enumerate(running):
        process.communicate(json.dumps({**FAILED, "session_id": f"s-{number}"}).encode(), timeout=60)
    (written,) = tmp_path.iterdir()
    assert len([json.loads(line) for line in written.read_text("utf-8").splitlines()]) == 12


def test_a_hook_costs_a_few_starts_of_python(tmp_path: Path) -> None:
    """Its time of the processor, the least of several runs, is at most eight times that of `python -c pass`."""

    def least(*command: str) -> float:
        seconds = []
        for _ in range(7):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            environment = {**os.environ, "ANALYZER_HOOKS": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
            subprocess.run(command, input=json.dumps(FAILED).encode(), env=environment, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(seconds)

    nothing = least(sys.executable, "-c", "pass")
    assert least(sys.executable, "-c", "from analyzer.__main__ import main; main()", "hook") < 8 * nothing


def test_the_short_way_loads_no_command_line(tmp_path: Path) -> None:
    """Neither click nor the codec of events is loaded for a hook."""
    start = "import sys; sys.argv = ['analyzer', 'hook']; from analyzer.__main__ import main"
    code = f"{start}\ntry:\n    main()\nexcept SystemExit:\n    print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(FAILED),
        env={**os.environ, "ANALYZER_HOOKS": str(tmp_path), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not set(done.stdout.split()) & {"click", "msgspec", "duckdb", "analyzer.classifier", "analyzer.cli"}
    assert list(tmp_path.iterdir())


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
