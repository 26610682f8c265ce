"""Errors in other languages: a subject and a complaint, out of the words of `languages.toml`."""

from __future__ import annotations

import re
import tomllib

import pytest
import re2

from analyzer.classifier import classify, default_ruleset, load_ruleset
from analyzer.classifier.rules.explain import explain
from analyzer.classifier.rules.loading import LANGUAGES, ruleset_for
from analyzer.classifier.rules.ruleset import options, ruleset_text
from analyzer.classifier.rules.words import written_out
from analyzer.errors import RulesError
from tests import REPOSITORY, each_row

with open(LANGUAGES, "rb") as handle:
    WORDS = tomllib.load(handle)["languages"]
with open(REPOSITORY / "tests/classifier/rules/languages.toml", "rb") as handle:
    TEXTS = tomllib.load(handle)
REASON = {situation: reason for reason, situations in TEXTS["reasons"].items() for situation in situations}
COMPLAINTS = [
    *("exceeded", "often", "too_long", "exhausted", "invalid", "expired", "missing", "denied", "not_found", "failed"),
    *("unavailable", "overloaded", "cancelled", "timeout", "later", "policy", "check", "untrusted"),
]
SHARED = re.compile(r"expir\w*|incorrect\w*|absent")
"""English words that other languages have with the same meaning."""


@each_row("language", TEXTS["texts"])
def test_each_situation_has_its_reason(language):
    """A text of each situation gets its reason in every language, and texts about no error get none."""
    texts = TEXTS["texts"][language]
    assert {name: classify(text).reason for name, text in texts.items()} == {name: REASON[name] for name in texts}


def test_each_language_has_all_words():
    """Every language has words for every subject and every complaint."""
    assert {name for name, words in WORDS.items() if set(words) != set(WORDS["en"])} == set()
    assert set(COMPLAINTS) < set(WORDS["en"])


@pytest.mark.no_cover  # it runs what other tests reach, many thousand times
def test_no_complaint_is_an_english_word():
    """No complaint of another language occurs in a word of our English pages, but for words with the same meaning."""
    pages = [*(REPOSITORY / "docs").rglob("*.md"), REPOSITORY / "README.md"]
    # Code is no English: the names of record types in it may be made of words of any language.
    texts = (re.sub(r"`[^`\n]*`", "", page.read_text("utf-8")).lower() for page in pages)
    words_of_pages = (word for text in texts for word in re.findall(r"[a-z]{3,}", text))
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


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        ("clés?", {"clé", "clés"}),
        ("[账帳]号|x(?:y|z)w", {"账号", "帳号", "xyw", "xzw"}),
        ("don\\x27t", {"don't"}),
    ],
)
def test_words_are_written_out(pattern, texts):
    """A pattern of words stands for a few plain texts."""
    assert set(written_out(pattern)) == texts


@pytest.mark.parametrize("pattern", [r"key\w+", "a*", "(?i:x)", r"\d", "", "a|", "[abcdefghij]" * 5])
def test_a_pattern_of_many_texts_is_refused(pattern):
    """What stands for more than a few texts is no pattern of words."""
    with pytest.raises(ValueError):
        written_out(pattern)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Límite de peticiones alcanzado. Vuelva a intentarlo más tarde", "rate_limited"),
        ("تم تجاوز حد الطلبات. حاول مرة أخرى لاحقًا", "rate_limited"),
        ("요청이 너무 많습니다. 잠시 후 다시 시도해 주세요", "rate_limited"),
        ("Saldo esgotado. Adicione créditos e tente novamente", "auth_error"),
        ("Bakiyeniz yetersiz. Lütfen daha sonra tekrar deneyin", "auth_error"),
        ("Sieć jest niedostępna. Sprawdź klucz i spróbuj ponownie", "network_transient"),
        ("सर्वर व्यस्त है। कृपया बाद में पुनः प्रयास करें", "network_transient"),
    ],
)
def test_the_first_sentence_names_the_cause(text, reason):
    """Advice after the cause, such as to try again or to look at a key, does not decide."""
    assert classify(text).reason == reason


