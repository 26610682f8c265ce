"""A place that is named like a secret is known in every syntax, by every kind of name."""

from __future__ import annotations

import json
import re

import pytest

from analyzer.redaction import may_hold_secret, redact
from tests import each_row
from tests.redaction.syntaxes import GLUED, HARMLESS, NAMES, OF_WORDS, SPACED, SYNTAXES, VALUE, WORDED

MARK = re.compile(r"\[REDACTED:[a-z_]+:[0-9a-f]{8}\]")


@each_row("syntax", [*SYNTAXES, *OF_WORDS])
def test_a_value_goes_under_every_kind_of_name(syntax: str) -> None:
    """The value alone is replaced, the rest of the text stays, and its JSON is suspicious too."""
    for name in NAMES if syntax in SYNTAXES else SPACED:
        text = syntax.replace("NAME", name).replace("§", VALUE)
        clean = redact(text)
        assert MARK.sub(VALUE, clean) == text
        assert VALUE not in clean
        assert redact(clean) == clean
        assert VALUE not in redact(json.dumps({"text": text}))
        assert may_hold_secret(json.dumps({"text": text}).encode())


@each_row("text, secrets", [(text, secrets) for text, *secrets in WORDED])
def test_a_value_goes_as_a_whole(text: str, secrets: list[str]) -> None:
    """A value ends where its syntax ends it, whatever stands in it, and only the value goes."""
    marked = text
    for secret in secrets:
        marked = marked.replace(secret, "§")
    assert MARK.sub("§", redact(text)) == marked
    assert may_hold_secret(json.dumps({"text": text}).encode())


@pytest.mark.parametrize("before", GLUED)
def test_a_token_goes_behind_a_letter(before: str) -> None:
    """Whatever is glued to it, of any script: the token goes, and what stands before it stays."""
    body = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    tokens = [f"{prefix}{body}" for prefix in ("ghp_", "glpat-", "sk-ant-api03-", "sk_live_", "npm_", "hf_", "hvs.")]
    for token in (*tokens, "AKIA" + "ABCDEFGHIJKLMNOP", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"):
        clean = redact(f"it is {before}{token} of app")
        assert MARK.sub(token, clean) == f"it is {before}{token} of app"
        assert token not in clean


@each_row("text", HARMLESS)
def test_what_is_no_secret_stays_in_the_same_syntaxes(text: str) -> None:
    """Types, lengths, tags, errors of a shell, members and prose under such a name stay."""
    assert redact(text) == text
