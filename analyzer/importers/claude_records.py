"""Claude Code's records → events, in file order: retries, terminal errors, compactions, sessions.

Retries, terminal errors and compactions stay apart; the outcome of a retry run is folded from the record that ends it.

Error records become what the classifier reads.
"""

from __future__ import annotations

import contextlib
import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, ClassVar

from analyzer.agent_stream import (
    SUBAGENTS,
    error_facts,
    failure_reason,
    hollow,
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
from analyzer.importers.failures import classify_foreign, number, quantity
from analyzer.importers.programs import caller_of
from analyzer.importers.records import MAIN, RecordReader, kept

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
        words = block.get("content")
        if isinstance(words, list):
            words = "\n".join(str(mapping(part).get("text", "")) for part in words)
        if isinstance(words, str):
            plain = words.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
            found.append((text(block.get("tool_use_id")) or "", plain))
    return found


def says_missing(words: str) -> bool:
    """Whether a failed tool result says that what was called does not exist: that alone is an error."""
    return bool(_MISSING.match(words))


_RUN_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}
INTERRUPTED = "[Request interrupted by user"


class ClaudeRecords(RecordReader, agent="claude-code"):
    """Folds records into events; holds the chains of retries and the compactions that are still open."""

    runs_as: ClassVar[str]
    """Who makes the calls, where no record says that it is a fork."""
    interactive: ClassVar[bool]
    """Whether a caller is named by the project that it is at work in."""
    _compaction: dict[str, Any] | None = kept()
    _dead: int = kept(0)
    """Sub-agents that failed."""

    def __init__(self, source: Source, state: Mapping[str, Any]) -> None:
        super().__init__(source, state)
        self.record: Mapping[str, Any] = {}
        """The record in hand."""
        self.run: str | None = None
        """The first record of the run in hand, by which several runs of one session are told apart."""
        # Checkpoints of earlier versions keep their open chains under another name.
        if former := mapping(state.get("runs")):
            self.chains = Chains({key: {**mapping(run), "retried": True} for key, run in former.items()})
        self.program = self._author.fork or self.runs_as
        self.known.setdefault("agent", self.agent)

    @abstractmethod
    def speaker_here(self) -> dict[str, str | None]:
        """The `model` that spoke last before the record in hand, and the `provider` that it or the record came from."""

    @abstractmethod
    def called_tool(self, call: str) -> str | None:
        """The tool that a call asked for."""

    @abstractmethod
    def called_command(self, call: str) -> str | None:
        """The command that a call asked for."""

    @abstractmethod
    def called_at(self, call: str) -> datetime | None:
        """When a call was made."""

    @abstractmethod
    def worked(self) -> tuple[int, Mapping[str, int]]:
        """How many replies the file has so far, and how many calls of each tool."""

    @property
    def waiting(self) -> bool:
        """Whether the next reply or interruption decides something."""
        return bool(self.chains) or self._compaction is not None

    @property
    def caller(self) -> str:
        """The caller of the record in hand."""
        return caller_of(self.program, self.known if self.interactive else {}, self.role)

    @property
    def chain(self) -> str:
        """The conversation inside this file that the record in hand belongs to."""
        return f"side:{self.record.get('agentId') or ''}" if self.role else MAIN

    def _events_of(self, record: Mapping[str, Any]) -> list[Event]:
        """The events of one record; most give none."""
        self.session = text(record.get("sessionId")) or text(record.get("session_id")) or self.session
        try:
            self._take(record)
            return self._told(record)
        finally:
            self.role = None  # what is told of the file as a whole is the main conversation's

    def _take(self, record: Mapping[str, Any]) -> None:
        """Take a record, and the time and the conversation that it names, in hand."""
        self.record = record
        self.time(record.get("timestamp"))
        self.role = "subagent" if record.get("isSidechain") is True else None

    def _told(self, record: Mapping[str, Any]) -> list[Event]:
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
        # An attempt that does not go up is the first of another chain; the one before ended unseen.
        self.chains.begin_anew(self.chain, attempt)
        return self.retried(
            {**facts, "is_error": None},
            attempt,
            chain=self.chain,
            numbered=attempt,
            delay_seconds=delay_ms / 1000 if delay_ms is not None else None,
            max_attempts=maximum + 1 if maximum is not None else None,
        )

    def _subagent_retry(self, record: Mapping[str, Any]) -> list[Event]:
        retry = mapping(record.get("subagent_retry"))
        merged = {**record, **retry, "agentId": retry.get("agent_id"), "isSidechain": True}
        self._take(merged)
        return self._retry(merged, stream_retry_facts(retry), "attempt", "max_retries", "retry_delay_ms")

    # Replies, terminal errors, interruptions ---------------------------------------------------------------------

    def _assistant(self, record: Mapping[str, Any]) -> list[Event]:
        if record.get("isApiErrorMessage") is True:
            return self._terminal(record, terminal_facts(record))
        if mapping(record.get("message")).get("model") == "<synthetic>":
            return []
        return self.settled("recovered", chain=self.chain, made=1) + self._after_compaction(record)

    def _terminal(self, record: Mapping[str, Any], facts: dict[str, Any], **tokens: int | None) -> list[Event]:
        chain = self.chain if self.chain in self.chains else None
        failure = self.failed(facts, "terminal", chain=chain, **tokens)
        payload = dict(failure.payload)
        reason, detail = payload["reason"], payload.get("detail")
        resets_at = quantity(mapping(record.get("quotaLimits")).get("resetsAt"))
        if resets_at is not None:
            with contextlib.suppress(ValueError):  # a moment out of all bounds is none
                payload["reset_at"] = format_time(from_epoch(resets_at))
        if detail == "aborted":
            payload["outcome"] = "aborted"
        if record.get("type") == "result":
            payload["failure_reason"] = failure_reason(record, reason, detail)
            if turns := turns_at_limit(record, detail):
                payload["remediation"] = turn_limit_advice(turns)
        failure = replace(failure, payload=payload)
        limited = [self.exhausted(failure, "exhausted")] if detail == "usage_limit" else []
        outcome = "aborted" if detail == "aborted" else "exhausted"
        return [failure, *limited, *self.settled(outcome, chain=self.chain, reason=reason)]

    def _user(self, record: Mapping[str, Any]) -> list[Event]:
        events = []
        if message_text(record).startswith(INTERRUPTED):
            events += self.settled("aborted", chain=self.chain)
        for index, (call, words) in enumerate(failed_tools(record)):
            if says_missing(words):
                _, payload = classify_foreign({"message": words, "is_error": True}, self.at, caller=self.caller)
                events.append(self.event("error.classified", payload, f"tool{index}"))
            tool, command = self.called_tool(call), self.called_command(call)
            at = self.called_at(call)
            events.append(self.tool_failed(tool, words, call or index, command=command, called_at=at))
            self._dead += tool in SUBAGENTS
        return events

    def _result(self, record: Mapping[str, Any]) -> list[Event]:
        spent = self._spent_by_run(record)
        if not says_error(record):
            return [*spent, *self.settled("recovered", chain=self.chain, made=1), *self._hollow(record)]
        tokens = dict(zip(("input_tokens", "output_tokens"), run_tokens(record), strict=True))
        return [*spent, *self._terminal(record, error_facts(record), **tokens)]

    def _hollow(self, record: Mapping[str, Any]) -> list[Event]:
        """What shows a run that says success and did nothing; sub-agents that have not answered are taken as alive."""
        replies, tools = self.worked()
        launched = sum(calls for tool, calls in tools.items() if tool in SUBAGENTS)
        why = hollow(
            replies=replies + bool((text(record.get("result")) or "").strip()),
            calls=sum(tools.values()),
            launched=launched,
            returned=launched,
            dead=self._dead,
        )
        if why is None:
            return []
        seen = {"caller": self.caller, "part": self.run, "outcome": "hollow", "detail": why}
        return [self.event("session.observed", seen, "hollow")]

    def _spent_by_run(self, record: Mapping[str, Any]) -> list[Event]:
        """The tokens and the cost of a whole run by model; a run of several turns sums them up in each result."""
        events = []
        for model, spent in mapping(record.get("modelUsage")).items():
            used = mapping(spent)
            tokens = {name: number(used.get(key)) for name, key in _RUN_TOKENS.items()}
            if any(tokens.values()):
                run_usage = {
                    "request": derived_id("claude", "run", self.session, self.run, model),
                    "whole_run": True,
                    "caller": self.caller,
                    "model": model,
                    "cost_usd": quantity(used.get("costUSD")),
                    **tokens,
                }
                events.append(self.event("usage.recorded", run_usage, model))
        return events

    def _stop_failure(self, record: Mapping[str, Any]) -> list[Event]:
        words = text(record.get("last_assistant_message")) or text(record.get("error_details")) or ""
        return self._terminal(record, terminal_facts({**record, "message": {"content": words}}))

    # Compactions -------------------------------------------------------------------------------------------------

    def _compact(self, record: Mapping[str, Any]) -> list[Event]:
        meta = mapping(record.get("compactMetadata")) or mapping(record.get("compact_metadata"))
        duration = number(meta.get("durationMs"))
        relay = {
            "relay": self.identity("relay", meta.get("preTokens")),
            "caller": self.caller,
            "trigger": text(meta.get("trigger")),
            "strategy": "compact",
            "pre_tokens": number(meta.get("preTokens")) or number(meta.get("pre_tokens")),
            "duration_seconds": duration / 1000 if duration is not None else None,
        }
        post_tokens = number(meta.get("postTokens")) or number(meta.get("post_tokens"))
        events = [self.event("relay.triggered", relay, "relay")]
        done = {"relay": relay["relay"], "caller": self.caller}
        if post_tokens is None:
            self._compaction = done
        else:
            events.append(self.event("relay.resumed", {**done, "post_tokens": post_tokens}, "relay"))
        return events

    def _after_compaction(self, record: Mapping[str, Any]) -> list[Event]:
        """The first reply after a compaction tells how much context was left of it, near enough."""
        if self._compaction is None or self.role:
            return []
        usage = mapping(mapping(record.get("message")).get("usage"))
        parts = [
            number(usage.get(key)) for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        ]
        known = [part for part in parts if part is not None]
        payload = {**self._compaction, "post_tokens": sum(known) or None, "post_tokens_estimated": True}
        relay, self._compaction = self._compaction["relay"], None
        return [self.event("relay.resumed", payload, relay)]

    def _microcompact(self, record: Mapping[str, Any]) -> list[Event]:
        meta = mapping(record.get("microcompactMetadata"))
        before, saved = number(meta.get("preTokens")), number(meta.get("tokensSaved"))
        payload = {
            "strategy": "microcompact",
            "caller": self.caller,
            "pre_tokens": before,
            "post_tokens": before - saved if before is not None and saved is not None else None,
        }
        return [self.event("context.recovered", payload, "microcompact")]

    # Envelope ----------------------------------------------------------------------------------------------------

    def see(self, *, requests: int = 0, aborted: int = 0) -> None:
        """Count nothing: requests and tools are counted by block."""

    def identity(self, kind: str, *identity: object) -> str:
        """Follows from the record's `uuid`: resumed sessions repeat records in other files, with another session id."""
        unique = text(self.record.get("uuid"))
        if unique is None:
            kept = {key: value for key, value in self.record.items() if key not in {"sessionId", "session_id"}}
            unique = derived_id(self.session, sorted(kept.items(), key=lambda item: item[0]))
        return derived_id("claude", unique, kind, *identity)

    def chain_name(self, _kind: str, *identity: object) -> str:
        """The name of a chain, as of its first attempt."""
        return self.identity("operation", *identity)

    def known_here(self) -> Mapping[str, Any]:
        """What is known of the session, with the branch, the model and the provider where the record in hand stands."""
        return {**self.known, **present({"branch": text(self.record.get("gitBranch"))}), **self.speaker_here()}