@each_row(
    "text, reason",
    [
        ("Das Zertifikat des Gateways ist nicht vertrauenswürdig", "network_permanent"),
        ("このゲートウェイの証明書は信頼できません", "network_permanent"),
        ("The gateway's certificate was not OK", "network_permanent"),
        ("Das Zugangstoken ist abgelaufen", "auth_error"),
        ("Yeniden giriş yapmalısınız", "auth_error"),
        ("Prüfen Sie Ihre Internetverbindung", "network_transient"),
        ("Controleer de netwerkverbinding", "network_transient"),
        ("Failure when sending data to the peer", "network_transient"),
        ("Flood control: waiting 12 seconds", "rate_limited"),
        ("A bad argument was given to the heron", "validation"),
        ("The dataset was not found", "network_permanent"),
        ("TLS-Fehler ignorieren", "unknown"),
        ("Ignorer les erreurs du certificat", "unknown"),
        ("Repetir la conexión fallida cada 30 segundos", "unknown"),
        ("Timeout for quiet hours", "unknown"),
    ],
)
def test_words_name_a_cause_and_labels_name_none(text, reason):
    """Trust, signing in again and a line to look at are complaints; settings are not."""
    assert classify(text).reason == reason


@each_row(
    "text",
    [
        "Si la clave no es válida, la llamada falla",
        "如果余额不足，接口会返回 402",
        "Wenn das Limit überschritten ist, wartet der Dienst",
        "Якщо ліміт перевищено, клієнт чекає",
        "Caso: quando il limite è superato, il client attende",
        "トークンの期限が切れた場合、`TokenExpiredError` がスローされます",
        "Limit aşıldığında istemci `RateLimitError` fırlatır",
        "### QuotaError: raised when the quota is exceeded",
        "it('waits when the rate limit is exceeded', () => {",
        "✓ gives up on 403 Forbidden",
        "fix(client): map a missing model to MODEL_NOT_FOUND",
        "Error 401 means your key was revoked",
        "503 (overloaded) and 529 are retried with a longer wait",
    ],
)
def test_a_text_about_errors_is_no_error(text):
    """Conditions, tests, commits, headings and explanations name errors that did not happen."""
    assert classify(text).reason == "unknown"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"status": 500, "message": "余额不足"}, "auth_error"),
        ({"status": 403, "message": "额度已用尽"}, "auth_error"),
        ({"status": 400, "message": "上下文长度超过限制"}, "context_overflow"),
        ({"status": 400, "message": "请稍后再试"}, "validation"),
        (
            {"exception_class": "APIConnectionError", "message": "Guthaben aufgebraucht – bitte aufladen über Menü"},
            "auth_error",
        ),
        ({"status": 429, "type": "rate_limit_error", "message": "余额不足"}, "rate_limited"),
    ],
)
def test_words_are_better_than_a_bare_status_and_worse_than_a_type(error, reason):
    """Words of a language say why a status came; a type that a machine wrote says it better."""
    assert classify(error).reason == reason


def test_languages_mix():
    """The subject and the complaint may be of two languages, in any order."""
    assert classify("API Key 无效").reason == "auth_error"
    assert classify("Token est invalide").reason == "auth_error"
    assert classify("無効な API token").reason == "auth_error"


def test_rules_of_users_may_ask_for_words(tmp_path):
    """`@name` among the subjects and complaints of a user's rule is the words of that name in every language."""
    path = tmp_path / "mine.toml"
    rule = (
        "[[rule]]\nid = 'mine'\nreason = 'validation'\nsubjects = ['@tool', 'heron']\ncomplaints = ['@expired']\n"
        "source = 'us'\nexamples = ['工具已过期', 'Das Werkzeug ist abgelaufen']\ncounter_examples = ['工具']\n"
    )
    path.write_text(rule, "utf-8")
    assert classify("Das Werkzeug ist abgelaufen", rules=str(path)).rule == "mine"
    assert classify("heron: abgelaufen", rules=str(path)).rule == "mine"
    path.write_text(rule.replace("'heron'", r"'heron\d+'"), "utf-8")
    with pytest.raises(RulesError, match="no few plain texts"):
        load_ruleset(path)


def test_a_ruleset_keeps_its_words(tmp_path):
    """A ruleset that is written down has its words in it, and the same digest."""
    ruleset = default_ruleset()
    path = tmp_path / "kept.toml"
    path.write_text(ruleset_text(ruleset), "utf-8")
    assert ruleset_for(str(path)).digest == ruleset.digest
    assert classify("余额不足", rules=str(path)).rule == classify("余额不足").rule == "word_credit"


def test_an_explanation_names_the_words():
    """It says which subject and complaint decided, that words were asked last, and what ruled a rule out."""
    answer = explain("Clé API expirée")
    assert answer.classification.rule == "word_expired"
    assert answer.matches[0].matched == "text 'clé … expir'"
    assert "words of languages" in answer.why[0]
    held_back = {match.rule: match.held_back for match in explain("Limite atteinte, solde du compte").matches}
    assert held_back.get("word_limit") == "unless: a text has words that rule it out"
