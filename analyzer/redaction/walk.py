"""Secrets out of structured values: what a text stands under, beside or behind says whether it is one.

Invariant: a value without secrets comes back as it is; whatever cannot be walked to its end loses the rest of it.
"""

from __future__ import annotations

import json
import sys
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from analyzer.redaction import keys
from analyzer.redaction.automata import LazyPattern
from analyzer.redaction.engine import mark, may_hold_secret, redact
from analyzer.redaction.keys import guard_of
from analyzer.redaction.places import mark_of
from analyzer.redaction.values import GUARDS, MARKED, attached_to, flag_of, is_plain, secret_in

MAX_LEVELS = 32
MAX_NODES = 20_000
_NAMING, _VALUED = frozenset(keys.NAMING), frozenset((*keys.VALUED, *keys.SUFFIXES, ""))
_KINDS = ("stringValue", "string_value")
"""Members that wrap a text in OpenTelemetry."""
_BYTES = ("bytesValue", "bytes_value")
_JSON = frozenset((str, int, float, bool, type(None)))
_LEAST_NUMBER = 1_000
_FEW = 16
"""Values of a process that are encoded with what Python has."""


_HOME = LazyPattern(
    r"(?:/mnt/[a-z](?=/))?(?:/(?:var/)?home/[^/]+|/Users/[^/]+|/root|[A-Za-z]:[/\\]+Users[/\\]+[^/\\]+)(?=[/\\]|$)"
)
"""Whose a home directory is, is nobody's business but its owner's."""


def is_secret_name(name: str) -> bool:
    """Return true if what stands under this name may be a secret: a key, a header, a variable, a parameter, a flag."""
    return bool(_guard(name))


def _guard(name: str) -> str:
    return guard_of((name if name.isascii() else _UNSEEN.sub("", name)).encode("utf-8", "replace"))


_UNSEEN = LazyPattern("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")


def redact_member(name: str, value: str) -> str:
    """Redact a text together with its name: in `{"password": "x y"}` only both together show a secret."""
    clean = redact(value)
    guard = _guard(name)
    if not guard:
        return clean
    raw = clean.encode("utf-8", "replace")
    if MARKED.match(raw) is not None or not GUARDS[guard](raw):
        return clean
    return mark(mark_of(guard), value.encode("utf-8", "replace")).decode()


def redact_number(name: str, value: float) -> float | str:
    """Redact a whole number under a name: a password may be one, and a long one a token."""
    if value < _LEAST_NUMBER or _guard(name) not in ("password", "plain"):
        return value
    written = str(int(value))
    clean = redact_member(name, written)
    return value if clean == written else clean


def redact_argument(before: str, value: str, command: str = "") -> str:
    """Redact an item of a list, judged with the flag before it and the command that it is an argument of:
    `["--password", "x"]`, `["curl", "-u", "app:x"]`.
    """
    clean = redact(value)
    raw = clean.encode("utf-8", "replace")
    if command and (start := attached_to(command, raw)) is not None:
        return raw[:start].decode("utf-8", "replace") + mark("argument", raw[start:]).decode()
    if not before.startswith("-") or clean.startswith("-") or MARKED.fullmatch(raw) is not None:
        return clean
    behind = flag_of(command, before) if command else None
    if behind is not None:
        begin = secret_in(raw, behind)
        if begin is not None:
            return raw[:begin].decode("utf-8", "replace") + mark("argument", raw[begin:]).decode()
    guard = _guard(before)
    if guard and (GUARDS[guard](raw) or (guard == "mixed" and ":" in clean and is_plain(raw))):
        return mark("argument", value.encode("utf-8", "replace")).decode()
    return clean


def member_names(members: Iterable[tuple[object, object]], own: str) -> Callable[[str], str]:
    """Return the name that each member of an object stands under, mostly its key; `own` is that of the object.

    `value` stands under what `name` beside it says, or else under what the object does.
    """
    above = own if own and is_secret_name(own) else ""
    for key, value in members:
        if isinstance(key, str) and key.lower() in _NAMING:
            name = value[-1] if isinstance(value, (list, tuple)) and value else value
            if isinstance(name, str) and is_secret_name(name):
                above = name
    if not above:
        return str
    return lambda key: above if key.lower() in _VALUED and not is_secret_name(key) else key


def item_name(items: Sequence[object], place: int, own: str) -> str:
    """Return the name that an item of a list stands under: that of the list, or the name before it in a pair
    or among headers.
    """
    if own and is_secret_name(own):
        # `auth = ("app", "x")`
        return "password" if place == 1 and len(items) == 2 and _guard(own) == "mixed" else own
    item = items[place]
    if isinstance(item, Mapping) and str(item.get("key")).lower() in _VALUED:  # an attribute, of what another one names
        pairs = [(pair.get("key"), typed(pair.get("value"))[1]) for pair in items if isinstance(pair, Mapping)]
        return member_names(pairs, own)(str(item["key"]))
    before = items[place - 1] if place else None
    if isinstance(before, (bytes, bytearray)):
        before = bytes(before).decode("utf-8", "replace")
    if not isinstance(before, str) or len(before) > 200:
        return ""
    if len(items) == 2:
        return before if not before.startswith("-") and is_secret_name(before) else ""
    return before if _guard(before) in ("authorization", "cookie") else ""


