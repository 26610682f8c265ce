"""A second count of what agents' logs hold, beside what is read of them: `python -m tests.importers.oracle FOLDER`.

The folder holds `AGENT/SCENARIO/transcript.*`. Of each log the failed requests, retries, compactions, calls of tools
and those that failed, stops by the user, four kinds of tokens and the last moment are counted with nothing but `json`,
and held against the events of an ingest. One line is printed for each difference, with the reason where there is one;
the exit code says whether a difference has none.

Looked at: google-gemini/gemini-cli `packages/core/src/services/chatRecordingService.ts`, badlogic/pi-mono
`packages/ai/src/types.ts`, mistralai/mistral-vibe `vibe/core/agent_loop.py` and `compaction.py`; of the other agents
what their own logs show, 2026.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import analyzer

Figures = Counter[str]
EXPLAINED = {
    ("copilot", "errors"): "a chain of so many attempts, of which the log tells the number and the last one's words",
    ("copilot", "retries"): "the same",
    ("aider", "input"): "it writes hundreds of tokens, and none of a cache apart",
    ("aider", "output"): "the same",
    ("mistral-vibe", "ended"): "no record has a time: that of the file stands in",
    ("codex", "proposed-plan-pending"): "a log made by hand, whose sums are those of its last reply",
}
"""Why a figure differs that is right on both sides, by agent and figure, or by agent and scenario."""


def under(found: object, *keys: str) -> Any:
    """What stands under keys of nested objects; None where one is missing."""
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def objects(found: object) -> Iterator[dict[str, Any]]:
    """An object and all those inside of it."""
    if isinstance(found, dict):
        yield found
        found = list(found.values())
    for item in found if isinstance(found, list) else ():
        yield from objects(item)


def used(
    figures: Figures, prompt: int | None, output: int | None, read: int | None = 0, written: int | None = 0
) -> None:
    """Add the tokens of a request whose prompt counts what the cache gave and took."""
    cached = (read or 0) + (written or 0)
    figures += Counter(input=max((prompt or 0) - cached, 0), output=output or 0, read=read or 0, written=written or 0)


def codex(records: list[dict[str, Any]]) -> Figures:
    """A turn's failure is told once or twice; the tokens of the last count are those of all of the session."""
    found, totals, names, failure, session = Figures(), {}, {}, None, None
    for record in records:
        said = record.get("payload") or {}
        kind = said.get("type")
        session = said.get("id") if record.get("type") == "session_meta" else session
        if record.get("type") == "compacted":
            found["compactions"] += 1
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            found["calls"] += 1
            names[said.get("call_id")] = said.get("name", "shell")
        elif kind in ("function_call_output", "custom_tool_call_output"):
            output = said.get("output")
            answer = output if isinstance(output, str) else "\n".join(str(part.get("text")) for part in output or ())
            code = re.search(r'(?:^Exit code: |exited with code |"exit_code": ?)(-?\d+)', answer[:1_000])
            runs = names.get(said.get("call_id")) in ("shell", "exec_command", "shell_command")
            waits = "Process running with session" in answer[:1_000]
            scripted = answer.startswith("Script failed")
            found["failed"] += int(code[1]) != 0 if code else scripted or (runs and not waits)
        elif kind == "token_count" and under(said, "info", "total_token_usage"):
            totals[session] = said["info"]["total_token_usage"]
        elif kind == "turn_aborted":
            found["aborted"] += 1
        error = said if kind == "error" else said.get("error") if kind == "task_complete" else None
        if error and error.get("message") != failure:
            found["errors"] += 1
        failure = error["message"] if error and kind == "error" else None if kind == "task_complete" else failure
    for total in totals.values():
        used(found, total.get("input_tokens"), total.get("output_tokens"), total.get("cached_input_tokens"))
    return found


