"""What spans tell of calls of models, of failed tools and of compactions, whatever wrote them.

A span covers all that an SDK did inside of it, so that tries which it made again vanish. The AI SDK alone makes a span
of each try (source: the package ai 6.0.326); a try that stands beside a failed one below the same span is its retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import text
from analyzer.events import Event
from analyzer.importers.telemetry.model_calls import AGENTS, Attributes, TelemetryReader, figure, whole

_MODEL_CALLS = frozenset({"chat", "text_completion", "generate_content"})
_TRIES = (".doGenerate", ".doStream")
"""How the AI SDK's names of calls of a model end."""
_WITH_OWN_LOGS = frozenset({*AGENTS.values(), "codex", "opencode", "kilo"})
"""Agents whose own logs tell tools and tokens; their spans would tell them once more."""
_STOPS = ("Abort", "Cancel", "cancel")
"""What a type of error has in it that was a stop."""
_TOKENS = {
    "prompt": (
        "gen_ai.usage.input_tokens",
        "ai.usage.inputTokens",
        "llm.token_count.prompt",
        "gen_ai.usage.prompt_tokens",
        "ai.usage.promptTokens",
    ),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "ai.usage.outputTokens",
        "llm.token_count.completion",
        "gen_ai.usage.completion_tokens",
        "ai.usage.completionTokens",
    ),
    "cache_read_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "ai.usage.cachedInputTokens",
        "llm.token_count.prompt_details.cache_read",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "ai.usage.inputTokenDetails.cacheWriteTokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "ai.usage.reasoningTokens",
        "llm.token_count.completion_details.reasoning",
    ),
}
"""By the conventions for GenAI (which named what is written to a cache anew in 2026), the AI SDK and OpenInference."""


def is_model_call(attributes: Attributes) -> bool:
    """Tell whether a span is a call of a model, by GenAI's conventions, the AI SDK, OpenInference or OpenLLMetry."""
    operation = attributes.get("gen_ai.operation.name")
    if operation is not None:
        return text(operation) in _MODEL_CALLS
    if "ai.operationId" in attributes:
        return str(attributes["ai.operationId"]).endswith(_TRIES)
    if "openinference.span.kind" in attributes:
        return bool(attributes["openinference.span.kind"] == "LLM")
    return "traceloop.span.kind" not in attributes and attributes.get("llm.request.type") in ("chat", "completion")


def tool_called(attributes: Attributes) -> str | None:
    """The tool whose call a span is; None where it is none, or names none."""
    if attributes.get("gen_ai.operation.name") == "execute_tool":
        tool = text(attributes.get("gen_ai.tool.name")) or ""
        return None if tool.startswith("(merged") else tool or None  # ADK's span round several calls of tools
    if attributes.get("ai.operationId") == "ai.toolCall":
        return text(attributes.get("ai.toolCall.name"))
    if attributes.get("openinference.span.kind") == "TOOL":
        return text(attributes.get("tool.name"))
    return text(attributes.get("traceloop.entity.name")) if attributes.get("traceloop.span.kind") == "tool" else None


class SpanReader(TelemetryReader):
    """Reads spans that whoever inherits has unwrapped, each once its resource and its time are taken."""

    def span(
        self,
        attributes: Attributes,
        status: Mapping[str, Any],
        events: Iterable[Attributes],
        unique: tuple[str | None, str | None],
        parent: object = None,
    ) -> list[Event]:
        """The events of a span: its exceptions are `events`, its trace and its own name `unique`."""
        thrown = [unwrapped for unwrapped in events if unwrapped]
        found = {"status.message": status.get("message"), **(thrown[-1] if thrown else {}), **attributes}
        coded = status.get("code") in (2, "2", "STATUS_CODE_ERROR", "ERROR")
        kind = text(found.get("error.type")) or text(found.get("exception.type"))
        failed = coded or bool(thrown) or text(attributes.get("error.type")) is not None
        if is_model_call(attributes):
            return self._model_called(found, unique, failed, kind, f"{unique[0]}/{text(parent)}")
        if attributes.get("gen_ai.operation.name") == "compact_events":
            said = text(found.get("exception.message")) or text(found.get("status.message"))
            self.see()
            began = {"caller": self._caller(attributes), "trigger": text(attributes.get("gen_ai.compaction.trigger"))}
            return self.compacted(began, unique, cause=(said or "the compaction failed") if failed else None)
        tool = tool_called(attributes)
        if tool is None and "ai.operationId" in attributes and failed:
            return self.settled("exhausted", chain="/".join(map(str, unique)))
        if tool is None or self.program in _WITH_OWN_LOGS:
            return []
        self.see_calls(tool)
        said = text(found.get("exception.message")) or text(found.get("error.message"))
        said = said or text(found.get("status.message"))
        return [self.tool_failed(tool, said, unique, hint=kind)] if failed else []

    def _model_called(
        self, found: Attributes, unique: tuple[str | None, str | None], failed: bool, kind: str | None, chain: str
    ) -> list[Event]:
        """The events of a call of a model; of a try of the AI SDK in the chain of those below the same span."""
        tried = str(found.get("ai.operationId")).endswith(_TRIES)
        self.see(requests=1)
        again = [self.scheduled("again", unique, chain=chain)] if tried and chain in self.chains else []
        if failed and (
            found.get("copilot_chat.canceled") in (True, "true") or any(word in (kind or "") for word in _STOPS)
        ):
            return [*again, *self._cancelled(found, unique), *self.settled("aborted", chain=chain)]
        events = [*again, *self._compacted_before(found, unique)]
        if self.program not in _WITH_OWN_LOGS:
            events += self._spent(found, unique)
        if failed:
            return [*events, self._failure_of(found, unique, **({"chain": chain} if tried else {}))]
        return [*events, *self.settled("recovered", chain=chain, made=1)]

    def _spent(self, found: Attributes, unique: tuple[str | None, str | None]) -> list[Event]:
        tokens = {
            name: next((max(number, 0) for key in keys if (number := whole(found.get(key))) is not None), 0)
            for name, keys in _TOKENS.items()
        }
        return self.spent(*unique, cost_usd=figure(found.get("gen_ai.usage.cost")) or None, **tokens)

    def _compacted_before(self, found: Attributes, unique: object) -> list[Event]:
        """The compaction before a call, by GenAI's conventions: they set the flag where it is true alone."""
        if found.get("gen_ai.conversation.compacted") not in (True, "true"):
            return []
        begun = self.relay({"strategy": "compact", "caller": self._caller(found)}, "before", unique)
        return [begun, self.resumed(begun.id, whole(found.get("gen_ai.usage.input_tokens")))]
