"""OpenTelemetry events and spans about agents' model calls, whatever carried them.

A failed call is one error. The `gen_ai` twin that Gemini CLI sends of each of its errors,
catalogues of models, tools and the spans round a call are no errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from analyzer.agent_stream import count, text
from analyzer.events import Event
from analyzer.events.model import present
from analyzer.events.times import format_time
from analyzer.importers.failures import classify_foreign, quantity
from analyzer.importers.programs import caller_of
from analyzer.importers.records import RecordReader, kept, moment_of

Attributes = Mapping[str, Any]

AGENTS = {
    "claude-code": "claude-code",
    "gemini-cli": "gemini-cli",
    "qwen-code": "qwen-code",
    "github-copilot": "copilot",
}
_PREFIXES = {"claude-code": "claude_code.", "gemini-cli": "gemini_cli.", "qwen-code": "qwen-code."}
EXCEPTION = "gen_ai.client.operation.exception"
"""The event of a failed call in the conventions for GenAI."""
PROVIDERS = {
    "aws.bedrock": "aws",
    "azure.ai.openai": "azure",
    "gcp.gemini": "google",
    "mistral_ai": "mistral",
    "x_ai": "xai",
}
"""Our names of providers by those of the conventions."""
_TWINNED = ("gemini-cli", "qwen-code")
"""Programs that send each error under a name of their own, and again under `EXCEPTION`."""
_SESSIONS = (
    "session.id",
    "conversation.id",
    "gen_ai.conversation.id",
    "session_id",
    "fragola.agent.id",
    "copilot_chat.chat_session_id",
    "ai.telemetry.metadata.sessionId",
)
_MODELS = (
    "model",
    "gen_ai.request.model",
    "llm.model_name",
    "gen_ai.response.model",
    "ai.model.id",
    "fragola.agent.model",
)
_MESSAGES = ("error.message", "error_message", "exception.message", "error", "status.message")


def nanoseconds(value: object) -> datetime | None:
    """Convert nanoseconds since 1970, a number or its digits, to naive UTC.

    None for 0, which stands for no time, and for anything else.
    """
    if isinstance(value, str) and len(value) <= 25 and value.isdigit():
        value = int(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 2**63:
        return None
    return moment_of(int(value) // 1_000_000)


def figure(value: object) -> float | None:
    """Return a number of sane size, which may be written as a text; else None."""
    if isinstance(value, str) and len(value) <= 25:
        try:
            value = float(value)
        except ValueError:
            return None
    return quantity(value)


def whole(value: object) -> int | None:
    """Return a whole number of sane size, which may be written as a text; else None."""
    number = figure(value)
    return None if number is None or number != number else int(number)


def is_false(value: object) -> bool:
    """Tell whether a flag is false, also if it is written as a text."""
    return value is False or (isinstance(value, str) and value.lower() == "false")


def _first(attributes: Attributes, *names: str) -> str | None:
    for name in names:
        value = attributes.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if string := text(value):
            return string
    return None


class TelemetryReader(RecordReader, name="otlp", agent="otlp", visibility="terminal"):
    """Reads events and spans that subclasses have unwrapped."""

    counts_replies: ClassVar[bool] = True
    """True if events of replies count as the requests of a session."""
    _given_up: dict[str, list[Any]] = kept({})
    """Ended chains by session: a later event has the time that they waited."""

    def finish(self) -> Sequence[Event]:
        """Return the ends of chains whose time of waiting never came, and the sessions."""
        chains, self._given_up = self._given_up, {}
        return [*(self._ended(chain) for chain in chains.values()), *super().finish()]

    def of_resource(self, resource: Attributes, attributes: Attributes) -> None:
        """Take the program, the session and its facts from a record and its resource."""
        both = self.record = {**resource, **attributes}
        service = _first(both, "service.name") or self.agent
        self.program = "codex" if service.startswith("codex") else AGENTS.get(service, service)
        session = _first(both, *_SESSIONS)
        if session != self.session:
            self.session, self.known = session, {}
        facts = {
            "agent": self.program,
            "agent_version": _first(both, "app.version", "service.version"),
            "provider": _first(both, "gen_ai.provider.name", "gen_ai.system", "llm.provider"),
            "model": _first(both, *_MODELS),
            "branch": _first(both, "vcs.ref.head.name"),
        }
        provider = facts["provider"] or ""
        # The AI SDK names an interface of a provider, as in `openai.responses`.
        name = provider.partition(".")[0] if "ai.operationId" in attributes else provider
        facts["provider"] = PROVIDERS.get(provider, name) or None
        self.known |= present(facts)

    def named(self, name: str) -> str:
        """Return the full name of an event; some programs leave their prefix out."""
        prefix = _PREFIXES.get(self.program, "")
        return name if "." in name.removeprefix("chat.") or not prefix else prefix + name

    # Events ----------------------------------------------------------------------------------------------------------

    def told(self, name: str, attributes: Attributes, unique: object) -> Iterable[Event]:
        """Return our events of an OpenTelemetry event by its full name."""
        producer, _, kind = name.partition(".")
        if producer == "codex":
            return self._codex(kind, attributes, unique)
        if producer in ("claude_code", "gemini_cli", "qwen-code"):
            read = _KINDS.get(kind)
            return read(self, attributes, unique) if read else ()
        if name == EXCEPTION and "agent_error.reason" in attributes:
            return [self._exported(attributes, unique)]
        if name == EXCEPTION and self.program not in _TWINNED:
            return [self._failure_of(attributes, unique)]
        if name == "agent_error.retry":
            return self._exported_end(attributes, unique)
        return ()

    def _failure_of(self, attributes: Attributes, unique: object, **fields: Any) -> Event:
        status = whole(_first(attributes, "http.response.status_code", "http.status_code", "status_code"))
        kind = _first(attributes, "error.type", "error_type", "exception.type", "final_error_type")
        if status is None and kind is not None and kind.isdigit() and len(kind) == 3:
            status, kind = int(kind), None
        self.count_session()
        facts = {
            "status": status or None,
            "code": attributes.get("agent_error.code"),
            "type": kind,
            "message": _first(attributes, *_MESSAGES),
        }
        return self.failed(facts, unique, caller=self._caller(attributes), **fields)

    def _exported(self, attributes: Attributes, unique: object) -> Event:
        """Make the event of an attempt that `analyzer export --otlp` wrote, in its chain if any."""
        fields = {
            "operation": _first(attributes, "agent_error.operation"),
            "attempt": whole(attributes.get("agent_error.attempt")),
        }
        if not fields["operation"]:
            fields["outcome"] = _first(attributes, "agent_error.outcome")
        error = {**attributes, "error.type": attributes.get("exception.type")}
        return self._failure_of(error, unique, **present(fields))

    def _exported_end(self, attributes: Attributes, unique: object) -> list[Event]:
        payload = {
            "operation": _first(attributes, "agent_error.operation"),
            "caller": self._caller(attributes),
            "reason": _first(attributes, "agent_error.reason"),
            "outcome": _first(attributes, "agent_error.outcome"),
            "attempts": whole(attributes.get("agent_error.attempts")),
            "waited_seconds": figure(attributes.get("agent_error.waited_seconds")),
        }
        self.count_session()
        return [self.event("retry.settled", present(payload), unique)]

    def _caller(self, attributes: Attributes) -> str:
        if "agent_error.reason" in attributes and (exported := _first(attributes, "gen_ai.agent.name")):
            return exported
        source = _first(attributes, "query_source")
        role = source if source not in ("main", "repl_main_thread") else None
        return caller_of(self.program, self.known, role)

    def _claude_error(self, attributes: Attributes, unique: object) -> list[Event]:
        """Make the events of an error after all retries; `attempt` includes the first call."""
        attempts = whole(attributes.get("attempt")) or 1
        if self.program != "claude-code":
            return self._call_failed(attributes, unique)
        if attempts == 1:
            return [self._failure_of(attributes, unique)]
        operation = self.event("error.classified", {}, unique).id
        failure = self._failure_of(attributes, unique, operation=operation, attempt=attempts, max_attempts=attempts)
        settled = {
            "operation": operation,
            "caller": self._caller(attributes),
            "reason": failure.payload["reason"],
            "outcome": "exhausted",
            "attempts": attempts,
        }
        key = self.session or ""
        previous = self._given_up.pop(key, None)
        self._given_up[key] = [settled, self.session, self.at.isoformat() if self.timed else None]
        return [failure, *([self._ended(previous)] if previous else [])]

    def _retries_exhausted(self, attributes: Attributes, _unique: object) -> list[Event]:
        chain = self._given_up.pop(self.session or "", None)
        if chain is None:
            return []
        waited = figure(attributes.get("total_retry_duration_ms"))
        if waited is not None:
            chain[0]["waited_seconds"] = round(waited / 1000, 3)
        return [self._ended(chain)]

    def _ended(self, given_up: list[Any]) -> Event:
        payload, session, moment = given_up
        current = self.session, self.at, self.timed
        self.session, self.timed = session, moment is not None
        self.at = datetime.fromisoformat(moment) if moment else self.source.stand_in(self._near)[0]
        event = self.event("retry.settled", payload, payload["operation"])
        self.session, self.at, self.timed = current
        return event

    def _call_failed(self, attributes: Attributes, unique: object) -> list[Event]:
        """Make the events of one failed call; the next event shows if it is tried again."""
        if "Abort" in (_first(attributes, "error_type", "error.type") or ""):
            return self._cancelled(attributes, unique)
        return [self._failure_of(attributes, unique, chain=self.session or "")]

    def _retry(self, attributes: Attributes, unique: object) -> list[Event]:
        """Make the event of a retry; the log may have an event of the failed call, or not."""
        key = self.session or ""
        attempt = whole(_first(attributes, "attempt", "attempt_number")) or 1
        if key not in self.chains:
            kind = _first(attributes, "error_type", "error.type")
            verdict, _ = classify_foreign(present({"type": kind, "is_error": True}), self.at)
            self.chains.failed(key, self.event("retry.scheduled", {}, unique).id)
            self.chains.note(key, verdict.reason, self._caller(attributes))
        self.chains.renumber(key, attempt)
        delay = figure(_first(attributes, "delay_ms", "retry_delay_ms") or attributes.get("delay_ms"))
        self.count_session()
        return [self.scheduled(unique, chain=key, delay_seconds=delay / 1000 if delay is not None else None)]

    def _requested(self, attributes: Attributes, unique: object) -> list[Event]:
        """Read `api_request`: of Claude Code an answered call, of others the beginning of one."""
        return self._replied(attributes, unique) if self.program == "claude-code" else []

    def _replied(self, _attributes: Attributes, _unique: object) -> list[Event]:
        self.count_session(requests=int(self.counts_replies))
        return self.settled("recovered", chain=self.session or "", made=1)

    def _content_failed(self, _attributes: Attributes, _unique: object) -> list[Event]:
        return self.settled("exhausted", chain=self.session or "")

    def _cancelled(self, _attributes: Attributes, _unique: object) -> list[Event]:
        self.count_session(aborted=1)
        return self.settled("aborted", chain=self.session or "")

    def _compacted(self, attributes: Attributes, unique: object) -> list[Event]:
        before = whole(_first(attributes, "pre_tokens", "tokens_before"))
        after = whole(_first(attributes, "post_tokens", "tokens_after"))
        milliseconds = figure(attributes.get("duration_ms"))
        began = {
            "caller": self._caller(attributes),
            "trigger": _first(attributes, "trigger"),
            "pre_tokens": count(before),
            "duration_seconds": milliseconds / 1000 if milliseconds is not None else None,
        }
        self.count_session()
        failed = is_false(attributes.get("success"))
        cause = (_first(attributes, "error") or "the compaction failed") if failed else None
        return self.compacted(began, unique, post_tokens=count(after), cause=cause)

    def _limit(self, attributes: Attributes, unique: object) -> list[Event]:
        """Make the event of how much of a limit is used, which `analyzer hook status` logs."""
        minutes, used = whole(attributes.get("window_minutes")), figure(attributes.get("used_share"))
        if not minutes or used is None or not self.timed:
            return []
        resets = moment_of(whole(attributes.get("reset_at")))
        observed = {
            "caller": self._caller(attributes),
            "provider": "anthropic",
            "window_minutes": minutes,
            "used_share": used,
            "reset_at": None if resets is None else format_time(resets),
        }
        return [self.event("limit.observed", observed, unique)]

    def _codex(self, kind: str, attributes: Attributes, unique: object) -> list[Event]:
        message = _first(attributes, "error.message")
        if kind == "sse_event":
            if message is not None:
                return [self._failure_of(attributes, unique)]
            if attributes.get("event.kind") == "response.completed":
                self.count_session(requests=1)
            return []
        if kind == "tool_result":
            # `error` is the output of the tool, and may be a file: it is not read.
            return self._tool({**attributes, "error": None}, unique)
        if kind in ("websocket_connect", "websocket_request"):
            failed = is_false(attributes.get("success"))
            return [self._failure_of(attributes, unique)] if failed else []
        if kind != "api_request" or str(attributes.get("endpoint", "")).endswith("/models"):
            return []  # a catalogue is no call of a model
        before, key = whole(attributes.get("attempt")) or 0, self.session or ""
        events: list[Event] = []
        if before and key in self.chains:
            events.append(self.scheduled(("again", unique), chain=key))
        elif not before:
            events += self.settled("exhausted", chain=key)
        status = whole(_first(attributes, "http.response.status_code"))
        if message is not None or (status or 0) >= 400:
            return [*events, *self._call_failed(attributes, unique)]
        return [*events, *self.settled("recovered", chain=key, made=1)]

    def _tool(self, attributes: Attributes, unique: object) -> list[Event]:
        """Read a finished call of a tool."""
        tool = _first(attributes, "function_name", "tool_name", "name")
        self.count_calls(tool)
        if not is_false(attributes.get("success")):
            return []
        decision = _first(attributes, "decision", "status")
        kind = {"reject": "refused", "cancelled": "cancelled"}.get(decision or "")
        output = _first(attributes, "error", "error.message", "error_message")
        hint = _first(attributes, "error_type", "error.type")
        return self.tool_failed(tool, output, unique, kind=kind, hint=hint)


_KINDS: dict[str, Callable[[TelemetryReader, Attributes, object], Iterable[Event]]] = {
    "api_error": TelemetryReader._claude_error,
    "api_retries_exhausted": TelemetryReader._retries_exhausted,
    "limit": TelemetryReader._limit,
    "compaction": TelemetryReader._compacted,
    "chat_compression": TelemetryReader._compacted,
    "network_retry_attempt": TelemetryReader._retry,
    "api_retry": TelemetryReader._retry,
    "chat.content_retry": TelemetryReader._retry,
    "chat.content_retry_failure": TelemetryReader._content_failed,
    "api_cancel": TelemetryReader._cancelled,
    "api_request": TelemetryReader._requested,
    "api_response": TelemetryReader._replied,
    "tool_call": TelemetryReader._tool,
    "tool_result": TelemetryReader._tool,
}
"""The readers of events of Claude Code, Gemini CLI and Qwen Code by name without prefix."""
