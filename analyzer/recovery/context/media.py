"""What a message carries besides text: images, documents, sounds, films and files, in the shapes of the providers.

Invariant: only blocks that a provider knows as such are attachments; their bytes are never looked into.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MEDIA_TOKENS = 1_600
"""The estimate for an attachment, whatever its bytes: the most that Anthropic takes for an image."""
LOW_DETAIL_TOKENS = 85
"""An image of OpenAI's `detail: low` (https://platform.openai.com/docs/guides/images-vision)."""
_NAME_CHARS = 200

# Blocks of Anthropic and OpenAI have a type; in Gemini's parts and Bedrock's blocks the one key says what it is.
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


@dataclass(frozen=True, slots=True)
class Media:
    """What an attachment is."""

    kind: str
    """`image`, `document`, `audio`, `video` or `file`."""
    name: str | None
    """The name that it was attached under."""
    media_type: str | None
    """The media type, such as `image/png`."""
    tokens: int | None
    """As estimated; null where it is text, and weighs what its text does."""

    def __str__(self) -> str:
        named = f'{self.kind} "{self.name}"' if self.name else self.kind
        return f"{named} ({self.media_type})" if self.media_type else named


def media_of(block: object) -> Media | None:
    """The attachment that a block of a message is; None for text, tool calls and results, and anything unknown."""
    named = get(block, "type")
    if isinstance(named, str):
        kind = _TYPES.get(named)
        return None if kind is None else _media(kind, block, get(block, named), get(block, "source"))
    if isinstance(block, Mapping) and "role" not in block:
        for key, kind in _KEYS.items():
            inside = block.get(key)
            if isinstance(inside, Mapping):
                return _media(kind, inside, inside.get("source"))
    return None


def text_block(text: str, beside: Sequence[Any]) -> dict[str, Any]:
    """A text as a block of the same shape as those that it will stand among."""
    types = [get(block, "type") for block in beside]
    if beside and not any(isinstance(each, str) for each in types):
        return {"text": text}
    return {"type": "input_text" if _RESPONSES.intersection(filter(_is_text, types)) else "text", "text": text}


def get(thing: object, name: str) -> Any:
    """A key of a mapping or an attribute of an object; None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def _media(kind: str, *places: object) -> Media:
    """What the block and what it holds say about the attachment."""
    name = _said(places, "title", "filename", "name", "displayName", "display_name")
    media_type = _said(places, "media_type", "mime_type", "mimeType") or _of_url(places)
    if kind == "file" and media_type:
        kind = _MAJOR.get(media_type.partition("/")[0], kind)
    if _said(places, "detail") == "low":
        return Media(kind, name, media_type, LOW_DETAIL_TOKENS)
    is_text = kind == "document" and any(get(place, "type") in ("text", "content") for place in places)
    return Media(kind, name, media_type, None if is_text else MEDIA_TOKENS)


def _of_url(places: Sequence[object]) -> str | None:
    """The media type of a data URL."""
    url = _said(places, "url", "image_url", "file_url", "file_data", "data")
    return (url[5:].partition(";")[0] or None) if url is not None and url.startswith("data:") else None


def _said(places: Sequence[object], *names: str) -> str | None:
    found = (get(place, name) for place in places for name in names)
    return next((" ".join(each.split())[:_NAME_CHARS] for each in found if _is_text(each) and each.strip()), None)


def _is_text(thing: object) -> bool:
    return isinstance(thing, str)
