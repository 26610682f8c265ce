"""Redaction: each family of secrets goes, prose stays, twice is once, and hostile text costs linear time."""

from __future__ import annotations

import json
import re
from hashlib import blake2b

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.classifier import classify
from analyzer.events import error_payload
from analyzer.redaction import may_hold_secret, redact, redact_argument, redact_member, redact_value
from analyzer.redaction.automata import matches
from analyzer.redaction.places import PLACES
from benchmarks.workload import TEMPLATES, mapping
from tests import each_row
from tests.growth import assert_linear, assert_takes

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
    ("xai_key", "xai-" + A32),
    ("aws_key", "ASIA" + "ABCDEFGHIJKLMNOP"),
    *[("github_token", f"gh{kind}_" + A32) for kind in "ousr"],
    ("slack_token", "xapp-" + "1-A0123456789-abcdef"),
    ("stripe_key", "whsec_" + "a1B2c3D4e5F6g7H8"),
    ("discord_token", "MTIzNDU2Nzg5MDEyMzQ1Njc4" + ".GaBcDe." + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4"),
    *[
        (name, prefix + A32)
        for name, prefix in (("figma_token", "figd_"), ("docker_token", "dckr_pat_"), ("shopify_token", "shpat_"))
    ],
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
    ("argument", "run --api-key=", "abc123def", ""),
    ("authorization", '"proxy-authorization": "', "Basic dXNlcjpwdw==", '"'),
    ("cookie", "Set-Cookie: ", "sid=abcdef123456", ""),
    ("cookie", '\\"cookie\\": \\"', "sid=abcdef123456", '\\"'),
    ("assignment", '{"password": "', "correct horse battery", '"}'),
    ("assignment", '{\\"client_secret\\": \\"', "abcdef123456", '\\"}'),
    ("assignment", "PATH=/bin\nGITHUB_TOKEN=", "abcdef123456", "\nHOME=/root"),
    ("assignment", "X-Api-Key: ", "abcdef123456", ""),
    ("assignment", "'private_key' => '", "abcdef123456", "'"),
    ("assignment", "Endpoint=sb://x.test/;SharedAccessKey=", "abcdefABCDEF123456=", ""),
    ("argument", 'curl -u "', "a1B2c3D4e5F6g7:", '" https://api.example.test/v1'),
    ("random_key", '"key": "', "kJ8sd0fKq2ZxW9vB7nM4tYp1LrE6cUaH", '"'),
]


@each_row("rule, secret", SECRETS)
def test_family(rule, secret):
    """A secret with a shape of its own is replaced by its rule's mark, and nothing else is."""
    clean = redact(f"it said {secret} and stopped")
    found = MARK.search(clean)
    assert found is not None
    assert found.group(1) == rule
    assert MARK.sub("", clean) == "it said  and stopped"


@each_row("rule, before, secret, after", HIDDEN)
def test_hidden_by_its_place(rule, before, secret, after):
    """A secret that only its place gives away is replaced, the place stays readable."""
    clean = redact(before + secret + after)
    assert secret not in clean
    assert clean.startswith(before)
    assert clean.endswith(after)
    assert MARK.search(clean).group(1) == rule


@each_row(
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
        '{"max_tokens": 4096, "input_tokens": 12, "token_usage_percent": 82, "token": null, "tokens": [1, 2]}',
        '{"sessionId": "0199f3a2-4c07-7c31-9d0e-5b1f60c8a211", "session": "s-42", "id": "msg_01AbCdEf"}',
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "cache_key=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "key: 0199f3a2-4c07-7c31-9d0e-5b1f60c8a211",
        "keyboard: dvorak, monkey=capuchin, author: somebody-with-a-long-name",
        "http://localhost:8080/path and mailto:someone@example.com",
        "http://api.example.com:443 refused; write to support@example.com",
        "the token bucket is empty; the cookie banner stays",
        "basic tokenizer, password-less login",
    ],
)
def test_prose_stays(text):
    """Words about tokens, keys and passwords are no secrets."""
    assert redact(text) == text


@pytest.mark.parametrize("again", ["then {} was sent", "cmd {}@host", "a={}&b", '["{}"]', "\\n{}\\n"])
@pytest.mark.parametrize("secret", ["hunter2x", "a1B2c3D4e5F6g7H8"])
def test_a_secret_goes_wherever_it_stands_once_more(secret, again):
    """What one place gives away is looked for in the whole text, before that place and behind it."""
    text = f"{again.format(secret)}; password={secret}; {again.format(secret)}"
    assert secret not in redact(text)
    assert len({each.group() for each in MARK.finditer(redact(text))}) == 1


