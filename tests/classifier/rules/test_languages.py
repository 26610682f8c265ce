"""Errors in other languages: a subject and a complaint, out of the words of `languages.toml`."""

from __future__ import annotations

import re
import tomllib

import pytest
import re2

from analyzer.classifier import classify
from analyzer.classifier.rules.loading import LANGUAGES
from analyzer.classifier.rules.ruleset import options
from tests import REPOSITORY

with open(LANGUAGES, "rb") as handle:
    WORDS = tomllib.load(handle)["languages"]
with open(REPOSITORY / "tests/classifier/rules/languages.toml", "rb") as handle:
    TEXTS = tomllib.load(handle)
REASON = {situation: reason for reason, situations in TEXTS["reasons"].items() for situation in situations}
SUBJECTS = frozenset(WORDS["en"])
COMPLAINTS = sorted(frozenset(WORDS["de"]) - SUBJECTS)
SHARED = re.compile(r"expir\w*|incorrect\w*|absent")
"""English words that other languages have with the same meaning."""


@pytest.mark.parametrize("language", TEXTS["texts"])
def test_each_situation_has_its_reason(language):
    """A text of each situation gets its reason in every language, and texts about no error get none."""
    texts = TEXTS["texts"][language]
    assert {name: classify(text).reason for name, text in texts.items()} == {name: REASON[name] for name in texts}


def test_each_language_has_all_words():
    """Every language has words for every subject and every complaint; English has its complaints in rules."""
    assert {name: set(words) ^ {*SUBJECTS, *COMPLAINTS} for name, words in WORDS.items() if name != "en"} == {
        name: set() for name in WORDS if name != "en"
    }


def test_no_complaint_is_an_english_word():
    """No complaint of another language occurs in a word of our English pages, but for words with the same meaning."""
    pages = [*(REPOSITORY / "docs").rglob("*.md"), REPOSITORY / "README.md"]
    words_of_pages = (word for page in pages for word in re.findall(r"[a-z]{3,}", page.read_text("utf-8").lower()))
    english = {word for word in words_of_pages if SHARED.fullmatch(word) is None}
    both = {
        (language, name): hits
        for language, words in WORDS.items()
        for name in COMPLAINTS
        if language != "en"
        for pattern in [re2.compile(words[name].encode(), options())]
        if (hits := {word for word in english if pattern.search(word.encode())})
    }
    assert both == {}


def test_boundaries_stand_beside_ascii_letters():
    """`\\b` knows ASCII letters only, so it stands beside no other letter."""
    beside = re.compile(r"\\b[^\x00-\x7f]|[^\x00-\x7f](?:[a-z]\?)?\\b")
    assert [pattern for words in WORDS.values() for pattern in words.values() if beside.search(pattern)] == []


def test_languages_mix():
    """The subject and the complaint may be of two languages, in any order."""
    assert classify("API Key 无效").reason == "auth_error"
    assert classify("Token est invalide").reason == "auth_error"
    assert classify("無効な API token").reason == "auth_error"


def test_rules_of_users_may_ask_for_words(tmp_path):
    """`@name` in a rule of a user is the words of that name in every language."""
    path = tmp_path / "mine.toml"
    path.write_text(
        "[[rule]]\nid = 'mine'\nreason = 'validation'\ntext = ['@tool']\nonly_text = ['@expired']\nsource = 'us'\n"
        "examples = ['工具已过期', 'Das Werkzeug ist abgelaufen']\ncounter_examples = ['工具']\n",
        "utf-8",
    )
    assert classify("Das Werkzeug ist abgelaufen", rules=str(path)).rule == "mine"
