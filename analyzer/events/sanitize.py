"""Any value → a JSON-ready, redacted, bounded one. Values that cannot be kept are replaced by a text that says so.

`payload_json` has two ways with one result: a payload that needs no change is encoded at once, any other is walked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from analyzer.events.times import format_time
from analyzer.redaction import (
    command_in,
    is_secret_name,
    item_name,
    may_hold_secret,
    member_names,
    redact,
    redact_argument,
    redact_member,
    redact_number,
    typed,
)
from analyzer.redaction.unfolding import readable

MAX_TEXT = 16_384
"""Characters of one text. Redaction comes before the cut, so that no half of a secret is left."""
MAX_ITEMS = 1_000
MAX_LEVELS = 32
MAX_TOTAL = 4 * 1024 * 1024
"""Characters of a whole value, with `_NODE` for an item:
otherwise containers that hold each other have no end.
"""
_NODE = 64
SMALL = 64 * 1024
"""Bytes of JSON whose value cannot come near `MAX_TOTAL`."""
_LOOKAHEAD = 4_096
"""Characters after the cut that redaction sees: more than it needs to recognise a secret."""
_CUT_NOTE = 48
_SHORT_KEY = 64
"""Characters of the longest key that is looked up in a cache."""
# The integers that the encoder takes.
_LEAST, _LARGEST = -(2**63), 2**64 - 1
_SCALARS = frozenset({bool, type(None), float})
_CONTAINERS = (Mapping, list, tuple, set, frozenset)
_encode = msgspec.json.Encoder().encode


def payload_json(payload: Mapping[str, Any]) -> bytes:
    """Encode the sanitized payload as JSON: the bytes of `encode(sanitize(payload))`,
    mostly without the walk.
    """
    if type(payload) is dict:
        try:
            if _plain_items(payload, 0) <= MAX_ITEMS:
                encoded = _encode(payload)
                # A text that is too long makes a long encoding.
                if len(encoded) <= MAX_TEXT and not may_hold_secret(encoded):
                    return encoded
        except (TypeError, ValueError, OverflowError, RuntimeError):
            pass  # a key that is no text, a lone surrogate, a huge integer, or a change by another thread
    return _encode(sanitize_payload(payload))


def sanitize_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Sanitize a payload. The result is always an object, also where the payload fails to give its items."""
    clean = sanitize(payload)
    return clean if isinstance(clean, dict) else {"unreadable": clean}


def _plain_items(value: Any, level: int) -> int:
    """Count the items of a container and of all below it; over `MAX_ITEMS` if `sanitize` has to walk it.

    It has to walk a container with other types than exactly those of JSON, too many items, or too many levels.

    Raises:
        TypeError: a key is no text.
    """
    total = len(value)
    if total > MAX_ITEMS or level >= MAX_LEVELS:
        return MAX_ITEMS + 1
    if type(value) is dict:
        "".join(value)
        value = value.values()
    for item in value:
        kind = type(item)
        if kind is str:  # most of them
            continue
        if kind is int:
            if not _LEAST <= item <= _LARGEST:
                # The encoder writes it as it is, and other readers of JSON round or refuse it.
                return MAX_ITEMS + 1
        elif kind is dict or kind is list:
            total += _plain_items(item, level + 1)
            if total > MAX_ITEMS:  # this also ends the recursion through containers that hold each other
                return total
        elif kind not in _SCALARS:
            return MAX_ITEMS + 1
    return total


def sanitize(value: Any, *, small: bool = False) -> Any:
    """Copy `value` into one that the codec takes, redacted and of bounded size. It never raises.

    `small` says that it was decoded from at most `SMALL` bytes of JSON. Then parts that need no change are recognised
    by their encoding, and kept without a copy; the result is the same.
    """
    return _Walk(small=small).clean(value, 0)


