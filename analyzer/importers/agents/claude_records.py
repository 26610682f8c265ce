"""Records of Claude Code's transcripts and streams, and the facts of those that are about failures.

Of each line only the fields of `Record` are decoded: a line may have several megabytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import msgspec

from analyzer.agent_stream import MOST, mapping, text
from analyzer.events import Reject
from analyzer.events.model import present
from analyzer.importers.base import objects_in
from analyzer.importers.failures import number

REFUSAL = "refusal"
INTERRUPTED = "[Request interrupted by user"
PROVIDERS = {None: "anthropic", "bdrk_": "aws", "vrtx_": "google"}
"""Providers by the prefix in ids of replies and requests.

Seen in public logs of 2024 to August 2026. Other servers of Anthropic's protocol give ids of other
forms; their replies name no provider.
"""
LONGEST_NAME = 100
_SERVED = re.compile(r"(?:msg|req)_(bdrk_|vrtx_)?01")
_OPENINGS = (b'{"parentUuid"', b'{"type"', b'{"uuid"')
_ADVISOR = "advisor_message"
_MISSING = re.compile(r"(?:Error: )?(?:No such tool available|Agent type '[^'\n]{1,200}' not found|Unknown skill\b)")
_TELLING = frozenset(
    {"api_error", "api_retry", "compact_boundary", "microcompact_boundary", "model_fallback", "model_refusal_fallback"}
)
"""Subtypes of records that give events."""
_TELLING_TYPES = frozenset({"result", "rate_limit_event"})
_Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST)] | None


class _Cache(msgspec.Struct, gc=False):
    ephemeral_1h_input_tokens: _Count = None


class _Searches(msgspec.Struct, gc=False):
    web_search_requests: _Count = None


_TIERS = frozenset({"batch", "flex", "priority"})
"""Tiers of service with prices of their own."""


class Usage(msgspec.Struct, gc=False):
    """The tokens of a reply so far."""

    input_tokens: _Count = None
    output_tokens: _Count = None
    cache_read_input_tokens: _Count = None
    cache_creation_input_tokens: _Count = None
    cache_creation: _Cache | None = None
    type: Any = None
    model: Any = None
    service_tier: Any = None
    speed: Any = None
    inference_geo: Any = None
    server_tool_use: _Searches | None = None
    iterations: list[Usage] | None = None
    """The requests that a reply sums up, without those of an advisor, which has its own model."""

    @property
    def counts(self) -> tuple[int | None, ...]:
        """Return the tokens of input, output, cache read, cache written, and written for an hour.

        The searches of the web and the longest prompt follow, which are no tokens of their own.
        """
        hour = self.cache_creation.ephemeral_1h_input_tokens if self.cache_creation else None
        searches = self.server_tool_use.web_search_requests if self.server_tool_use else None
        prompts = [part.prompt for part in self.iterations or () if part.type != _ADVISOR]
        return (
            self.input_tokens,
            self.output_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
            hour,
            searches or None,
            max(prompts) if len(prompts) > 1 else None,
        )

    @property
    def prompt(self) -> int:
        """Return the tokens of the prompt, those of caches included."""
        return (self.input_tokens or 0) + (self.cache_read_input_tokens or 0) + (self.cache_creation_input_tokens or 0)

    @property
    def tier(self) -> str | None:
        """Return the speed or the tier that has another price."""
        named = "fast" if self.speed == "fast" else self.service_tier
        return named if named == "fast" or named in _TIERS else None

    @property
    def region(self) -> str | None:
        """Return the region that inference was kept in, if it has another price."""
        return "us" if self.inference_geo == "us" else None

    @property
    def advice(self) -> list[tuple[str, Usage]]:
        """Return the models and tokens of an advisor's replies, which are in no sum."""
        parts = [part for part in self.iterations or () if part.type == _ADVISOR]
        return [(model, part) for part in parts if (model := text(part.model)) and len(model) <= LONGEST_NAME]


class _Input(msgspec.Struct, gc=False):
    command: Any = None


class PartFields(msgspec.Struct, gc=False):
    """A part of a message: a text, a call of a tool, or the result of a call."""

    id: Any = None
    name: Any = None
    input: _Input | None = None
    is_error: Any = None


class MessageFields(msgspec.Struct, gc=False):
    """A reply, or what the user and the tools answer to it."""

    id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: Any = None
    content: list[PartFields | str] | str | None = None
    message: MessageFields | None = None
    """The message of a sub-agent, which its parent's line repeats."""

    @property
    def parts(self) -> list[PartFields]:
        """Return the parts of the content that are no plain texts."""
        return [part for part in self.content if type(part) is PartFields] if type(self.content) is list else []

    @property
    def made_by(self) -> str | None:
        """Return the model of a reply; None for a message that the program made up itself."""
        named = self.model and self.model[0] != "<" and len(self.model) <= LONGEST_NAME
        return self.model if named else None


class _Nested(msgspec.Struct, gc=False):
    message: MessageFields | None = None
    timestamp: Any = None


