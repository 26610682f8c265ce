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
from analyzer.events.rows import Rows
from analyzer.events.times import format_time
from analyzer.importers.base import RAW, Block, Hit, Line, Source, glance, is_sound, shape
from analyzer.importers.failures import digits, number, quantity
from analyzer.importers.records import MAIN, RecordReader, identity_of, kept, moment_of
from analyzer.importers.replies import Replies, ReplyReader, Shared, shared

_STATUS = re.compile(r"\b(?:unexpected|last) status:? (\d{3})\b")
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_NO_FAILURE = frozenset({"thread_rollback_failed", "active_turn_not_steerable"})
"""What Codex itself does not count against the turn."""
_CALLS = frozenset({"function_call", "custom_tool_call"})
_TOLD = frozenset({"thread_settings_applied", "context_compacted", "error", "task_complete", "turn_aborted"})
"""Messages of which more is read than that they are there."""
_MESSAGES = frozenset(name.encode() for name in {"token_count", *_TOLD})
_ITEMS = frozenset(name.encode() for name in _CALLS | _OUTPUTS)
_BEGINS = re.compile(
    rb'\{"timestamp": ?"([0-9TZ:.+-]{1,40})", ?"type": ?"(event_msg|response_item)", ?'
    rb'"payload": ?\{"type": ?"(\w{1,60})"'
)
_FINE = re.compile(rb'"output": ?"(?:Exit code: |(?:[^"\\]{0,200}\\n){0,4}Process exited with code )0\\n')
"""The result of a tool that tells no failure. Prose has its quotes escaped."""
_WHOLE = frozenset({"session_meta", "turn_context", "compacted"})
_COUNTS = ("total_tokens", "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
_LONGEST_NAME = 100
_EXIT = re.compile(r"^(?:Exit code: |(?:.{0,200}\n){0,4}Process exited with code )(-?\d{1,10})")
_REFUSED = re.compile(
    r"(?:apply_patch verification failed|exec command rejected|unsupported call|Script failed|"
    r"failed (?:to|in sandbox) |(?:execution )?error\b|tool call (?:error|failed)|aborted by user|sandbox)",
    re.IGNORECASE,
)
_OUTPUT = "\nOutput:\n"
_TIMED_OUT = 124
_SAME_WINDOW = timedelta(minutes=10)
_LONGEST_WINDOW = timedelta(days=400)
_CLOCK_ONLY = re.compile(r"try again at ", re.IGNORECASE)


def _is_near(moment: str | None, other: str | None) -> bool:
    """Whether two ends of a window are one: where it is stated as a wait, it moves by seconds."""
    if moment is None or other is None:
        return moment == other
    return abs(datetime.fromisoformat(moment) - datetime.fromisoformat(other)) < _SAME_WINDOW


def error_facts(message: str | None, info: object) -> dict[str, Any]:
    """What the classifier is shown of Codex's message and `codex_error_info`: a name, or a name with a status."""
    name, inner = next(iter(info.items()), (None, None)) if isinstance(info, Mapping) else (info, None)
    said = _STATUS.search(message or "")
    status = number(mapping(inner).get("http_status_code")) or (int(said[1]) if said else None)
    kind = text(name)
    return present({"status": status, "type": kind if kind != "other" else None, "message": message})


def _output_text(output: object) -> str:
    """What a tool answered: a text, texts, or JSON, of which the exit code is told as newer versions tell it."""
    if isinstance(output, list):
        output = "\n".join(found for part in output if (found := text(mapping(part).get("text"))))
    if not isinstance(output, str):
        output = text(mapping(output).get("content")) or ""
    if output.startswith("{"):
        said = mapping(parsed(output))
        code = number(mapping(said.get("metadata")).get("exit_code"))
        return output if code is None else f"Exit code: {code}{_OUTPUT}{text(said.get('output')) or ''}"
    return output


def _ended_badly(said: str) -> bool:
    """Whether what a tool answered tells a failure."""
    exited = _EXIT.match(said)
    return int(exited[1]) != 0 if exited else _REFUSED.match(said) is not None


class CodexReader(ReplyReader, name="codex", agent="codex", visibility="terminal"):
    """Reads a rollout; remembers the context in use, for the compaction to come."""

    glance: ClassVar[Any] = glance(
        "timestamp type role name call_id output",
        arguments=RAW,
        instructions=RAW,
        payload=shape("type name call_id output info rate_limits", arguments=RAW),
    )
    openings: ClassVar[tuple[bytes, ...]] = (b'{"timestamp"', b'{"type"', b'{"id"')
    _used: int | None = kept()
    """Tokens of the context in use, as the last reply told."""
    _left_over: int | None = kept()
    """Tokens that a compaction left, where they were told since the last reply."""
    _total: int | None = kept()
    """Tokens of all replies together, by which a reply that is told again is known."""
    _compaction: dict[str, Any] | None = kept()
    """The last compaction, until the next reply: what told it, and whether its tokens are still to come."""
    _error: str | None = kept()
    """The failure of the turn in hand, which the end of the turn tells again."""
    _resets: dict[str, Any] = kept({})
    """How far each limit is used up, and when it is reset."""
    _origin: str | None = kept()
    """The session that was begun first: a fork repeats its parent's lines, and the parent's name above them."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self._asked: dict[str, tuple[str, object]] = {}
        """Of the calls of the block in hand: their tools and arguments."""
        self._called: list[str] = []
        self._limits_told: Mapping[str, Any] = {}
        """The limits as the last reply told them, where they need no second look."""
        self._last_at = ""
        """The time of the last record, as its line says."""
        self._replies = Replies()
        """The replies of the block in hand."""
        self._shared: Shared | None = None
        """What the next reply shares with the last one."""

    def apart(self, block: Block) -> tuple[list[Hit], Rows]:
        """As `ReplyReader` says; the session lasts until the last record, whatever that is."""
        self._asked, self._called = {}, []
        self._replies, self._shared = Replies("output", "cache_read", "reasoning", "input"), None
        hits = list(RecordReader.read(self, block))
        self.time(self._last_at)
        (self.see_calls if self._called else self.see)(*self._called)
        return hits, self._replies.rows(*self.source.stand_in(self._near))

    def _lines(self, block: Block) -> Iterator[Line]:
        """The lines that matter: of the others, which are most, the beginning alone is looked at."""
        if not is_sound(block):
            yield from super()._lines(block)
            return
        data, offset = block.data, 0
        for end in block.ends:
            begins = _BEGINS.match(data, offset, end)
            at, kind, of = begins.groups() if begins else (b"", b"", b"")
            matters = not kind or of in (_MESSAGES if kind == b"event_msg" else _ITEMS)
            fine = of.endswith(b"_output") and _FINE.search(data, offset, end)
            if matters and not fine:
                yield Line(offset, data[offset:end])
            elif (moment := at.decode()) > self._last_at:
                self._last_at = moment
            offset = end + 1

    def glanced(self, record: Mapping[str, Any]) -> Iterable[Event] | None:
        """See `RecordReader`: what was said, counts of tokens, calls of tools, and results that tell no failure."""
        kind, item = text(record.get("type")), mapping(record.get("payload"))
        if (at := text(record.get("timestamp")) or "") > self._last_at:
            self._last_at = at
        if kind == "event_msg":
            if item.get("type") == "token_count":
                self.time(record.get("timestamp"))
                return self._tokens(item, at)
            return None if text(item.get("type")) in _TOLD else ()
        if kind != "response_item":
            if kind in _WHOLE or record.get("role") == "assistant" or "instructions" in record:
                return None
            item = record
        of = text(item.get("type"))
        if of in _CALLS:
            tool, call = text(item.get("name")), text(item.get("call_id"))
            if tool and len(tool) <= _LONGEST_NAME:
                self._called.append(tool)
                if call:
                    self._asked[call] = tool, item.get("arguments")
        elif of in _OUTPUTS and _ended_badly(_output_text(item.get("output"))):
            return None
        return ()

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if (told := self.glanced(record)) is not None:
            return told
        self.time(record.get("timestamp"))
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
        elif text((item := payload if kind == "response_item" else record).get("type")) in _OUTPUTS:
            return self._answered(item)
        elif record.get("role") == "assistant":
            self.see(requests=1)  # the first generation counts no tokens
        return ()

    def _meta(self, meta: Mapping[str, Any]) -> None:
        """The first line names the session; a resumed one repeats it, and a fork goes on with its parent's."""
        self._origin = text(meta.get("id")) or text(meta.get("session_id")) or self._origin
        if self.session is not None:
            return
        self.session = text(meta.get("id")) or text(meta.get("session_id"))
        if isinstance(meta.get("source"), Mapping):
            self.role = "subagent"
        self.begin(
            self.session,
            agent_version=meta.get("cli_version"),
            provider=meta.get("model_provider"),
            branch=mapping(meta.get("git")).get("branch"),
        )
        self._settings(meta)
        self.see()

    def _settings(self, settings: Mapping[str, Any]) -> None:
        self.work_in(settings.get("cwd"))
        found = {"model": settings.get("model"), "provider": settings.get("model_provider_id")}
        self.known |= {key: value for key, value in found.items() if text(value)}
        self._shared = None

    def _event_message(self, payload: Mapping[str, Any]) -> Iterable[Event]:
        kind = payload.get("type")
        if kind == "thread_settings_applied":
            self._settings(mapping(payload.get("thread_settings")))
        elif kind == "context_compacted":
            return self._compacted("context_compacted", payload)
        elif kind == "error":
            return self._failed(payload, payload)
        elif kind == "task_complete":
            failed = payload.get("error")
            found = self._failed(mapping(failed), payload) if isinstance(failed, Mapping) else ()
            self._error = None
            return found
        elif kind == "turn_aborted":
            self._error = None
            self.see(aborted=1)
        return ()

    # Failures --------------------------------------------------------------------------------------------------------

    def _failed(self, error: Mapping[str, Any], payload: Mapping[str, Any]) -> list[Event]:
        facts = error_facts(text(error.get("message")), error.get("codex_error_info"))
        if facts.get("type") in _NO_FAILURE:
            return []
        told = identity_of({key: error.get(key) for key in ("message", "codex_error_info")})
        if told == self._error:
            return []  # the end of a turn tells the turn's failure again
        self._error = told
        self.see()
        unique = text(payload.get("turn_id")) or (format_time(self.at), told)
        failure = self.failed(facts, unique)
        limited = facts.get("type") == "usage_limit_exceeded"
        if limited and (resets := self._reset()):
            failure = replace(failure, payload={**failure.payload, "reset_at": resets})
        elif _CLOCK_ONLY.search(facts.get("message", "")):
            # The writer's own clock, whose zone nobody tells.
            failure = replace(failure, payload=present({**failure.payload, "reset_at": None}))
        return [failure, self.exhausted(failure, unique)] if limited else [failure]

    def _reset(self) -> str | None:
        """When the limit that is used up is reset, as the last count of limits said; the latest of several."""
        full = [
            moment
            for limit in map(mapping, self._resets.values())
            if (quantity(limit.get("used_percent")) or 0) >= 100 and (moment := text(limit.get("reset_at")))
        ]
        return max(full, default=None)

    def _answered(self, item: Mapping[str, Any]) -> list[Event]:
        """A result of a tool, where it says that the call failed."""
        said = _output_text(item.get("output"))
        if not _ended_badly(said):
            return []
        exited = _EXIT.match(said)
        code = int(exited[1]) if exited else None
        call = text(item.get("call_id"))
        shown = said if code is None else f"Exit code {code}\n{said.partition(_OUTPUT)[2]}"
        kind = None if code is None else "timeout" if code == _TIMED_OUT else "exit_code"
        tool, given = self._asked.get(call or "", (None, None))
        asked = mapping(parsed(parsed(bytes(given)) if isinstance(given, RAW) else given))
        command = asked.get("command") or asked.get("cmd")
        return self.tool_failed(tool, shown, call, format_time(self.at), kind=kind, command=command)

    # Tokens and compactions ------------------------------------------------------------------------------------------

    def _tokens(self, payload: Mapping[str, Any], at: str) -> list[Event]:
        limits = mapping(payload.get("rate_limits"))
        observed = self._limits(limits) if limits and limits != self._limits_told else []
        # A window that is told by how long it lasts yet ends at another moment each time.
        self._limits_told = limits if "resets_in_seconds" not in mapping(limits.get("primary")) else {}
        info = mapping(payload.get("info"))
        usage, window = info.get("last_token_usage"), count(info.get("model_context_window"))
        counts = [self.counted(usage, name) for name in _COUNTS]
        if self._refused:
            return observed
        last = mapping(usage)
        used, total = counts[0], count(mapping(info.get("total_token_usage")).get("total_tokens"))
        if not used or (window and used >= window):
            return observed  # nothing, more than there can be, or the mark of a window that was exceeded
        if last.get("input_tokens") == 0 and last.get("output_tokens") == 0:
            self._left_over = used
            return [*observed, *self._resumed()]
        if total != self._total:
            self.see(requests=1)
            self._total = total
            self._used, self._left_over, self._compaction = used, None, None
            self._spent(last, total, at)
        return observed

    def _limits(self, limits: Mapping[str, Any]) -> list[Event]:
        """The limits whose used share or window has changed since they were stated last."""
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

    def _spent(self, last: Mapping[str, Any], total: int | None, at: str) -> None:
        """Take the tokens of a reply, named by the first session and the sum up to it, which forks repeat."""
        output, cached = count(last.get("output_tokens")), count(last.get("cached_input_tokens")) or 0
        entered = max((count(last.get("input_tokens")) or 0) - cached, 0)
        counts = output, cached, count(last.get("reasoning_output_tokens")), entered
        if any(counts):
            if self._shared is None:
                names = self.name, "usage.recorded"
                self._shared = shared(self.session, names, self.known, caller=self.caller)
            request = derived_id(self.name, "request", self._origin, total, sorted(last.items()))
            stamp = at or (format_time(self.at) if self.timed else None)
            self._replies.add(self._shared, request, output, counts, stamp, self.line.offset, len(self.line.text))

    def _compacted(self, told_by: str, payload: Mapping[str, Any]) -> list[Event]:
        if self._compaction is not None and self._compaction["told_by"] != told_by:
            return []  # both records tell each compaction
        self.see()
        unique = text(payload.get("window_id")) or (format_time(self.at), identity_of(payload))
        event = self.relay({"strategy": "compact", "pre_tokens": self._used}, unique)
        self._compaction = {"told_by": told_by, "relay": event.id}
        return [event, *self._resumed()]

    def _resumed(self) -> list[Event]:
        """The end of a compaction, once the tokens that it left are known."""
        compaction = self._compaction
        if compaction is None or self._left_over is None or compaction.get("resumed"):
            return []
        compaction["resumed"] = True
        return [self.resumed(compaction["relay"], self._left_over)]


_AGAIN = re.compile(r"(?:Reconnecting\.\.\.|retrying) (\d{1,3})/(\d{1,3})(?: in ([\d.]{1,12})(ms|s))?")


class CodexExecReader(RecordReader, name="codex_exec", agent="codex exec", visibility="full"):
    """Reads what a run printed; one run is one conversation."""

    _number: int = kept(0)
    """Failures so far."""
    _failed: str | None = kept()
    """The message of the turn's failure, which the end of the turn tells again."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        said = mapping(record.get("msg")) or record
        kind = said.get("type")
        if kind in ("thread.started", "session_configured"):
            self.begin(
                text(said.get("thread_id")) or text(said.get("session_id")), agent="codex", model=said.get("model")
            )
            self.see()
        elif kind in ("error", "stream_error"):
            return self._error(said, text(said.get("message")))
        elif kind == "turn.failed":
            return self._error(said, text(mapping(said.get("error")).get("message")))
        elif kind in ("turn.completed", "task_complete", "turn_aborted"):
            self._failed = None
            self.see(requests=int(kind != "turn_aborted"), aborted=int(kind == "turn_aborted"))
            return self.settled("aborted") if kind == "turn_aborted" else self.settled("recovered", made=1)
        return ()

    def _error(self, said: Mapping[str, Any], message: str | None) -> list[Event]:
        if message is not None and message == self._failed:
            return []
        self.see()
        again = _AGAIN.search(message or "")
        self._failed = None if again else message
        self._number += 1
        unique = self.session or self.source.path, self._number
        facts = error_facts(message, said.get("codex_error_info"))
        if again is None:
            failure = self.failed(facts, *unique, chain=MAIN if MAIN in self.chains else None)
            return [failure, *self.settled("exhausted", reason=failure.payload["reason"])]
        failure = self.failed(
            facts, *unique, chain=MAIN, numbered=digits(again[1]) or 1, max_attempts=int(again[2]) + 1
        )
        delay = float(again[3]) / (1000 if again[4] == "ms" else 1) if again[3] else None
        return [failure, self.scheduled(*unique, delay_seconds=delay)]
