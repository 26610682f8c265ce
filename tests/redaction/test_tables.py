"""The tables of what is known to be secret: each row's example is found, and what is like one and is none stays."""

from __future__ import annotations

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.redaction import is_secret_name, may_hold_secret, redact, redact_value
from analyzer.redaction.families import FAMILIES
from analyzer.redaction.keys import PHRASES, SHORT
from analyzer.redaction.places import PLACES
from tests import REPOSITORY, each_row
from tests.redaction.contexts import PASSWORD, STRUCTURES, texts

MARK = re.compile(r"\[REDACTED:([a-z_]+):([0-9a-f]{8})\]")


def _example(text: str) -> tuple[str, str]:
    """A row's example, and the secret in it."""
    whole = text.replace("⟨", "").replace("⟩", "")
    return whole, text.partition("⟨")[2].partition("⟩")[0] or whole


@each_row("family", FAMILIES)
def test_the_example_of_a_family_is_found_by_it(family):
    """The secret in a row's example goes under the row's name, in a sentence, as a line and as a text in JSON."""
    whole, secret = _example(family.example)
    for text in (f"it said {whole} and stopped", f"a\n{whole}\nb", json.dumps({"said": whole})):
        clean = redact(text)
        found = MARK.search(clean)
        assert found is not None, text
        assert found.group(1) == family.name
        assert secret not in clean
        assert redact(clean) == clean


@each_row("place", PLACES)
def test_the_example_of_a_place_is_found(place):
    """The secret in the example of each way to say that something is one goes."""
    whole, secret = _example(place.example)
    assert secret not in redact(whole)


@each_row("family", FAMILIES)
def test_a_family_says_whose_knowledge_it_is(family):
    """Every row names a source, and looks for nothing that has no trace."""
    assert family.source
    assert family.trace
    assert re.fullmatch(r"[a-z_]+", family.name)


STYLES = (
    "{0}",
    "{1}",
    "DB_{1}",
    "db-{0}",
    "db.{0}",
    "x_{0}_2",
    "{0}_old",
    "{0}_v2",
    "{0}_base",
    "app/{0}",
    "user[{0}]",
    "{2}",
    "db{2}",
)


@each_row(
    "words", [words for phrases in (PHRASES, SHORT) for words in (word for each in phrases.values() for word in each)]
)
def test_a_name_is_secret_in_any_case_style(words):
    """snake_case, kebab-case, SCREAMING, camelCase, dotted, with a number or a word behind that changes nothing."""
    forms = ["_".join(words.split()), words.replace(" ", "_").upper(), "".join(part.title() for part in words.split())]
    for style in STYLES:
        assert is_secret_name(style.format(*forms)), style.format(*forms)


@each_row("name", [
        "author", "authors", "monkey", "keyboard", "keyword", "primary_key_id", "public_key", "max_tokens", "tokens",
        "input_tokens", "token_count", "token_limit", "tokenizer", "next_page_token", "eos_token", "password_policy",
        "password_length", "passed", "bypass", "compass", "secretary", "secret_name", "api_key_id", "access_key_id",
        "session", "sessionId", "session_id", "request_id", "requestId", "authority", "passenger",
        "token_usage_percent", "credential_type", "cache", "signature_version", "cookie_policy", "operation", "caller",
        "message", "",
    ])  # fmt: skip
def test_a_name_like_one_is_none(name):
    """What only begins like a secret's name, or is about one, holds none."""
    assert not is_secret_name(name)


