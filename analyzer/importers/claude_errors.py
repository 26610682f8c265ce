"""Claude Code's error records → what the classifier reads.

The places of status, code, type and text moved over the versions; fields present decide, never the version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from analyzer.agent_stream.values import mapping, text
from analyzer.events.model import present
from analyzer.importers.foreign import number

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