def claude(records: list[dict[str, Any]]) -> Figures:
    """A reply stands on several lines under one id, with ever more output tokens; those of subagents inside others."""
    found, calls = Figures(), set()
    replies: dict[object, dict[str, Any]] = {}
    results: dict[object, bool] = {}
    for record in records:
        found["compactions"] += record.get("subtype") == "compact_boundary"
        found["errors"] += record.get("isApiErrorMessage") is True or record.get("subtype") == "api_error"
        found["retries"] += record.get("subtype") == "api_error"
        for each in objects({key: value for key, value in record.items() if key != "toolUseResult"}):
            usage = each.get("usage")
            if each.get("role") == "assistant" and isinstance(usage, dict) and each.get("model") != "<synthetic>":
                before = replies.get(each.get("id"), {})
                if (usage.get("output_tokens") or 0) >= (before.get("output_tokens") or 0):
                    replies[each.get("id")] = usage
            if each.get("type") == "tool_use":
                calls.add(each.get("id"))
            if each.get("type") == "tool_result":
                results[each.get("tool_use_id")] = each.get("is_error") is True
    for usage in replies.values():
        read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
        prompt = (usage.get("input_tokens") or 0) + (read or 0) + (written or 0)
        used(found, prompt, usage.get("output_tokens"), read, written)
    return found + Counter(calls=len(calls), failed=sum(results.values()))


def copilot(records: list[dict[str, Any]]) -> Figures:
    """The end of a session sums up its tokens since it was begun first, whoever resumed it."""
    found, ends = Figures(), {}
    for record in records:
        kind, data = record.get("type"), record.get("data") or {}
        if kind == "session.error":
            found["errors"] += 1
            retried = re.search(r"retried (\d+) times?", data.get("message", ""))
            found["errors"] += int(retried[1]) if retried else 0
            found["retries"] += int(retried[1]) if retried else 0
        found["compactions"] += kind in ("session.compaction_complete", "session.truncation")
        found["calls"] += kind == "tool.execution_start"
        found["failed"] += kind == "tool.execution_complete" and data.get("success") is False
        found["aborted"] += kind == "abort"
        if kind == "session.shutdown":
            ends[data.get("sessionStartTime")] = [
                under(each, "usage") for each in data.get("modelMetrics", {}).values()
            ]
        elif kind == "session.compaction_complete":
            ends[record.get("id")] = [data.get("compactionTokensUsed")]
    for usage in (usage or {} for usages in ends.values() for usage in usages):
        read, written = usage.get("cacheReadTokens"), usage.get("cacheWriteTokens")
        used(found, usage.get("inputTokens"), usage.get("outputTokens"), read, written)
    return found


def gemini(records: list[dict[str, Any]]) -> Figures:
    """A message that is written again, alone or among all messages, takes the place of the one of its id."""
    found, messages, calls = Figures(), {}, {}
    for record in records:
        for message in [record, *(record.get("messages") or []), *(under(record, "$set", "messages") or [])]:
            if "id" in message and "type" in message:
                messages[message["id"]] = message
    for message in messages.values():
        calls.update({call.get("id"): call.get("status") for call in message.get("toolCalls") or []})
        said = message.get("content") if isinstance(message.get("content"), str) else ""
        found["errors"] += message["type"] == "error" and said.startswith("[API Error")
        found["aborted"] += message["type"] == "info" and said.startswith("Request cancelled.")
        found["compactions"] += message["type"] == "info" and "compressed from" in said
        if tokens := message.get("tokens"):
            output = (tokens.get("output") or 0) + (tokens.get("thoughts") or 0)
            used(found, (tokens.get("input") or 0) + (tokens.get("tool") or 0), output, tokens.get("cached"))
    ended = [status for status in calls.values() if status in ("success", "error", "cancelled")]
    return found + Counter(calls=len(ended), failed=sum(status != "success" for status in ended))


def pi(records: list[dict[str, Any]]) -> Figures:
    """A failed reply with another reply behind it, before the user says anything, was tried again."""
    found, failed = Figures(), False
    for record in records:
        message = record.get("message") or {}
        found["compactions"] += record.get("type") == "compaction"
        if message.get("role") == "user":
            failed = False
        elif message.get("role") == "toolResult":
            found["calls"] += 1
            found["failed"] += message.get("isError") is True
        elif message.get("role") == "assistant":
            found["retries"] += failed and message.get("stopReason") != "aborted"
            failed = message.get("stopReason") == "error"
            found["errors"] += failed
            found["aborted"] += message.get("stopReason") == "aborted"
            usage = message.get("usage") or {}
            read, written = usage.get("cacheRead") or 0, usage.get("cacheWrite") or 0
            used(found, (usage.get("input") or 0) + read + written, usage.get("output"), read, written)
    return found


