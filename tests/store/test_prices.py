"""List prices: what requests cost by them, which models have none, and how other tables differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from analyzer.errors import InputError
from analyzer.events import EventLog
from analyzer.store import open_store
from analyzer.store.prices import Price, differences, model_name, prices

MILLION = 1_000_000


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    """A log to write requests to."""
    with EventLog(tmp_path / "log") as opened:
        yield opened


def spent(log: EventLog, tmp_path: Path, **tokens: Any) -> tuple[float | None, str | None]:
    """The cost of one request, and what it rests on."""
    log.usage_recorded(session="s", caller="a", **tokens)
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path / "log")])
        ((cost, basis),) = store.sql("select cost_usd, cost_basis from usage").rows()
    return cost, basis


def priced(model: str) -> Price:
    """The first row of a model."""
    return next(price for price in prices() if price.model == model)


def test_each_kind_of_tokens_costs_its_own_price(log: EventLog, tmp_path: Path) -> None:
    """Those that a cache keeps for an hour are among those written, and cost more."""
    price = priced("claude-opus-4-5")
    tokens = {"input": 1_000, "output": 2_000, "cache_read": 30_000, "cache_write": 4_000, "cache_write_hour": 1_000}
    cost, basis = spent(
        log, tmp_path, model="claude-opus-4-5-20251101", **{f"{kind}_tokens": count for kind, count in tokens.items()}
    )
    assert (price.cache_read, price.cache_write, price.cache_write_hour) == (0.5, 6.25, 10)
    due = (1_000 * price.input + 2_000 * price.output + 30_000 * 0.5 + 3_000 * 6.25 + 1_000 * 10) / MILLION
    assert cost == pytest.approx(due)
    assert basis == "listed"


def test_a_long_prompt_costs_its_own_price(log: EventLog, tmp_path: Path) -> None:
    """All tokens of such a request do, those of the reply too; what was read from a cache makes a prompt longer."""
    low, high = (price for price in prices() if price.model == "claude-sonnet-4-5")
    assert high.above_tokens == 200_000
    assert low.input < high.input
    cost, _ = spent(
        log, tmp_path, model="claude-sonnet-4-5", input_tokens=1, cache_read_tokens=200_000, output_tokens=9
    )
    assert cost == pytest.approx((high.input + 200_000 * (high.cache_read or 0) + 9 * high.output) / MILLION)


def test_a_cost_that_is_logged_counts(log: EventLog, tmp_path: Path) -> None:
    """Whoever made the request knows better than a list."""
    assert spent(log, tmp_path, model="claude-opus-4-5", output_tokens=MILLION, cost_usd=0.5) == (0.5, "logged")


@pytest.mark.parametrize(
    ("model", "provider"),
    [("claude-opus-4-5-mini", None), ("nobodys-model", None), (None, None), ("qwen3-coder-plus", "ollama")],
)
def test_what_has_no_price_has_no_cost(log: EventLog, tmp_path: Path, model: str, provider: str | None) -> None:
    """A name that only begins like one that is known is another model; a machine of one's own bills nobody."""
    assert spent(log, tmp_path, model=model, provider=provider, output_tokens=9) == (None, None)


def test_a_price_holds_from_its_day_on() -> None:
    """Of each model and length of prompt exactly one row holds on each day."""
    with open_store(":memory:") as store:
        found = store.sql(
            "select name, day, tokens from internal.list_price"
            " cross join (values (timestamp '2024-01-01'), (timestamp '2025-12-01')) as d(day)"
            " cross join (values (1), (500000)) as t(tokens)"
            " where day >= valid_from and day < valid_to and tokens > above_tokens and tokens <= upto_tokens"
            " group by name, day, tokens having count(*) <> 1"
        )
        ((before, since),) = store.sql(
            "select max(input) filter (where valid_from < '2025-06-10'),"
            " max(input) filter (where valid_from = '2025-06-10') from internal.list_price where name = 'o3'"
        ).rows()
    assert found.is_empty()
    assert (before, since) == (10, 2)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("us.anthropic.claude-opus-4-1-20250805-v1:0", "claude-opus-4-1"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("gemini-2.5-pro-preview-05-06", "gemini-2-5-pro"),
        ("GPT-4o-2024-08-06", "gpt-4o"),
        ("gpt-5.1-codex-mini", "gpt-5-1-codex-mini"),
        (
            "arn:aws-us-gov:bedrock:us-gov-west-1:1:inference-profile/us-gov.anthropic.claude-haiku-4-5-v1:0",
            "claude-haiku-4-5",
        ),
        ("publishers/anthropic/models/claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("databricks/databricks-claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-4.6-opus-high-thinking", "claude-opus-4-6"),
        ("claude-sonnet-4-0", "claude-sonnet-4"),
        ("gpt-5.1-codex-max-xhigh", "gpt-5-1-codex-max"),
        ("gpt-5-chat-latest", "gpt-5"),
        ("moonshotai/kimi-k2-thinking", "kimi-k2-thinking"),
        ("mistral-medium-3", "mistral-medium-3"),
    ],
)
def test_a_model_has_one_name(model: str, name: str) -> None:
    """Whatever path, date, suffix or effort it is called with, in SQL as in Python."""
    with open_store(":memory:") as store:
        ((there,),) = store.sql(f"select internal.model_name('{model}')").rows()
    assert model_name(model) == there == name


