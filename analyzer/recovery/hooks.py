"""What the hooks of agents say, appended to files of OpenTelemetry logs; and a line for Claude Code's status line.

An agent waits for its hooks: nothing is loaded but JSON and redaction, nothing is judged, and whatever is wrong, the
hook ends with 0. The records are those that the agent's own telemetry has, so `ingest` reads them, and counts what a
transcript tells as well once. Fields: Claude Code's references of hooks and of the status line, as of 2026-11-26
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
"""Bytes of input that are read as JSON; of a longer one, what happened and where."""
_KEPT = 1_000
"""Characters that are kept of a text, after it was searched for secrets."""
_TAIL = 1 << 18
"""Bytes at the end of a transcript that are looked through for retries."""
_RETRIED = b'"api_error"'
_STATED_SECONDS = 60
"""Limits are logged so often at most, and where they have changed."""
_LIMITS = (("five_hour", "5h", 5 * 3600), ("seven_day", "7d", 7 * 86_400))
AGENTS = {"codex": "codex", "gemini": "gemini-cli"}
"""Whose hook it is, by the word behind `analyzer hook`; Claude Code's without one."""


def hook_folder() -> str:
    """Where hooks write: `$ANALYZER_HOOKS`, else a folder among the user's data."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.environ.get("ANALYZER_HOOKS") or os.path.join(data, "analyzer", "hooks")


def run(what: str | None, argument: str | None = None) -> int:
    """Take a hook's input, its argument or else standard input; with `status` write a status line. Always 0."""
    try:
        given = _input(argument if argument is not None else sys.stdin.buffer.read(_LONGEST + 1))
        if what == "status":
            sys.stdout.write(status_line(given, time.time()) + "\n")
            sys.stdout.flush()
            log_limits(given, time.time(), hook_folder())
        else:
            agent = AGENTS.get(what or "", "claude-code")
            if (event := event_of(given, agent)) is not None:
                append([event], time.time(), hook_folder(), agent)
    except Exception as error:  # noqa: BLE001 - a hook never fails its agent
        try:
            sys.stderr.write(f"analyzer hook: {type(error).__name__}\n")
        except Exception:  # noqa: BLE001 - nobody listens
            return 0
    return 0


def _input(data: str | bytes) -> Any:
    if len(data) <= _LONGEST or isinstance(data, str):
        return json.loads(data)
    import re

    fields = re.findall(rb'"(hook_event_name|session_id|tool_name)": ?"([^"\\]{1,200})"', data)
    mark = f"[the hook's input is longer than {_LONGEST >> 20} MiB: not read]"
    return {"error": mark, **{key.decode(): value.decode() for key, value in reversed(fields)}}


def event_of(given: Mapping[str, Any], agent: str) -> dict[str, Any] | None:
    """Return the event that a hook's input becomes, as attributes by name; None for inputs that tell nothing.

    Nothing of a prompt, a reply or what a tool was called with is in it, and of a tool's error its first line, and the
    last one where the first has an exit code alone.
    """
    kind = given.get("hook_event_name")
    session = {"session.id": given.get("session_id")}
    if agent == "codex":
        # It tells turns that ended well, and nothing of those that failed.
        if given.get("type") != "agent-turn-complete":
            return None
        return {"event.name": "codex.turn_complete", "conversation.id": given.get("thread-id")}
    if agent == "gemini-cli":
        if kind == "SessionEnd":
            return {"event.name": "gemini_cli.session_end", **session, "reason": given.get("reason")}
        response = given.get("tool_response")
        error = response.get("error") if kind == "AfterTool" and isinstance(response, dict) else None
        if not isinstance(error, dict):
            return None
        failed = {"function_name": given.get("tool_name"), "success": "false", "error_type": error.get("type")}
        return {"event.name": "gemini_cli.tool_call", **session, **failed, "error": _first_line(error.get("message"))}
    if kind == "StopFailure":
        # In this hook the last message is the error as it was shown, and no reply.
        said = [given.get("error_details") or given.get("error_message"), given.get("last_assistant_message")]
        error_type = given.get("error_type") or given.get("error")
        own = {"error_type": error_type, "error.message": "; ".join(part for part in said if _text(part))}
        return {"event.name": "claude_code.api_error", **session, **own}
    if kind == "PostToolUseFailure":
        own = {"tool_name": given.get("tool_name"), "success": "false", "error": _first_line(given.get("error"))}
        stopped = {"decision": "cancelled"} if given.get("is_interrupt") is True else {}
        return {"event.name": "claude_code.tool_result", **session, **own, **stopped}
    if kind == "SessionEnd":
        return {"event.name": "claude_code.session_end", **session, "reason": given.get("reason")}
    return None


