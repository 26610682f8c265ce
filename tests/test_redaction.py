"""Redaction: each family of secrets goes, prose stays, twice is once, and hostile text costs linear time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.redaction import redact, redact_value

MARK = re.compile(r"\[REDACTED:([a-z_]+):([0-9a-f]{8})\]")
A32 = "a1B2c3D4" * 4
# Put together here, so that no scanner takes a made-up value for a leak.
SECRETS = [
    (
        "private_key",
        "-----BEGIN RSA \x50RIVATE KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90v\nq83Zfw==\n-----END RSA PRIVATE KEY-----",
    ),
    (
        "private_key",
        "-----BEGIN OPENSSH " + "PRIVATE KEY-----\\nb3BlbnNzaC1rZXktdjEAAAAA\\n-----END OPENSSH PRIVATE KEY-----",
    ),
    ("private_key", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----\nVersion: 1\n\nlQOYBFabcdefgh"),
    ("aws_key", "AKIA" + "ABCDEFGHIJKLMNOP"),
    ("github_token", "ghp_" + A32 + "abcd"),
    ("github_token", "github_pat_" + A32),
    ("gitlab_token", "glpat-" + "a1B2c3D4e5F6g7H8i9J0"),
    ("slack_token", "xoxb-" + "123456789012-abcdefABCDEF"),
    ("slack_webhook", "https://hooks.slack.com/services/" + "T0000/B0000/abcdefABCDEF123456"),
    ("discord_webhook", "https://discord.com/api/webhooks/" + "123456789012/" + A32),
    ("anthropic_key", "sk-ant-" + "api03-" + A32),
    ("openai_key", "sk-" + "proj-" + A32),
    ("stripe_key", "sk_" + "live_" + "a1B2c3D4e5F6g7H8"),
    ("huggingface_token", "hf_" + A32),
    ("google_key", "AIza" + "SyA1234567890abcdefghijklmnopqrstuv"),
    ("google_oauth", "ya29." + A32),
    ("sendgrid_key", "SG." + "a1B2c3D4e5F6g7H8i9J0." + A32),
    ("twilio_key", "SK" + "0123456789abcdef" * 2),
    ("mailchimp_key", "0123456789abcdef" * 2 + "-us12"),
    ("telegram_token", "123456789:" + "AA" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q"),
    ("npm_token", "npm_" + A32 + "abcd"),
    ("pypi_token", "pypi-" + "AgEIcHlwaS5vcmc" + A32),
    ("vault_token", "hvs." + A32),
    ("groq_key", "gsk_" + A32),
    ("jwt", "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + "c2lnbmF0dXJl"),
]
HIDDEN = [
    ("url_password", "postgres://app:", "s3cretpw", "@db.test/x"),
    ("authorization", "Authorization: ", "Bearer abcdef123456", ""),
    ("authorization", "'authorization': '", "Basic dXNlcjpwdw==", "'"),
    ("bearer", "sent bearer ", "abcDEF123456xyz", " to it"),
    ("cookie", "Cookie: ", "session=abcdef123456", ""),
    ("azure_sas", "https://x.test/c?sv=1&sig=", "abcdefABCDEF%2B123456", "&se=2"),
    ("query_secret", "GET /v1?key=", "abcdef123456", "&x=1"),
    ("assignment", "password = ", "hunter2hunter2", ""),
    ("assignment", '"api_key": "', "abcdef123456", '"'),
    ("assignment", "AWS_SECRET_ACCESS_KEY=", "abcd/efgh+1234", ""),
    ("assignment", "DB_PASSWORD: ", "tr0ub4dor", ""),
    ("assignment", "AccountKey=", "abcdefABCDEF123456==", ";Endpoint=x"),
    ("argument", "agent --password ", "hunter2x", " --verbose"),
]


@pytest.mark.parametrize(("rule", "secret"), SECRETS, ids=[f"{n}-{row[0]}" for n, row in enumerate(SECRETS)])
def test_family(rule, secret):
    """A secret with a shape of its own is replaced by its rule's mark, and nothing else is."""
    clean = redact(f"it said {secret} and stopped")
    found = MARK.search(clean)
    assert found is not None
    assert found.group(1) == rule
    assert MARK.sub("", clean) == "it said  and stopped"


