"""What Claude Code's hooks say, appended to a file of OpenTelemetry logs; and a line for its status line.

An agent waits for its hooks: nothing is loaded but JSON and redaction, nothing is judged, and whatever is wrong, the
hook ends with 0. The records are those that the agent's own telemetry has, so `ingest` reads them, and counts what a
transcript tells as well once. Fields: Claude Code's hooks reference, as of 2026-11-26 (StopFailure came with 2.1.78).
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

_LONGEST = 1 << 20
"""Bytes of input that are read."""
_HEARD, _KEPT = 16_384, 1_000
"""Characters of a text that are searched for secrets, and those that are kept of it then."""
_TAIL = 1 << 18
"""Bytes at the end of a transcript that are looked through for retries."""
_RETRIED = b'"api_error"'


def hook_folder() -> str:
    """Where hooks write: `$ANALYZER_HOOKS`, else a folder among the user's data."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return os.environ.get("ANALYZER_HOOKS") or os.path.join(data, "analyzer", "hooks")


def run(what: str | None) -> int:
    """Take a hook's input from standard input; with `status` write a status line. Always 0."""
    try:
        given = json.loads(sys.stdin.buffer.read(_LONGEST))
        if what == "status":
            sys.stdout.write(status_line(given, time.time()) + "\n")
            sys.stdout.flush()
        elif (record := record_of(given, time.time_ns())) is not None:
            append(record, hook_folder())
    except Exception as error:  # noqa: BLE001 - a hook never fails its agent
        try:
            sys.stderr.write(f"analyzer hook: {type(error).__name__}\n")
        except Exception:  # noqa: BLE001 - nobody listens
            return 0
    return 0


def record_of(given: Mapping[str, Any], at: int) -> dict[str, Any] | None:
    """Return the request of OpenTelemetry that a hook's input becomes at a moment (ns since 1970); None for others.

    Nothing of a prompt, a reply or what a tool was called with is in it, and of a tool's error its first line, and the
    last one where the first has an exit code alone.
    """
    event = given.get("hook_event_name")
    if event == "StopFailure":
        # In this hook the last message is the error as it was shown, and no reply.
        said = [given.get("error_details") or given.get("error_message"), given.get("last_assistant_message")]
        error = given.get("error_type") or given.get("error")
        own: dict[str, Any] = {"error_type": error, "error.message": "; ".join(part for part in said if _text(part))}
        name = "api_error"
    elif event == "PostToolUseFailure":
        lines = [line.strip() for line in str(given.get("error") or "").splitlines() if line.strip()] or [""]
        told = lines[:1] if len(lines) == 1 or not lines[0].lower().startswith("exit code") else [lines[0], lines[-1]]
        own = {"tool_name": given.get("tool_name"), "success": "false", "error": "\n".join(told)}
        name = "tool_result"
        if given.get("is_interrupt") is True:
            own["decision"] = "cancelled"
    elif event == "SessionEnd":
        name, own = "session_end", {"reason": given.get("reason")}
    else:
        return None
    found = {"event.name": f"claude_code.{name}", "session.id": given.get("session_id"), **own}
    attributes = [_attribute(key, value) for key, value in found.items() if _text(value)]
    log = {"timeUnixNano": str(at), "attributes": attributes}
    resource = {"attributes": [_attribute("service.name", "claude-code")]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [log]}]}]}


def _text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _attribute(key: str, value: str) -> dict[str, Any]:
    from analyzer.redaction import redact

    # Far more is searched than is kept, so that no secret is cut in two before it is found.
    return {"key": key, "value": {"stringValue": redact(value[:_HEARD])[:_KEPT]}}


def append(record: Mapping[str, Any], folder: str) -> None:
    """Append a record to the file of this month with one write, which no other hook's comes into.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, time.strftime("claude-code-%Y-%m.jsonl", time.gmtime()))
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags, 0o600)
    try:
        os.write(handle, json.dumps(record).encode() + b"\n")
    finally:
        os.close(handle)


def status_line(given: Mapping[str, Any], now: float) -> str:
    """Return retries of the session's last calls and whose they are, and how full its limits are; `ok` for neither."""
    parts = _retries(given.get("transcript_path"))
    limits = given.get("rate_limits")
    for key, name, seconds in (("five_hour", "5h", 5 * 3600), ("seven_day", "7d", 7 * 86_400)):
        limit = limits.get(key) if isinstance(limits, dict) else None
        if not isinstance(limit, dict):
            continue
        used = limit.get("used_percentage")
        if isinstance(used, int | float) and 0 <= used <= 1000:
            parts.append(f"{name} limit {used:.0f} %{_reached(used, _seconds(limit.get('resets_at')), seconds, now)}")
    return " · ".join(parts) or "ok"


def _seconds(moment: object) -> float | None:
    """A moment in seconds since 1970, which versions of Claude Code give as a number or as a text."""
    if isinstance(moment, str):
        from datetime import datetime

        try:
            return datetime.fromisoformat(moment).timestamp()
        except ValueError:
            return None
    return float(moment) if isinstance(moment, int | float) and not isinstance(moment, bool) else None


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