@each_row(
    "text",
    [
        "password authentication failed for user app",
        'FATAL: password authentication failed for user "app"',
        "token limit 200000 exceeded",
        "max_tokens: 4096",
        "key: value pair missing",
        "authorization required",
        "401 Authorization required",
        "Authorization: required",
        "Authorization: Bearer token is missing",
        "Authorization header is missing",
        "api_key is required",
        "api_key: required",
        "The api_key client option must be set either by passing api_key to the client or by setting the variable",
        "Incorrect API key provided",
        "invalid x-api-key",
        "Invalid token: please log in again",
        "Invalid credentials: user not found",
        "Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON",
        "Unexpected token: punc (,)",
        "SyntaxError: Unexpected token 'export'",
        "session s-42 of 0199f3a2-4c07-7c31-9d0e-5b1f60c8a211 ended",
        '{"sessionId":"0199f3a2-4c07-7c31-9d0e-5b1f60c8a211","requestId":"req_011CX78UXorabcdefg"}',
        "/objects/e3/b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "image sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 not found",
        "author: somebody-with-a-long-name-2, monkey: capuchin-77, keyboard: dvorak-2",
        "open /run/secrets/token: Permission denied",
        "cat: /etc/app/password: No such file or directory",
        '{"password": ["This password is too short. It must contain at least 8 characters."]}',
        '{"errors": {"password": "must contain at least one number", "token": "has already been revoked"}}',
        "password: ********",
        "password=${DB_PASSWORD}",
        "DB_PASSWORD=$DB_PASSWORD agent",
        "token: {{ secrets.TOKEN }}",
        "set PASSWORD=<your password>",
        "PWD=/home/app/project",
        "OLDPWD=/home/app",
        "http://x.test:8080/@scope/package",
        "https://x.test:443/a/b@2.0.1",
        "see https://x.test/docs#key=value",
        "curl: (6) Could not resolve host: x.test",
        "curl -u failed",
        "mysql -p",
        "docker run -p 8080:80 x",
        "ssh -p 2222 x.test",
        "tests pass: 12, fail: 3",
        "first pass: tokenizing",
        "the secret of success is to begin",
        "Secret my-app-credentials-v2 not found in namespace default",
        "required: ['username', 'password', 'email']",
        '{"type": "object", "required": ["username", "password"]}',
        '{"credentials": "include", "mode": "cors"}',
        '{"detail":"expired_token","retryable":false}',
        '{"name":"AuthError","value":"x"}',
        '{"field":"password","message":"is too short"}',
        "time_to_first_token: 320ms",
        "cost per token: 0.25",
        "cookie banner: shown; cookie policy = strict",
        "basic auth: disabled",
        "a == b, key == other, x->token",
    ],
)
def test_what_only_looks_like_a_secret_stays(text):
    """Prose, limits, ids, digests, paths, references and complaints about a field are no secrets."""
    assert redact(text) == text


values = st.sampled_from([PASSWORD, "12345678", "abc", "", 12345678, 12, None, True, 1.5])
names = st.sampled_from(
    [
        "password",
        "token",
        "auth",
        "key",
        "name",
        "value",
        "Authorization",
        "caller",
        "cookie",
        "DB_PASS",
        "--password",
        "-u",
    ]
)
trees = st.recursive(
    st.one_of(values, names, st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=3)),
    max_leaves=6,
)


@given(trees)
def test_the_prefilter_misses_no_structure(value):
    """What the walk through a value changes is flagged in its JSON, and walked once is walked twice."""
    clean = redact_value([value])
    if clean != [value]:
        assert may_hold_secret(msgspec.json.encode([value]))
        assert may_hold_secret(json.dumps([value], indent=1).encode())
    assert redact_value(clean) == clean


@each_row("value", STRUCTURES)
def test_no_structure_keeps_its_secret(value):
    """Under a name, beside it, behind it, inherited from above, or an argument of a command: the password goes."""
    clean = redact_value(value)
    assert PASSWORD not in json.dumps(clean)
    assert may_hold_secret(json.dumps(value).encode())
    assert redact_value(clean) == clean


@pytest.mark.parametrize("member", ["", "value", "data"])
@pytest.mark.parametrize("secret", ["hunter2x9", 100000000000000, 1e14])
def test_a_member_that_its_object_names_is_seen_behind_other_members(member, secret):
    """A value under no name of its own stands under the name of the object, wherever it is in the object."""
    value = {"token": {"0": None, member: secret}}
    assert may_hold_secret(json.dumps(value).encode())
    assert "REDACTED" in str(redact_value(value))


def test_a_value_without_secrets_comes_back_as_it_is():
    """No copy is made of what holds none."""
    value = {"message": "slow down", "headers": {"retry-after": "5"}, "list": [1, "two", None]}
    assert redact_value(value) is value


def test_every_context_is_found_once_and_for_all():
    """No text with a password keeps it, nor any part of it, and what is left of it stays as it is."""
    for said in texts():
        clean = redact(said)
        assert not any(part in clean for part in (PASSWORD, "horse", "orse-77")), said
        assert redact(clean) == clean, said


def test_the_page_lists_what_is_known():
    """docs/explanation/security.md names every family, every word of a secret's name and every command."""
    from tests.reference import known_secrets

    assert known_secrets() in (REPOSITORY / "docs" / "explanation" / "security.md").read_text("utf-8")