def hermes(records: list[dict[str, Any]]) -> Figures:
    """Tools answer with an object that has an error, a code, or no success."""
    found = Figures()
    for record in records:
        found["compactions"] += record.get("end_reason") == "compression"
        calls = record.get("tool_calls")
        found["calls"] += len((json.loads(calls) if isinstance(calls, str) else calls) or []) if calls else 0
        if record.get("role") == "tool":
            try:
                said = json.loads(record.get("content") or "")
            except ValueError:
                continue
            answer = said if isinstance(said, dict) else {}
            bad = answer.get("error") or answer.get("exit_code") or answer.get("success") is False
            found["failed"] += bool(bad)
    return found


def turns(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The turns of a session of Kiro's."""
    return under(record, "session_state", "conversation_metadata", "user_turn_metadatas") or []


def kiro(records: list[dict[str, Any]]) -> Figures:
    """Calls and results are parts of messages; a turn ends in a reply or an error."""
    found = Figures()
    for record in records:
        for part in under(record, "data", "content") or []:
            found["calls"] += part.get("kind") == "toolUse"
            code = re.search(r'"exit_status": ?"exit status: [1-9]', json.dumps(part))
            bad = under(part, "data", "status") == "error" or code is not None
            found["failed"] += part.get("kind") == "toolResult" and bad
        for turn in turns(record):
            found["errors"] += "Err" in (turn.get("result") or {})
            found["aborted"] += turn.get("end_reason") == "Cancelled"
    return found


def vibe(records: list[dict[str, Any]]) -> Figures:
    """Failures, stops and summaries are told by tags in what is said."""
    found = Figures()
    for record in records:
        said = str(record.get("content") or "")
        found["calls"] += len(record.get("tool_calls") or [])
        stopped = record.get("role") == "tool" and said.startswith("<user_cancellation>")
        found["failed"] += stopped or (record.get("role") == "tool" and said.startswith("<tool_error>"))
        found["compactions"] += record.get("injected") is True and "<compaction_summary>" in said
    return found


def antigravity(records: list[dict[str, Any]]) -> Figures:
    """A failed reply with another one behind it was tried again; checkpoint 0 is made ready at the first turn's end."""
    found, failed = Figures(), False
    for record in records:
        kind, said = record.get("type"), str(record.get("content"))
        found["retries"] += failed and kind in ("ERROR_MESSAGE", "PLANNER_RESPONSE")
        found["errors"] += kind == "ERROR_MESSAGE"
        failed = kind == "ERROR_MESSAGE" or (failed and kind not in ("PLANNER_RESPONSE", "USER_INPUT"))
        found["compactions"] += kind == "CHECKPOINT" and re.match(r"\{\{ CHECKPOINT [1-9]", said) is not None
        found["calls"] += len(record.get("tool_calls") or [])
        found["failed"] += "The command failed with exit code" in str(record.get("content"))[:300]
    return found


def aider(text: str) -> Figures:
    """What was asked, answered and told stands line by line; tokens are rounded, as in `2.5k`."""
    sent = re.findall(r"(?m)^> Tokens: ([\d.]+)(k?) sent, (?:[^\n]* )?([\d.]+)(k?) received", text)
    tokens = [(float(put) * (1_000 if k else 1), float(got) * (1_000 if m else 1)) for put, k, got, m in sent]
    return Figures(
        input=round(sum(put for put, _ in tokens)),
        output=round(sum(got for _, got in tokens)),
        errors=len(re.findall(r"(?m)^> litellm\.\w+(?:Error|Exception)", text)),
        retries=len(re.findall(r"(?m)^> Retrying in [\d.]+ seconds", text)),
        aborted=len(re.findall(r"(?m)^> *\^C again to exit", text)),
    )


COUNTS: Mapping[str, Callable[[list[dict[str, Any]]], Figures]] = {
    "codex": codex,
    "claudecode": claude,
    "copilot": copilot,
    "gemini-cli": gemini,
    "pi": pi,
    "hermes": hermes,
    "kiro-cli": kiro,
    "mistral-vibe": vibe,
    "antigravity": antigravity,
}
_TIMES = ("timestamp", "created_at", "updated_at", "end_timestamp", "lastUpdated", "startTime")


def decoded(texts: list[str]) -> Iterator[dict[str, Any]]:
    """The objects that stand at the beginning of texts, several of them where they are glued together."""
    decode = json.JSONDecoder().raw_decode
    for text in texts:
        while text := text.lstrip():
            try:
                record, end = decode(text)
            except ValueError:
                break
            yield record
            text = text[end:]


def counted(agent: str, path: Path) -> tuple[Figures, str | None]:
    """The figures of a log, and its last moment, to the second."""
    text = path.read_text("utf-8")
    if agent == "aider":
        began = re.findall(r"(?m)^# aider chat started at (.{19})", text)
        last = datetime.fromisoformat(began[-1]).astimezone(UTC) if began else None
        return aider(text), f"{last:%Y-%m-%dT%H:%M:%S}" if last else None
    records = list(decoded([text] if path.suffix == ".json" else text.split("\n")))
    moments = []
    for record in records:
        inner = under(record, "$set"), under(record, "data", "meta"), under(record, "message"), *turns(record)
        for each in [record, *inner]:
            moments += [value for key in _TIMES if (value := under(each, key))]
    seconds = [
        value / (1_000 if value > 1e11 else 1)
        if isinstance(value, int | float)
        else datetime.fromisoformat(value).timestamp()
        for value in moments
    ]
    last = datetime.fromtimestamp(max(seconds), UTC) if seconds else None
    return COUNTS[agent](records), f"{last:%Y-%m-%dT%H:%M:%S}" if last else None


def read(paths: list[Path]) -> tuple[Figures, str | None]:
    """The same figures of the events of an ingest."""
    with analyzer.open_store(":memory:") as store:
        store.ingest([str(path) for path in paths])
        kinds = dict(store.sql("select type, count(*) from events group by all").rows())
        sums = ", ".join(f"sum({name}_tokens)" for name in ("input", "output", "cache_read", "cache_write"))
        (tokens,) = store.sql(f"select {sums} from usage").rows()
        ((calls,),) = store.sql("select sum(calls) from tool_calls").rows()
        ((ended,),) = store.sql("select max(ended_at) from sessions").rows()
        seen = store.sql("select payload from events where type = 'session.observed'").rows()
    parts: dict[str, int] = {}
    for (said,) in seen:
        payload = json.loads(said)
        parts[payload["part"]] = max(parts.get(payload["part"], 0), payload.get("aborted", 0))
    found = Figures(
        errors=kinds.get("error.classified", 0),
        retries=kinds.get("retry.scheduled", 0),
        compactions=kinds.get("relay.triggered", 0),
        failed=kinds.get("tool.failed", 0),
        calls=int(calls or 0),
        aborted=sum(parts.values()),
        **{name: int(value or 0) for name, value in zip(("input", "output", "read", "written"), tokens, strict=True)},
    )
    return found, f"{ended:%Y-%m-%dT%H:%M:%S}" if ended else None


def main(folder: str) -> int:
    """Print the differences, and return 1 where there are any that nothing explains."""
    wrong = logs = 0
    for place in sorted(Path(folder).glob("*/*/")):
        paths = sorted(path for path in place.glob("transcript.*"))
        agent = place.parent.name
        if not paths or agent not in (*COUNTS, "aider"):
            continue
        logs += 1
        theirs, ended = Figures(), []
        for path in paths:
            figures, last = counted(agent, path)
            theirs += figures
            ended += [last] if last else []
        ours, end = read(paths)
        told = {
            key: (theirs[key], ours[key]) for key in sorted(theirs.keys() | ours.keys()) if theirs[key] != ours[key]
        }
        if end != max(ended, default=None):
            told["ended"] = (max(ended, default="-"), end or "-")  # type: ignore[assignment]
        for key, (one, other) in told.items():
            why = EXPLAINED.get((agent, place.name)) or EXPLAINED.get((agent, key))
            wrong += why is None
            print(f"{agent:13} {place.name[:44]:44} {key} {one} expected, {other} read ({why or 'unexplained'})")
    print(f"{logs} logs, {wrong} differences that nothing explains")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