class _Walk:
    """A walk that sanitizes one value; `left` is the number of characters that may still be kept."""

    __slots__ = ("_small", "left")

    def __init__(self, *, small: bool) -> None:
        self.left = MAX_TOTAL
        self._small = small

    def clean(self, value: Any, level: int, name: str = "", argument: str = "", command: str = "") -> Any:
        """Sanitize a value.

        `name` is the key above it, `argument` the text before it in a list, `command` the command before that.
        """
        self.left -= _NODE
        kind = value.__class__
        try:
            if kind is dict and level < MAX_LEVELS:  # first, because `isinstance` with `Mapping` is slow
                return self._object(value, level + 1, name)
            if isinstance(value, str):
                return self._text(value, 0, name, argument, command)
            if value is None or isinstance(value, bool):
                return value
            if isinstance(value, int):
                number = int.__add__(value, 0)
                if not _LEAST <= number <= _LARGEST:
                    return self._text(_digits(number), 0, name, argument)
                return redact_number(name, number) if name else number
            if isinstance(value, float):
                if name and value.is_integer():
                    return redact_number(name, float.__add__(value, -0.0))
                return float.__add__(value, -0.0) if math.isfinite(value) else None
            if isinstance(value, _CONTAINERS):
                if level >= MAX_LEVELS:
                    return self._text("[nested too deeply]", 0, name, argument)
                if isinstance(value, Mapping):
                    return self._object(value, level + 1, name)
                return self._array(value, level + 1, name)
            if isinstance(value, datetime):
                return self._text(format_time(value), 0, name, argument)
            if isinstance(value, bytes | bytearray):
                most = 4 * (MAX_TEXT + _LOOKAHEAD)
                text = bytes(value[:most]).decode("utf-8", "replace")
                return self._text(text, len(value) if len(value) > most else 0, name, argument, command)
            return self._text(str(value), 0, name, argument)
        except Exception:  # noqa: BLE001 - a host's own objects may do anything when they are read
            return self._text(_unreadable(value), 0, name, argument)

    def _object(self, value: Mapping[Any, Any], level: int, own: str) -> dict[str, Any]:
        # A copy first, because other threads may change a plain dictionary meanwhile.
        members = list(islice(list(value.items()) if type(value) is dict else value.items(), MAX_ITEMS))
        name = member_names(members, own)
        kept: dict[str, Any] = {}
        # If no name above or beside the members makes them secrets, each is judged by itself.
        clean_keys = _clean_keys(members, level) if self._small and name is str else ()
        for key, item in members:
            if key in clean_keys:
                kept[key] = item
                continue
            if self.left <= 0:
                break
            word = _word(key)
            if len(word) <= _SHORT_KEY and _is_plain_key(word):
                self.left -= len(word)
                kept[word] = self.clean(item, level, name(word))
            else:
                kept[self._text(word, 0)] = self.clean(item, level, name(word))
        return kept

    def _array(self, value: Iterable[Any], level: int, own: str) -> list[Any]:
        items = list(islice(tuple(value), MAX_ITEMS))
        kept: list[Any] = []
        before = command = ""
        for position, item in enumerate(items):
            if self.left <= 0:
                break
            kind, item = typed(item)
            clean = self.clean(item, level, item_name(items, position, own), before, command)
            kept.append({kind: clean} if kind else clean)
            before = _readable(item) if isinstance(item, str) else ""
            command = command_in(before) or command
        return kept

    def _text(self, text: str, length: int, name: str = "", argument: str = "", command: str = "") -> str:
        length = max(length, str.__len__(text))
        seen = _readable(text)
        if name:
            clean = redact_member(name, seen)
        elif argument:
            clean = redact_argument(argument, seen, command)
        else:
            clean = redact(seen)
        if length > MAX_TEXT + _LOOKAHEAD or len(clean) > MAX_TEXT:
            kept = clean[: MAX_TEXT - _CUT_NOTE]
            clean = f"{kept}[… {max(length, len(clean)) - len(kept)} characters cut]"
        self.left -= len(clean)
        return clean


def _clean_keys(members: list[tuple[str, Any]], level: int) -> set[str]:
    """Return the keys of the members that `sanitize` leaves as they are."""
    keys: set[str] = set()
    for key, item in members:
        if len(key) > _SHORT_KEY or not _is_plain_key(key):
            continue
        kind = item.__class__
        if kind is str:
            kept = len(item) <= MAX_TEXT and not may_hold_secret(item.encode())
        elif kind is dict or kind is list:
            kept = _plain_items(item, level) <= MAX_ITEMS
            if kept:
                encoded = _encode(item)
                kept = len(encoded) <= MAX_TEXT and not may_hold_secret(encoded)
        else:
            kept = kind is not int or _LEAST <= item <= _LARGEST
        if kept:
            keys.add(key)
    return keys


@lru_cache(maxsize=1_024)
def _is_plain_key(key: str) -> bool:
    """Return true if a key is kept as it is and its name makes no value secret.

    The same few keys come again.
    """
    return redact(key) == key and not is_secret_name(key)


def _word(key: object) -> str:
    try:
        return _readable(key if isinstance(key, str) else str(key))
    except Exception:  # noqa: BLE001 - as in `clean`
        return _unreadable(key)


def _unreadable(value: object) -> str:
    return f"[unreadable {type(value).__name__[:64]}]"


def _readable(text: str) -> str:
    # A lone surrogate (from file names, mostly) is no UTF-8: strict readers refuse the whole line.
    return readable(str.__getitem__(text, slice(MAX_TEXT + _LOOKAHEAD)))


def _digits(value: int) -> str:
    return str(value)[:64] if value.bit_length() <= 4_096 else f"[an integer of {value.bit_length()} bits]"
