"""Where work is done, who is the caller there, and what tools that failed say; values are made up."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.importers.failures import BENIGN, KINDS, failure
from analyzer.importers.programs import caller_of, place_of, resuming
from tests import each_row
from tests.importers.conftest import Read
from tests.importers.test_claude import record, reply
from tests.shown_formats import events_of


def test_the_project_is_the_last_name_of_the_folder() -> None:
    """On any system; a root has none, and a home is one."""
    assert place_of("/srv/code/shop/") == {"cwd": "/srv/code/shop", "project": "shop"}
    assert place_of("D:\\work\\shop")["project"] == "shop"
    assert place_of("/home/mira") == {"cwd": "~", "project": "~"}
    assert place_of("/") == place_of("") == place_of(None) == place_of(3) == {}


def test_a_caller_names_its_project_and_its_role() -> None:
    """Either may be unknown."""
    assert caller_of("codex", {"project": "shop"}, "subagent") == "codex@shop/subagent"
    assert caller_of("codex", {}, "subagent") == "codex/subagent"
    assert caller_of("codex", {"project": "shop"}) == "codex@shop"


@each_row(
    "said, kind",
    [
        ("Exit code 2\nmake: permission denied", "permission"),
        ("Error: Exit code 1", "exit_code"),
        ("The user doesn't want to proceed with this tool use. The tool use was rejected", "refused"),
        ("exec command rejected by user", "refused"),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", "cancelled"),
        ("Operation cancelled.", "cancelled"),
        ("Error: No such tool available: Fly", "not_found"),
        ("Agent type 'painter' not found. Available agents: coder", "not_found"),
        ("Unknown skill: juggling", "not_found"),
        ("File does not exist.", "not_found"),
        ("<tool_use_error>String to replace not found in file.\nString: x = 1</tool_use_error>", "edit_mismatch"),
        ("<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>", "unread"),
        ("You must read file /x/a.py before overwriting it. Use the Read tool first", "unread"),
        ("File has been modified since it was read", "edit_mismatch"),
        ("apply_patch verification failed: Failed to find expected lines in a.py", "edit_mismatch"),
        ("Command timed out after 2m 0s", "timeout"),
        ("EACCES: permission denied, open '/etc/x'", "permission"),
        ("This command was blocked by a hook", "permission"),
        ("/bin/sh: 1: frob: command not found", "environment"),
        ("connect ECONNREFUSED 127.0.0.1:1", "environment"),
        ("Something else altogether", "other"),
        ("", "other"),
    ],
)
def test_what_a_failed_tool_says_tells_its_kind(said: str, kind: str) -> None:
    """By its first line alone."""
    assert failure(said)["kind"] == kind
    assert kind in {*KINDS, *BENIGN}


def test_of_a_failed_tool_one_line_is_kept() -> None:
    """No second line, no secret, and no more than 300 characters."""
    told = failure("<tool_use_error>\n\n token=ghp_" + "a1B2" * 9 + " is wrong\nclass Secret:\n</tool_use_error>")
    assert told["message"] is not None
    assert "ghp_" not in told["message"]
    assert "class Secret" not in told["message"]
    assert len(failure("x" * 10_000)["message"] or "") == 300
    assert failure(None, hint="tool_not_registered") == {"kind": "not_found", "message": "tool_not_registered"}
    assert failure("x", kind="refused")["kind"] == "refused"
    assert failure('the tool failed for function call: {"sql": "private"}')["message"] == (
        "the tool failed for function call:"
    )


def _used(call: str, tool: str) -> dict[str, Any]:
    used = {"type": "tool_use", "id": call, "name": tool, "input": {}}
    message = {"model": "claude-y", "id": f"msg_{call}", "content": [used]}
    return record("assistant", message=message, cwd="/home/mira/shop", gitBranch="trunk")


def _failed(call: str, said: object, **keys: Any) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": call, "is_error": True, "content": said}
    return record("user", message={"content": [result]}, cwd="/home/mira/shop/api", gitBranch="fix", **keys)


@pytest.mark.parametrize("split", [1_000, 1])
def test_failed_tools_of_claude_code_are_events_with_their_tool(read: Read, split: int) -> None:
    """A result names the call alone; what is known of the work stands beside, wherever the file is cut."""
    events, rejects = read(
        _used("toolu_1", "Bash"), _failed("toolu_1", "Exit code 3\nprivate"), _used("toolu_2", "Bash"), split=split
    )
    assert not rejects
    (failed,) = [event for event in events if event.type == "tool.failed"]
    # When a call of an earlier block was made nobody remembers.
    assert failed.payload == {
        **({"duration_seconds": 1.0} if split > 1 else {}),
        "agent": "claude-code",
        "agent_version": "2.1.30",
        "caller": "claude-code@shop",
        "tool": "Bash",
        "kind": "exit_code",
        "message": "Exit code 3",
        "exit_code": 3,
        "model": "claude-y",
        "project": "shop",
        "cwd": "~/shop",
        "branch": "fix",
    }
    assert [event for event in events if event.type == "session.observed"][-1].payload["tools"] == {"Bash": 2}


def test_what_does_not_exist_is_an_error_too(read: Read) -> None:
    """A tool, an agent or a skill that was called and is not there; a missing file is the agent's business."""
    said = ["Agent type 'painter' not found. Available: coder", [{"type": "text", "text": "Unknown skill: juggling"}]]
    events, _ = read(*(_failed(f"toolu_{n}", text) for n, text in enumerate([*said, "File not found: a skill"])))
    errors = [event for event in events if event.type == "error.classified"]
    assert [event.payload["reason"] for event in errors] == ["tool_not_found", "tool_not_found"]
    assert [event.payload["kind"] for event in events if event.type == "tool.failed"] == ["not_found"] * 3


