"""A conversation as agents keep it: messages of Anthropic, of OpenAI (chat or Responses), of Gemini, or plain ones.

Invariant: messages are read, never changed; changes are made to copies. A message is a mapping or an object.

Attachments (images, documents, sounds, films, files) are recognised in the shapes of the providers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from analyzer.frozen import frozen

MEDIA_TOKENS = 1_600
"""The estimate for an attachment of any size: the most that Anthropic takes for an image."""
LOW_DETAIL_TOKENS = 85
"""An image of OpenAI's `detail: low` (https://platform.openai.com/docs/guides/images-vision)."""
_NAME_CHARS = 200

# Blocks of Anthropic and OpenAI have a type; Gemini's parts and Bedrock's blocks have one key that is their kind.
_TYPES = {
    "audio": "audio",
    "container_upload": "file",
    "document": "document",
    "file": "file",
    "image": "image",
    "image_url": "image",
    "input_audio": "audio",
    "input_file": "file",
    "input_image": "image",
    "video": "video",
    "video_url": "video",
}
_KEYS = {
    "inline_data": "file",
    "inlineData": "file",
    "file_data": "file",
    "fileData": "file",
    "image": "image",
    "document": "document",
    "video": "video",
    "audio": "audio",
}
_RESPONSES = frozenset({"input_text", "output_text", "input_image", "input_file"})
_MAJOR = {"image": "image", "audio": "audio", "video": "video", "application": "document", "text": "document"}


@frozen
class Media:
    """The kind, name and size of an attachment."""

    kind: str
    """`image`, `document`, `audio`, `video` or `file`."""
    name: str | None
    """The name that it was attached under."""
    media_type: str | None
    """The media type, such as `image/png`."""
    tokens: int | None
    """The estimate; None for a document of text, which counts by its text."""

    def __str__(self) -> str:
        label = f'{self.kind} "{self.name}"' if self.name else self.kind
        return f"{label} ({self.media_type})" if self.media_type else label


def media_of(block: object) -> Media | None:
    """Return the attachment in a block of a message.

    None for text, tool calls and results, and unknown blocks.
    """
    block_type = get(block, "type")
    if isinstance(block_type, str):
        kind = _TYPES.get(block_type)
        return None if kind is None else _media(kind, block, get(block, block_type), get(block, "source"))
    if isinstance(block, Mapping) and "role" not in block:
        for key, kind in _KEYS.items():
            inside = block.get(key)
            if isinstance(inside, Mapping):
                return _media(kind, inside, inside.get("source"))
    return None


def text_block(text: str, beside: Sequence[Any]) -> dict[str, Any]:
    """Make a block of a text, in the shape of the blocks that it is put among (`beside`)."""
    types = [get(block, "type") for block in beside]
    if beside and not any(isinstance(block_type, str) for block_type in types):
        return {"text": text}
    return {"type": "input_text" if _RESPONSES.intersection(filter(_is_text, types)) else "text", "text": text}