class Record(msgspec.Struct, gc=False, rename="camel"):
    """The fields that are read of every line."""

    type: Any = None
    subtype: Any = None
    hook: Any = msgspec.field(default=None, name="hook_event_name")
    is_api_error_message: Any = None
    subagent_retry: Any = msgspec.field(default=None, name="subagent_retry")
    session_id: Any = None
    stream_session: Any = msgspec.field(default=None, name="session_id")
    uuid: Any = None
    message_id: Any = None
    request_id: Any = None
    timestamp: Any = None
    is_sidechain: Any = None
    cwd: Any = None
    git_branch: Any = None
    version: Any = None
    forked_from: Any = None
    stream_version: Any = msgspec.field(default=None, name="claude_code_version")
    message: MessageFields | None = None
    data: _Nested | None = None
    snapshot: _Nested | None = None

    @property
    def repeated(self) -> MessageFields | None:
        """Return the message of a sub-agent that a record of its parent repeats."""
        return self.data.message.message if self.data and self.data.message else None

    @property
    def origin(self) -> str | None:
        """Return the session that a fork copied the record from; None for an original."""
        return None if self.forked_from is None else text(mapping(self.forked_from).get("sessionId"))

    @property
    def is_telling(self) -> bool:
        """Tell whether the record gives events, whatever was before it."""
        if self.type == "user":
            return self.message is not None and any(part.is_error is True for part in self.message.parts)
        if self.type == "assistant":
            return self.is_api_error_message is True or (
                self.message is not None and self.message.stop_reason == REFUSAL
            )
        if text(self.type) in _TELLING_TYPES or self.hook == "StopFailure" or self.subagent_retry is not None:
            return True
        return text(self.subtype) in _TELLING


RECORDS = msgspec.json.Decoder(Record)


def whole_records(line: bytes) -> tuple[list[dict[str, Any]], Reject | None]:
    """Return the records on a line with all their fields, and why the rest of it cannot be read."""
    return objects_in(line, _OPENINGS)


def typed(record: Mapping[str, Any]) -> tuple[Record, str]:
    """Return the fields of `Record` as far as they can be read, and what is wrong with a usage."""
    message = mapping(record.get("message"))
    wrong = ""
    for less in ({}, {"message": {**message, "content": None}}, {"message": None, "data": None, "snapshot": None}):
        try:
            return msgspec.convert({**record, **less}, Record), wrong
        except msgspec.ValidationError as error:
            wrong = str(error) if less and "usage" in message else ""
    return Record(), wrong


def served(name: str) -> str | None:
    """Return the provider that made an id; None for ids of other forms."""
    prefix = _SERVED.match(name)
    return PROVIDERS[prefix[1]] if prefix else None


def reply_facts(reply: MessageFields | None) -> dict[str, Any]:
    """Return the model of a reply, and who serves it, as far as they are known."""
    return present({"model": reply.made_by, "provider": served(reply.id or "")}) if reply else {}


def retry_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a `system/api_error` record: one failed attempt that will be retried.

    Shapes, oldest first: `error.error.error.{type,message}`; `{}` for a lost connection;
    `error.cause.code`; `error.error.{code,message,type}` of a gateway;
    `error.{message,formatted,connection.code}`.
    """
    error = mapping(record.get("error"))
    outer = mapping(error.get("error"))
    inner = mapping(outer.get("error"))
    connection = mapping(error.get("connection"))
    cause = mapping(error.get("cause")) or mapping(record.get("cause"))
    messages = [source.get("message") for source in (inner, outer)]
    messages += [error.get("formatted"), error.get("message")]
    facts = {
        "status": number(error.get("status")),
        "code": _first_text(part.get("code") for part in (connection, cause, inner, outer)),
        "type": text(inner.get("type")) or (text(outer.get("type")) if not inner else None),
        "message": _first_text(messages),
        "headers": mapping(error.get("headers")) or None,
    }
    return present(facts)


def _first_text(values: Iterable[object]) -> str | None:
    return next(filter(None, map(text, values)), None)


def terminal_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a record with `isApiErrorMessage: true`: the error that the user saw."""
    label = text(record.get("error"))
    facts = {
        "status": number(record.get("apiErrorStatus")),
        # Older versions labelled plain 500s and 529s "unknown": such a label is no evidence.
        "type": label if label != "unknown" else None,
        "message": message_text(record),
        "is_error": True,
    }
    return present(facts)


def fallback_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a `system/model_fallback` or `model_refusal_fallback`: a failed model, and why.

    Source: npm @anthropic-ai/claude-code 2.1.332.
    """
    trigger = text(record.get("trigger"))
    facts = {
        "type": REFUSAL if record.get("subtype") == "model_refusal_fallback" else _TYPES.get(trigger or "", trigger),
        "message": text(record.get("content")),
        "model": text(record.get("originalModel")) or text(record.get("original_model")),
    }
    return present(facts)


_TYPES = {"overloaded": "overloaded_error"}
"""Our types of failure by the trigger of a fallback; others are what they are called."""


def stream_retry_facts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of a `system/api_retry` record, or of a `subagent_retry`."""
    label = text(record.get("error")) or text(record.get("error_category"))
    facts = {"status": number(record.get("error_status")), "type": label if label != "unknown" else None}
    return present(facts)


def message_text(record: Mapping[str, Any]) -> str:
    """Join the text blocks of a record's message with newlines."""
    content = mapping(record.get("message")).get("content")
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = (mapping(block).get("text") for block in blocks)
    return "\n".join(part for part in texts if isinstance(part, str))


def failed_tools(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the failed tool results of a record: the name of the call, and the tool's words."""
    content = mapping(record.get("message")).get("content")
    results = []
    for block in map(mapping, content if isinstance(content, list) else []):
        if block.get("type") != "tool_result" or block.get("is_error") is not True:
            continue
        words = block.get("content")
        if isinstance(words, list):
            words = "\n".join(str(mapping(part).get("text", "")) for part in words)
        if isinstance(words, str):
            plain = words.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
            results.append((text(block.get("tool_use_id")) or "", plain))
    return results


def says_missing(words: str) -> bool:
    """Tell whether a failed tool result says that the tool, agent or skill does not exist."""
    return bool(_MISSING.match(words))
