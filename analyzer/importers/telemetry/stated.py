"""Find who answered a request: the facts that a record states beside a failure or a count of tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

NAMES = {
    "request_id": "request_id requestId requestID _request_id request-id x-request-id x-amzn-requestid"
    " gen_ai.request.id serviceRequestId",
    "asked_model": "asked_model gen_ai.request.model requested_model requestedModel originalModel original_model",
    "served_model": "served_model gen_ai.response.model response_model responseModel fallbackModel fallback_model",
    "service_tier": "service_tier serviceTier gen_ai.openai.response.service_tier openai.response.service_tier",
    "effort": "effort reasoning_effort reasoningEffort model_reasoning_effort thinkingLevel thinking_level"
    " gen_ai.request.reasoning_effort gen_ai.openai.request.reasoning_effort",
}
"""Facts → the names that logs give them; of several in one record the first counts."""
_FIELDS = {field: (fact, place) for fact, names in NAMES.items() for place, field in enumerate(names.split())}
_AROUND = frozenset(
    {
        *("message", "usage", "error", "data", "payload", "info", "response", "metadata", "attributes", "cause"),
        *("headers", "response_headers", "responseHeaders", "standard_logging_object"),
    }
)
"""Fields that hold further fields of the same request; what was said or done is in others."""
_DEEPEST = 3
_NAME = re.compile(r"[\w.:/@+\[\]-]{1,120}")


def stated(record: Mapping[str, Any]) -> dict[str, str]:
    """Return what a record states of who answered, by the keys of `NAMES`; the outermost value counts."""
    best: dict[str, tuple[int, int, str]] = {}
    level = [record]
    for depth in range(_DEEPEST):
        for fields in level:
            for field in fields.keys() & _FIELDS.keys():
                fact, place = _FIELDS[field]
                value = fields[field]
                if isinstance(value, str) and _NAME.fullmatch(value):
                    best[fact] = min(best.get(fact, (depth, place, value)), (depth, place, value))
        level = [
            inner for fields in level for key in _AROUND & fields.keys() if isinstance(inner := fields[key], Mapping)
        ]
    return {fact: value for fact, (_, _, value) in best.items()}
