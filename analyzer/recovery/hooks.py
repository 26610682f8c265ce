"""Inputs of agents' hooks, appended to files of OpenTelemetry logs; and a line for Claude Code's status line.

An agent waits for its hooks: only JSON and redaction are loaded, nothing is classified, and the hook always ends with
0. The records are those of the agent's own telemetry, so `ingest` reads them, and counts an event once that a
transcript has as well. Fields: Claude Code's references of hooks and of the status line, as of 2026-11-26
(StopFailure came with 2.1.78); Codex 0.171's `notify`; the hooks of Gemini CLI 0.61.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeGuard

_LONGEST = 16 << 20
"""Bytes of input that are read as JSON; of a longer input only event, session and tool are kept."""
_KEPT = 1_000
"""Characters of a text that are kept, after redaction."""
_TAIL = 1 << 18
"""Bytes at the end of a transcript that are searched for retries."""
_RETRIED = b'"api_error"'
_STATED_SECONDS = 60
"""The least seconds between two records of limits, which are only written after a change."""
_LIMITS = (("five_hour", "5h", 5 * 3600), ("seven_day", "7d", 7 * 86_400))
AGENTS = {"codex": "codex", "gemini": "gemini-cli"}
"""The agent of a hook, by the word after `analyzer hook`; without a word it is Claude Code's."""


