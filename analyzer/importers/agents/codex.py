"""Codex: its rollouts (`~/.codex/sessions/**/rollout-*.jsonl`) of all three generations, and `codex exec --json`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event
from analyzer.events.codec import parsed
from analyzer.events.model import derived_id, present
from analyzer.events.times import format_time
from analyzer.importers.base import Block, Hit, Source, glance, shape
from analyzer.importers.failures import digits, number, quantity
from analyzer.importers.records import MAIN, RecordReader, identity_of, kept, moment_of
from analyzer.importers.telemetry.stated import stated

_STATUS = re.compile(r"\b(?:unexpected|last) status:? (\d{3})\b")
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_NO_FAILURE = frozenset({"thread_rollback_failed", "active_turn_not_steerable"})
"""Errors that Codex itself does not count as a failure of the turn."""
_CALLS = frozenset({"function_call", "custom_tool_call"})
_UNDONE = ("failed", "declined", "cancelled")
_DECODED = frozenset({"thread_settings_applied", "context_compacted", "error", "task_complete", "turn_aborted"})
"""Types of `event_msg` that are decoded whole."""
_WHOLE = frozenset({"session_meta", "turn_context", "compacted"})
_ITEMS = {"CommandExecution": "exec_command", "FileChange": "apply_patch", "McpToolCall": None}
"""Items that tell how a call ended (since Codex 0.151), and their tools; a call of MCP names its own."""
_ENDINGS = {"declined": "refused", "cancelled": "cancelled"}
"""Kinds of failure by the status of an item."""
_FAR_BEYOND = 2
"""Counts of more than so many windows are a fault of the log. A window is stated as 95% of what a model takes."""
_COUNTS = (
    *("total_tokens", "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens"),
    "reasoning_output_tokens",
)
_LONGEST_NAME = 100
_EXIT = re.compile(r"^(?:Exit code: |(?:.{0,200}\n){0,4}Process exited with code )(-?\d{1,10})")
_REFUSED = re.compile(
    r"(?:apply_patch verification failed|exec command rejected|unsupported call|Script failed|"
    r"failed (?:to|in sandbox) |(?:execution )?error\b|tool call (?:error|failed)|aborted by user|sandbox)",
    re.IGNORECASE,
)
_OUTPUT = "\nOutput:\n"
_TIMED_OUT = 124
_IN_ONE_GO = timedelta(milliseconds=250)
"""The most time between two copied records: no model answers as fast."""
_SAME_WINDOW = timedelta(minutes=10)
_LONGEST_WINDOW = timedelta(days=400)
_CLOCK_ONLY = re.compile(r"try again at ", re.IGNORECASE)


def _is_near(moment: str | None, other: str | None) -> bool:
    """Return true if both are the end of one window; an end made from a wait moves by seconds."""
    if moment is None or other is None:
        return moment == other
    return abs(datetime.fromisoformat(moment) - datetime.fromisoformat(other)) < _SAME_WINDOW


def error_facts(message: str | None, info: object) -> dict[str, Any]:
    """Return the facts for the classifier from Codex's message and `codex_error_info`.

    `codex_error_info` is a name, or an object with a name and its details.
    """
    name, inner = next(iter(info.items()), (None, None)) if isinstance(info, Mapping) else (info, None)
    match = _STATUS.search(message or "")
    status = number(mapping(inner).get("http_status_code")) or (int(match[1]) if match else None)
    kind = text(name)
    return present({"status": status, "type": kind if kind != "other" else None, "message": message})


def _output_text(output: object) -> str:
    """Return the output of a tool, which is a text, a list of texts, or JSON.

    The exit code in JSON is put in front, as newer versions write it.
    """
    if isinstance(output, list):
        output = "\n".join(content for part in output if (content := text(mapping(part).get("text"))))
    if not isinstance(output, str):
        output = text(mapping(output).get("content")) or ""
    if output.startswith("{"):
        answer = mapping(parsed(output))
        code = number(mapping(answer.get("metadata")).get("exit_code"))
        return output if code is None else f"Exit code: {code}{_OUTPUT}{text(answer.get('output')) or ''}"
    return output


def _ended_badly(output: str) -> bool:
    """Return true if the output of a tool reports a failure."""
    exited = _EXIT.match(output)
    return int(exited[1]) != 0 if exited else _REFUSED.match(output) is not None


class CodexReader(RecordReader, name="codex", agent="codex", visibility="terminal"):
    """Reads a rollout; remembers the context in use, for the next compaction."""

    glance: ClassVar[Any] = glance(
        "timestamp type role name call_id output arguments instructions",
        payload=shape(
            "type name call_id output arguments info rate_limits usage response_id",
            item=shape("type id status exit_code"),
        ),
    )
    openings: ClassVar[tuple[bytes, ...]] = (b'{"timestamp"', b'{"type"', b'{"id"')
    _used: int | None = kept()
    """Tokens of the context in use, as the last reply counted them."""
    _left_over: int | None = kept()
    """Tokens that a compaction left, where a record since the last reply has them."""
    _total: int | None = kept()
    """Tokens of all replies together, by which a repeated reply is recognised."""
    _sums: dict[str, Any] = kept({})
    """The tokens of all replies together by kind, for records that state no others."""
    _counted: list[Any] = kept([])
    """The type of the last record with tokens, and its tokens: a record of the other type repeats it."""
    _failed_calls: list[str] = kept([])
    """The last calls that failed, as two records may tell it."""
    _compaction: dict[str, Any] | None = kept()
    """The last compaction, until the next reply: its record's type, id, and if it was resumed."""
    _error: str | None = kept()
    """The identity of the current turn's failure, which the end of the turn repeats."""
    _resets: dict[str, Any] = kept({})
    """The used percentage of each limit, and when it is reset."""
    _copying: list[str] | None = kept()
    """While a fork's copies of its parent's records are read: the time of the session's first record,
    and of the last record."""
    _began: str | None = kept()
    """The time of the first record."""
    _origin: str | None = kept()
    """The oldest session: a fork repeats its parent's lines, with the parent's name above them."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self._block_calls: dict[str, tuple[str, object]] = {}
        """Tools and arguments of the calls in the current block, by call id."""
        self._block_tools: list[str] = []
        """The tool of each call in the current block."""
        self._last_limits: Mapping[str, Any] = {}
        """The limits of the last reply; the same limits need not be read again."""
        self._last_at = ""
        """The time of the last record, as its line has it."""

    def read(self, block: Block) -> Iterator[Hit]:
        """Read a block as `RecordReader` does; a session lasts until its last record of any type."""
        self._block_calls, self._block_tools = {}, []
        yield from super().read(block)
        self.time(self._last_at)
        if self._block_tools:
            self.count_calls(*self._block_tools)
        else:
            self.count_session()

    def glanced(self, record: Mapping[str, Any]) -> Iterable[Event] | None:
        """Read prose, token counts, calls and results without a failure; see `RecordReader`."""
        kind, item = text(record.get("type")), mapping(record.get("payload"))
        if (at := text(record.get("timestamp")) or "") > self._last_at:
            self._last_at = at
        is_copy = self._copying is not None and self._is_copy(record, at)
        if kind == "token_usage_record" or (kind == "event_msg" and item.get("type") == "token_count"):
            self.time(record.get("timestamp"))
            return self._tokens(item)
        if is_copy:
            return None if kind in _WHOLE else ()
        return self._glanced_item(kind, item, record)

    def _glanced_item(
        self, kind: str | None, item: Mapping[str, Any], record: Mapping[str, Any]
    ) -> Iterable[Event] | None:
        """Read a record without tokens, as `glanced`."""
        if kind == "event_msg":
            if item.get("type") == "item_completed":
                done = mapping(item.get("item"))
                return None if done.get("type") in _ITEMS and done.get("status") in _UNDONE else ()
            return None if text(item.get("type")) in _DECODED else ()
        if kind != "response_item":
            if kind in _WHOLE or record.get("role") == "assistant" or "instructions" in record:
                return None
            item = record
        item_type = text(item.get("type"))
        if item_type in _CALLS:
            tool, call = text(item.get("name")), text(item.get("call_id"))
            if tool and len(tool) <= _LONGEST_NAME:
                self._block_tools.append(tool)
                if call:
                    self._block_calls[call] = tool, item.get("arguments")
        elif item_type in _OUTPUTS:
            output = _output_text(item.get("output"))
            if _ended_badly(output):
                self.time(record.get("timestamp"))
                return self._tool_failed(item, output)
        return ()

    def _is_copy(self, record: Mapping[str, Any], at: str) -> bool:
        """Tell whether a record after the parent's first line is a copy of the parent's.

        Copies are written in one go, each with its old time or with that of the fork.
        """
        began, last = self._copying or ("", "")
        moment, before = moment_of(at), moment_of(last)
        if moment is None or before is None:
            return moment is None
        if at < began or moment - before <= _IN_ONE_GO:
            self._copying = [began, max(at, last)]
            return True
        if record.get("type") != "session_meta":
            self._copied()
        return False

    def _copied(self) -> None:
        """End the copied records."""
        self._copying = self.copied_from = None

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if (events := self.glanced(record)) is not None:
            return events
        self.time(record.get("timestamp"))
        if self._copying is not None and record.get("type") == "compacted":
            return ()
        kind, payload = record.get("type"), mapping(record.get("payload"))
        if "payload" in record and not isinstance(record["payload"], Mapping):
            self.refuse("bad_payload", "`payload` is no object")
        if kind == "session_meta":
            self._meta(payload)
        elif "instructions" in record and "type" not in record:
            self._meta(record)
        elif kind == "turn_context":
            self._settings(payload)
        elif kind == "compacted":
            return self._compacted("compacted", payload)
        elif kind == "event_msg":
            return self._event_message(payload)
        elif record.get("role") == "assistant":
            self.count_session(requests=1)  # the first generation counts no tokens
        return ()

    def _meta(self, meta: Mapping[str, Any]) -> None:
        """Read a line that names a session.

        A resumed session repeats its first line, and a fork adds its parent's.
        """
        session = text(meta.get("id")) or text(meta.get("session_id"))
        self._origin = session or self._origin
        if self.session is not None:
            if session not in (None, self.session):
                at = format_time(self.at)
                self._copying, self.copied_from = [self._began or at, at], session
                self.count_session()
            elif self._copying is not None:
                self._copied()
            return
        self.session = session
        self._began = format_time(self.at) if self.timed else None
        if isinstance(meta.get("source"), Mapping):
            self.role = "subagent"
        self.begin(
            self.session,
            agent_version=meta.get("cli_version"),
            provider=meta.get("model_provider"),
            branch=mapping(meta.get("git")).get("branch"),
        )
        self._settings(meta)
        if (origin := text(meta.get("forked_from_id"))) and self._began:
            # What is copied may have no first line of its own.
            self._copying, self.copied_from, self._origin = [self._began, self._began], origin, origin
        self.count_session()

    def _settings(self, settings: Mapping[str, Any]) -> None:
        self.work_in(settings.get("cwd"))
        self.learn(model=settings.get("model"), provider=settings.get("model_provider_id"), **stated(settings))

    def _event_message(self, payload: Mapping[str, Any]) -> Iterable[Event]:
        kind = payload.get("type")
        if kind == "item_completed":
            return self._item_failed(mapping(payload.get("item")))
        if kind == "thread_settings_applied":
            self._settings(mapping(payload.get("thread_settings")))
        elif kind == "context_compacted":
            return self._compacted("context_compacted", payload)
        elif kind == "error":
            return self._failed(payload, payload)
        elif kind == "task_complete":
            error = payload.get("error")
            events = self._failed(mapping(error), payload) if isinstance(error, Mapping) else ()
            self._error = None
            return events
        elif kind == "turn_aborted":
            self._error = None
            self.count_session(aborted=1)
        return ()

    # Failures --------------------------------------------------------------------------------------------------------

    def _failed(self, error: Mapping[str, Any], payload: Mapping[str, Any]) -> list[Event]:
        facts = error_facts(text(error.get("message")), error.get("codex_error_info"))
        if facts.get("type") in _NO_FAILURE:
            return []
        identity = identity_of({key: error.get(key) for key in ("message", "codex_error_info")})
        if identity == self._error:
            return []  # the end of a turn repeats the turn's failure
        self._error = identity
        self.count_session()
        unique = text(payload.get("turn_id")) or (format_time(self.at), identity)
        failure = self.failed(facts, unique)
        limited = facts.get("type") == "usage_limit_exceeded"
        if limited and (reset_at := self._reset()):
            failure = replace(failure, payload={**failure.payload, "reset_at": reset_at})
        elif _CLOCK_ONLY.search(facts.get("message", "")):
            # The message names a time of the writer's clock, without its zone.
            failure = replace(failure, payload=present({**failure.payload, "reset_at": None}))
        return [failure, self.exhausted(failure, unique)] if limited else [failure]

    def _reset(self) -> str | None:
        """Return when the used-up limits are reset; the latest moment of several."""
        full = [
            moment
            for limit in map(mapping, self._resets.values())
            if (quantity(limit.get("used_percent")) or 0) >= 100 and (moment := text(limit.get("reset_at")))
        ]
        return max(full, default=None)

    def _tool_failed(self, item: Mapping[str, Any], output: str) -> list[Event]:
        """Record a failed call of a tool, by its result."""
        kind = None
        if exited := _EXIT.match(output):
            code = int(exited[1])
            kind = "timeout" if code == _TIMED_OUT else "exit_code"
            output = f"Exit code {code}\n{output.partition(_OUTPUT)[2]}"
        call = text(item.get("call_id"))
        if not self._fails_first(call):
            return []
        tool, written = self._block_calls.get(call or "", (None, None))
        arguments = mapping(parsed(written))
        command = arguments.get("command") or arguments.get("cmd")
        return self.tool_failed(tool, output, call, format_time(self.at), kind=kind, command=command)

    def _fails_first(self, call: str | None) -> bool:
        """Tell whether no other record told that this call failed, and remember that this one does."""
        if call is None:
            return True
        is_first = call not in self._failed_calls
        self._failed_calls = [*self._failed_calls[-63:], call]
        return is_first

    def _item_failed(self, item: Mapping[str, Any]) -> list[Event]:
        """Record a failed call by the item that ends it, which a script may have made."""
        call = text(item.get("id"))
        if not self._fails_first(call):
            return []
        tool, _ = self._block_calls.get(call or "", (None, None))
        output, command, kind = failure_of_item(item)
        name = tool or _ITEMS.get(str(item.get("type"))) or text(item.get("tool"))
        return self.tool_failed(name, output, call, format_time(self.at), kind=kind, command=command)

    # Tokens and compactions ------------------------------------------------------------------------------------------

    def _tokens(self, payload: Mapping[str, Any]) -> list[Event]:
        limits = mapping(payload.get("rate_limits")) if self.copied_from is None else {}
        observed = self._limits(limits) if limits and limits != self._last_limits else []
        # A wait of the same seconds ends later in each record: such limits are read every time.
        self._last_limits = limits if "resets_in_seconds" not in mapping(limits.get("primary")) else {}
        info = mapping(payload.get("info"))
        window, response = count(info.get("model_context_window")), text(payload.get("response_id"))
        sums = mapping(info.get("total_token_usage"))
        usage = info.get("last_token_usage") or payload.get("usage") or self._since_last(sums)
        self._sums = dict(sums) or self._sums
        counts = [self.counted(usage, name) for name in _COUNTS]
        if self._refused:
            return observed
        last = mapping(usage)
        used, total = counts[0], count(sums.get("total_tokens"))
        has_parts = bool(counts[1] or counts[4])
        if not used or (window and used >= window * (_FAR_BEYOND if has_parts else 1)):
            return observed  # none, too many, or the mark of an exceeded window
        if last.get("input_tokens") == 0 and last.get("output_tokens") == 0:
            self._left_over = used
            return [*observed, *self._resumed()]
        repeats = self._repeats(payload.get("type") or "token_usage_record", counts, response)
        if response is None and total is not None and total == self._total:
            return observed
        self._total = total if response is None else self._total
        if not repeats:
            self.count_session(requests=1)
            self._used, self._left_over, self._compaction = used, None, None
            observed += self._spent(last, response or total)
        return observed

    def _since_last(self, sums: Mapping[str, Any]) -> dict[str, int] | None:
        """Return the tokens since the last sums, by the log's names, where a record states only sums."""
        if not sums:
            return None
        now, before = ({name: count(of.get(name)) or 0 for name in _COUNTS} for of in (sums, self._sums))
        if any(now[name] < before[name] for name in _COUNTS):
            return now  # the sum began anew
        return {name: now[name] - before[name] for name in _COUNTS}

    def _repeats(self, kind: object, counts: list[int | None], response: str | None) -> bool:
        """Tell whether a record has the tokens of the reply that the record before it has.

        Newer versions write two types of records for each reply; a reply may also have a record twice.
        """
        before, self._counted = self._counted, [kind, counts, response]
        if before[:2] == [kind, counts] and response is not None:
            return bool(before[2] == response)
        if before[1:2] == [counts] and before[0] != kind:
            self._counted = []  # the next record is that of another reply
            return True
        return False

    def _limits(self, limits: Mapping[str, Any]) -> list[Event]:
        """Record the limits whose used percentage or reset has changed."""
        before, events = self._resets, []
        self._resets = {}
        for name in ("primary", "secondary"):
            limit = mapping(limits.get(name))
            used, minutes = quantity(limit.get("used_percent")), count(limit.get("window_minutes"))
            if used is None or used < 0:
                continue
            wait = quantity(limit.get("resets_in_seconds"))
            resets = moment_of(limit.get("resets_at"))
            if resets is None and wait is not None and 0 <= wait <= _LONGEST_WINDOW.total_seconds():
                resets = self.at + timedelta(seconds=wait)
            reset_at = None if resets is None else format_time(resets)
            last = mapping(before.get(name))
            same = used == last.get("used_percent") and _is_near(reset_at, text(last.get("reset_at")))
            self._resets[name] = {"used_percent": used, "reset_at": last.get("reset_at") if same else reset_at}
            if minutes and self.timed and not same:
                observed = {
                    "caller": self.caller,
                    "provider": self.known.get("provider"),
                    "plan": text(limits.get("plan_type")),
                    "window_minutes": minutes,
                    "used_share": min(used / 100, 1.0),
                    "reset_at": reset_at,
                }
                events.append(self.event("limit.observed", observed, (format_time(self.at), name, used)))
        return events

    def _spent(self, last: Mapping[str, Any], reply: int | str | None) -> list[Event]:
        """Make the event of the tokens of a reply.

        It is named by the response, or by the total so far; its id has the first session, which
        forks repeat.
        """
        cached, written = count(last.get("cached_input_tokens")) or 0, count(last.get("cache_write_input_tokens"))
        tokens = {
            "output_tokens": count(last.get("output_tokens")),
            "cache_read_tokens": cached,
            "reasoning_tokens": count(last.get("reasoning_output_tokens")),
            "input_tokens": max((count(last.get("input_tokens")) or 0) - cached - (written or 0), 0),
            "cache_write_tokens": written or None,
        }
        if not any(tokens.values()):
            return []
        request = derived_id(self.name, "request", self._origin, reply, sorted(last.items()))
        self.count_recorded(request)
        payload = {"request": request, "caller": self.caller, "forked_from": self.copied_from, **tokens}
        event = self.event("usage.recorded", payload, request, tokens["output_tokens"])
        return [replace(event, session_id=self.copied_from)] if self.copied_from else [event]

    def _compacted(self, record_type: str, payload: Mapping[str, Any]) -> list[Event]:
        if self._compaction is not None and self._compaction["told_by"] != record_type:
            return []  # each compaction has a record of both types
        self.count_session()
        unique = text(payload.get("window_id")) or (format_time(self.at), identity_of(payload))
        event = self.relay({"strategy": "compact", "pre_tokens": self._used}, unique)
        self._compaction = {"told_by": record_type, "relay": event.id}
        return [event, *self._resumed()]

    def _resumed(self) -> list[Event]:
        """Return the end of the last compaction, once the tokens that it left are known."""
        compaction = self._compaction
        if compaction is None or self._left_over is None or compaction.get("resumed"):
            return []
        compaction["resumed"] = True
        return [self.resumed(compaction["relay"], self._left_over)]


