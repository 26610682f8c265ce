"""LiteLLM's standard logging payloads: one record a call that its callbacks saw.

Calls of one trace are tries of one request, so a call after a failed one is its retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from analyzer.agent_stream import count, mapping, text
from analyzer.events import Event
from analyzer.importers.failures import quantity
from analyzer.importers.records import RecordReader, kept, moment_of
from analyzer.importers.telemetry.model_calls import whole


class LitellmReader(RecordReader, name="litellm", agent="litellm", visibility="full"):
    """Reads payloads; a trace is a session."""

    _ended: dict[str, float] = kept({})
    """The end of the last failed call by chain, in seconds since 1970, when its wait began."""

    def _events_of(self, record: Mapping[str, Any]) -> Iterable[Event]:
        call = mapping(record.get("standard_logging_object")) or record
        status, trace = call.get("status"), text(call.get("trace_id"))
        began, ended = quantity(call.get("startTime")), quantity(call.get("endTime"))
        if status not in ("success", "failure"):
            return ()
        self.clock(moment_of(ended) or moment_of(began))
        details = mapping(call.get("metadata"))
        self.session = trace
        self.role = text(details.get("user_api_key_alias"))
        self.begin(self.session, provider=call.get("custom_llm_provider"), model=call.get("model"))
        unique = text(call.get("id")), trace, began, ended, status
        key = f"{trace}/{call.get('call_type')}"
        again = self._again(key, began, unique) if trace is not None and key in self.chains else []
        if status == "failure":
            return [*again, self._failed(call, key if trace is not None else None, ended, unique)]
        if call.get("cache_hit") not in (True, "True"):
            self.count_session(requests=1)
            again += self._spent(call, unique)
        self._ended.pop(key, None)
        return [*again, *self.settled("recovered", chain=key, made=1)]

    def _spent(self, call: Mapping[str, Any], unique: tuple[object, ...]) -> list[Event]:
        """Record the tokens of a call that a provider answered, by the answer's id, and what it cost."""
        usage = mapping(mapping(call.get("metadata")).get("usage_object")) or mapping(
            mapping(call.get("response")).get("usage")
        )
        prompt, reply = (mapping(usage.get(f"{name}_tokens_details")) for name in ("prompt", "completion"))
        read = self.counted(usage, "cache_read_input_tokens") or self.counted(prompt, "cached_tokens")
        written = self.counted(usage, "cache_creation_input_tokens") or self.counted(prompt, "cache_creation_tokens")
        return self.spent(
            *([call["id"]] if text(call.get("id")) else unique),
            prompt=self.counted(call, "prompt_tokens") or 0,
            output_tokens=self.counted(call, "completion_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=self.counted(reply, "reasoning_tokens"),
            cost_usd=quantity(call.get("response_cost")) or None,
        )

    def _again(self, key: str, began: float | None, unique: object) -> list[Event]:
        """Make the retry of the failed call before this one; its wait is the time between them."""
        before = self._ended.get(key)
        delay = max(0.0, began - before) if began is not None and before is not None else None
        return [self.scheduled(unique, chain=key, delay_seconds=delay)]

    def _failed(self, call: Mapping[str, Any], key: str | None, ended: float | None, unique: object) -> Event:
        self.count_session(requests=1)
        error = mapping(call.get("error_information"))
        facts = {
            "status": whole(error.get("error_code")),
            "type": text(error.get("error_class")),
            "message": text(error.get("error_message")) or text(call.get("error_str")),
        }
        if key is not None and ended is not None:
            self._ended[key] = ended
        return self.failed(
            facts,
            unique,
            chain=key,
            input_tokens=count(call.get("prompt_tokens")) or None,
            output_tokens=count(call.get("completion_tokens")) or None,
        )
