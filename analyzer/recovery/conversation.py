"""A conversation as agents keep it: messages in the shape of Anthropic, of OpenAI, or plain `role` and `content`.

Invariant: messages are read, never changed; what is changed is a copy. Mappings and objects with attributes both do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

BYTES_PER_TOKEN = 4
"""The estimate where nobody counted: four bytes of UTF-8 make a token."""
MEDIA_TOKENS = 1_600
"""The estimate for an image, a document or a sound, whatever its bytes."""
_MEDIA = frozenset({"image", "document", "image_url", "input_image", "input_audio", "input_file", "file", "video"})
_SYSTEM = frozenset({"system", "developer"})
_TOOL_ROLES = frozenset({"tool", "function"})
_MAX_DEPTH = 20
_NONSENSE_TOKENS = 10**12
"""No message has so many; a count from here on is none."""

Message = Any
"""A mapping, or an object of a client library, with a role and a content."""
Messages = Sequence[Message]


@dataclass(frozen=True, slots=True)
class Compression:
    """How a conversation was made smaller."""

    strategy: str
    """What was done; several strategies in a row are joined by `+`."""
    pre_tokens: int
    post_tokens: int
    removed_messages: int
    truncated_messages: int


def get(thing: object, name: str) -> Any:
    """A key of a mapping or an attribute of an object; None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def role_of(message: Message) -> str:
    """The role in lower case; empty where it has none."""
    role = get(message, "role")
    return role.lower() if isinstance(role, str) else ""


def is_system(message: Message) -> bool:
    """Whether it instructs: it is never removed."""
    return role_of(message) in _SYSTEM


def is_tool_output(message: Message) -> bool:
    """Whether the whole message is the output of a tool: OpenAI's `tool`, or a plain message that names one."""
    if role_of(message) in _TOOL_ROLES:
        return True
    metadata = get(message, "metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("toolName") or metadata.get("tool_name"))


def blocks_of(message: Message) -> list[Any]:
    """The content's blocks; none where it is a text."""
    content = get(message, "content")
    return list(content) if isinstance(content, (list, tuple)) else []


def calls_of(message: Message) -> list[str]:
    """Ids of the tool calls that a message makes; instructions make none."""
    if is_system(message):
        return []
    found = [get(block, "id") for block in blocks_of(message) if get(block, "type") == "tool_use"]
    calls = get(message, "tool_calls")
    found += [get(call, "id") for call in calls] if isinstance(calls, (list, tuple)) else []
    return [each for each in found if isinstance(each, str)]


def results_of(message: Message) -> list[str]:
    """Ids of the tool calls that a message answers; instructions answer none."""
    if is_system(message):
        return []
    found = [get(block, "tool_use_id") for block in blocks_of(message) if get(block, "type") == "tool_result"]
    found.append(get(message, "tool_call_id"))
    return [each for each in found if isinstance(each, str)]


def tokens_of(message: Message) -> int:
    """Tokens as the message's metadata counts them (`metadata.tokens.total`), else as they are estimated."""
    counted = _counted(message)
    return estimated_tokens(message) if counted is None else counted


def estimated_tokens(message: Message) -> int:
    """`BYTES_PER_TOKEN` and `MEDIA_TOKENS` over content and tool calls; metadata are not sent, and cost nothing."""
    size = _size(get(message, "content"), 0) + _size(get(message, "tool_calls"), 0)
    return max(1, math.ceil(size / BYTES_PER_TOKEN))


def text_of(message: Message) -> str:
    """The texts of a message, tool outputs included, one after another."""
    return "\n".join(_texts(get(message, "content"), 0))


def with_content(message: Mapping[str, Any], content: Any) -> dict[str, Any]:
    """A copy with another content; a count of tokens in its metadata shrinks or grows with the estimate."""
    changed = {**message, "content": content}
    counted = _counted(message)
    if counted is not None:
        share = estimated_tokens(changed) / estimated_tokens(message)
        tokens = message["metadata"]["tokens"]
        total = math.ceil(counted * share)
        changed["metadata"] = {
            **message["metadata"],
            "tokens": {**tokens, "total": total} if isinstance(tokens, Mapping) else total,
        }
    return changed


def _counted(message: Message) -> int | None:
    metadata = get(message, "metadata")
    tokens = get(metadata, "tokens") if metadata is not None else None
    total = get(tokens, "total") if isinstance(tokens, Mapping) else tokens
    return total if type(total) is int and 0 < total < _NONSENSE_TOKENS else None


def _size(thing: object, depth: int) -> int:
    """Bytes of all texts and numbers in it."""
    if isinstance(thing, str):
        return len(thing) if thing.isascii() else len(thing.encode("utf-8", "replace"))
    if thing is None or depth > _MAX_DEPTH:
        return 0
    if isinstance(thing, bytes):
        return len(thing)
    if isinstance(thing, (list, tuple)):
        return sum(_size(item, depth + 1) for item in thing)
    if get(thing, "type") in _MEDIA:
        return MEDIA_TOKENS * BYTES_PER_TOKEN
    if isinstance(thing, Mapping):
        return sum(_size(key, depth + 1) + _size(value, depth + 1) for key, value in thing.items())
    if hasattr(thing, "__dict__"):
        return sum(_size(value, depth + 1) for value in vars(thing).values())
    return len(str(thing))


def _texts(thing: object, depth: int) -> list[str]:
    if isinstance(thing, str):
        return [thing]
    if depth > _MAX_DEPTH:
        return []
    if isinstance(thing, (list, tuple)):
        return [text for item in thing for text in _texts(item, depth + 1)]
    inner = get(thing, "text")
    return _texts(inner if inner is not None else get(thing, "content"), depth + 1) if thing is not None else []