def failure_of_item(item: Mapping[str, Any]) -> tuple[str, object, str | None]:
    """Return the output, the command and the kind of failure of an item that did not succeed."""
    code = number(item.get("exit_code"))
    printed = text(item.get("aggregated_output")) or text(item.get("stderr")) or text(item.get("stdout")) or ""
    output = printed if code is None else f"Exit code {code}\n{printed}"
    output = output or text(mapping(item.get("error")).get("message")) or text(item.get("error")) or ""
    kind = _ENDINGS.get(str(item.get("status"))) or ("timeout" if code == _TIMED_OUT else None)
    return output, item.get("command"), kind


_PRINTED = {"command_execution": "exec_command", "file_change": "apply_patch", "mcp_tool_call": None}
"""Items that `codex exec --json` prints of calls, and their tools."""
_RETRY = re.compile(r"(?:Reconnecting\.\.\.|retrying) (\d{1,3})/(\d{1,3})(?: in ([\d.]{1,12})(ms|s))?")


class CodexExecReader(RecordReader, name="codex_exec", agent="codex exec", visibility="full"):
    """Reads the output of a run; one run is one conversation."""

    _number: int = kept(0)
    """The number of failures so far."""
    _failed: str | None = kept()
    """The message of the turn's failure, which the end of the turn repeats."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        message = mapping(record.get("msg")) or record
        kind = message.get("type")
        if kind in ("thread.started", "session_configured"):
            session = text(message.get("thread_id")) or text(message.get("session_id"))
            self.begin(session, agent="codex", model=message.get("model"))
            self.count_session()
        elif kind in ("error", "stream_error"):
            return self._error(message, text(message.get("message")))
        elif kind == "turn.failed":
            return self._error(message, text(mapping(message.get("error")).get("message")))
        elif kind in ("turn.completed", "task_complete", "turn_aborted"):
            self._failed = None
            self.count_session(requests=int(kind != "turn_aborted"), aborted=int(kind == "turn_aborted"))
            if kind == "turn_aborted":
                return self.settled("aborted")
            return [*self._spent(message.get("usage")), *self.settled("recovered", made=1)]
        elif kind == "item.completed":
            return self._item(mapping(message.get("item")))
        return ()

    def _spent(self, usage: object) -> list[Event]:
        """Record the tokens of the run, which the end of each turn sums up from the thread's beginning."""
        counts = {name: self.counted(usage, name) for name in _COUNTS}
        return self.spent(
            self.session or self.source.path,
            prompt=counts["input_tokens"],
            output_tokens=counts["output_tokens"],
            cache_read_tokens=counts["cached_input_tokens"],
            cache_write_tokens=counts["cache_write_input_tokens"],
            reasoning_tokens=counts["reasoning_output_tokens"],
            fields={"whole_run": True},
        )

    def _item(self, item: Mapping[str, Any]) -> list[Event]:
        """Count a call that has ended, and record it if it failed."""
        kind = text(item.get("type")) or text(item.get("item_type")) or ""
        if kind not in _PRINTED:
            return []
        tool = _PRINTED[kind] or text(item.get("tool"))
        self.count_calls(tool)
        if item.get("status") not in _UNDONE:
            return []
        output, command, failed_by = failure_of_item(item)
        unique = self.session or self.source.path, text(item.get("id"))
        return self.tool_failed(tool, output, *unique, kind=failed_by, command=command)

    def _error(self, error: Mapping[str, Any], message: str | None) -> list[Event]:
        if message is not None and message == self._failed:
            return []
        self.count_session()
        retry = _RETRY.search(message or "")
        self._failed = None if retry else message
        self._number += 1
        unique = self.session or self.source.path, self._number
        facts = error_facts(message, error.get("codex_error_info"))
        if retry is None:
            failure = self.failed(facts, *unique, chain=MAIN if MAIN in self.chains else None)
            return [failure, *self.settled("exhausted", reason=failure.payload["reason"])]
        failure = self.failed(
            facts, *unique, chain=MAIN, numbered=digits(retry[1]) or 1, max_attempts=int(retry[2]) + 1
        )
        delay = float(retry[3]) / (1000 if retry[4] == "ms" else 1) if retry[3] else None
        return [failure, self.scheduled(*unique, delay_seconds=delay)]