def get(thing: object, name: str) -> Any:
    """Return the value of a mapping's key or of an object's attribute; None if it has none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _media(kind: str, *holders: object) -> Media:
    """Describe an attachment by its block and the objects in it."""
    name = _first_text(holders, "title", "filename", "name", "displayName", "display_name")
    media_type = _first_text(holders, "media_type", "mime_type", "mimeType") or _of_url(holders)
    if kind == "file" and media_type:
        kind = _MAJOR.get(media_type.partition("/")[0], kind)
    if _first_text(holders, "detail") == "low":
        return Media(kind, name, media_type, LOW_DETAIL_TOKENS)
    is_text = kind == "document" and any(get(holder, "type") in ("text", "content") for holder in holders)
    return Media(kind, name, media_type, None if is_text else MEDIA_TOKENS)


def _of_url(holders: Sequence[object]) -> str | None:
    """Return the media type of a data URL."""
    url = _first_text(holders, "url", "image_url", "file_url", "file_data", "data")
    return (url[5:].partition(";")[0] or None) if url is not None and url.startswith("data:") else None


def _first_text(holders: Sequence[object], *names: str) -> str | None:
    values = (get(holder, name) for holder in holders for name in names)
    return next((" ".join(text.split())[:_NAME_CHARS] for text in values if _is_text(text) and text.strip()), None)


def _is_text(thing: object) -> bool:
    return isinstance(thing, str)


BYTES_PER_TOKEN = 4
"""The estimate for texts without a count: four bytes of UTF-8 make a token."""
_SYSTEM = frozenset({"system", "developer"})
_TOOL_ROLES = frozenset({"tool", "function"})
_OTHER_NAMES = {"model": "assistant"}
_BODIES = ("content", "parts", "output")
"""The keys of contents: that of most messages, Gemini's,
and that of outputs among the items of Responses.
"""
_MAX_DEPTH = 20
_NONSENSE_TOKENS = 10**12
"""The least count of tokens that is no count: no message has so many."""

Message = Any
"""A mapping, or an object of a client library, with a role and a content."""
Messages = Sequence[Message]


@frozen
class Compression:
    """The amount by which a conversation was made smaller."""

    strategy: str
    """The strategy that was used; several are joined by `+`."""
    pre_tokens: int
    post_tokens: int
    removed_messages: int
    truncated_messages: int


def role_of(message: Message) -> str:
    """Return the role in lower case, Gemini's `model` as `assistant`.

    That of a Responses item by its type.
    """
    role = get(message, "role")
    if isinstance(role, str):
        return _OTHER_NAMES.get(role.lower(), role.lower())
    kind = _item(message)
    if not kind:
        return ""
    return "tool" if kind.endswith("_output") else "assistant"


def is_system(message: Message) -> bool:
    """Return true for a message with instructions, which is never removed."""
    return role_of(message) in _SYSTEM


def is_tool_output(message: Message) -> bool:
    """Return true for a message that is the output of a tool:
    OpenAI's `tool`, or a plain one that names a tool.
    """
    if role_of(message) in _TOOL_ROLES:
        return True
    metadata = get(message, "metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("toolName") or metadata.get("tool_name"))


def body_of(message: Message) -> Any:
    """Return the content of a message: a text, a list of blocks, or None."""
    return get(message, _body_key(message))


def blocks_of(message: Message) -> list[Any]:
    """Return the blocks of the content; an empty list if it is a text."""
    body = body_of(message)
    return list(body) if isinstance(body, (list, tuple)) else []


def calls_of(message: Message) -> list[str]:
    """Return the ids of the tool calls that a message makes; instructions make none."""
    if is_system(message):
        return []
    ids = _block_ids(message, ("tool_use", "id"), ("functionCall", "function_call"), "toolUse", "_call")
    calls = get(message, "tool_calls")
    ids += [get(call, "id") for call in calls] if isinstance(calls, (list, tuple)) else []
    return [call_id for call_id in ids if isinstance(call_id, str)]


def calls_made(message: Message) -> list[str]:
    """Return the tool calls that a message makes, each as its name and its arguments."""
    blocks = [block for block in blocks_of(message) if get(block, "type") == "tool_use"]
    called = [f"{get(block, 'name')} {get(block, 'input')}" for block in blocks]
    functions = [get(call, "function") for call in get(message, "tool_calls") or ()]
    return called + [
        f"{get(function, 'name')} {get(function, 'arguments')}" for function in functions if function is not None
    ]


def results_of(message: Message) -> list[str]:
    """Return the ids of the tool calls that a message answers; instructions answer none."""
    if is_system(message):
        return []
    names = ("functionResponse", "function_response")
    ids = _block_ids(message, ("tool_result", "tool_use_id"), names, "toolResult", "_output")
    ids.append(get(message, "tool_call_id"))
    return [call_id for call_id in ids if isinstance(call_id, str)]


def _block_ids(
    message: Message, anthropic: tuple[str, str], gemini: tuple[str, str], bedrock: str, responses: str
) -> list[Any]:
    """Return the ids in a message's blocks, by each provider's shape of a call or of a result."""
    ids = [get(message, "call_id")] if _item(message).endswith(responses) else []
    block_type, key = anthropic
    for block in blocks_of(message):
        ids.append(get(block, key) if get(block, "type") == block_type else None)
        ids += [get(_keyed(block, *gemini), "id"), get(_keyed(block, bedrock), "toolUseId")]
    return ids


def answers_a_call(message: Message) -> bool:
    """Return true for a message with results of tools, with or without the ids of their calls."""
    if role_of(message) in _TOOL_ROLES or results_of(message):
        return True
    names = ("functionResponse", "function_response", "toolResult")
    return not is_system(message) and any(_keyed(block, *names) is not None for block in blocks_of(message))


def leads_to_the_next(message: Message) -> bool:
    """Return true for a message that must be followed by its successor,
    as a `reasoning` of Responses.
    """
    return _item(message) == "reasoning"


def tokens_of(message: Message) -> int:
    """Return the tokens by the message's metadata (`metadata.tokens.total`), else the estimate."""
    counted = counted_tokens(message)
    return estimated_tokens(message) if counted is None else counted


