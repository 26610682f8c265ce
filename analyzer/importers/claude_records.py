"""Claude Code's records → events, in file order: retries, terminal errors, compactions, sessions.

Retries, terminal errors and compactions stay apart; the outcome of a retry run is folded from the record that ends it.

Error records become what the classifier reads.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from analyzer.agent_stream import (
    error_facts,
    failure_reason,
    mapping,
    run_tokens,
    says_error,
    text,
    turn_limit_advice,
    turns_at_limit,
)
from analyzer.events import Event
from analyzer.events.model import derived_id, present
from analyzer.events.times import format_time, from_epoch
from analyzer.importers.base import Chains, Source
from analyzer.importers.failures import classify_foreign, failure, number, quantity
from analyzer.importers.programs import caller_of
from analyzer.importers.records import dressed, moment_of

_MISSING = re.compile(r"(?:Error: )?(?:No such tool available|Agent type '[^'\n]{1,200}' not found|Unknown skill\b)")


def retry_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """A `system/api_error` record: one failed attempt that will be retried.

    Shapes, oldest first: `error.error.error.{type,message}`; `{}` for a lost connection; `error.cause.code`;
    `error.error.{code,message,type}` of a gateway; `error.{message,formatted,connection.code}`.
    """
    error = mapping(record.get("error"))
    outer = mapping(error.get("error"))
    inner = mapping(outer.get("error"))
    connection = mapping(error.get("connection"))
    cause = mapping(error.get("cause")) or mapping(record.get("cause"))
    facts = {
        "status": number(error.get("status")),
        "code": text(connection.get("code"))
        or text(cause.get("code"))
        or text(inner.get("code"))
        or text(outer.get("code")),
        "type": text(inner.get("type")) or (text(outer.get("type")) if not inner else None),
        "message": text(inner.get("message"))
        or text(outer.get("message"))
        or text(error.get("formatted"))
        or text(error.get("message")),
        "headers": mapping(error.get("headers")) or None,
    }
    return present(facts)


def terminal_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """A synthetic assistant record with `isApiErrorMessage: true`: the error that the user was shown."""
    label = text(record.get("error"))
    facts = {
        "status": number(record.get("apiErrorStatus")),
        # Older versions labelled plain 500s and 529s "unknown": such a label is no evidence.
        "type": label if label != "unknown" else None,
        "message": message_text(record),
        "is_error": True,
    }
    return present(facts)


def stream_retry_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """A `system/api_retry` record, or the `subagent_retry` of a `tool_progress` record."""
    label = text(record.get("error")) or text(record.get("error_category"))
    facts = {"status": number(record.get("error_status")), "type": label if label != "unknown" else None}
    return present(facts)


def message_text(record: Mapping[str, Any]) -> str:
    """The text blocks of a record's message, joined."""
    content = mapping(record.get("message")).get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(block.get("text")) for block in map(mapping, blocks) if isinstance(block.get("text"), str))


