"""Secrets out of free text, before it is cut, stored or shown.

Invariant: linear time on any input (RE2 only; one pass tells clean data, some more replace what is found), idempotent,
and equal secrets give equal marks on every machine, so that errors still group.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

import re2

from analyzer.forking import kept_until_fork

MAX_SECRETS = 500
MAX_LOOKS = 2_000
"""Replacements by one rule in one text, and places that it looks at; what follows the last one is replaced as a whole,
so that no text costs much time."""
ENTROPY_BITS = 4.5
_MARK = b"[REDACTED:"


class _Rule(NamedTuple):
    name: str
    pattern: str
    """Group 1, where there is one, is the secret; else the whole match is."""
    trace: str
    """What no match is without, in plain text and in JSON: the prefilter. `\\<` stands for the start of a word."""
    guard: str = ""
    """The text before the secret is only a hint: `plain` spares words and numbers, `entropy` all but random texts."""


# A rule is a fixed prefix and a greedy character class, without a required end: a search never reads far past its
# match, so that many matches in one text stay linear too. Families after the rule lists of gitleaks and detect-secrets.
_WORDS = (
    r"(?:password|passwd|passphrase|pwd|secret|api[_\- ]?key|access[_\-]?key|account[_\-]?key|private[_\-]?key|"
    r"signing[_\-]?key|encryption[_\-]?key|credentials?|token|shared[_\-]?access[_\-]?signature)"
)
_SECRET_KEY = rf"(?i){_WORDS}$"
_KEY = rf"(?:[a-z0-9_.\-]{{0,40}}{_WORDS})"
_IS = r"(?:\\{0,3}[\"'])?\s{0,4}(?:=>|:=|=|:)\s{0,4}(?:\\{0,3}[\"'])?"
# The same in JSON, where a blank may be `\n`; and the first character of a value that is no number.
_GAP = r"(?:[\s\"'\\]|\\[nrtf]|\\u000[cC])*"
_TRACE_IS = _GAP + r"[=:][=>\s\"'\\]*"
_TRACE_VALUE = r"[0-9.\[{]*(?:[^0-9.,\s\"';&)}\]\\\[{]|\\[bu/])"

_RULES = (
    _Rule(
        "private_key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:\s|\\+r|\\+n)*(?:[A-Za-z][A-Za-z\-]{1,30}: [^\n\\]+|[A-Za-z0-9+/=]{4,}))*"
        r"(?:(?:\s|\\+r|\\+n)*-----END [A-Z0-9 ]{0,60}-----)?",
        r"PRIVATE KEY",
    ),
    _Rule("aws_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", r"\<A(?:KI|SI|BI|CC)A[A-Z0-9]{16}"),
    _Rule(
        "github_token",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
        r"\<gh[pousr]_[A-Za-z0-9]{20}|\<github_pat_",
    ),
    _Rule(
        "gitlab_token", r"\b(?:glpat|gldt|glrt|glcbt|glptt|glsoat)-[A-Za-z0-9_\-]{16,}", r"\<gl(?:pa|d|r|cb|pt|soa)t-"
    ),
    _Rule("slack_token", r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9\-]{10,}", r"\<(?:xox[a-s]|xapp)-"),
    _Rule(
        "slack_webhook",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_+\-]{20,}",
        r"hooks\.slack\.com",
    ),
    _Rule(
        "discord_webhook",
        r"https://(?:[a-z]{2,10}\.)?discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_\-]{20,}",
        r"discord(?:app)?\.com\\?/api",
    ),
    _Rule(
        "discord_token",
        r"\b[MNO][A-Za-z0-9_\-]{22,25}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}",
        r"\<[MNO][A-Za-z0-9_\-]{22,25}\.[A-Za-z0-9_\-]{6}\.",
    ),
    _Rule("anthropic_key", r"\bsk-ant-[A-Za-z0-9_\-]{8,}", r"\<sk-ant-"),
    _Rule("openai_key", r"\bsk-[A-Za-z0-9_\-]{16,}", r"\<sk-[A-Za-z0-9_\-]{16}"),
    _Rule(
        "stripe_key",
        r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{16,}",
        r"\<[srp]k_(?:live|test)_|\<whsec_",
    ),
    _Rule("huggingface_token", r"\b(?:hf|api_org)_[A-Za-z0-9]{20,}", r"\<(?:hf|api_org)_[A-Za-z0-9]{20}"),
    _Rule("google_key", r"\bAIza[A-Za-z0-9_\-]{30,}", r"\<AIza"),
    _Rule("google_oauth", r"\bya29\.[A-Za-z0-9_\-]{16,}|\bGOCSPX-[A-Za-z0-9_\-]{16,}", r"\<ya29\.|\<GOCSPX-"),
    _Rule("sendgrid_key", r"\bSG\.[A-Za-z0-9_\-]{16,}(?:\.[A-Za-z0-9_\-]{16,})?", r"\<SG\.[A-Za-z0-9_\-]{16}"),
    _Rule("twilio_key", r"\b(?:SK|AC)[0-9a-f]{32}\b", r"\<(?:SK|AC)[0-9a-f]{32}"),
    _Rule("mailchimp_key", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b", r"[0-9a-f]{8}-us[0-9]"),
    _Rule("telegram_token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_\-]{32,34}", r"[0-9]{8}:AA[A-Za-z0-9_\-]{16}"),
    _Rule("npm_token", r"\bnpm_[A-Za-z0-9]{30,}", r"\<npm_[A-Za-z0-9]{30}"),
    _Rule("pypi_token", r"\bpypi-[A-Za-z0-9_\-]{20,}", r"\<pypi-[A-Za-z0-9_\-]{20}"),
    _Rule("vault_token", r"\bhv[sbr]\.[A-Za-z0-9_\-]{20,}", r"\<hv[sbr]\.[A-Za-z0-9_\-]{20}"),
    _Rule("groq_key", r"\bgsk_[A-Za-z0-9]{20,}", r"\<gsk_[A-Za-z0-9]{20}"),
    _Rule("xai_key", r"\bxai-[A-Za-z0-9]{20,}", r"\<xai-[A-Za-z0-9]{20}"),
    _Rule(
        "vendor_token",
        r"\b(?:figd_|dckr_pat_|dop_v1_|glsa_|lin_api_|shpat_|sbp_|r8_|pplx-|tvly-|ATATT3)[A-Za-z0-9_\-=]{20,}",
        r"\<(?:figd_|dckr_pat_|dop_v1_|glsa_|lin_api_|shpat_|sbp_|r8_|pplx-|tvly-|ATATT3)[A-Za-z0-9_\-=]{20}",
    ),
    _Rule(
        "jwt",
        r"\beyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?",
        r"\.eyJ[A-Za-z0-9_\-]{8}",
    ),
    _Rule(
        "url_password",
        r"(?i)\b[a-z][a-z0-9+.\-]{1,20}://[^\s/:@\"'<>]{0,200}:([^\s/@\"'<>]{1,})@",
        r":\\?/\\?/[^\s/:@\"'<>]*:[^\s/@\"'<>]+@",
    ),
    _Rule(
        "authorization",
        r"(?i)\b(?:proxy-)?authorization(?:\\{0,3}[\"'])?\s{0,4}[:=]\s{0,4}(?:\\{0,3}[\"'])?"
        r"((?:(?:basic|bearer|token|digest|negotiate|aws4-hmac-sha256) +)?"
        r"(?:[^\[\s\"',;\\]|\[[^R\s\"',;\\])[^\s\"',;\\]{3,})",
        r"(?i)authorization" + _TRACE_IS + r"[^\s\"'\\]",
    ),
    _Rule("bearer", r"(?i)\bbearer +([A-Za-z0-9_\-.~+/]{12,}=*)", r"(?i)bearer +[A-Za-z0-9_\-.~+/\\]{12}", "plain"),
    _Rule(
        "cookie",
        r"(?i)\b(?:set-)?cookie(?:\\{0,3}[\"'])?\s{0,4}:\s{0,4}(?:\\{0,3}[\"'])?([^\s=\"'\\]{1,60}=[^\r\n\"'\\]{4,})",
        r"(?i)cookie" + _TRACE_IS + r"[^\s=\"'\\]+=",
    ),
    _Rule("azure_sas", r"(?i)[?&]sig=([A-Za-z0-9%+/=]{16,})", r"(?i)(?:[?&]|\\u0026)sig=[a-z0-9%+/\\]"),
    _Rule(
        "query_secret",
        r"(?i)[?&](?:key|api_?key|access_?token|token|auth|secret|password)=([^&\s\"'<>#\\]{6,})",
        r"(?i)(?:[?&]|\\u0026)(?:key|api_?key|access_?token|token|auth|secret|password)=[^&\s\"'<>#\\]",
    ),
    _Rule(
        "argument",
        r"(?i)(?:^|\s)--?" + _KEY + r"[ =]+(?:\\{0,3}[\"'])?([^\s\"'\-\\][^\s\"'\\]{3,})",
        # Between two items of a list stand quotes and a comma.
        r"(?i)(?:^|[\s\"'\[,]|\\[nrtf]|\\u000[cC])--?[a-z0-9_.\-]*" + _WORDS + r"[\s\"',=\\]+[^\s\"',=\-\\]",
        "plain",
    ),
    _Rule(
        "assignment",
        r"(?i)(?:password|passwd|passphrase|pwd|secret)(?:\\{0,3}[\"'])?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']([^\"'\\\r\n]{4,})",
        r"(?i)(?:password|passwd|passphrase|pwd|secret)" + _TRACE_IS + r"[^\s\"'\\]",
        "plain",
    ),
    _Rule(
        "assignment",
        r"(?i)" + _KEY + _IS + r"((?:[^\[\s\"',;&)}\]\\]|\[[^R\s\"',;&)}\]\\])[^\s\"',;&)}\]\\]{3,})",
        # Of a member the whole text counts, and more than a number is in it.
        r"(?i)" + _WORDS + _TRACE_IS + _TRACE_VALUE + "|(?i)" + _WORDS + r"\"\s*:\s*\"[0-9.,]*[^0-9.,\"]",
        "plain",
    ),
    _Rule(
        "random_key",
        r"(?i)\b[a-z0-9_\-]{0,40}(?:key|auth)" + _IS + r"([A-Za-z0-9+/_\-]{24,}={0,2})",
        r"(?i)(?:key|auth)" + _TRACE_IS + r"[A-Za-z0-9+/_\-\\]{24}",
        "entropy",
    ),
)

_WORD_START = r"(?:^|[^0-9A-Za-z_]|\\[bfnrt]|\\u[0-9a-fA-F]{4})"
# A letter, digit or sign of a secret that JSON may write as an escape, and nobody has to.
_ESCAPED = r"\\u00(?:2[0-57-9a-fA-F]|3[0-9abdfABDF]|[4-7][0-9a-fA-F])"

# Words that stand after "token:" or "password =" in prose, in code and in messages about limits.
_PLAIN = frozenset(
    b"none null nil true false undefined required missing invalid expired incorrect wrong unknown empty string "
    b"redacted hidden masked optional provided disabled enabled revoked denied failed error field value number bool "
    b"boolean int must cannot should tokens maximum limit requested usage count expected unexpected".split()
)


def _options() -> Any:
    options = re2.Options()
    # Bytes, not characters: a smaller automaton, and no letter outside of ASCII that folds to one inside.
    options.encoding = re2.Options.Encoding.LATIN1
    # A ceiling for each automaton, which then begins anew: hostile texts must not cost the host more memory.
    options.max_mem = 32 << 20
    return options


def _set_of(patterns: Iterable[str]) -> Callable[[bytes], list[int] | None]:
    found = re2.Set.SearchSet(_options())
    for pattern in patterns:
        found.Add(pattern)
    found.Compile()
    return cast("Callable[[bytes], list[int] | None]", found.Match)


@kept_until_fork
def _prefilter() -> Callable[[bytes], list[int] | None]:
    return prefilter_with()


def prefilter_with(*patterns: str) -> Callable[[bytes], list[int] | None]:
    """One search for what `may_hold_secret` looks for (0 in the answer) and for other patterns (1, 2, ...)."""
    traces = "|".join(f"(?:{rule.trace})" for rule in _RULES).replace(r"\<", _WORD_START)
    return _set_of([f"{traces}|{_ESCAPED}", *patterns])


@kept_until_fork
def _check() -> Callable[[bytes], list[int] | None]:
    return _set_of(rule.pattern for rule in _RULES)


@kept_until_fork
def _regex(pattern: str) -> Any:
    return re2.compile(pattern.encode(), _options())


def may_hold_secret(data: bytes) -> bool:
    """Whether redaction could change anything in these bytes: plain text, one JSON value, or many lines of JSON.

    False is a promise: `redact` leaves every text in them as it is, and so do `redact_member` and `redact_argument`
    every two that stand beside each other. True is a guess. One pass of an automaton, some 700 MB a second.
    """
    return bool(_prefilter()(data))


def redact(text: str) -> str:
    """The text with each secret replaced by `[REDACTED:<rule>:<hash8>]`.

    The hash is BLAKE2b without a key, cut to 32 bits: equal secrets are named alike by all processes and machines. It
    is a fingerprint for grouping; who has a guess, or a list of weak passwords, can check it against the mark.
    """
    raw = text.encode("utf-8", "replace")
    if not may_hold_secret(raw):
        return text
    clean = raw
    # A replacement can only bring out what an earlier rule hid behind it, so this ends after one or two rounds.
    for _ in range(4):
        before = clean
        for index in sorted(_check()(before) or ()):
            clean = _replace(clean, _RULES[index])
        if clean == before:
            break
    return text if clean == raw else clean.decode("utf-8", "replace")


def redact_member(key: str, value: str) -> str:
    """A text under a key, judged together with it: `{"password": "x y"}` holds a secret that neither shows alone."""
    clean = redact(value)
    if clean.startswith("[REDACTED:"):
        return clean
    if _regex(_SECRET_KEY).search(key.encode("utf-8", "replace")) and _is_secret(clean.encode("utf-8", "replace")):
        return _mark(b"assignment", value.encode("utf-8", "replace")).decode()
    return _after(f"{key}: ", clean)


def redact_argument(before: str, value: str) -> str:
    """An item of a list, judged together with the one before it: `["--password", "x"]`."""
    clean = redact(value)
    return _after(f"{before} ", clean) if before.startswith("-") else clean


def _after(prefix: str, value: str) -> str:
    together = redact(prefix + value)
    return together[len(prefix) :] if together.startswith(prefix) else value


def _replace(raw: bytes, rule: _Rule) -> bytes:
    regex = _regex(rule.pattern)
    pieces: list[bytes] = []
    end = looks = 0
    group = 1 if regex.groups else 0
    for match in regex.finditer(raw):
        start, stop = match.span(group)
        secret = raw[start:stop]
        # A mark is no secret, and the name inside one (`github_token:`) is no key.
        if secret.startswith(_MARK) or raw.endswith(_MARK, 0, match.start()):
            continue
        looks += 1
        if looks <= MAX_LOOKS and not _suspicious(secret, rule.guard):
            continue
        if looks > MAX_LOOKS or len(pieces) >= 2 * MAX_SECRETS:
            pieces += (raw[end:start], _mark(b"rest", raw[start:]))
            end = len(raw)
            break
        pieces += (raw[end:start], _mark(rule.name.encode(), secret))
        end = stop
    if not pieces:
        return raw
    pieces.append(raw[end:])
    return b"".join(pieces)


def _mark(name: bytes, secret: bytes) -> bytes:
    from hashlib import blake2b  # 3 ms that only a text with a secret costs

    return b"%s%s:%s]" % (_MARK, name, blake2b(secret, digest_size=4).hexdigest().encode())


def _suspicious(secret: bytes, guard: str) -> bool:
    if guard == "plain":
        return _is_secret(secret)
    return guard != "entropy" or _is_random(secret)


def _is_secret(value: bytes) -> bool:
    """Whether a value after a secret-looking key may be one: no plain word, no plain number."""
    bare = value.strip(b".,:;!?()[]{}<>*` ").lower()
    return len(bare) >= 4 and bare not in _PLAIN and not bare.replace(b".", b"").replace(b",", b"").isdigit()


def _is_random(value: bytes) -> bool:
    """Whether letters of both cases and digits are mixed as in a generated key: over 4.5 bits a character.

    Digests and uuids stay: sixteen digits cannot carry more than 4 bits.
    """
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits > ENTROPY_BITS
