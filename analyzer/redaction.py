"""Secrets out of free text, before it is cut, stored or shown.

Invariant: linear time on any input (RE2, one pass for the check and one for each rule that hit), idempotent, and equal
secrets give equal marks, so that errors still group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import re2

from analyzer.forking import kept_until_fork

MAX_DEPTH = 32
_MARK = b"[REDACTED:"


class _Rule(NamedTuple):
    name: str
    pattern: str
    """Group 1, where there is one, is the secret; else the whole match is."""
    guarded: bool = False
    """The text before the secret is only a hint: values that are plainly no secrets stay."""


# A rule is a fixed prefix and a greedy character class, without a required end: a search never reads far past its
# match, so that many matches in one text stay linear too. Families after the rule lists of gitleaks and detect-secrets.
_KEY = (
    r"(?:[a-z0-9_.\-]{0,40}(?:password|passwd|passphrase|pwd|secret|api[_\- ]?key|access[_\-]?key|account[_\-]?key|"
    r"private[_\-]?key|signing[_\-]?key|client[_\-]?secret|credential|token|shared[_\-]?access[_\-]?signature))"
)
_RULES = (
    _Rule(
        "private_key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:\s|\\r|\\n)*(?:[A-Za-z][A-Za-z\-]{1,30}: [^\n\\]{1,200}|[A-Za-z0-9+/=]{4,}))*"
        r"(?:(?:\s|\\r|\\n)*-----END [A-Z0-9 ]{0,60}-----)?",
    ),
    _Rule("aws_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    _Rule("github_token", r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})"),
    _Rule("gitlab_token", r"\b(?:glpat|gldt|glrt|glcbt|glptt|glsoat)-[A-Za-z0-9_\-]{16,}"),
    _Rule("slack_token", r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9\-]{10,}"),
    _Rule("slack_webhook", r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_+\-]{20,}"),
    _Rule(
        "discord_webhook", r"https://(?:[a-z]{2,10}\.)?discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_\-]{20,}"
    ),
    _Rule("anthropic_key", r"\bsk-ant-[A-Za-z0-9_\-]{8,}"),
    _Rule("openai_key", r"\bsk-[A-Za-z0-9_\-]{16,}"),
    _Rule("stripe_key", r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}|\bwhsec_[A-Za-z0-9+/=]{16,}"),
    _Rule("huggingface_token", r"\b(?:hf|api_org)_[A-Za-z0-9]{20,}"),
    _Rule("google_key", r"\bAIza[A-Za-z0-9_\-]{30,}"),
    _Rule("google_oauth", r"\bya29\.[A-Za-z0-9_\-]{16,}|\bGOCSPX-[A-Za-z0-9_\-]{16,}"),
    _Rule("sendgrid_key", r"\bSG\.[A-Za-z0-9_\-]{16,}(?:\.[A-Za-z0-9_\-]{16,})?"),
    _Rule("twilio_key", r"\b(?:SK|AC)[0-9a-f]{32}\b"),
    _Rule("mailchimp_key", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    _Rule("telegram_token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_\-]{32,34}"),
    _Rule("npm_token", r"\bnpm_[A-Za-z0-9]{30,}"),
    _Rule("pypi_token", r"\bpypi-[A-Za-z0-9_\-]{20,}"),
    _Rule("vault_token", r"\bhv[sbr]\.[A-Za-z0-9_\-]{20,}"),
    _Rule("groq_key", r"\bgsk_[A-Za-z0-9]{20,}"),
    _Rule("xai_key", r"\bxai-[A-Za-z0-9]{20,}"),
    _Rule("jwt", r"\beyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?"),
    _Rule("url_password", r"(?i)\b[a-z][a-z0-9+.\-]{1,20}://[^\s/:@\"'<>]{0,200}:([^\s/@\"'<>]{1,})@"),
    _Rule(
        "authorization",
        r"(?i)\b(?:proxy-)?authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?"
        r"((?:(?:basic|bearer|token|digest|negotiate|aws4-hmac-sha256) +)?[^\s\"',;]{4,})",
    ),
    _Rule("bearer", r"(?i)\bbearer +([A-Za-z0-9_\-.~+/]{12,}=*)", guarded=True),
    _Rule("cookie", r"(?i)\b(?:set-)?cookie[\"']?\s{0,4}:\s{0,4}[\"']?([^\s=\"']{1,60}=[^\r\n\"']{4,})"),
    _Rule("azure_sas", r"(?i)[?&]sig=([A-Za-z0-9%+/=]{16,})"),
    _Rule("query_secret", r"(?i)[?&](?:key|api_?key|access_?token|token|auth|secret|password)=([^&\s\"'<>#]{6,})"),
    _Rule("argument", r"(?i)(?:^|\s)--?" + _KEY + r"[ =]+[\"']?([^\s\"'\-][^\s\"']{3,})", guarded=True),
    _Rule(
        "assignment",
        r"(?i)" + _KEY + r"[\"']?\s{0,4}(?:=>|:=|=|:)\s{0,4}(?:\\?[\"'])?([^\s\"',;&)}\]\\]{4,})",
        guarded=True,
    ),
)

# Words that stand after "token:" or "password =" in prose, in code and in messages about limits.
_PLAIN = frozenset(
    b"none null nil true false undefined required missing invalid expired incorrect wrong unknown empty string "
    b"redacted hidden masked optional provided disabled enabled revoked denied failed error field value number bool "
    b"boolean int must cannot should tokens maximum limit requested usage count expected unexpected".split()
)


class _Compiled(NamedTuple):
    check: Any
    rules: tuple[tuple[_Rule, Any, bytes], ...]


@kept_until_fork
def _compiled() -> _Compiled:
    options = re2.Options()
    # A ceiling for the automaton, not an allocation; a set that ran out of it would find nothing.
    options.max_mem = 256 << 20
    check = re2.Set.SearchSet(options)
    rules = []
    for rule in _RULES:
        check.Add(rule.pattern)
        rules.append((rule, re2.compile(rule.pattern.encode()), rule.name.encode()))
    check.Compile()
    return _Compiled(check, tuple(rules))


def redact(text: str) -> str:
    """The text with each secret replaced by `[REDACTED:<rule>:<hash8>]`.

    The hash names equal secrets alike; it is a fingerprint for grouping and, for a weak password, a guess can be
    checked against it.
    """
    raw = text.encode("utf-8", "replace")
    compiled = _compiled()
    hits = compiled.check.Match(raw)
    if not hits:
        return text
    changed = False
    # A replacement can only bring out what an earlier rule hid behind it, so this ends after one or two rounds.
    for _ in range(4):
        before = raw
        for index in sorted(hits):
            raw = _replace(raw, *compiled.rules[index])
        if raw == before:
            break
        changed = True
        hits = compiled.check.Match(raw) or ()
    return raw.decode("utf-8", "replace") if changed else text


def _replace(raw: bytes, rule: _Rule, regex: Any, name: bytes) -> bytes:
    from hashlib import blake2b  # 3 ms that only a text with a secret costs

    pieces: list[bytes] = []
    end = 0
    group = 1 if regex.groups else 0
    for match in regex.finditer(raw):
        start, stop = match.span(group)
        secret = raw[start:stop]
        # A mark is no secret, and the name inside one (`github_token:`) is no key.
        if (
            secret.startswith(_MARK)
            or raw.endswith(_MARK, 0, match.start())
            or (rule.guarded and not _is_secret(secret))
        ):
            continue
        pieces += (raw[end:start], _MARK, name, b":", blake2b(secret, digest_size=4).hexdigest().encode(), b"]")
        end = stop
    if not pieces:
        return raw
    pieces.append(raw[end:])
    return b"".join(pieces)


def _is_secret(value: bytes) -> bool:
    """Whether a value after a secret-looking key may be one: no plain word, no plain number."""
    bare = value.strip(b".,:;!?()[]{}<>*`").lower()
    return len(bare) >= 4 and bare not in _PLAIN and not bare.replace(b".", b"").replace(b",", b"").isdigit()


def redact_value(value: object) -> object:
    """The same over JSON-ready data: strings in lists and objects, keys too.

    What lies deeper than `MAX_DEPTH` is replaced by `"[… nested too deep …]"`.
    """
    return _walk(value, MAX_DEPTH)


def redact_member(key: str, value: str) -> str:
    """A text under a key, judged together with it: `{"password": "x"}` holds a secret that neither shows alone."""
    return str(_member(key, value, 1))


def _walk(value: object, depth: int) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        if depth == 0:
            return "[… nested too deep …]"
        return {(redact(k) if isinstance(k, str) else k): _member(k, v, depth - 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        if depth == 0:
            return "[… nested too deep …]"
        return [_walk(item, depth - 1) for item in value]
    return value


def _member(key: object, value: object, depth: int) -> object:
    """A value judged together with its key: `{"password": "x"}` holds a secret that neither text shows alone."""
    if not isinstance(key, str) or not isinstance(value, str):
        return _walk(value, depth)
    clean = redact(value)
    if clean != value or value.startswith("[REDACTED:"):
        return clean
    prefix = f"{key}: "
    together = redact(prefix + value)
    return together[len(prefix) :] if together != prefix + value and together.startswith(prefix) else value