def failed_tools(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The failed tool results of a record: the call that each answers, and what the tool said."""
    content = mapping(record.get("message")).get("content")
    found = []
    for block in map(mapping, content if isinstance(content, list) else []):
        if block.get("type") != "tool_result" or block.get("is_error") is not True:
            continue
        said = block.get("content")
        if isinstance(said, list):
            said = "\n".join(str(mapping(part).get("text", "")) for part in said)
        if isinstance(said, str):
            plain = said.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
            found.append((text(block.get("tool_use_id")) or "", plain))
    return found


def says_missing(said: str) -> bool:
    """Whether a failed tool result says that what was called does not exist: that alone is an error."""
    return bool(_MISSING.match(said))


_RUN_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}
INTERRUPTED = "[Request interrupted by user"


class ClaudeRecords:
    """Folds records into events; holds the chains of retries and the compactions that are still open."""

    def __init__(self, source: Source, state: Mapping[str, Any], program: str, *, interactive: bool) -> None:
        self._source = source
        self.program, self._interactive = program, interactive
        self.known: dict[str, Any] = dict(mapping(state.get("known")))
        """What is known of the work, by the names of `DIMENSIONS`."""
        self.model: Callable[[int], str | None] = lambda _offset: None
        """The model that spoke last before an offset of the block in hand."""
        self.tool: Callable[[str], str | None] = lambda _call: None
        """The tool that a call asked for."""
        self.command: Callable[[str], str | None] = lambda _call: None
        """The head of the command that it asked for."""
        self.run: str | None = None
        """The first record of the run in hand, by which several runs of one session are told apart."""
        self._offset = 0
        # Checkpoints of earlier versions keep their open chains under another name.
        former = {key: {**mapping(run), "retried": True} for key, run in mapping(state.get("runs")).items()}
        self._chains = Chains(state.get("chains") or former)
        self._compaction: dict[str, Any] | None = state.get("compaction")
        self._session: str | None = state.get("session")

    @property
    def waiting(self) -> bool:
        """Whether the next reply or interruption decides something."""
        return bool(self._chains) or self._compaction is not None

    def state(self) -> dict[str, Any]:
        """The open runs and compactions, for the reader that goes on."""
        return {
            "chains": self._chains.state(),
            "compaction": self._compaction,
            "session": self._session,
            "known": self.known,
        }

    @property
    def caller(self) -> str:
        """The caller that the main conversation is."""
        return caller_of(self.program, self.known if self._interactive else {})

    def events(self, record: Mapping[str, Any], offset: int = 0) -> list[Event]:
        """The events of one record, which stands at an offset of the block in hand; most give none."""
        self._offset = offset
        self._session = text(record.get("sessionId")) or text(record.get("session_id")) or self._session
        kind, subtype = record.get("type"), record.get("subtype")
        if kind == "system" and subtype == "api_error":
            return self._retry(record, retry_facts(record), "retryAttempt", "maxRetries", "retryInMs")
        if kind == "system" and subtype == "api_retry":
            return self._retry(record, stream_retry_facts(record), "attempt", "max_retries", "retry_delay_ms")
        if kind == "tool_progress" and isinstance(record.get("subagent_retry"), Mapping):
            return self._subagent_retry(record)
        if kind == "system" and subtype == "compact_boundary":
            return self._compact(record)
        if kind == "system" and subtype == "microcompact_boundary":
            return self._microcompact(record)
        if kind == "assistant":
            return self._assistant(record)
        if kind == "user":
            return self._user(record)
        if kind == "result":
            return self._result(record)
        if record.get("hook_event_name") == "StopFailure":
            return self._stop_failure(record)
        return []

    # Retries -----------------------------------------------------------------------------------------------------

    def _retry(
        self, record: Mapping[str, Any], facts: dict[str, Any], attempt_key: str, max_key: str, delay_key: str
    ) -> list[Event]:
        attempt = number(record.get(attempt_key)) or 1
        maximum = number(record.get(max_key))
        delay_ms = quantity(record.get(delay_key))
        delay = delay_ms / 1000 if delay_ms is not None else None
        key, caller = self._who(record)
        # An attempt that does not go up is the first of another chain; the one before ended unseen.
        self._chains.begin_anew(key, attempt)
        operation, _ = self._chains.failed(key, self._record_id(record, "operation", attempt))
        verdict, payload = classify_foreign(
            facts,
            self._at(record),
            caller=caller,
            operation=operation,
            attempt=self._chains.renumber(key, attempt),
            max_attempts=maximum + 1 if maximum is not None else None,
        )
        self._chains.note(key, verdict.reason, caller)
        scheduled = self._chains.scheduled(key, delay_seconds=delay)
        return [
            self._event(record, "error.classified", payload, attempt),
            self._event(record, "retry.scheduled", scheduled, attempt),
        ]

    def _subagent_retry(self, record: Mapping[str, Any]) -> list[Event]:
        retry = mapping(record.get("subagent_retry"))
        merged = {**record, **retry, "agentId": retry.get("agent_id"), "isSidechain": True}
        return self._retry(merged, stream_retry_facts(retry), "attempt", "max_retries", "retry_delay_ms")

    def _settle(self, record: Mapping[str, Any], outcome: str, made: int, reason: str | None = None) -> list[Event]:
        """End the chain that this record decides; `made` is how many calls came after its last failed one."""
        payload = self._chains.settled(self._who(record)[0], outcome, made=made, reason=reason)
        return [self._event(record, "retry.settled", payload, payload["operation"])] if payload else []

    # Replies, terminal errors, interruptions ---------------------------------------------------------------------

    def _assistant(self, record: Mapping[str, Any]) -> list[Event]:
        if record.get("isApiErrorMessage") is True:
            return self._terminal(record, terminal_facts(record))
        if mapping(record.get("message")).get("model") == "<synthetic>":
            return []
        return self._settle(record, "recovered", 1) + self._after_compaction(record)

    def _terminal(self, record: Mapping[str, Any], facts: dict[str, Any], **tokens: int | None) -> list[Event]:
        key, caller = self._who(record)
        operation = self._chains.operation(key)
        verdict, payload = classify_foreign(
            facts,
            self._at(record),
            caller=caller,
            operation=operation,
            attempt=self._chains.attempts(key) + 1 if operation else None,
            outcome=None if operation else "surfaced",
            input_tokens=tokens.get("input_tokens"),
            output_tokens=tokens.get("output_tokens"),
        )
        resets_at = quantity(mapping(record.get("quotaLimits")).get("resetsAt"))
        if resets_at is not None:
            with contextlib.suppress(ValueError):  # a moment out of all bounds is none
                payload["reset_at"] = format_time(from_epoch(resets_at))
        if verdict.detail == "aborted":
            payload["outcome"] = "aborted"
        if record.get("type") == "result":
            payload["failure_reason"] = failure_reason(record, verdict)
            if turns := turns_at_limit(record, verdict):
                payload["remediation"] = turn_limit_advice(turns)
        events = [self._event(record, "error.classified", payload, "terminal")]
        if verdict.detail == "usage_limit":
            exhausted = {
                "caller": caller,
                "reason_text": verdict.facts.message or verdict.facts.stdout,
                "reset_at": payload.get("reset_at"),
            }
            events.append(self._event(record, "agent.exhausted", exhausted, "exhausted"))
        outcome = "aborted" if verdict.detail == "aborted" else "exhausted"
        return events + self._settle(record, outcome, 1, verdict.reason)

    def _user(self, record: Mapping[str, Any]) -> list[Event]:
        events = []
        if message_text(record).startswith(INTERRUPTED):
            events += self._settle(record, "aborted", 0)
        _, caller = self._who(record)
        for index, (call, said) in enumerate(failed_tools(record)):
            if says_missing(said):
                _, payload = classify_foreign({"message": said, "is_error": True}, self._at(record), caller=caller)
                events.append(self._event(record, "error.classified", payload, f"tool{index}"))
            failed = {"caller": caller, "tool": self.tool(call), **failure(said, command=self.command(call))}
            events.append(self._event(record, "tool.failed", failed, call or index))
        return events

    def _result(self, record: Mapping[str, Any]) -> list[Event]:
        spent = self._spent(record)
        if not says_error(record):
            return [*spent, *self._settle(record, "recovered", 1)]
        tokens = dict(zip(("input_tokens", "output_tokens"), run_tokens(record), strict=True))
        return [*spent, *self._terminal(record, error_facts(record), **tokens)]

    def _spent(self, record: Mapping[str, Any]) -> list[Event]:
        """The tokens and the cost of a whole run by model; a run of several turns sums them up in each result."""
        events = []
        for model, spent in mapping(record.get("modelUsage")).items():
            used = mapping(spent)
            tokens = {name: number(used.get(key)) for name, key in _RUN_TOKENS.items()}
            if any(tokens.values()):
                told = {
                    "request": derived_id("claude", "run", self._session, self.run, model),
                    "whole_run": True,
                    "caller": self.caller,
                    "model": model,
                    "cost_usd": quantity(used.get("costUSD")),
                    **tokens,
                }
                events.append(self._event(record, "usage.recorded", told, model))
        return events

    def _stop_failure(self, record: Mapping[str, Any]) -> list[Event]:
        said = text(record.get("last_assistant_message")) or ""
        return self._terminal(record, terminal_facts({**record, "message": {"content": said}}))

    # Compactions -------------------------------------------------------------------------------------------------

    def _compact(self, record: Mapping[str, Any]) -> list[Event]:
        meta = mapping(record.get("compactMetadata")) or mapping(record.get("compact_metadata"))
        _, caller = self._who(record)
        duration = number(meta.get("durationMs"))
        relay = {
            "relay": self._record_id(record, "relay", meta.get("preTokens")),
            "caller": caller,
            "trigger": text(meta.get("trigger")),
            "strategy": "compact",
            "pre_tokens": number(meta.get("preTokens")) or number(meta.get("pre_tokens")),
            "duration_seconds": duration / 1000 if duration is not None else None,
        }
        post_tokens = number(meta.get("postTokens")) or number(meta.get("post_tokens"))
        events = [self._event(record, "relay.triggered", relay, "relay")]
        if post_tokens is None:
            self._compaction = {"relay": relay["relay"], "caller": caller}
        else:
            done = {"relay": relay["relay"], "caller": caller, "post_tokens": post_tokens}
            events.append(self._event(record, "relay.resumed", done, "relay"))
        return events

    def _after_compaction(self, record: Mapping[str, Any]) -> list[Event]:
        """The first reply after a compaction tells how much context was left of it, near enough."""
        if self._compaction is None or record.get("isSidechain") is True:
            return []
        usage = mapping(mapping(record.get("message")).get("usage"))
        parts = [
            number(usage.get(key)) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        ]
        known = [part for part in parts if part is not None]
        payload = {**self._compaction, "post_tokens": sum(known) or None, "post_tokens_estimated": True}
        relay, self._compaction = self._compaction["relay"], None
        return [self._event(record, "relay.resumed", payload, relay)]

    def _microcompact(self, record: Mapping[str, Any]) -> list[Event]:
        meta = mapping(record.get("microcompactMetadata"))
        before, saved = number(meta.get("preTokens")), number(meta.get("tokensSaved"))
        _, caller = self._who(record)
        payload = {
            "strategy": "microcompact",
            "caller": caller,
            "pre_tokens": before,
            "post_tokens": before - saved if before is not None and saved is not None else None,
        }
        return [self._event(record, "context.recovered", payload, "microcompact")]

    # Envelope ----------------------------------------------------------------------------------------------------

    def _who(self, record: Mapping[str, Any]) -> tuple[str, str]:
        """The key of the conversation inside this file, and the caller's name."""
        if record.get("isSidechain") is True:
            return f"side:{record.get('agentId') or ''}", f"{self.caller}/subagent"
        return "main", self.caller

    def _at(self, record: Mapping[str, Any]) -> datetime:
        return moment_of(record.get("timestamp")) or self._source.file_time

    def _record_id(self, record: Mapping[str, Any], *parts: object) -> str:
        """Follows from the record's `uuid`: resumed sessions repeat records in other files, with another session id."""
        unique = text(record.get("uuid"))
        if unique is None:
            kept = {key: value for key, value in record.items() if key not in {"sessionId", "session_id"}}
            unique = derived_id(self._session, sorted(kept.items(), key=lambda item: item[0]))
        return derived_id("claude", unique, *parts)

    def _event(self, record: Mapping[str, Any], kind: str, payload: Mapping[str, Any], *parts: object) -> Event:
        named = moment_of(record.get("timestamp"))
        own = {"branch": text(record.get("gitBranch")), "model": self.model(self._offset)}
        return Event(
            type=kind,
            occurred_at=named or self._source.file_time,
            session_id=self._session,
            payload=dressed(kind, payload, {**self.known, **present(own)}),
            id=self._record_id(record, kind, *parts),
            time_source="file" if named is None else "event",
        )
