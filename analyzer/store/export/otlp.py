"""Build OpenTelemetry logs of errors: requests of OTLP/HTTP in JSON, of rows of `timeline-signals`.

One attempt is one record, and those of a chain share a trace id. Names are those of the semantic
conventions where they have one (GenAI and general ones, as of v1.43.0, 2026-07), else they begin
with `agent_error.`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby, islice
from typing import Any

from analyzer.importers.telemetry.model_calls import EXCEPTION, PROVIDERS

RECORDS = 500
"""Most records of one request: collectors bound a body, by 4 MiB unless configured otherwise."""
_SEVERITIES = {"info": (9, "INFO"), "warning": (13, "WARN"), "critical": (17, "ERROR")}
_RESOURCE = {"agent": "service.name", "agent_version": "service.version", "host": "host.name"}
_COMMON = {
    "id": "log.record.uid",
    "session_id": "gen_ai.conversation.id",
    "caller": "gen_ai.agent.name",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "branch": "vcs.ref.head.name",
    "project": "agent_error.project",
    "reason": "agent_error.reason",
    "outcome": "agent_error.outcome",
    "operation": "agent_error.operation",
    "fingerprint": "agent_error.fingerprint",
}
_OWN: dict[str, dict[str, str]] = {
    "error": {
        "said": "exception.message",
        "error_type": "exception.type",
        "status": "http.response.status_code",
        "code": "agent_error.code",
        "detail": "agent_error.detail",
        "party": "agent_error.party",
        "rule": "agent_error.rule",
        "attempt": "agent_error.attempt",
        "seconds": "agent_error.retry_after_seconds",
    },
    "retry": {"attempts": "agent_error.attempts", "seconds": "agent_error.waited_seconds"},
    "relay": {
        "step": "agent_error.step_id",
        "tokens_before": "agent_error.pre_tokens",
        "tokens_after": "agent_error.post_tokens",
        "seconds": "agent_error.duration_seconds",
    },
    "finding": {"finding": "agent_error.finding", "finding_id": "agent_error.finding_id"},
}
_EVENTS = {
    "error": EXCEPTION,
    "retry": "agent_error.retry",
    "relay": "agent_error.relay",
    "finding": "agent_error.finding",
}
_CONVENTIONAL = {own: name for name, own in PROVIDERS.items()}


def requests(rows: Iterable[Mapping[str, Any]], version: str) -> Iterator[dict[str, Any]]:
    """Return requests of at most `RECORDS` records, in the order of the rows; those of an agent share a resource."""
    remaining = iter(rows)
    while chunk := list(islice(remaining, RECORDS)):
        yield {
            "resourceLogs": [
                {
                    "resource": {"attributes": _attributes({"service.name": "agent", **dict(resource)})},
                    "scopeLogs": [
                        {"scope": {"name": "analyzer", "version": version}, "logRecords": [*map(_record, group)]}
                    ],
                }
                for resource, group in groupby(chunk, _resource)
            ]
        }


def _resource(row: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, row[column]) for column, name in _RESOURCE.items() if row[column] is not None)


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    kind, at = row["kind"], _nanoseconds(row["occurred_at"])
    number, word = _SEVERITIES.get(row["severity"], _SEVERITIES["warning"])
    named = {name: row[column] for column, name in {**_COMMON, **_OWN[kind]}.items()}
    named["gen_ai.provider.name"] = _CONVENTIONAL.get(row["provider"], row["provider"])
    named["session.id"] = row["session_id"]
    if kind == "error":
        # The conventions want the name that provider or client use, of few values.
        named["error.type"] = str(row["code"] or row["error_type"] or row["status"] or row["reason"])
    record = {
        "timeUnixNano": at,
        "observedTimeUnixNano": at,
        "severityNumber": number,
        "severityText": word,
        "eventName": _EVENTS[kind],
        "attributes": _attributes({"event.name": _EVENTS[kind], **named}),
    }
    if row["said"] is not None:
        record["body"] = {"stringValue": row["said"]}
    if row["operation"] is not None:
        record["traceId"] = hashlib.blake2b(row["operation"].encode(), digest_size=16).hexdigest()
    return record


def _nanoseconds(moment: datetime) -> str:
    passed = moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return str((passed.days * 86_400 + passed.seconds) * 1_000_000_000 + passed.microseconds * 1_000)


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _wrapped(value)} for name, value in values.items() if value is not None]


def _wrapped(value: object) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
