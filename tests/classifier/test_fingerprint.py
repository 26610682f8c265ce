"""Templates of single messages: what is masked, what stays, and that ids are the same everywhere."""

from __future__ import annotations

import re
import subprocess
import sys

import re2
from hypothesis import given
from hypothesis import strategies as st

from analyzer.classifier.fingerprint import (
    MAX_CHARS,
    MAX_TEMPLATE_CHARS,
    PASSES,
    SLOT,
    fingerprint,
    fingerprint_of,
    template,
    templates,
)
from tests import each_row
from tests.growth import assert_linear

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200) | st.lists(
    st.sampled_from(
        [
            *("12", "0x1f", "blk_-9", '"a b"', "'x'", "user=root", "=", "/var/x", "a.py", "5 KB", ",", "<*>", "true"),
            *("Jan", "Mon", "10.0.0.1:80", "who@example.com", "https://a.example.com/x?y=1", "é", "\n", *" ()[]", "()"),
        ]
    ),
    max_size=12,
).map(" ".join)


@each_row(
    "message, expected",
    [
        ("Canvas shard 4 is parked, 5 readers ahead of you", "Canvas shard <*> is parked, <*> readers ahead of you"),
        ("Deleting block blk_-1608999687919862906 file /data/x/blk_-16", "Deleting block <*> file <*>"),
        ("at 0x7ffe12 mask 0xff", "at <*> mask <*>"),
        ("who@example.com wrote to https://api.example.com/v1?x=y, twice", "<*> wrote to <*>, twice"),
        ("peer 10.251.42.9:50010 and host amber.example.com:80 left", "peer <*> and host <*> left"),
        ("bssid fa:ca:de:ba:be:ef", "bssid <*>"),
        ("took 1.5 KB, then 900 bytes, then 90 s, then 2 min", "took <*>, then <*>, then <*>, then <*>"),
        ("lifetime <1 sec", "lifetime <*>"),
        ("lifetime 00:12", "lifetime <*>"),
        ("on Tue Jun 14 15:16:01 2005 again", "on <*> again"),
        ("since 2026-11-02T08:00:00.123Z", "since <*>"),
        ("Tool 'figma_read' and \"x\" and `y` are gone", "Tool <*> and <*> and <*> are gone"),
        ("it can't and won't", "it can't and won't"),
        ('"GET /v2/x/detail HTTP/1.1" status: 200', '"GET <*>" status: <*>'),
        ('opened by (uid=0) user=root tag="View Lock" ws=Source{12}', "opened by (uid=<*>) user=<*> tag=<*> ws=<*>"),
        ("acks [1, 2, 3] for (root, admin)", "acks [<*>] for (<*>)"),
        ("from 10.0.0.1 () at noon", "from <*> (<*>) at noon"),
        ('{"code":"x","left":true}', "{code:<*>,left:<*>}"),
        ("java.io.IOException: Connection reset by peer", "java.io.IOException: Connection reset by peer"),
        ("pam_unix(sshd:auth): check pass; user unknown", "pam_unix(sshd:auth): check pass; user unknown"),
        ("read and/or write, N/A", "read and/or write, N/A"),
        ("two   spaces\n\tand a line", "two spaces and a line"),
        ("", ""),
    ],
)
def test_a_template_keeps_words_and_masks_values(message: str, expected: str) -> None:
    """Numbers, ids, paths, addresses, times, sizes, quoted names and values of keys become a slot."""
    assert template(message) == expected


@given(st.lists(TEXT, max_size=8))
def test_a_message_has_its_template_whatever_stands_beside_it(messages: list[str]) -> None:
    """Together, apart and in any order, a message gets one template."""
    together = templates(messages)
    assert together == [template(message) for message in messages]
    assert templates(messages[::-1]) == together[::-1]


@given(TEXT)
def test_a_template_is_one_line_without_digits_that_re2_gives_pass_by_pass(message: str) -> None:
    """Masking word by word, with digits made equal and known lines remembered, is only a faster way to the same."""
    raw = b" ".join(message[:MAX_CHARS].encode().split())
    for pattern, replacement, _ in PASSES:
        raw = re2.compile(pattern.encode()).sub(replacement.encode(), raw)
    found = template(message)
    assert found == raw.decode("utf-8", "replace")[:MAX_TEMPLATE_CHARS]
    assert "\n" not in found
    assert not re.search(r"[0-9]", found)


def test_no_pattern_tells_one_digit_from_another() -> None:
    """Digits are made equal before masking, so a class that holds some digits and not others would be a mistake."""
    for pattern, _, _ in PASSES:
        classes = re.findall(r"\[[^\]]*\]", pattern)
        outside = re.sub(r"\[(?:\\.|[^\]])*\]|\{[\d,]+\}|\\\d", "", pattern)
        assert not re.search(r"[0-9]", outside), pattern
        assert all("0-9" in each or not re.search(r"(?<!\\)[0-9]", each) for each in classes), pattern


def test_an_id_is_the_same_in_every_process() -> None:
    """It is a hash of the template, not of an object or an order; the value below must never change under version 1."""
    assert fingerprint("Canvas shard 4 is parked") == fingerprint_of("Canvas shard <*> is parked") == "1-6b2f44b5607e"
    code = "from analyzer.classifier.fingerprint import fingerprint; print(fingerprint('Canvas shard 77 is parked'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1-6b2f44b5607e"


def test_what_lies_far_behind_makes_no_other_template() -> None:
    """A long output is told by its beginning."""
    begin = "word " * (MAX_CHARS // 5)
    assert template(begin + "one end") == template(begin + "another end")
    assert SLOT not in template(begin)


@given(st.lists(st.integers(0, 10**18), min_size=24, max_size=24))
def test_values_of_any_length_leave_a_long_message_its_template(values: list[int]) -> None:
    """A message that is longer than what is looked at breaks off earlier where its values are longer."""
    text = "".join(
        f'{{"quota": "requests of {each} a minute for this project", "metric": {value}}} and then '
        for each, value in zip("abcdefghijklmnopqrstuvwx", values, strict=True)
    )
    assert len(text) > MAX_CHARS
    assert template(text) == template(re.sub("[0-9]+", "7", text))


def test_hostile_text_takes_linear_time() -> None:
    """A message made of what patterns begin with takes no longer than its length, up to the longest one."""
    for unit in ("a.", "/a", "0-", "=(", '"a', "<*>, ", "1 (", "x=" * 3, "Jan ", ":a0"):
        text = unit * MAX_CHARS
        assert_linear(lambda length, text=text: templates([text[:length]] * 3), MAX_CHARS // 4, MAX_CHARS)