def counted_tokens(message: Message) -> int | None:
    """Return the tokens by the message's metadata; None if they have no count."""
    metadata = get(message, "metadata")
    tokens = get(metadata, "tokens") if metadata is not None else None
    total = get(tokens, "total") if isinstance(tokens, Mapping) else tokens
    return total if type(total) is int and 0 < total < _NONSENSE_TOKENS else None


def estimated_tokens(message: Message) -> int:
    """Estimate the tokens of content and tool calls, four bytes a token, and of attachments.

    Metadata are not sent, and cost nothing.
    """
    size = _size(message if _item(message) else body_of(message), 0) + _size(get(message, "tool_calls"), 0)
    return max(1, math.ceil(size / BYTES_PER_TOKEN))


def text_of(message: Message) -> str:
    """Return the texts of a message, tool outputs included, one after another."""
    return "\n".join(_texts(body_of(message), 0))


def with_content(message: Mapping[str, Any], content: Any) -> dict[str, Any]:
    """Copy a message with other content.

    A count in its metadata changes in proportion to the estimate.
    """
    changed = {**message, _body_key(message): content}
    counted = counted_tokens(message)
    if counted is not None:
        share = estimated_tokens(changed) / estimated_tokens(message)
        tokens = message["metadata"]["tokens"]
        total = math.ceil(counted * share)
        changed["metadata"] = {
            **message["metadata"],
            "tokens": {**tokens, "total": total} if isinstance(tokens, Mapping) else total,
        }
    return changed


def _item(message: Message) -> str:
    """Return the type of a Responses item without a role: a call, its output, a reasoning.

    Empty for others.
    """
    kind = None if isinstance(get(message, "role"), str) else get(message, "type")
    is_item = isinstance(kind, str) and (kind == "reasoning" or kind.endswith(("_call", "_call_output")))
    return str(kind) if is_item else ""


def _keyed(block: object, *names: str) -> Any:
    """Return the value that a block of Gemini or Bedrock has under one of these keys."""
    return next((value for value in (get(block, name) for name in names) if value is not None), None)


def _body_key(message: Message) -> str:
    return next((key for key in _BODIES if get(message, key) is not None), "content")


def _size(thing: object, depth: int) -> int:
    """Count the bytes of all texts and numbers in a value."""
    if isinstance(thing, str):
        return len(thing) if thing.isascii() else len(thing.encode("utf-8", "replace"))
    if thing is None or depth > _MAX_DEPTH:
        return 0
    if isinstance(thing, bytes):
        return len(thing)
    if isinstance(thing, (list, tuple)):
        return sum(_size(item, depth + 1) for item in thing)
    media = media_of(thing)
    if media is not None and media.tokens is not None:
        return media.tokens * BYTES_PER_TOKEN
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
