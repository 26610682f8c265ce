"""Every secret in every dress: nothing of it survives in a text, a value, an event or an imported log."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.redaction import may_hold_secret, redact, redact_value
from analyzer.redaction.families import FAMILIES
from analyzer.redaction.unfolding import MAX_FORMS, forms
from tests import each_row, sampled
from tests.redaction.contexts import PASSWORD, texts
from tests.redaction.dresses import BROKEN, CUTTING, DRESSES, after, survives
from tests.redaction.foreign_logs import imported, wave

FRAMES = ("env:\n{}\n", "a\t{}\tb", '{{"k":"{}"}}', "k={}&x=1")
_NO_TABLES = ("tabs as text", "a search's file names", "line ends of syslog", "line ends of cat -v")
"""Dresses that leave no columns, one that is none of the table's, or one line of all."""
_PLAIN = [text for text in texts() if "\\" not in text]


def _families() -> list[tuple[str, str]]:
    """The secret of each family, and a text with it for each frame."""
    found = []
    for family in FAMILIES:
        whole = family.example.replace("⟨", "").replace("⟩", "")
        secret = family.example.partition("⟨")[2].partition("⟩")[0] or whole
        found += [(secret, frame.format(whole)) for frame in FRAMES]
    return found


SECRETS = _families()
"""As many frames stand one after the other as a family has: nine dresses, each with every ninth, have them all."""
_BODY = "\n".join(
    f"{'MIIEpAIBAAKCAQEAx7bq3VvHk0Rz+/a1B2c3D4e5F6g7H8i9J0kLmNoPqRsT' * 2}"[n : n + 64] for n in range(24)
)
_KEY = f"-----BEGIN RSA \x50RIVATE KEY-----\n{_BODY}\nq83Zfw==\n-----END RSA \x50RIVATE KEY-----"
_OPENSSH = "\n".join(_BODY.replace("\n", "")[n : n + 70] for n in range(0, 1_400, 70))
_CUT = {
    "whole": _KEY,
    "its head": "\n".join(_KEY.split("\n")[:9]),
    "its tail": "\n".join(_KEY.split("\n")[15:]),
    "its middle": "\n".join(_KEY.split("\n")[6:14]),
    "three lines of its middle": "\n".join(_KEY.split("\n")[6:9]),
    "three lines of OpenSSH's": "\n".join(_OPENSSH.split("\n")[6:9]),
    "with headers": _KEY.replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C3D\n\n", 1),
    "in one line": _KEY.replace("\n", " "),
    "without line ends": _KEY.replace("\n", ""),
    "of PuTTY": "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPublic-Lines: 1\nAAAAB3NzaC1yc2E=\n"
    f"Private-Lines: 24\n{_BODY}\nPrivate-MAC: 0a1b",
}
"""A private key of several lines as texts hold it."""
# Of lines from the middle their length is all there is, which some dresses upon others take.
KEYS = [(_BODY, f"before it\n{key}\nbehind it") for name, key in _CUT.items() if not name.endswith(("middle", "SSH's"))]


def by_turns(name: str) -> Sequence[tuple[str, str]]:
    """Return every ninth secret, others for each dress; in long runs all of them."""
    return sampled(SECRETS, [*DRESSES, *CUTTING].index(name) % 9, step=9)


HOSTILE = ("\\\\", "\\n", "\\u005c", "\\u005cu005c", "%25", "%41", "&amp;", "&#38;", "\x1b[0m", "\x00", "+", "'\"'\"'")
dresses = each_row("name", DRESSES)


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@each_row("name", [*DRESSES, *CUTTING])
def test_no_family_survives_a_dress(name: str) -> None:
    """The secret of each family goes out of a text in this dress and out of values with it, once and for all."""
    dress = DRESSES.get(name) or CUTTING[name]
    left = []
    for secret, text in by_turns(name):
        worn = dress(text)
        clean = redact(worn)
        value = redact_value({"error": [worn]})
        if survives(secret, clean) or survives(secret, value["error"][0]) or redact(clean) != clean:
            left.append((worn, clean))
        assert may_hold_secret(json.dumps({"error": worn}).encode())
    assert left == []


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@dresses
def test_no_place_survives_a_dress(name: str) -> None:
    """A password goes out of every context that is put into this dress."""
    plain = [text for text in _PLAIN if name not in _NO_TABLES or "\n" not in text]
    chosen = sampled(plain, [*DRESSES].index(name) % 3)
    left = [(text, clean) for text in chosen if survives(PASSWORD, clean := redact(DRESSES[name](text)))]
    assert left == []


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@pytest.mark.parametrize("name", BROKEN)
def test_few_secrets_survive_an_early_break(name: str) -> None:
    """Of the families, no more survive a line that ends soon behind the beginning of a secret than its floor says."""
    dress, floor = BROKEN[name]
    left = [clean for secret, text in SECRETS if survives(secret, clean := redact(dress(text)))]
    assert 1 - len(left) / len(SECRETS) >= floor, left


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@dresses
def test_no_family_survives_an_import(name: str) -> None:
    """What a foreign log says in this dress comes into no event."""
    chosen = by_turns(name)
    lines = [json.dumps(wave(DRESSES[name](text))).encode() + b"\n" for _, text in chosen]
    payloads = [str(line, "utf-8") for line in imported(b"".join(lines))]
    left = [said for (secret, _), said in zip(chosen, payloads, strict=True) if survives(secret, said)]
    assert left == []