def test_sessions_say_whose_they_are(read: Read) -> None:
    """The caller of their errors, and the work as it was last."""
    events, _ = read(_used("toolu_1", "Read"), reply(cwd="/elsewhere", gitBranch="later"))
    assert events[-1].payload["caller"] == "claude-code@shop"
    assert (events[-1].payload["branch"], events[-1].payload["model"]) == ("later", "claude-x")


@each_row(
    "name, tool, kind, calls",
    [
        ("codex", "shell", "exit_code", {"shell": 1}),
        ("otlp", "edit", "edit_mismatch", {"edit": 1}),
        ("gemini_telemetry", "edit", "refused", {"edit": 1}),
        ("gemini_chat", "edit", "cancelled", {"edit": 1}),
        ("qwen", "edit", "edit_mismatch", {"edit": 1}),
        ("opencode", "bash", "not_found", {"bash": 1}),
        ("opencode_db", "bash", "not_found", {"bash": 1}),
        ("crush_db", "bash", "not_found", {"bash": 1}),
        ("cline", "readFile", "other", {"readFile": 1}),
        ("pi", "bash", "not_found", {"bash": 1}),
        ("copilot", "bash", "timeout", {"bash": 1}),
        ("openhands", "terminal", "not_found", None),
    ],
)
def test_every_format_that_shows_failed_tools_tells_them(
    name: str, tool: str, kind: str, calls: dict[str, int] | None
) -> None:
    """Once each, with the tool and its calls; none of them is an error."""
    events = events_of(name)
    (failed,) = [event for event in events if event.type == "tool.failed"]
    assert (failed.payload["tool"], failed.payload["kind"]) == (tool, kind)
    counted = [event.payload["tools"] for event in events if "tools" in event.payload]
    assert counted == ([calls] if calls else [])


def _called(call: str, **keys: Any) -> dict[str, Any]:
    return _item("function_call", name="exec", arguments="{}", call_id=call, **keys)


def _item(kind: str, **keys: Any) -> dict[str, Any]:
    return {"timestamp": "2026-03-05T10:00:00.000Z", "type": "response_item", "payload": {"type": kind, **keys}}


