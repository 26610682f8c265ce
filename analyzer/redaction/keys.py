"""Names of things that hold secrets: the one rule by which a key, header, variable, parameter or flag is secret.

A name is secret by its last words, in any case style: `password`, `DB_PASSWORD`, `dbPassword`, `db-password-old`,
`spring.datasource.password`, `user[password]`; `password_policy`, `max_tokens`, `author` and `monkey` are not.
"""

from __future__ import annotations

from functools import lru_cache

import re2

from analyzer.forking import kept_until_fork
from analyzer.redaction.automata import options

# What a value under such a name has to be, so that it counts; see `values.GUARDS`. The words of a phrase may be written
# together, or with `_`, `-`, `.` or a blank between them.
PHRASES: dict[str, tuple[str, ...]] = {
    # All but plain words: numbers, too.
    "password": ("password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "contrasena"),
    # All but plain words and numbers.
    "plain": (
        "secret",
        "secrets",
        "secret key",
        "token",
        "credential",
        "credentials",
        "creds",
        "api key",
        "access key",
        "account key",
        "auth key",
        "private key",
        "signing key",
        "encryption key",
        "decryption key",
        "master key",
        "shared key",
        "storage key",
        "subscription key",
        "ssh key",
        "functions key",
        "host key",
        "shared access signature",
        "amz signature",
        "goog signature",
        "amz credential",
        "private token",
        "totp seed",
        "mnemonic",
        "seed phrase",
        "user pass",
        "db pass",
        "root pass",
        "admin pass",
        "mysql pass",
        "smtp pass",
    ),
    # Nothing that reads like words.
    "mixed": (
        "service key",
        "app key",
        "application key",
        "client key",
        "license key",
        "licence key",
        "session key",
        "deploy key",
        "consumer key",
        "admin key",
        "webhook key",
        "openai key",
        "anthropic key",
        "stripe key",
        "aws key",
        "azure key",
        "gcp key",
        "google key",
        "gemini key",
        "github key",
        "datadog key",
        "bearer",
        "basic auth",
        "http auth",
    ),
    # Headers of several words.
    "authorization": ("authorization",),
    "cookie": ("cookie", "cookies"),
}

SHORT: dict[str, tuple[str, ...]] = {
    "plain": ("pass",),
    "mixed": ("auth", "authentication", "psk", "otp"),
    "random": ("key",),
}
"""Words that others end in, too (`bypass`, `monkey`): a word begins with them."""

SUFFIXES = (
    "value", "val", "text", "string", "str", "plain", "plaintext", "raw", "hash", "base64", "b64", "enc", "encrypted",
    "prod", "production", "dev", "development", "staging", "stage", "test", "live", "old", "new", "current", "previous",
    "confirm", "confirmation", "again", "repeat", "repeated", "default", "primary", "secondary", "main", "root",
    "admin", "header", "env",
)  # fmt: skip
"""What may stand behind the words and changes nothing, as a number may; behind anything else (`_id`, `_url`, `_length`,
`_file`) stands no secret."""

NAMING = (
    "name", "key", "header", "field", "variable", "var", "param", "parameter", "property", "attribute", "loc", "label",
    "setting", "env", "option",
)  # fmt: skip
"""Members whose value may be the name of a secret that stands beside them."""

VALUED = (
    "value", "val", "v", "content", "default", "default_value", "defaultvalue", "input", "data", "secret", "plaintext",
    "text_value", "string_value", "stringvalue",
)  # fmt: skip
"""Members that it may stand under."""

_JOINED = r"[_\-. ]?"


def _any(words: tuple[str, ...]) -> str:
    # The longest first: RE2 takes the first that fits.
    return "|".join(word.replace(" ", _JOINED) for word in sorted(words, key=len, reverse=True))


LONG_WORDS = "(?:" + _any(tuple(word for words in PHRASES.values() for word in words)) + ")"
SHORT_WORDS = "(?:" + _any(tuple(word for words in SHORT.values() for word in words)) + ")"
WORDS = f"(?:{LONG_WORDS}|{SHORT_WORDS})"
"""RE2, to be used with `(?i)`."""
PASSWORDS = _any(PHRASES["password"])
SUFFIX = rf"(?:[_\-.]?(?:{'|'.join(SUFFIXES)}|[0-9]{{1,3}}))?"
_GUARDS = {
    word.replace(" ", ""): guard for phrases in (PHRASES, SHORT) for guard, words in phrases.items() for word in words
}
_SHORT = frozenset(word for words in SHORT.values() for word in words)


@kept_until_fork
def _ending() -> object:
    return re2.compile(rf"(?i)({WORDS}){SUFFIX}[\]\"')\s:]*$".encode(), options())


def guard_of(name: bytes) -> str:
    """What a value under this name has to be to count as a secret: a name of `values.GUARDS`; empty for all values."""
    return _guard_of(name[-_MOST:])


@lru_cache(maxsize=1_024)
def _guard_of(name: bytes) -> str:
    found = _ending().search(name)  # type: ignore[attr-defined]
    return guard_of_words(found.group(1), name[: found.start(1)]) if found else ""


def guard_of_words(words: bytes, before: bytes) -> str:
    """The same for words of the tables, and what stands directly before them."""
    plain = _plain(words)
    if plain in _SHORT and not _begins(words, before):
        return ""
    if plain == "token" and before and before.lower().endswith(_NO_TOKENS):
        return ""
    if plain == "key" and before.lower().endswith(_NO_KEYS):
        return ""
    if plain == "pwd" and words == b"PWD" and before[-3:] in (b"", b"OLD"):
        return "directory"
    return _GUARDS.get(plain, "")


@lru_cache(maxsize=1_024)
def _plain(words: bytes) -> str:
    return words.lower().translate(None, b"_-. ").decode("ascii", "replace")


_MOST = 200
"""Bytes of a name that are looked at."""
_NO_KEYS = tuple(
    word + joint
    for word in (b"public", b"primary", b"foreign", b"sort", b"partition", b"cache", b"index", b"publishable")
    for joint in (b"", b"_", b"-", b" ", b".")
)
_NO_TOKENS = tuple(
    word + joint
    for word in (
        b"next", b"page", b"nextpage", b"next_page", b"next-page", b"continuation", b"unexpected", b"eos", b"bos",
        b"pad", b"unk", b"sep", b"cls", b"mask", b"stop", b"special", b"first", b"per", b"last", b"end", b"start",
        b"syntax",
    )
    for joint in (b"", b"_", b"-", b" ", b".")
)  # fmt: skip
"""A token of a tokenizer, of a parser or of a list that goes on."""


def _begins(words: bytes, before: bytes) -> bool:
    """Whether a word begins here: `dbPass`, `db_pass`, `DB_PASS`; not `bypass`."""
    last = before[-1:]
    return not last.isalpha() or (last.islower() and words[:1].isupper())