def test_a_word_is_not_looked_for_again():
    """A password that is a word, or stands within a longer one, takes nothing else out of the text."""
    assert redact("password='orange' and orange juice").endswith("orange juice")
    assert redact("password=hunter2x, id xhunter2xy").endswith("xhunter2xy")


@pytest.mark.parametrize(
    "text",
    [
        'clarifai_key: "§"',
        'const bugherdKey = "§"',
        "getemails-key=§",
        "<secret>{of bugherd § }</secret>",
        "<token>Version 2 §</token>",
    ],
)
@pytest.mark.parametrize("secret", ["mx2rxr8ztizo8kytvx1kan", "WCFcfUCsl2P3vCJuFgDuLeUXduycoZli"])
def test_a_key_of_somebody_is_a_secret(text, secret):
    """Whoever it belongs to, and whatever stands beside it in an element of XML."""
    assert secret not in redact(text.replace("§", secret))


def test_equal_secrets_get_equal_marks():
    """Equal secrets give equal marks, on every machine, and different ones different marks, so that errors group."""
    one, two = "sk-ant-" + A32, "sk-ant-" + A32[::-1]
    assert redact(one) == redact(f"{one} ").strip()
    assert redact(one) == f"[REDACTED:anthropic_key:{blake2b(one.encode(), digest_size=4).hexdigest()}]"
    assert redact(one) != redact(two)


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
    "user,password\n",
    "| password |\n",
    "kind: Secret\ndata:\n a: aaaa\n",
    "password: str = ",
    "echo a | sudo ",
    "\u4f59",
    "[REDACTED:",
    "\\\\",
    "token=\\n",
    "\\u005c",
    "%41",
    "&amp;",
    "\x1b[0m",
    "+a",
    "=?a?q?a=5F?= ",
    "=?a?b?a?=",
    "a<b>",
    "a<b ",
    "a^_`_",
    f"{'a' * 80}\n",
    "-----END PRIVATE KEY-----",
    "MIIEpAIBAAKCAQEAx7bq3VvHk0Rz\n-----END PRIVATE KEY-----\n",
]


