"""Codes that providers document: each counts where it is its provider's, and a number of one is none of another."""

from __future__ import annotations

import pytest

from analyzer.classifier import classify, default_ruleset
from analyzer.classifier.rules.loading import parse_ruleset, ruleset_for
from analyzer.classifier.rules.ruleset import ruleset_text
from analyzer.errors import RulesError
from tests import each_row
from tests.classifier.rules.test_user_rules import DISABLE, NEW

PROVIDERS = (
    "openai", "anthropic", "google", "bedrock", "azure", "oauth", "mistral", "groq", "xai", "deepseek", "moonshot",
    "zhipu", "minimax", "openrouter", "litellm", "ollama", "vllm", "llama.cpp", "lmstudio", "mcp",
)  # fmt: skip
TABLE = """
[[codes]]
providers = ["house"]
source = "its manual"
dated = "2026-11"
[codes.rules]
house_quota = ["77"]
"""


def test_every_provider_has_a_table_with_source_and_date():
    """One table each, under the provider's own name."""
    tables = default_ruleset().codes
    assert tuple(table.providers[0] for table in tables) == PROVIDERS
    assert all(table.source and table.dated for table in tables)


@each_row("table", default_ruleset().codes)
def test_each_code_speaks_for_its_rule(table):
    """A code that stands alone gives the reason of its rule, under every name of the provider."""
    reasons = {rule.id: rule.reason for rule in default_ruleset().rules}
    for rule, codes in table.rules:
        for code in codes:
            for provider in table.providers:
                assert classify({"provider": provider, "code": code}).reason == reasons[rule], (provider, code)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"provider": "zhipu", "code": "1002"}, "auth_error"),
        ({"provider": "minimax", "code": "1002"}, "rate_limited"),
        ({"code": "1002"}, "unknown"),
        ({"code": "1302"}, "rate_limited"),
        ({"provider": "house", "code": "1302"}, "unknown"),
        ({"provider": "house", "code": "service_tier_capacity_exceeded"}, "network_transient"),
        ({"code": "exceeded_current_quota_error"}, "auth_error"),
        ({"body": {"base_resp": {"status_code": 1002, "status_msg": "slow"}}}, "rate_limited"),
        ({"body": {"base_resp": {"status_code": 0, "status_msg": "success"}}}, "unknown"),
    ],
)
def test_a_number_is_only_a_number_of_its_provider(error, reason):
    """A code that two tables read differently needs the provider, a word that one has counts for others, too."""
    assert classify(error).reason == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A call failed (InvalidAccessKeyId) at the heron gateway", "auth_error"),
        ("A call failed (NoSuchBucket) at the heron gateway", "network_permanent"),
        ("Code: ServerBusy\nMessage: the herons nest", "network_transient"),
        ("rpc error: code = AlreadyExists desc = two herons", "validation"),
        ("the call ended with status = StatusCode.DATA_LOSS", "network_transient"),
        ("heron.io.StatusRuntimeException: UNIMPLEMENTED: no nest", "validation"),
        ("OAuth error: interaction_required", "auth_error"),
        ("heron: HeronQuotaExceeded: of three nests", "rate_limited"),
        ('{"error":{"errors":[{"reason":"userRateLimitExceeded","message":"too eager"}]}}', "rate_limited"),
        ('{"error":{"errors":[{"reason":"keyExpired","message":"the heron left"}]}}', "auth_error"),
        ("the class InvalidAccessKeyId has a constructor", "unknown"),
        ("the heron says no_such_bucket in its sleep", "unknown"),
    ],
)
def test_a_code_in_a_text_counts_where_programs_write_one(text, reason):
    """A name in brackets, before a colon, or after `code` or `error` is read like a code."""
    assert classify(text).reason == reason


def test_a_file_has_tables_of_its_own(tmp_path):
    """They count beside the built-in ones, stay in the text of the ruleset, and make another ruleset."""
    path = tmp_path / "mine.toml"
    path.write_text(NEW + TABLE, "utf-8")
    own = ruleset_for(path)
    assert classify({"provider": "house", "code": 77}, rules=own).rule == "house_quota"
    assert classify({"provider": "zhipu", "code": "1302"}, rules=own).rule == "rate_limit_name"
    again = parse_ruleset(ruleset_text(own).replace("alone = true\n", ""))
    assert again.digest == own.digest
    path.write_text(NEW, "utf-8")
    assert ruleset_for(path).digest != own.digest
    path.write_text(DISABLE.replace("server_status", "model_not_found"), "utf-8")
    assert classify({"provider": "zhipu", "code": "1211"}, rules=path).rule != "model_not_found"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (TABLE.replace("house_quota", "house_quote"), "unknown rule in the codes of 'house' 'house_quote'"),
        (TABLE.replace('["77"]', "[77]"), "has no list of texts"),
        (TABLE.replace('["77"]', '["77", "77"]'), "say '77' twice"),
        (TABLE.replace('["house"]', '["House"]'), "has no providers"),
        (TABLE.replace('"2026-11"', '"soon"'), "no source with a date"),
    ],
)
def test_a_table_that_is_unsound_is_refused(wrong, says):
    """With whose table it is."""
    with pytest.raises(RulesError) as refused:
        parse_ruleset(NEW + wrong)
    assert says in refused.value.message