def _first_line(error: object) -> str:
    from analyzer.redaction import redact

    lines = [line.strip() for line in redact(str(error or "")).splitlines() if line.strip()] or [""]
    coded = len(lines) > 1 and lines[0].lower().startswith("exit code")
    return "\n".join([lines[0], lines[-1]] if coded else lines[:1])


def _text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _attribute(key: str, value: str) -> dict[str, Any]:
    from analyzer.redaction import redact

    return {"key": key, "value": {"stringValue": redact(value)[:_KEPT]}}


def append(events: list[dict[str, Any]], at: float, folder: str, agent: str, what: str = "") -> None:
    """Append events of a moment to the file of this month with one write, which no other hook's comes into.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    logs = [
        {
            "timeUnixNano": str(int(at * 1e9)),
            "attributes": [_attribute(key, value) for key, value in event.items() if _text(value)],
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


def log_limits(given: Mapping[str, Any], now: float, folder: str) -> None:
    """Append how full the limits are, where that has changed since it was logged last, a minute ago or longer.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    events = [
        {
            "event.name": "claude_code.limit",
            "session.id": given.get("session_id"),
            "window_minutes": str(seconds // 60),
            "used_share": f"{min(used / 100, 1):.4f}",
            "reset_at": "" if resets is None else f"{resets:.0f}",
        }
        for _, seconds, used, resets in _limits(given)
    ]
    path = _path(folder, "claude-code", "-limits", now)
    try:
        if 0 <= now - os.stat(path).st_mtime < _STATED_SECONDS:
            return
        with open(path, "rb") as log:
            log.seek(max(0, os.path.getsize(path) - 4 * _KEPT))
            last = _record(log.read().splitlines()[-1])
        before = [
            {each["key"]: each["value"]["stringValue"] for each in logged["attributes"]}
            for logged in last["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
        ]
    except (OSError, LookupError, TypeError):
        before = []  # nothing is logged yet, or it cannot be read: then it is logged again
    if events and [_stated(event) for event in events] != [_stated(event) for event in before]:
        append(events, now, folder, "claude-code", "-limits")


def _stated(event: dict[str, Any]) -> list[Any]:
    return [event.get(key) or "" for key in ("window_minutes", "used_share", "reset_at")]


def _limits(given: Mapping[str, Any]) -> list[tuple[str, int, float, float | None]]:
    """The limits that Claude Code states: name, length in seconds, per cent used, reset in seconds since 1970."""
    limits = given.get("rate_limits")
    found = []
    for key, name, seconds in _LIMITS:
        limit = limits.get(key) if isinstance(limits, dict) else None
        if not isinstance(limit, dict):
            continue
        used = limit.get("used_percentage")
        if isinstance(used, int | float) and not isinstance(used, bool) and 0 <= used <= 1000:
            found.append((name, seconds, used, _seconds(limit.get("resets_at"))))
    return found


def status_line(given: Mapping[str, Any], now: float) -> str:
    """Return retries of the session's last calls and whose they are, and how full its limits are; `ok` for neither."""
    parts = _retries(given.get("transcript_path"))
    for name, seconds, used, resets in _limits(given):
        parts.append(f"{name} limit {used:.0f} %{_reached(used, resets, seconds, now)}")
    return " · ".join(parts) or "ok"


def _seconds(moment: object) -> float | None:
    """A moment in seconds since 1970, which versions of Claude Code give as a number or as a text."""
    if isinstance(moment, str):
        from datetime import datetime

        try:
            return datetime.fromisoformat(moment).timestamp()
        except ValueError:
            return None
    return float(moment) if isinstance(moment, int | float) and 0 < moment < 1e11 else None


def _reached(used: float, resets: float | None, length: int, now: float) -> str:
    """When a limit is reached at the mean pace of its window so far, where that comes before it resets."""
    if resets is None or not resets - length < now < resets or used <= 0:
        return ""
    if used >= 100:
        return time.strftime(", back %H:%M", time.localtime(resets))
    began = resets - length
    full = began + (now - began) * 100 / used
    # Of a window that has just begun the pace says nothing.
    return (
        time.strftime(", reached ~%H:%M", time.localtime(full)) if full < resets and now - began > length / 10 else ""
    )


def _retries(path: object) -> list[str]:
    """Retries since the last reply at the end of a transcript, and whose fault the last one was."""
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
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
