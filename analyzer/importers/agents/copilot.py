"""Copilot CLI's sessions (`~/.copilot/session-state/*/events.jsonl`).

They hold only retries that failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event
from analyzer.events.times import format_time
from analyzer.importers.base import glance, shape
from analyzer.importers.failures import digits, number
from analyzer.importers.records import MAIN, RecordReader, identity_of, kept

_COUNTERS = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadTokens": "cache_read_tokens",
    "cacheWriteTokens": "cache_write_tokens",
    "reasoningTokens": "reasoning_tokens",
}
_RETRIED = re.compile(r"\bretried (\d{1,6}) times? \(total retry wait time: (\d{1,9}(?:\.\d{1,9})?) seconds\)")


class CopilotReader(RecordReader, name="copilot", agent="copilot", visibility="terminal"):
    """Reads a session."""

    glance: ClassVar[Any] = glance("type timestamp", data=shape("toolCallId toolName success model outputTokens"))
    _summed: dict[str, dict[str, int]] = kept({})
    """Tokens of the session by model and kind, as its last `session.shutdown` summed them."""
    _replied: dict[str, int] = kept({})
    """Output tokens of the messages since that, by model."""
    _resumed: dict[str, int] = kept({})
    """Those of them that were there when the session was last resumed, as it had been broken off."""
    _early: dict[str, int] = kept({})
    """Those of them that have an event, as a log had no `session.shutdown` after them when it was read."""

    def glanced(self, record: Mapping[str, Any]) -> Iterable[Event] | None:
        """Read all records except `session.*` and failed tools; see `RecordReader`."""
        kind, data = text(record.get("type")), mapping(record.get("data"))
        if (
            kind is None
            or kind.startswith("session.")
            or (kind == "tool.execution_complete" and data.get("success") is False)
        ):
            return None
        self.time(record.get("timestamp"))
        self.count_session(requests=int(kind == "assistant.message"), aborted=int(kind == "abort"))
        if kind == "assistant.message":
            self._learn_model(data.get("model"))
            model, output = self.known.get("model") or "", count(data.get("outputTokens")) or 0
            self._replied[model] = self._replied.get(model, 0) + output
        if kind == "tool.execution_start":
            self.called(text(data.get("toolName")), text(data.get("toolCallId")))
        elif kind == "tool.execution_complete":
            self.tool_of(text(data.get("toolCallId")))
        return ()

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        if (events := self.glanced(record)) is not None:
            return events
        self.time(record.get("timestamp"))
        kind, data = record.get("type"), mapping(record.get("data"))
        unique = self.session, text(record.get("id")), identity_of(record)
        if kind == "session.start":
            self._started(data)
        self.count_session()
        if kind == "session.resume":
            self._resumed = dict(self._replied)
        elif kind == "session.model_change":
            self._learn_model(data.get("newModel"))
        elif kind == "session.auto_mode_resolved":
            self._learn_model(data.get("chosenModel"))
        elif kind == "session.error":
            return self._failed(data, unique)
        elif kind == "session.compaction_complete":
            return [*self._compacted("compact", "CompactionTokens", data, unique), *self._summarised(data, unique)]
        elif kind == "session.truncation":
            return self._compacted("truncate", "TruncationTokensInMessages", data, unique)
        elif kind == "session.shutdown":
            return self._spent(mapping(data.get("modelMetrics")))
        elif kind == "tool.execution_complete":
            return self._tool_ended(data, unique)
        return ()

    def _learn_model(self, model: object) -> None:
        """Set the model, unless the choice of it is left to Copilot: it says later which one it chose."""
        self.learn(model=model if model != "auto" else None)

    def finish(self) -> Sequence[Event]:
        """Return the tokens of replies without an end of their session so far, and the session.

        Only the tokens of replies are known then.
        """
        events = []
        for model, output in self._replied.items():
            new = output - self._early.get(model, 0)
            if new > 0 and self.session is not None:
                self._early[model] = output
                self.clock(self._near)
                events += self._request(model or None, {"output_tokens": new}, "open", format_time(self.at), output)
        return [*events, *super().finish()]

    def _spent(self, models: Mapping[str, Any]) -> list[Event]:
        """Record the tokens of the session by model since its last end.

        The end of a resumed session sums up the whole session, or what was since it was resumed: its
        messages tell which.
        """
        events: list[Event] = []
        total = sum(self._tokens(mapping(metrics).get("usage"))["output_tokens"] for metrics in models.values())
        earlier = sum(summed.get("output_tokens", 0) for summed in self._summed.values())
        if total < earlier + sum(self._replied.values()):
            self._summed = {}
            for model, output in self._resumed.items():
                counted = min(output, self._early.get(model, 0))
                self._early[model] = self._early.get(model, 0) - counted
                events += self._request(model or None, {"output_tokens": output - counted}, "broken off", output, model)
        for model, metrics in models.items():
            summed = self._tokens(mapping(metrics).get("usage"))
            before = self._summed.get(model) or {}
            if any(summed[name] < before.get(name, 0) for name in summed):
                before = {}  # the sum began anew
            self._summed[model] = summed
            spent = {name: tokens - before.get(name, 0) for name, tokens in summed.items()}
            early = self._early.pop(model, 0) or self._early.pop("", 0)  # messages may name no model
            spent["output_tokens"] = max(spent["output_tokens"] - early, 0)
            events += self._request(model, spent, format_time(self.at), model)
        self._replied, self._resumed, self._early = {}, {}, {}
        return events

    def _tokens(self, usage: object) -> dict[str, int]:
        return {name: self.counted(usage, key) or 0 for key, name in _COUNTERS.items()}

    def _summarised(self, data: Mapping[str, Any], unique: object) -> list[Event]:
        """Record the tokens of a compaction's own request, which the sums leave out."""
        used = mapping(data.get("compactionTokensUsed"))
        return self._request(text(used.get("model")) or self.known.get("model"), self._tokens(used), unique)

    def _request(self, model: str | None, tokens: dict[str, Any], *identity: object) -> list[Event]:
        dimensions, prompt = self.known, tokens.pop("input_tokens", None)
        self.known = {**dimensions, "model": model}
        events = self.spent(self.session, *identity, prompt=prompt, **tokens)
        self.known = dimensions
        return events

    def _started(self, data: Mapping[str, Any]) -> None:
        self._summed, self._replied, self._resumed, self._early = {}, {}, {}, {}
        context = mapping(data.get("context"))
        self.begin(
            text(data.get("sessionId")) or self.session,
            agent_version=data.get("copilotVersion"),
            model=data.get("selectedModel") if data.get("selectedModel") != "auto" else None,
            effort=data.get("reasoningEffort"),
            branch=context.get("branch"),
        )
        self.work_in(context.get("cwd"))

    def _tool_ended(self, data: Mapping[str, Any], unique: object) -> list[Event]:
        """Record a call that failed; the call's beginning, or its telemetry, names the tool."""
        telemetry = mapping(mapping(data.get("toolTelemetry")).get("properties"))
        tool = self.tool_of(text(data.get("toolCallId"))) or text(telemetry.get("tool"))
        error = mapping(data.get("error"))
        return self.tool_failed(tool, text(error.get("message")), unique, hint=text(error.get("code")))

    def _failed(self, data: Mapping[str, Any], unique: object) -> list[Event]:
        kind = text(data.get("errorType"))
        facts = {
            "status": number(data.get("statusCode")),
            "type": kind if kind != "query" else None,
            "message": text(data.get("message")),
        }
        retries = _RETRIED.search(text(data.get("message")) or "")
        if retries is None:
            failure = self.failed(facts, unique)
            return [failure, self.exhausted(failure, unique)] if kind == "quota" else [failure]
        # Only a chain's last failure is logged, with the number and all waits of its retries.
        failure = self.failed(facts, unique, chain=MAIN, numbered=(digits(retries[1]) or 0) + 1)
        self.chains.scheduled(MAIN, delay_seconds=float(retries[2]))
        limit = [self.exhausted(failure, unique)] if kind == "quota" else []
        return [failure, *limit, *self.settled("exhausted")]

    def _compacted(self, strategy: str, counted: str, data: Mapping[str, Any], unique: object) -> list[Event]:
        """Record a compaction, with the tokens under `pre` and `post` + `counted`.

        A truncation cannot fail.
        """
        failed = strategy == "compact" and data.get("success") is False
        return self.compacted(
            {"strategy": strategy, "pre_tokens": count(data.get(f"pre{counted}")) or None},
            unique,
            post_tokens=count(data.get(f"post{counted}")) or None,
            cause=(text(data.get("error")) or "the compaction failed") if failed else None,
        )
