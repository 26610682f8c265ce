"""What hostile text becomes in each medium."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from analyzer.report import csv_cell, markdown_text, terminal_safe
from analyzer.report.escape import chat_text, json_text, runner_safe
from analyzer.report.writers.html import environment
from tests import each_row

STEERING = [
    ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
    ("a\rb\nc\td", r"a\x0db\x0ac\x09d"),
    ("\x00\x07\x7f", r"\x00\x07\x7f"),
    ("\x9b31m", r"\x9b31m"),
    ("a\u202eb\u2066c\u2069", r"a\u202eb\u2066c\u2069"),
    ("zero\u200bwidth\ufeff", r"zero\u200bwidth\ufeff"),
    ("line\u2028break", r"line\u2028break"),
    ("tag\U000e0041", r"tag\U000e0041"),
    ("half\ud800", r"half\ud800"),
    ("filler\u3164\uffa0\u115f", r"filler\u3164\uffa0\u115f"),
    ("smuggled\U000e0100\U000e01ef", r"smuggled\U000e0100\U000e01ef"),
    ("mark\u061c\xad", r"mark\u061c\xad"),
    ("blank\u2800\u17b4\U0001d159", r"blank\u2800\u17b4\U0001d159"),
    ("selected\u26a0\ufe0f", "selected\u26a0\\ufe0f"),
    ("wide\xa0\u3000space", "wide  space"),
]


@each_row("hostile, shown", STEERING)
def test_terminal_shows_steering_characters(hostile: str, shown: str) -> None:
    """Characters that steer a terminal or hide become visible codes."""
    assert terminal_safe(hostile) == shown


def test_terminal_keeps_what_people_write() -> None:
    """Letters of any script, emoji and combining marks stay."""
    text = "naïve Привет 漢字 עברית ¯\\_(ツ)_/¯ 🙂 e\u0301"
    assert terminal_safe(text) == text


def test_terminal_keeps_our_own_layout() -> None:
    """Newlines and tabs of our own text can be kept, and nothing else with them."""
    assert terminal_safe("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


@given(st.text())
def test_terminal_output_has_nothing_invisible(text: str) -> None:
    """Whatever goes in, no control, format or surrogate character comes out."""
    assert not [char for char in terminal_safe(text) if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


def test_every_invisible_character_is_known() -> None:
    """All of Unicode, by this interpreter's own tables: shown on a terminal, escaped in JSON, still the same data."""
    every = [chr(number) for number in range(0x110000)]
    # Apart from each other: a high surrogate before a low one would be one character of JSON.
    invisible = "x".join(each for each in every if unicodedata.category(each) in {"Cc", "Cf", "Cs", "Zl", "Zp"})
    assert len(invisible) > 2_000
    assert not set(terminal_safe(invisible)) & (set(invisible) - {"x"})
    text = json_text({"key": invisible})
    assert not set(text) & (set(invisible) - {"x"})
    assert json.loads(text) == {"key": invisible}


@settings(deadline=None)
@given(st.text())
def test_a_text_in_a_template_cannot_leave_its_place(text: str) -> None:
    """Neither a tag nor the end of an attribute survives, nor what steers or hides."""
    shown = environment().from_string("{{ text }}").render(text=text)
    assert not set(shown) & set("<>\"'")
    assert html.unescape(shown) == terminal_safe(text)


def test_a_template_fails_on_a_name_that_it_is_not_given() -> None:
    """A hole in the page would look like nothing to say."""
    with pytest.raises(UndefinedError):
        environment().from_string("{{ no_such_name }}").render()


