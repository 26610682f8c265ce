# ruff: noqa: E501 - the templates read best one a line
"""Errors as agents meet them: some sixty templates with ids, counts and times that make each error distinct.

Invariant: the same number gives the same error, on every machine, and two numbers give two errors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from analyzer.classifier import Facts, extract

_ID, _NUMBER, _SMALL, _HOST = "{id}", "{number}", "{small}", "{host}"
_HOSTS = ("api.example.com", "10.0.4.17", "models.example.net", "gateway.internal", "localhost")


def _api(status: int, kind: str, message: str, provider: str = "anthropic") -> dict[str, Any]:
    return {"status": status, "type": kind, "message": message, "provider": provider}


_BODIES = [
    _api(429, "rate_limit_error", "This request would exceed your organization's rate limit of {number} input tokens per minute (request id: req_{id})"),
    _api(429, "rate_limit_error", "Number of concurrent connections has exceeded your rate limit. Request {id}"),
    _api(429, "requests", "Rate limit reached for model-{small} in organization org-{id} on requests per min. Please try again in {small}.054s.", "openai"),
    _api(429, "tokens", "Rate limit reached on tokens per min (TPM): Limit 30000, Used {number}, Requested 5021. Please try again in {small}s. id {id}", "openai"),
    _api(429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details. ({id})", "openai"),
    _api(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota). Request {id}, retryDelay: {small}s", "google"),
    _api(529, "overloaded_error", "Overloaded (request id: req_{id})"),
    _api(503, "UNAVAILABLE", "The model is overloaded. Please try again later. trace {id}", "google"),
    _api(500, "api_error", "Internal server error (request id: req_{id})"),
    _api(502, "", "upstream connect error or disconnect/reset before headers. reset reason: connection termination, request {id}"),
    _api(504, "timeout_error", "The request {id} timed out after {small} seconds"),
    _api(400, "invalid_request_error", "prompt is too long: {number} tokens > 200000 maximum (request id: req_{id})"),
    _api(400, "context_length_exceeded", "This model's maximum context length is 128000 tokens. However, your messages resulted in {number} tokens. ({id})", "openai"),
    _api(400, "invalid_request_error", "messages.{small}: all messages must have non-empty content except for the final one, request {id}"),
    _api(400, "invalid_request_error", "tools.{small}.custom.input_schema: JSON schema is invalid, request {id}"),
    _api(400, "invalid_request_error", "Your credit balance is too low to access the API. Please go to Plans & Billing. ({id})"),
    _api(401, "authentication_error", "invalid x-api-key (request id: req_{id})"),
    _api(401, "invalid_api_key", "Incorrect API key provided for request {id}", "openai"),
    _api(403, "permission_error", "Your account does not have access to this resource, request {id}"),
    _api(404, "not_found_error", "model: model-{small}-{id} does not exist"),
    _api(413, "request_too_large", "Request exceeds the maximum size, {number} bytes, request {id}"),
    _api(422, "validation_error", "body.items.{small}.name: field required ({id})"),
    {"status": 429, "headers": {"retry-after": "12"}, "message": "Too many requests, request {id}"},
    {"code": "-32601", "message": "Method not found: tool_{id}"},
    {"code": "-32602", "message": "Unknown tool: fetch_{id}"},
    {"code": "ECONNRESET", "message": "read ECONNRESET while talking to {host}, attempt {small}, call {id}"},
    {"code": "ENOTFOUND", "message": "getaddrinfo ENOTFOUND {host} (call {id})"},
    {"code": "ETIMEDOUT", "message": "connect ETIMEDOUT {host}:443, call {id}"},
    {"exception_class": "ReadTimeout", "message": "HTTPSConnectionPool(host='{host}', port=443): Read timed out. (read timeout={small}) {id}"},
    {"exception_class": "ConnectError", "message": "[Errno 111] Connection refused by {host}, call {id}"},
    {"exception_class": "ValidationError", "message": "{small} validation errors for Plan{id}: steps.0.name Field required"},
    {"exception_class": "JSONDecodeError", "message": "Expecting ',' delimiter: line {small} column 7 (char {number}) in {id}"},
    {"exception_class": "SSLCertVerificationError", "message": "certificate verify failed: self-signed certificate in certificate chain, {host}, {id}"},
    {"status": 500, "message": "{{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}},\"request_id\":\"req_{id}\"}}"},
]  # fmt: skip
_TEXTS = [
    "API Error: 529 {{\"type\":\"error\",\"error\":{{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}},\"request_id\":\"req_{id}\"}}",
    "API Error: 500 Internal server error (request {id})",
    "API Error (Request timed out after {small} s, {id})",
    "fetch failed: socket hang up while reading {host}/v1/files/{id}",
    "HTTP 503 Service Unavailable from {host}, trace {id}",
    "429 Too Many Requests: slow down, request {id}, retry after {small} seconds",
    "Error: connect ECONNREFUSED {host}:{number} ({id})",
    "You've hit your session limit · resets {small}:10pm (America/Denver) · {id}",
    "input length and `max_tokens` exceed context limit: {number} + 32000 > 200000, request {id}",
    "Error: No such tool available: mcp__design__{id}",
    "Design file snapshot {id} is being rehydrated, come back in {small} min",
    "Canvas shard {small} is parked, {number} readers ahead of {id}",
    "Worker {id} gave up after {small} steps",
    "Invalid JSON in the answer of step {id}: unexpected token at position {number}",
    "OAuth token has expired for account {id}",
    "Your access token could not be refreshed. Please log out and sign in again. ({id})",
    "The model `model-{id}` does not exist or you do not have access to it.",
    "Output blocked by content filtering policy, request {id}",
    "Request was aborted by the user after {small} s ({id})",
    "TimeoutError: step {id} took longer than {number} ms",
]  # fmt: skip
_RESULTS = [
    {"exit_code": 1, "stderr": "working on {id}\nError: API Error: 529 Overloaded\nrun ended after {small} s"},
    {"exit_code": 1, "stdout": "I looked at {number} files of {id} and then stopped.\nClaude AI usage limit reached|1790000000"},
    {"exit_code": 1, "stderr": "fatal: unable to access 'https://{host}/{id}.git/': Could not resolve host: {host}"},
    {"exit_code": 127, "stderr": "sh: {small}: tool-{id}: not found"},
    {"exit_code": 0, "stdout": "Fixed the rate limit handling of {id}: 429 and 529 are tried again now."},
    {"exit_code": 2, "stderr": "Traceback (most recent call last):\n  File \"run.py\", line {small}, in main\nopenai.RateLimitError: Error code: 429 - rate limit of {id}"},
    {"type": "result", "subtype": "error_max_turns", "is_error": True, "message": "Reached max turns ({small}) in {id}"},
    {"type": "result", "subtype": "success", "is_error": True, "result": "API Error: Connection error. ({id})"},
]  # fmt: skip
TEMPLATES: list[dict[str, Any]] = [*_BODIES, *({"message": text} for text in _TEXTS), *_RESULTS]


def mapping(number: int) -> dict[str, Any]:
    """One distinct error as a producer hands it over: a raw mapping."""
    names = _names(number)
    return {
        key: value.format_map(names) if isinstance(value, str) else value
        for key, value in TEMPLATES[number % len(TEMPLATES)].items()
    }


def stored(number: int) -> str:
    """The same error as it is stored: the JSON text of its facts."""
    text = _stored_templates()[number % len(TEMPLATES)]
    for name, value in _names(number).items():
        text = text.replace(f"@{name}@", value)
    return text


def facts(numbers: Iterable[int]) -> list[Facts]:
    """The same errors as facts."""
    return [Facts.from_dict(json.loads(stored(number))) for number in numbers]


def _names(number: int) -> dict[str, str]:
    # A multiplication by an odd constant is a permutation: ids look random and never repeat.
    mixed = (number * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    return {
        "id": f"{mixed:016x}",
        "number": str(200_000 + mixed % 100_000),
        "small": str(1 + mixed % 11),
        "host": _HOSTS[mixed % len(_HOSTS)],
    }


@cache
def _stored_templates() -> list[str]:
    marks = {name: f"@{name}@" for name in _names(0)}
    return [
        json.dumps(
            extract({k: v.format_map(marks) if isinstance(v, str) else v for k, v in template.items()}).to_dict(),
            ensure_ascii=False,
        )
        for template in TEMPLATES
    ]