def hook_folder() -> str:
    """Return the folder that hooks write to: `$ANALYZER_HOOKS`, else one among the user's data."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.environ.get("ANALYZER_HOOKS") or os.path.join(data, "analyzer", "hooks")


def run(what: str | None, argument: str | None = None) -> int:
    """Take a hook's input, its argument or else standard input; with `status` write a status line.

    With `stop` the argument is a file: while it is there, the agent is asked to end its turn.

    Return 0.
    """
    try:
        if what == "stop":
            sys.stdout.write(stop_answer(argument or ""))
            sys.stdout.flush()
            return 0
        data = _input(argument if argument is not None else sys.stdin.buffer.read(_LONGEST + 1))
        if what == "status":
            sys.stdout.write(status_line(data, time.time()) + "\n")
            sys.stdout.flush()
            log_limits(data, time.time(), hook_folder())
        else:
            agent = AGENTS.get(what or "", "claude-code")
            if (event := event_of(data, agent)) is not None:
                append([event], time.time(), hook_folder(), agent)
    except Exception as error:  # noqa: BLE001 - a hook never fails its agent
        try:
            sys.stderr.write(f"analyzer hook: {type(error).__name__}\n")
        except Exception:  # noqa: BLE001 - stderr is closed
            return 0
    return 0


def stop_answer(path: str) -> str:
    """Return what tells Claude Code to end its turn, with the reason that the file holds; empty without the file."""
    path = os.path.expanduser(path)
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        reason = file.read(_KEPT).strip()
    return json.dumps({"continue": False, "stopReason": reason or "The budget is passed."}) + "\n"


def _input(data: str | bytes) -> Any:
    if len(data) <= _LONGEST or isinstance(data, str):
        return json.loads(data)
    import re

    fields = re.findall(rb'"(hook_event_name|session_id|tool_name)": ?"([^"\\]{1,200})"', data)
    mark = f"[the hook's input is longer than {_LONGEST >> 20} MiB: not read]"
    return {"error": mark, **{key.decode(): value.decode() for key, value in reversed(fields)}}


def event_of(data: Mapping[str, Any], agent: str) -> dict[str, Any] | None:
    """Return the event that a hook's input becomes, as attributes by name; None for inputs without an event.

    It holds nothing of prompts, replies and arguments of tools. Of a tool's error it holds the first line, and the last
    one if the first is only an exit code.
    """
    kind = data.get("hook_event_name")
    session = {"session.id": data.get("session_id")}
    if agent == "codex":
        # Codex reports turns that ended well, and none that failed.
        if data.get("type") != "agent-turn-complete":
            return None
        return {"event.name": "codex.turn_complete", "conversation.id": data.get("thread-id")}
    if agent == "gemini-cli":
        if kind == "SessionEnd":
            return {"event.name": "gemini_cli.session_end", **session, "reason": data.get("reason")}
        response = data.get("tool_response")
        error = response.get("error") if kind == "AfterTool" and isinstance(response, dict) else None
        if not isinstance(error, dict):
            return None
        failed = {"function_name": data.get("tool_name"), "success": "false", "error_type": error.get("type")}
        return {"event.name": "gemini_cli.tool_call", **session, **failed, "error": _first_line(error.get("message"))}
    if kind == "StopFailure":
        # In this hook the last message is the error as it was shown, and no reply.
        messages = [data.get("error_details") or data.get("error_message"), data.get("last_assistant_message")]
        error_type = data.get("error_type") or data.get("error")
        own = {
            "error_type": error_type,
            "error.message": "; ".join(message for message in messages if _is_text(message)),
        }
        return {"event.name": "claude_code.api_error", **session, **own}
    if kind == "PostToolUseFailure":
        own = {"tool_name": data.get("tool_name"), "success": "false", "error": _first_line(data.get("error"))}
        stopped = {"decision": "cancelled"} if data.get("is_interrupt") is True else {}
        return {"event.name": "claude_code.tool_result", **session, **own, **stopped}
    if kind == "SessionEnd":
        return {"event.name": "claude_code.session_end", **session, "reason": data.get("reason")}
    return None


def _first_line(error: object) -> str:
    from analyzer.redaction import redact

    lines = [line.strip() for line in redact(str(error or "")).splitlines() if line.strip()] or [""]
    coded = len(lines) > 1 and lines[0].lower().startswith("exit code")
    return "\n".join([lines[0], lines[-1]] if coded else lines[:1])


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _attribute(key: str, value: str) -> dict[str, Any]:
    from analyzer.redaction import redact

    return {"key": key, "value": {"stringValue": redact(value)[:_KEPT]}}


def append(events: list[dict[str, Any]], at: float, folder: str, agent: str, what: str = "") -> None:
    """Append events of a moment to the file of this month,
    in one write that no other hook can split.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    logs = [
        {
            "timeUnixNano": str(int(at * 1e9)),
            "attributes": [_attribute(key, value) for key, value in event.items() if _is_text(value)],
        }
        for event in events
    ]
    resource = {"attributes": [_attribute("service.name", agent)]}
    record = {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": logs}]}]}
    os.makedirs(folder, mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(_path(folder, agent, what, at), flags, 0o600)
    try:
        os.write(handle, json.dumps(record).encode() + b"\n")
    finally:
        os.close(handle)


def _path(folder: str, agent: str, what: str, at: float) -> str:
    return os.path.join(folder, f"{agent}{what}-{time.strftime('%Y-%m', time.gmtime(at))}.jsonl")


def log_limits(data: Mapping[str, Any], now: float, folder: str) -> None:
    """Append the used shares of the limits,
    if they have changed and the last record is a minute old.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    events = [
        {
            "event.name": "claude_code.limit",
            "session.id": data.get("session_id"),
            "window_minutes": str(seconds // 60),
            "used_share": f"{min(used / 100, 1):.4f}",
            "reset_at": "" if resets is None else f"{resets:.0f}",
        }
        for _, seconds, used, resets in _limits(data)
    ]
    path = _path(folder, "claude-code", "-limits", now)
    try:
        if 0 <= now - os.stat(path).st_mtime < _STATED_SECONDS:
            return
        with open(path, "rb") as log:
            log.seek(max(0, os.path.getsize(path) - 4 * _KEPT))
            last = _record(log.read().splitlines()[-1])
        before = [
            {attribute["key"]: attribute["value"]["stringValue"] for attribute in logged["attributes"]}
            for logged in last["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        ]
    except (OSError, LookupError, TypeError):
        before = []  # nothing is logged yet, or it cannot be read: then it is logged again
    if events and [_stated(event) for event in events] != [_stated(event) for event in before]:
        append(events, now, folder, "claude-code", "-limits")


def _stated(event: dict[str, Any]) -> list[Any]:
    return [event.get(key) or "" for key in ("window_minutes", "used_share", "reset_at")]


def _limits(data: Mapping[str, Any]) -> list[tuple[str, int, float, float | None]]:
    """Return the limits that Claude Code states: name, length in seconds,
    per cent used, reset in seconds since 1970.
    """
    limits = data.get("rate_limits")
    stated = []
    for key, name, seconds in _LIMITS:
        limit = limits.get(key) if isinstance(limits, dict) else None
        if not isinstance(limit, dict):
            continue
        used = limit.get("used_percentage")
        if isinstance(used, int | float) and not isinstance(used, bool) and 0 <= used <= 1000:
            stated.append((name, seconds, used, _seconds(limit.get("resets_at"))))
    return stated


def status_line(data: Mapping[str, Any], now: float) -> str:
    """Return the retries of the session's last calls, whose fault they are, and the used limits.

    `ok` without any.
    """
    parts = _retries(data.get("transcript_path"))
    for name, seconds, used, resets in _limits(data):
        parts.append(f"{name} limit {used:.0f} %{_reached(used, resets, seconds, now)}")
    return " · ".join(parts) or "ok"


def _seconds(moment: object) -> float | None:
    """Return a moment in seconds since 1970,
    which versions of Claude Code write as a number or as a text.
    """
    if isinstance(moment, str):
        from datetime import datetime

        try:
            return datetime.fromisoformat(moment).timestamp()
        except ValueError:
            return None
    return float(moment) if isinstance(moment, int | float) and 0 < moment < 1e11 else None


def _reached(used: float, resets: float | None, length: int, now: float) -> str:
    """Say when a limit is reached at the mean pace of its window so far,
    if that is before it resets.
    """
    if resets is None or not resets - length < now < resets or used <= 0:
        return ""
    if used >= 100:
        return time.strftime(", back %H:%M", time.localtime(resets))
    began = resets - length
    full = began + (now - began) * 100 / used
    # The pace of a window that has just begun has no meaning.
    return (
        time.strftime(", reached ~%H:%M", time.localtime(full)) if full < resets and now - began > length / 10 else ""
    )


def _retries(path: object) -> list[str]:
    """Return the retries since the last reply at the end of a transcript,
    and whose fault the last one was.
    """
    if not isinstance(path, str) or not os.path.isfile(path):
        return []
    with open(path, "rb") as transcript:
        transcript.seek(max(0, os.path.getsize(path) - _TAIL))
        lines = transcript.read(_TAIL).splitlines()
    failed = []
    for line in reversed(lines):
        if _RETRIED in line and (record := _record(line)).get("subtype") == "api_error":
            failed.append(record)
        elif failed or b'"type":"assistant"' in line:
            break
    if not failed:
        return []
    from analyzer.classifier import classify

    error = failed[0].get("error")
    party = classify({**error, "is_error": True} if isinstance(error, dict) else error).party
    whose = {"provider": "theirs", "network": "the network's", "account": "yours: the account's"}.get(party, party)
    return [f"{len(failed)} {'retry' if len(failed) == 1 else 'retries'}", whose]


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