@pytest.mark.parametrize(
    ("rule", "before", "secret", "after"), HIDDEN, ids=[f"{n}-{row[0]}" for n, row in enumerate(HIDDEN)]
)
def test_hidden_by_its_place(rule, before, secret, after):
    """A secret that only its place gives away is replaced, the place stays readable."""
    clean = redact(before + secret + after)
    assert secret not in clean
    assert clean.startswith(before)
    assert clean.endswith(after)
    assert MARK.search(clean).group(1) == rule


@pytest.mark.parametrize(
    "text",
    [
        "Unexpected token: < in JSON at position 0",
        "max_tokens: 64000 > 20000, input_tokens=1234",
        "token limit exceeded, token count: 120000",
        "invalid api key",
        "api key: missing",
        "password: required",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "https://docs.example.test/en/api/errors",
        "req_011CX78UXorabcdefg",
        "the secretary kept the keys",
        "sk-learn and task-runner-with-a-long-name",
    ],
)
def test_prose_stays(text):
    """Words about tokens, keys and passwords are no secrets."""
    assert redact(text) == text


def test_equal_secrets_get_equal_marks():
    """Equal secrets give equal marks and different ones different marks, so that errors still group."""
    one, two = "sk-ant-" + A32, "sk-ant-" + A32[::-1]
    assert redact(one) == redact(f"{one} ").strip()
    assert redact(one) != redact(two)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=12),
            st.sampled_from([row[1] for row in SECRETS] + ["".join(row[1:]) for row in HIDDEN]),
            st.sampled_from(
                [
                    "=",
                    ":",
                    " ",
                    '"',
                    "token",
                    "password",
                    "[REDACTED:",
                    "]",
                    "Bearer ",
                    "-----BEGIN ",
                    "://",
                    "@",
                    "\ud800",
                    "\x00",
                ]
            ),
        ),
        max_size=8,
    ).map("".join)
)
def test_idempotent(text):
    """Redacting twice is redacting once."""
    once = redact(text)
    assert redact(once) == once


HOSTILE = [
    "a",
    "password",
    "token=",
    "eyJaaaaaaaaaa.",
    "eyJaaaaaaaaaa-AKIAABCDEFGHIJKLMNOP-",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----AKIAABCDEFGHIJKLMNOP ",
    "://a:b",
    "sk-ant-aaaaaaaaaaaa ",
    "Authorization: Bearer ",
    "cookie: a=",
    "password = hunter2x; ",
    "\u4f59",
    "[REDACTED:",
]


@pytest.mark.parametrize("unit", HOSTILE, ids=lambda unit: unit[:24].strip())
def test_linear_time(unit):
    """A megabyte of hostile text takes a few times as long as a quarter of it, and never many seconds."""
    quarter, whole = unit * (262_144 // len(unit)), unit * (1_048_576 // len(unit))
    redact(quarter[:4_096])
    timings = []
    for text in (quarter, whole):
        started = time.perf_counter()
        redact(text)
        timings.append(time.perf_counter() - started)
    assert timings[1] < max(0.5, 12 * timings[0])
    assert timings[1] < 20


def test_values():
    """Lists, objects and keys are walked; a value whose key names a secret goes; numbers stay."""
    value = {
        "a": ["Bearer abcDEF123456xyz", 3, None],
        "password": "hunter2hunter2",
        "sk-ant-" + A32: True,
        "n": {"token": 5},
    }
    clean = redact_value(value)
    assert clean["a"][1:] == [3, None]
    assert "abcDEF" not in str(clean)
    assert "hunter2" not in str(clean)
    assert A32 not in str(clean)
    assert clean["n"] == {"token": 5}
    assert redact_value(clean) == clean


def test_values_are_walked_to_a_bound():
    """What is nested too deep is replaced, not kept."""
    value: object = "sk-ant-" + A32
    for _ in range(200):
        value = [value]
    assert A32 not in str(redact_value(value))