@pytest.mark.parametrize(
    "name",
    ["JSON", "JSON in JSON", "JSON with all by number", "Python's repr of bytes", "URL", "HTML", "octal numbers"],
)
def test_a_dress_changes_no_mark(name: str) -> None:
    """A secret is named alike, dressed or not, so that its errors group."""
    secret = "ghp_" + "a1B2c3D4" * 4
    mark = redact(secret)
    assert mark in redact(DRESSES[name](f"env:\n{secret}\n"))


@settings(derandomize=True)
@given(
    st.sampled_from(list(DRESSES)),
    # A colour in the middle of an escape leaves none.
    st.lists(st.sampled_from([name for name in DRESSES if "colours" not in name]), max_size=2),
    st.one_of(st.sampled_from(SECRETS), st.sampled_from(KEYS)),
)
def test_no_family_survives_dresses_upon_each_other(first: str, others: list[str], secret: tuple[str, str]) -> None:
    """Neither does it where one dress is put upon another, in any order."""
    worn = after(DRESSES[first], *(DRESSES[name] for name in others))(secret[1])
    assert not survives(secret[0], redact(worn))


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
@each_row("cut", _CUT)
@dresses
def test_a_private_key_goes_as_a_whole(name: str, cut: str) -> None:
    """All lines of a key go, with anything before them, and what stands around the key stays."""
    clean = redact(DRESSES[name](f"before it\n{_CUT[cut]}\nbehind it"))
    assert not survives(_BODY, clean)
    read = [form.data.decode("utf-8", "replace") for form in forms(clean.encode())]
    assert any("before" in each for each in read)
    assert any("behind" in each for each in read)


@each_row("text, secret", [
        (
            "HTTPSConnectionPool(host='hooks.slack.com', port=443): Max retries exceeded with url: "
            "/services/" + "T024BE7LD/B0A1B2C3D/§ (Caused by NewConnectionError())",
            "a1B2c3D4e5F6g7H8i9J0k1L2",
        ),
        ('POST /workflows/' + 'T024BE7LD/A0A1B2C3D/123456789012345678/§ HTTP/1.1', "a1B2c3D4e5F6g7H8i9J0k1L2"),
        ("Max retries exceeded with url: /api/webhooks/123456789012345678/§", "a1B2c3D4-e5F6g7H8_i9J0k1L2m3N4o5P6"),
        ("PATCH /api/v10/webhooks/123456789012345678/§/messages/@original", "a1B2c3D4-e5F6g7H8_i9J0k1L2m3N4o5P6"),
        ("host='api.telegram.org', port=443): Read timed out with url: /bot123456:§/sendMessage",
         "AA" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q"),
        ("with url: /webhookb2/0a1b2c3d-0000-4000-8000-0123456789ab@0a1b2c3d-0000-4000-8000-0123456789ab/§",
         "IncomingWebhook/0123456789abcdef0123456789abcdef/0a1b2c3d-0000"),
        ("url: /webhook/0a1b2c3d-0000-4000-8000-0123456789ab@0a1b2c3d-0000-4000-8000-0123456789ab/§",
         "IncomingWebhook/0123456789abcdef0123456789abcdef/0a1b2c3d-0000"),
        ("Max retries exceeded with url: /hooks/§ (Caused by", "abcdefgh1jk2mn3pqrstuvwxy4"),
        ("POST /hooks/catch/1234567/§/ HTTP/1.1", "a1b2c3d4"),
        ("with url: /integration/§/enqueue", "0123456789abcdef0123456789abcdef"),
        ("POST /trigger/deploy/with/key/§", "a1B2c3D4e5F6g7H8i9J0k1"),
        ("POST /api/v10/interactions/123456789012345678/§/callback", "aW50" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6"),
        ("url: /workflows/0a1b/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers&sv=1.0&sig=§",
         "a1B2c3D4e5F6-g7H8_i9J0k1L2m3N4o5P6q7R8s9T0"),
    ])  # fmt: skip
def test_the_path_of_a_url_is_enough(text: str, secret: str) -> None:
    """Clients name the host apart from the path that holds the secret, or not at all."""
    assert redact(text.replace("§", secret)).count("[REDACTED:") == 1
    assert not survives(secret, redact(text.replace("§", secret)))


@each_row("unit", HOSTILE)
def test_a_text_has_few_forms_and_none_is_longer(unit: str) -> None:
    """Of a text of nothing but escapes there are at most `MAX_FORMS`, each no longer than the one before; what stands
    behind the escapes is found.
    """
    text = unit * (65_536 // len(unit)) + " ghp_" + "a1B2c3D4" * 4
    read = [len(form.data) for form in forms(text.encode())]
    assert len(read) <= MAX_FORMS
    assert read == sorted(read, reverse=True)
    assert "c3D4" not in redact(text)
