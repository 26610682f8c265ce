"""Names of things that hold secrets: the one rule by which a key, header, variable, parameter or flag is secret.

A name is secret by its words, in any case style: `password`, `DB_PASSWORD`, `dbPassword`, `db-password-old`,
`spring.datasource.password`, `user[password]`, `token_of_app`; `password_policy`, `max_tokens`, `author` and `monkey`
are not.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from analyzer.redaction.automata import LazyPattern, kept_until_fork, options

# What a value under such a name has to be, so that it counts; see `values.GUARDS`. The words of a phrase may be written
# together, or with `_`, `-`, `.` or a blank between them.
PHRASES: dict[str, tuple[str, ...]] = {
    # All but plain words: numbers, too.
    "password": (
        "password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "mot de passe", "contrasena",
        "contraseña", "senha", "parola", "wachtwoord", "lösenord", "passord", "adgangskode", "salasana", "hasło",
        "haslo", "heslo", "jelszó", "lozinka", "şifre", "sifre", "пароль", "κωδικός", "密码", "密碼",
        "口令", "パスワード",
        "비밀번호", "암호", "पासवर्ड",
    ),
    # All but plain words and numbers.
    "plain": (
        "secret", "secrets", "secret key", "token", "credential", "credentials", "creds", "api key", "access key",
        "account key", "auth key", "private key", "signing key", "encryption key", "decryption key", "master key",
        "shared key", "storage key", "subscription key", "ssh key", "functions key", "host key",
        "shared access signature", "amz signature", "goog signature", "amz credential", "private token", "totp seed",
        "mnemonic", "seed phrase", "user pass", "db pass", "root pass", "admin pass", "mysql pass", "smtp pass",
        "storepass", "keypass", "requirepass", "masterauth", "bindpw", "rootpw", "токен", "令牌",
        "密钥", "密鑰", "秘密鍵",
        "トークン", "api キー",
    ),
    # Nothing that reads like words.
    "mixed": (
        "service key", "app key", "application key", "client key", "license key", "licence key", "session key",
        "deploy key", "consumer key", "admin key", "webhook key", "bearer", "basic auth", "http auth",
    ),
    # Headers of several words.
    "authorization": ("authorization",),
    "cookie": ("cookie", "cookies"),
}  # fmt: skip

SHORT: dict[str, tuple[str, ...]] = {
    "plain": ("pass", "passwords", "pw", "mdp"),
    "mixed": ("auth", "authentication", "psk", "otp"),
    "random": ("key",),
}
"""Words that others end in, too (`bypass`, `monkey`): a word begins with them."""

VENDORS = (
    "adafruit", "airtable", "algolia", "anthropic", "artifactory", "asana", "assemblyai", "aws", "azure", "beamer",
    "bittrex", "cloudflare", "codecov", "cohere", "confluent", "contentful", "datadog", "deepgram", "deepseek",
    "discord", "dropbox", "elevenlabs", "etsy", "fastly", "finicity", "finnhub", "freshbooks", "gcp", "gemini",
    "github", "gitter", "google", "heroku", "hubspot", "intercom", "jfrog", "jira", "kraken", "kucoin",
    "launchdarkly", "linkedin", "looker", "mailchimp", "mailgun", "mapbox", "mattermost", "messagebird", "mistral",
    "netlify", "newrelic", "nytimes", "okta", "openai", "openrouter", "pinecone", "plaid", "postmark", "rapidapi",
    "segment", "sendbird", "sendgrid", "sentry", "shopify", "slack", "snyk", "sonar", "stripe", "sumologic",
    "telegram", "travis", "twilio", "twitch", "twitter", "vultr", "yandex", "zendesk",
)  # fmt: skip
"""Whose keys are secret though they look like an id: `HEROKU_KEY` is a UUID."""

SUFFIXES = (
    "value", "val", "text", "string", "str", "plain", "plaintext", "raw", "hash", "base64", "b64", "enc", "encrypted",
    "prod", "production", "dev", "development", "staging", "stage", "test", "live", "old", "new", "current", "previous",
    "confirm", "confirmation", "again", "repeat", "repeated", "default", "primary", "secondary", "main", "root",
    "admin", "header", "env", "base",
)  # fmt: skip
"""What may stand behind the words and changes nothing, as a number may."""

ABOUT = (
    "active", "age", "alg", "algorithm", "api", "arn", "at", "attempts", "audience", "auth", "bucket", "budget",
    "change", "changed", "class", "code", "column", "config", "cost", "count", "counts", "created", "date",
    "description", "details", "dir", "directory", "disabled", "email", "enabled", "endpoint", "error", "errors",
    "exchange", "expiration", "expired", "expires", "expiry", "failed", "field", "fields", "file", "files",
    "folder", "format", "found", "generator", "grant", "handler", "hint", "host", "id", "ids", "idx", "in", "index",
    "info", "invalid", "is", "issued", "issuer", "kind", "label", "len", "length", "lifetime", "limit", "limits",
    "line", "link", "location", "manager", "max", "message", "meta", "metadata", "method", "mgr", "min", "missing",
    "mode", "msg", "name", "names", "offset", "out", "owner", "path", "paths", "pattern", "per", "percent",
    "placeholder", "policies", "policy", "port", "position", "prefix", "price", "provider", "question", "rate",
    "ratio", "reason", "ref", "reference", "refresh", "regex", "region", "required", "reset", "rotated", "rotation",
    "rule", "rules", "scope", "scopes", "selector", "server", "service", "settings", "size", "source", "state",
    "status", "store", "strategy", "strength", "template", "time", "timeout", "timestamp", "title", "ttl", "type",
    "types", "updated", "uri", "url", "urls", "usage", "used", "user", "username", "valid", "validated", "validity",
    "vault", "verified", "version", "window",
)  # fmt: skip
"""Words behind them that tell what is said of a secret; behind any others (`password_of_app`) may stand one."""

NAMING = (
    "name", "key", "header", "field", "variable", "var", "param", "parameter", "property", "attribute", "loc", "label",
    "setting", "env", "option",
)  # fmt: skip
"""Members whose value may be the name of a secret that stands beside them."""

VALUED = (
    "value", "val", "v", "content", "default", "default_value", "defaultvalue", "input", "data", "secret", "plaintext",
    "text_value", "values",
    *(f"{kind}{joint}value" for kind in ("string", "int", "double", "bytes", "array", "kvlist") for joint in ("", "_")),
)  # fmt: skip
"""Members that it may stand under."""

_JOINED = r"[_\-. ]?"


def _any(words: tuple[str, ...]) -> str:
    # The longest first: RE2 takes the first that fits. Words that end alike stand together: the automaton is smaller.
    ends: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        first, blank, last = word.rpartition(" ")
        ends.setdefault(blank and last, []).append(first if blank else last)
    single = ends.pop("", [])
    several = [f"(?:{'|'.join(firsts).replace(' ', _JOINED)}){_JOINED}{last}" for last, firsts in ends.items()]
    return "|".join(dict.fromkeys((*several, *(case for word in single for case in _cases(word)))))


def _cases(word: str) -> tuple[str, ...]:
    """Return a word in the cases that RE2, over bytes, does not know: it knows only those of ASCII."""
    return (word,) if word.isascii() else (word, word.capitalize(), word.upper())


_ALL = tuple(word for words in PHRASES.values() for word in words)
LONG_WORDS = f"(?:{_any(_ALL)})"
SHORT_WORDS = "(?:" + _any(tuple(word for words in SHORT.values() for word in words)) + ")"
ESCAPED_WORDS = "|".join(
    "".join(letter if letter.isascii() else f"\\\\u{ord(letter):04x}" for letter in case)
    for word in _ALL
    if not word.isascii()
    for case in dict.fromkeys(_cases(word))
)
"""The words outside of ASCII as JSON may write them."""
WORDS = f"(?:{LONG_WORDS}|{SHORT_WORDS})"
"""RE2, to be used with `(?i)`."""
PASSWORDS = _any(PHRASES["password"])
_NOTHING_BEHIND = rf"(?:[_\-.]?(?:{'|'.join(SUFFIXES)}|v?[0-9]{{1,3}}))?"
_TAIL = r"(?:[_\-][a-z][a-z0-9]{0,20}){0,3}"
SUFFIX = _NOTHING_BEHIND + _TAIL
KEY = f"key{_NOTHING_BEHIND}"
NAMED_BUT_KEY = f"(?:{LONG_WORDS}{SUFFIX}|{SHORT_WORDS.replace('|key', '')}{_NOTHING_BEHIND})"
NAMED = f"(?:{NAMED_BUT_KEY}|{KEY})"
"""RE2: the words of a name with what may stand behind them."""
_GUARDS = {
    word.replace(" ", ""): guard for phrases in (PHRASES, SHORT) for guard, words in phrases.items() for word in words
}
_SHORT = frozenset(word for words in SHORT.values() for word in words)


_ENDS = r"[\]\"')\s:]*$"


@kept_until_fork
def _endings() -> tuple[Any, Any]:
    """Return the patterns of words at the end of a name, and of words that others follow."""
    return tuple(
        re2.compile(rf"(?i)({WORDS}){behind}{_ENDS}".encode(), options()) for behind in (_NOTHING_BEHIND, SUFFIX)
    )


def guard_of(name: bytes) -> str:
    """Return the guard, a key of `values.GUARDS`, of values under this name; empty for a name of no secret."""
    return _guard_of(name[-_MOST:])


@lru_cache(maxsize=1_024)
def _guard_of(name: bytes) -> str:
    last, first = _endings()
    match = last.search(name)
    if match is not None:
        return _guard_of_words(match.group(1), name[: match.start(1)])
    match = first.search(name)
    if match is None:
        return ""
    others = {*_WORD.findall(name[match.end(1) :].lower())} - _CHANGES_NOTHING
    if others & _ABOUT or _plain(match.group(1)) in _SHORT:
        return ""
    return _GUARDS_OF_OTHERS.get(_guard_of_words(match.group(1), name[: match.start(1)]), "")


_REST = LazyPattern(rb"[A-Za-z0-9_.\-]*")
_WORD = LazyPattern(rb"[A-Za-z]+")
_GUARDS_OF_OTHERS = {"password": "plain", "plain": "mixed", "mixed": "mixed"}
"""What a value has to be where words of unknown meaning follow those of the tables."""


def guard_at(data: bytes, start: int, stop: int) -> str:
    """Return the guard of words of the tables in a text, by the bytes directly before and after them."""
    before = data[max(0, start - 24) : start]
    rest = _REST.match(data, stop, stop + 64).group()
    return _guard_of(before + data[start:stop] + rest) if rest else _guard_of_words(data[start:stop], before)


def _guard_of_words(words: bytes, before: bytes) -> str:
    plain = _plain(words)
    if plain in _SHORT and not _begins(words, before):
        return ""
    lowered = before.lower()
    if before and _names_no_secret(plain, before, lowered):
        return ""
    if plain == "key" and lowered.rstrip(b"_-. ").endswith(_VENDORS):
        return "mixed"
    if plain == "key" and words == b"KEY" and before.endswith(b"_"):
        return "long"  # of an environment
    if plain == "key" and (owner := _OWNER.search(before)) is not None and owner[1].lower() not in _KEYED:
        return "owned"
    if plain == "pwd" and words == b"PWD" and before[-3:] in (b"", b"OLD"):
        return "directory"
    return _GUARDS.get(plain, "")


@lru_cache(maxsize=1_024)
def _plain(words: bytes) -> str:
    return words.decode("utf-8", "replace").lower().translate(_JOINTS)


_JOINTS = str.maketrans("", "", "_-. ")
_VENDORS = tuple(vendor.encode() for vendor in VENDORS)
_ABOUT = frozenset(word.encode() for word in ABOUT)
_CHANGES_NOTHING = frozenset(word.encode() for word in (*SUFFIXES, "v"))
_MOST = 200
"""Bytes of a name that are looked at."""
_NO_SECRETS = {
    words: tuple(before + joint for before in others.encode().split() for joint in (b"", b"_", b"-", b" ", b"."))
    for words, others in {
        "key": "public primary foreign sort partition cache index publishable",
        "token": (
            "next page nextpage next_page next-page continuation continue resume resumption sync scroll cursor delta "
            "skip fencing lease unexpected eos bos pad unk sep cls mask stop special first per last end start syntax"
        ),
        "secret": "existing",
    }.items()
}
"""What stands before these words where they name no secret: a token of a tokenizer, of a parser or of a list that goes
on, the name of a secret that exists.
"""


_OWNER = LazyPattern(rb"((?:[A-Z]?[a-z][a-z0-9]+|[A-Z0-9]{2,}))[_\-.]?$")
"""Whose key it is: `clarifai_key`, `godaddyKey`."""
_KEYED = frozenset(
    b"api app application artifact attribute batch blob block bucket build cache candidate claim cluster "
    b"column composite config conversation correlation count cursor data dedup deduplication dict doc document "
    b"duplicate element entity entry error event feature field file filter first flag foreign group hash hot "
    b"id idempotency index issue item job json last lock lookup main map member merge message metric namespace "
    b"natural next node object option order page parent partition path project prompt property query range "
    b"record redis ref region registry request resource result route routing row run s3 search session set "
    b"shard sort source state step storage sub surrogate tag task tenant thread time trace translation unique "
    b"unknown upload url user value version widget window work worker".split()
)
"""What is found by a key that is no secret: rows, files, caches, requests."""


def _names_no_secret(plain: str, before: bytes, lowered: bytes) -> bool:
    """Return true if one of `_NO_SECRETS` stands directly before, as a word: `end token`, not `omnisend token`."""
    for other in _NO_SECRETS.get(plain, ()):
        if lowered.endswith(other):
            start = len(before) - len(other)
            if not before[start - 1 : start].isalpha() or before[start : start + 1].isupper():
                return True
    return False


def _begins(words: bytes, before: bytes) -> bool:
    """Return true if a word begins here: `dbPass`, `db_pass`, `DB_PASS`; not `bypass`."""
    last = before[-1:]
    return not last.isalpha() or (last.islower() and words[:1].isupper())