@each_row(
    "hostile, shown",
    [
        ("a|b", r"a\|b"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("[x](http://e.example)", r"\[x\](http&#58;//e.example)"),
        ("![x](y)", r"\!\[x\](y)"),
        ("*b* _i_ `c` #h ~s~", r"\*b\* \_i\_ \`c\` \#h \~s\~"),
        ("one\n\n# two\r\nthree", r"one \# two three"),
        ("- item", r"\- item"),
        ("1. item", r"1\. item"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("www.e.example", "www&#46;e.example"),
        ("WWW.e.example", "WWW&#46;e.example"),
        ("@everyone", "@&#8203;everyone"),
        ("write to a.b@e.example", "write to a.b@&#8203;e.example"),
        ("see #123, o/r#4, GH-5 and !6", r"see \#&#8203;123, o/r\#&#8203;4, GH-&#8203;5 and \!&#8203;6"),
        ("3 @ 5, C# and a@", r"3 @ 5, C\# and a@"),
        ("\x1b]8;;x\x07", r"\\x1b\]8;;x\\x07"),
    ],
)
def test_markdown_is_taken_literally(hostile: str, shown: str) -> None:
    """Markup, links, HTML and line breaks lose their meaning."""
    assert markdown_text(hostile) == shown


@each_row(
    "hostile, shown",
    [
        ("@everyone", "@\u200beveryone"),
        ("<!channel> & <@U1>", "&lt;!channel&gt; &amp; &lt;@\u200bU1&gt;"),
        ("a.b@e.example", "a.b@\u200be.\u200bexample"),
        ("https://e.example, www.e.example", "https:\u200b//e.\u200bexample, www.\u200be.\u200bexample"),
        ("[x](e.example)", "[x]\u200b(e.\u200bexample)"),
        ("see e.example. It took 1.5 s, v2.10", "see e.\u200bexample. It took 1.5 s, v2.10"),
        ("see #123", "see #\u200b123"),
        ("\x1b[31m\u202e", r"\x1b[31m\u202e"),
        ("3 @ 5, 50% of C#", "3 @ 5, 50% of C#"),
    ],
)
def test_a_chat_calls_nobody_and_links_nothing(hostile: str, shown: str) -> None:
    """Names, numbers of issues and addresses are broken by a space without width; all else stays as it is."""
    assert chat_text(hostile) == shown


@each_row(
    "formula",
    [
        '=cmd|"/C calc"!A1',
        "+1+1",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        " =1",
        '"=1',
        "＝1",
        "＋1",
        "－1",
        "＠x",
        "\n=1",
        "-",
        "\u3000=1",
        "“=1",
        "'=1",
        "\u2212" + "1+1",
        "-٣",
    ],
)
def test_csv_formulas_are_disarmed(formula: str) -> None:
    """A cell that a spreadsheet would calculate begins with an apostrophe."""
    assert csv_cell(formula) == "'" + formula


@pytest.mark.parametrize("harmless", ["-5", "+3.2e4", "-0.5", "a=b", "", "x@y.example", "2026-11-21"])
def test_csv_leaves_numbers_and_texts(harmless: str) -> None:
    """Numbers with a sign, and signs inside a text, are no formula."""
    assert csv_cell(harmless) == harmless


def test_csv_cell_survives_a_reader() -> None:
    """The apostrophe is the only change that a CSV reader sees."""
    buffer = io.StringIO()
    csv.writer(buffer).writerow([csv_cell("=a\n,b")])
    assert next(csv.reader(io.StringIO(buffer.getvalue()))) == ["'=a\n,b"]


COMMANDS = st.lists(st.sampled_from([":", "::", "#", "##", "[", "]", " ", "\t", "\n", "error", "vso", "-", "a"])).map(
    "".join
)


@given(COMMANDS)
def test_nothing_printed_is_a_command_of_a_runner(text: str) -> None:
    """No line begins with `::name::`, no `##[` or `##name[` is left, and nothing but spaces is added."""
    safe = runner_safe(text)
    assert re.search(r"(?m)^[ \t]*::.*::|##[\w.-]*\[", safe) is None
    assert safe.replace(" ", "") == text.replace(" ", "")
    assert runner_safe(safe) == safe


@given(COMMANDS)
def test_json_is_no_command_of_a_runner_and_the_same_data(text: str) -> None:
    """An escape of JSON breaks them up, so that a parser reads what stood there."""
    shown = json_text({text: [text]})
    assert runner_safe(shown) == shown
    assert json.loads(shown) == {text: [text]}


@pytest.mark.parametrize("text", ["::1 is a host", "std::vector a::b", "## heading [1]", "#[derive]", "a ## b [c]"])
def test_what_is_no_command_of_a_runner_stays(text: str) -> None:
    """Colons and hashes of ordinary texts."""
    assert runner_safe(text) == text