def typed(value: object) -> tuple[str, object]:
    """Return the text in a typed value of OpenTelemetry after its kind; any other value after an empty one."""
    if type(value) is dict and len(value) == 1:
        for kind in _KINDS:
            if isinstance(value.get(kind), str):
                return kind, value[kind]
    return "", value


def redact_value(value: Any) -> Any:
    """Return a value with its secrets replaced; the same object where it holds none.

    Foreign objects stay what they are.
    """
    if type(value) is str:
        return redact(value)
    if isinstance(value, (Mapping, list, tuple)):
        return _Walk().clean(value, 0, "", "", "") if _may_hold(value) else value
    if isinstance(value, (str, bytes, bytearray)):
        return _Walk().clean(value, 0, "", "", "")
    return value


def without_home(path: str, home: str | None = None) -> str:
    """Return the path with `~` for the home directory that it begins with, on whatever machine it was written.

    `home` is one more, wherever it lies.
    """
    home = home and home.rstrip("/")
    if home and f"{path}/".startswith(f"{home}/"):
        return f"~{path[len(home) :]}"
    prefix = _HOME.match(path)
    return f"~{path[prefix.end() :]}" if prefix else path


def _without_bytes(encoded: str) -> str:
    """Return Base64, or a mark where there is a secret in what it holds."""
    try:
        text = a2b_base64(encoded).decode("utf-8", "replace")
    except ValueError:
        return encoded
    return encoded if redact(text) == text else mark("encoded", encoded.encode("utf-8", "replace")).decode()


class _Walk:
    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_NODES

    def clean(self, value: Any, level: int, name: str, before: str, command: str) -> Any:
        self.left -= 1
        if isinstance(value, str):
            return redact_argument(before, value, command) if before and not name else redact_member(name, value)
        if isinstance(value, (bytes, bytearray)):
            text = bytes(value).decode("utf-8", "replace")
            clean = self.clean(text, level, name, before, command)
            return value if clean == text else clean
        if (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        ):
            return redact_number(name, value) if name else value
        if isinstance(value, (Mapping, list, tuple)):
            if level >= MAX_LEVELS:
                return None
            return self._object(value, level, name) if isinstance(value, Mapping) else self._array(value, level, name)
        return value

    def _object(self, value: Mapping[Any, Any], level: int, own: str) -> dict[Any, Any]:
        members = list(value.items())
        names = member_names(members, own)
        kept: dict[Any, Any] = {}
        for key, item in members:
            if self.left <= 0:
                break
            text = bytes(key).decode("utf-8", "replace") if isinstance(key, bytes) else str(key)
            if text in _BYTES and isinstance(item, str):
                item = _without_bytes(item)
            kept[redact(key) if isinstance(key, str) else key] = self.clean(item, level + 1, names(text), "", "")
        return kept

    def _array(self, value: Sequence[Any], level: int, own: str) -> list[Any]:
        kept: list[Any] = []
        before = command = ""
        for place, item in enumerate(value):
            if self.left <= 0:
                break
            kind, text = typed(item)
            clean = self.clean(text, level + 1, item_name(value, place, own), before, command)
            kept.append({kind: clean} if kind else clean)
            before = text if isinstance(text, str) else ""
            command = command_in(before) or command
        return kept


def command_in(argument: str) -> str:
    """Return an argument that is the name of a command that takes secrets; else an empty text."""
    return argument if flag_of(argument, "") is not None else ""


def _may_hold(value: Any) -> bool:
    try:
        return not _is_json(value, MAX_LEVELS) or may_hold_secret(_json.encode(value))
    except Exception:  # noqa: BLE001 - a foreign mapping may do anything, and half of a UTF-16 pair is no UTF-8
        return True


def _is_json(value: Any, levels: int) -> bool:
    """Return true if these are exactly the types of JSON: the prefilter knows how their texts are encoded."""
    for item in value.values() if type(value) is dict else value if type(value) is list else (b"",):
        kind = type(item)
        if kind not in _JSON and (
            (kind is not dict and kind is not list) or not levels or not _is_json(item, levels - 1)
        ):
            return False
    return True


class _Encoding:
    """JSON of values, by a quick library once there are many of them: to load it takes 30 ms."""

    __slots__ = ("_left", "encode")

    def __init__(self) -> None:
        self._left = _FEW
        self.encode: Callable[[Any], bytes] = self._encode_few

    def _encode_few(self, value: Any) -> bytes:
        self._left -= 1
        if self._left > 0 and "msgspec" not in sys.modules:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        import msgspec

        self.encode = msgspec.json.Encoder().encode
        return self.encode(value)


_json = _Encoding()