@each_row(
    "output, kind, message",
    [
        ("Exit code: 0\nOutput:\nError: in a file that was read", None, None),
        ("Plan updated", None, None),
        ('{"output":"private","metadata":{"exit_code":0}}', None, None),
        ('{"output":"private","metadata":{"exit_code":127}}', "environment", "Exit code 127"),
        ("Chunk ID: 1\nWall time: 0.1\nProcess exited with code 1\nOutput:\nprivate", "exit_code", "Exit code 1"),
        ("Exit code: 124\nOutput:\ncommand timed out", "timeout", "Exit code 124: command timed out"),
        ("exec command rejected by user", "refused", "exec command rejected by user"),
        (
            "failed in sandbox Seatbelt with execution error: sandbox denied exec error, exit code: 1",
            "permission",
            None,
        ),
        ("apply_patch verification failed: no such hunk", "edit_mismatch", None),
        ([{"type": "input_text", "text": "Script failed\nprivate"}], "other", "Script failed"),
    ],
)
def test_results_of_codex_tell_failures_by_their_structure(
    read: Read, output: object, kind: str | None, message: str | None
) -> None:
    """By exit codes and Codex's own words; what a tool printed is neither read nor kept."""
    begun = {"timestamp": "2026-03-05T10:00:00.000Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}}
    events, rejects = read(begun, _called("c1"), _item("function_call_output", call_id="c1", output=output))
    assert not rejects
    failed = [event.payload for event in events if event.type == "tool.failed"]
    assert [told["kind"] for told in failed] == ([kind] if kind else [])
    assert "private" not in str(events)
    assert not message or failed[0]["message"] == message
    assert not failed or failed[0]["tool"] == "exec"


def test_calls_of_codex_that_end_in_another_order_keep_their_tools(read: Read) -> None:
    """Parallel calls are answered as they end."""
    begun = {"timestamp": "2026-03-05T10:00:00.000Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}}
    calls = [_item("function_call", name=f"tool-{call}", arguments="{}", call_id=call) for call in ("a", "b", "c")]
    ends = [_item("function_call_output", call_id=call, output="Exit code: 2") for call in ("b", "a", "c", "d")]
    events, _ = read(begun, *calls, *ends)
    told = [event.payload.get("tool") for event in events if event.type == "tool.failed"]
    assert told == ["tool-b", "tool-a", "tool-c", None]


def test_a_call_of_codex_counts_once_whatever_its_id_is(read: Read) -> None:
    """Ids are another program's, and may look like the end of a type."""
    begun = {"timestamp": "2026-03-05T10:00:00.000Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/x"}}
    calls = [_item("function_call", id="_call", name=tool, call_id="_call") for tool in ("exec", "exec", "patch")]
    events, _ = read(begun, *calls)
    assert [event.payload["tools"] for event in events if "tools" in event.payload] == [{"exec": 2, "patch": 1}]


def test_a_command_of_pi_is_told_by_its_end(read: Read) -> None:
    """What it printed stands first, and is not kept."""
    begun = {"type": "session", "id": "s", "timestamp": "2026-03-05T10:00:00.000Z", "cwd": "/x"}
    content = [{"type": "text", "text": "private\n\nCommand exited with code 3"}]
    message = {"role": "toolResult", "toolName": "bash", "isError": True, "content": content}
    events, _ = read(begun, {"type": "message", "id": "e", "timestamp": "2026-03-05T10:00:01.000Z", "message": message})
    (failed,) = [event.payload for event in events if event.type == "tool.failed"]
    assert (failed["kind"], failed["message"]) == ("exit_code", "Command exited with code 3")


@each_row(
    "agent, session, cwd, command",
    [
        ("claude-code", "5e1f-0c2a", None, "claude --resume 5e1f-0c2a"),
        ("codex", "5e1f", "~/my shop", "cd ~/'my shop' && codex resume 5e1f"),
        ("opencode", "ses_1", "/srv/x; rm", "cd '/srv/x; rm' && opencode --session ses_1"),
        ("claude-code", "a; rm -rf ~", None, ""),
        ("claude-code", "--help", None, ""),
        ("claude-code", "5e1f", "/a\nb", "claude --resume 5e1f"),
        ("aider", "5e1f", None, ""),
        ("kilo", "ses_1", None, ""),
        ("traex", "5e1f", None, "traex resume 5e1f"),
        (None, "5e1f", None, ""),
    ],
)
def test_a_session_is_taken_up_again(agent: str | None, session: str, cwd: str | None, command: str) -> None:
    """Ids and folders come from logs: what is no plain id gives no command, and a folder is quoted."""
    assert resuming(agent, session, cwd) == command


@pytest.mark.parametrize(
    "folder",
    [
        "/home/me/shop",
        "/home/me/shop/.claude/worktrees/agent-a1",
        "/home/me/shop/.claude/worktrees/agent-a1/src",
        "/home/me/shop/.worktrees/fix",
        "/home/me/shop.worktrees/fix",
        "/home/me/.cursor/worktrees/shop/x1",
        "/home/me/.codex/worktrees/8f2a/shop",
        "/home/me/.claude-worktrees/shop/brave-lamarr",
        "C:\\work\\shop\\.claude\\worktrees\\a1",
    ],
)
def test_a_worktree_belongs_to_its_project(folder: str) -> None:
    """Wherever its agent keeps it."""
    assert place_of(folder)["project"] == "shop"