@pytest.mark.no_cover
@pytest.mark.parametrize("unit", HOSTILE, ids=lambda unit: unit[:24].strip())
def test_linear_time(unit):
    """A megabyte of hostile text takes at most some four times as long as a quarter of it, and few seconds."""
    quarter, whole = unit * (262_144 // len(unit)), unit * (1_048_576 // len(unit))
    redact(quarter)
    assert_linear(redact, quarter, whole)
    assert_takes(lambda: redact(whole), 6)


def test_a_text_with_very_many_secrets_is_withheld_from_a_point_on():
    """Time is bounded by replacing the rest as a whole, never by letting secrets through."""
    clean = redact(f"ghp_{A32} " * 2_000)
    assert A32 not in clean
    assert clean.count("[REDACTED:github_token:") == 500
    assert clean.count("[REDACTED:rest:") == 1
    assert redact(clean) == clean


def test_a_text_that_is_looked_at_too_often_is_withheld_from_a_point_on():
    """Of places that could hold a secret, and hold none, there are as many as there is time for."""
    few, many = (f"{'password: required ' * times}password: {A32}" for times in (900, 1_100))
    assert redact(few).startswith("password: required " * 900)
    assert redact(few).count("[REDACTED:rest:") == 0
    clean = redact(many)
    assert A32 not in clean
    assert clean.startswith("password: required " * 900)
    assert clean.count("[REDACTED:") == clean.count("[REDACTED:rest:") == 1


def test_a_member_is_judged_with_its_key():
    """A text under a secret's name goes as a whole, blanks included; plain words and numbers stay."""
    assert MARK.fullmatch(redact_member("db_password", "correct horse battery staple"))
    assert MARK.fullmatch(redact_member("Authorization", "Basic dXNlcjpwdw=="))
    assert redact_member("Cookie", "sid=abcdef123456").startswith("[REDACTED:cookie:")
    assert redact_member("token", "required") == "required"
    assert redact_member("max_tokens", "4096") == "4096"
    assert redact_member("caller", "planner") == "planner"


def test_an_argument_is_judged_with_the_one_before_it():
    """A list of arguments hides what stands behind `--password`."""
    assert MARK.fullmatch(redact_argument("--password", "hunter2x"))
    assert redact_argument("--password", "--verbose") == "--verbose"
    assert redact_argument("password", "hunter2x") == "hunter2x"
    assert redact_argument("--max-tokens", "4096") == "4096"


CORPUS = [row[1] for row in SECRETS] + ["".join(row[1:]) for row in HIDDEN]
FRAMES = ["{}", "\n{}", "\x1b{}", "\u2028{}", "a\tb {}\r\n", '"{}"', "\\{}", "é{}é", "[{}]", "x={}", "/{}/"]


def _json_forms(value):
    """The ways in which serializers write a value, and a line with others before and behind it."""
    texts = [
        msgspec.json.encode(value),
        json.dumps(value).encode(),
        json.dumps(value, ensure_ascii=False, indent=1).encode(),
    ]
    texts.append(texts[0].replace(b"/", b"\\/"))
    for escaped in b"<>&'=":
        texts.append(texts[0].replace(bytes([escaped]), b"\\u%04x" % escaped))
    texts.append(b"".join(b"\\u%04x" % ord(c) if c.isalnum() else c.encode() for c in texts[1].decode()))
    return [*texts, *(b'{"a":1}\n' + text + b'\n{"b":2}' for text in texts)]


@each_row("secret", CORPUS)
def test_the_prefilter_misses_no_secret(secret):
    """What redaction changes is flagged: as text, as a JSON text of any serializer, as a value and as a key."""
    for frame in FRAMES:
        text = frame.replace("{}", secret)
        if redact(text) == text:
            continue
        assert may_hold_secret(text.encode())
        for value in (text, [1, text], {"k": text}, {text: 1}, json.dumps([text])):
            for data in _json_forms(value):
                assert may_hold_secret(data), data


WORDS = [
    "password",
    "x-api-key",
    "Authorization",
    "cookie",
    "token",
    "secret ",
    "auth",
    "--token",
    "-pwd",
    "bearer",
    "key",
]
values = st.one_of(
    st.sampled_from(
        [*CORPUS, "hunter2 x", "12 ab", "0;x, y", "7\u0080", "12", "kJ8sd0fKq2ZxW9vB7nM4tYp1LrE6cUaH", "1234"]
    ),
    st.text(max_size=9),
)
names = st.one_of(st.sampled_from(WORDS), st.text(max_size=5))


@given(names, st.lists(values, min_size=1, max_size=3).map("".join))
def test_the_prefilter_misses_no_pair(name, value):
    """A member or an argument that redaction changes is flagged in its JSON."""
    if redact_member(name, value) != value:
        assert all(may_hold_secret(data) for data in _json_forms({"a": 1, name: value}))
    if redact_argument(name, value) != value:
        assert all(may_hold_secret(data) for data in _json_forms([0, name, value]))


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"error.classified","payload":{"max_tokens":64000,"current_tokens":70000,"facts":{"message":"slow"}}}',
        '{"usage":{"input_tokens":4,"cache_read_input_tokens":12},"cost":0.5,"requestId":"req_011CX78UXorabcdefg"}',
        '{"cwd":"/home/a/project","id":"0199f3a2-4c07-7c31-9d0e-5b1f60c8a211","text":"<b>\\u2028 \\u003cb\\u003e"}',
        '{"message":"API Error: 529 {\\"type\\":\\"error\\"} at https://api.example.com:443/v1/messages"}',
    ],
)
def test_the_prefilter_lets_common_lines_pass(line):
    """What logs are made of is not flagged, or the prefilter would save nothing."""
    assert not may_hold_secret(line.encode())


def test_the_prefilter_lets_ordinary_events_pass() -> None:
    """Of the errors that the benchmarks write, not one in a thousand is flagged: each costs its block the fast road."""
    payloads = [error_payload(classify(mapping(number))) for number in range(len(TEMPLATES) * 20)]
    lines = [json.dumps(payload, separators=(",", ":")).encode() for payload in payloads]
    assert {json.loads(line)["rule"] for line in lines} >= {"missing_key", "expired_token"}
    assert sum(may_hold_secret(line) for line in lines) * 1_000 <= len(lines)


@pytest.mark.parametrize(
    "value",
    [
        ["password)", 1234567],
        ["db password:", "x1y2z3"],
        ["token", ["x1y2z3"]],
        ["a, token", {"value": "x1y2z3"}],
        ["auth", ["default", "x1y2z3"]],
    ],
)
def test_the_prefilter_misses_no_item_of_a_list(value: list[object]) -> None:
    """What stands behind a name in a list is flagged, whatever it is: a number, a list or an object, too."""
    assert redact_value(value) != value
    assert all(may_hold_secret(data) for data in _json_forms(value))


def test_a_table_ends_where_its_head_comes_again() -> None:
    """The rows below belong to the second head, so that no head reads the rows of all others."""
    text = "| user | password |\n| a | hunter2x |\n" * 2
    tabled = next(place for place in PLACES if place.example.startswith("user,password"))
    heads = matches(tabled.pattern, text.encode())
    assert [len([*tabled.spans(text.encode(), head)]) for head in heads] == [1, 1]
    clean = redact(text)
    assert clean.count("[REDACTED:") == 2
    assert "hunter2x" not in clean