def test_a_fast_model_costs_what_its_fast_mode_costs(log: EventLog, tmp_path: Path) -> None:
    """Some gateways have a name of its own for it."""
    price = 6 * priced("claude-opus-4-6").output
    assert spent(log, tmp_path, model="anthropic/claude-opus-4.6-fast", output_tokens=MILLION) == (price, "listed")


def test_a_new_table_prices_old_requests(tmp_path: Path) -> None:
    """A store that holds other prices gets today's when it is opened for writing; nothing is read again."""
    path = tmp_path / "s.duckdb"
    with EventLog(tmp_path / "log") as log:
        log.usage_recorded(session="s", model="claude-opus-4-5", output_tokens=MILLION)
    with open_store(path, writable=True) as store:
        store.ingest([str(tmp_path / "log")])
    with duckdb.connect(str(path)) as connection:
        connection.execute("create or replace table internal.list_price as select 1 as input, 'x' as name")
        connection.execute("update internal.store_v1 set value = 'former' where key = 'prices'")
    with open_store(path, writable=True) as store:
        ((cost,),) = store.sql("select cost_usd from usage").rows()
    assert cost == priced("claude-opus-4-5").output


def test_sessions_sum_their_requests_up(log: EventLog, tmp_path: Path) -> None:
    """The tokens of prompts with those of caches, and what has a price."""
    log.usage_recorded(session="s", model="m", input_tokens=5, cache_read_tokens=6, output_tokens=1)
    log.usage_recorded(session="s", model="m", cache_write_tokens=7, output_tokens=2, cost_usd=0.25)
    log.usage_recorded(session="t", model="m", output_tokens=3)
    log.error_classified("overloaded", caller="a", session="u")
    with open_store(":memory:") as store:
        store.ingest([str(tmp_path / "log")])
        found = store.sql("select session_id, input_tokens, output_tokens, cost_usd from sessions order by 1").rows()
    assert found == [("s", 18, 3, 0.25), ("t", 0, 3, None), ("u", None, None, None)]


def test_other_tables_are_compared_in_their_own_words() -> None:
    """LiteLLM's costs of a token and genai-prices' of a million; only what both tables have, at today's prices."""
    price = priced("claude-opus-4-5")
    token = {"litellm_provider": "anthropic", "input_cost_per_token": price.input / MILLION}
    there = {
        "claude-opus-4-5-20251101": {**token, "output_cost_per_token": 1 / MILLION},
        "claude-opus-4-5": {**token, "output_cost_per_token": 26 / MILLION},
        "strange": {**token, "output_cost_per_token": 2},
        "sample": 7,
    }
    found, compared = differences(json.dumps(there).encode(), "f")
    assert [(each.model, each.kind, each.ours, each.theirs) for each in found] == [
        ("claude-opus-4-5", "output", 25, 26)
    ]
    assert compared == 2
    periods = [{"prices": {"input_mtok": 99}}, {"prices": {"input_mtok": {"base": price.input, "tiers": []}}}]
    genai = [{"id": "anthropic", "models": [{"id": "claude-opus-4-5", "prices": periods}, {"id": 3}]}, None]
    assert differences(json.dumps(genai).encode(), "f") == ([], 1)


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"a": {"litellm_provider": 3}}', b"[[[["])
def test_a_file_without_prices_is_told(text: bytes) -> None:
    """It is no table that is known, and nothing is said to agree with it."""
    with pytest.raises(InputError, match="no prices"):
        differences(text, "f")


@pytest.mark.parametrize(
    ("fields", "factor", "extra"),
    [
        ({"tier": "fast"}, 6, 0),
        ({"tier": "batch"}, 0.5, 0),
        ({"tier": "flex"}, 0.5, 0),
        ({"tier": "standard"}, 1, 0),
        ({"region": "us"}, 1.1, 0),
        ({"tier": "batch", "region": "us"}, 0.55, 0),
        ({"web_searches": 3}, 1, 0.03),
    ],
)
def test_tiers_regions_and_searches_have_their_prices(
    log: EventLog, tmp_path: Path, fields: dict[str, Any], factor: float, extra: float
) -> None:
    """Of all kinds of tokens; what is named standard costs what the list says."""
    tokens = {"input_tokens": 1_000, "output_tokens": 1_000, "cache_read_tokens": 10_000}
    cost, _ = spent(log, tmp_path, model="claude-opus-4-6", **tokens, **fields)
    assert cost == pytest.approx(0.035 * factor + extra)


def test_a_sum_of_short_prompts_has_no_price_of_a_long_one(log: EventLog, tmp_path: Path) -> None:
    """The longest of them counts."""
    tokens = {"cache_read_tokens": 220_000, "longest_prompt": 111_000}
    cost, _ = spent(log, tmp_path, model="claude-sonnet-4-5", **tokens)
    assert cost == pytest.approx(0.066)


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3),
        ("us-gov.anthropic.claude-sonnet-4-5-20250929-v1:0", 3),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3),
        ("publishers/anthropic/models/claude-sonnet-4-5@20250929", 3),
        ("openrouter/anthropic/claude-4.5-sonnet", 3),
        ("anthropic/claude-sonnet-4.5:free", 0),
        ("nobody/made-this:free", 0),
    ],
)
def test_an_id_of_any_cloud_or_gateway_has_its_models_price(
    log: EventLog, tmp_path: Path, name: str, price: float
) -> None:
    """ARNs, regions, publishers, vendors; a free variant costs nothing."""
    assert spent(log, tmp_path, model=name, input_tokens=1_000) == (pytest.approx(price / 1_000), "listed")
