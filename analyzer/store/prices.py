"""Keep list prices of models as a dated table; a new price changes the costs of old requests too.

The prices are joined to requests when they are asked for. Facts of `prices.toml` each have their
source; nothing is looked up anywhere. A model that is not in it has no price.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

import re2

from analyzer.config_files import toml
from analyzer.errors import InputError
from analyzer.frozen import frozen
from analyzer.store.db.frames import quoted, sql

KINDS = ("input", "output", "cache_read", "cache_write", "cache_write_hour")
"""The kinds of tokens that have a price of their own."""
_MAKERS = r"^(?:.*/)?(?:[a-z][a-z-]*\.)+|^(?:.*/)?databricks-|^.*/"
"""The path of an ARN, a gateway or a cloud, and then the region and the maker of Bedrock."""
_SUFFIXES = (
    r"(?:\[1m\]|-v\d(?::\d+k?)*|[:@][a-z]+|[-@]20\d\d-?\d\d-?\d\d|-latest|-preview(?:-\d\d-\d\d|-\d\d-20\d\d)?)+$"
)
_NUMBER_FIRST, _NUMBER_LAST = r"^claude-([4-9](?:[.-]\d)?)-(opus|sonnet|haiku)$", r"claude-\2-\1"
"""Names as claude-4.5-sonnet, which gateways and editors have: since version 4 the number is last."""
_EFFORT, _WITHOUT_EFFORT = (
    r"^((?:claude|gpt|gemini|o\d)-.*?)(?:-(?:thinking|minimal|low|medium|high|xhigh|chat|0))+$",
    r"\1",
)
"""Names that editors and gateways make of a model and how hard it thinks, which changes no price, and of an alias.

Only of these makers: others have models whose own names end so.
"""
FACTORS = ("fast", "priority", "us")
"""Tiers and regions in which a model has other prices: factors of all of them."""
_LITELLM = {
    "input_cost_per_token": "input",
    "output_cost_per_token": "output",
    "cache_read_input_token_cost": "cache_read",
    "cache_creation_input_token_cost": "cache_write",
    "cache_creation_input_token_cost_above_1hr": "cache_write_hour",
}
_GENAI = {"input_mtok": "input", "output_mtok": "output", "cache_read_mtok": "cache_read"} | {
    "cache_write_mtok": "cache_write"
}
_MAKERS_THERE = {
    "google": ("google", "gemini"),
    "xai": ("xai", "x-ai"),
    "moonshot": ("moonshot", "moonshotai"),
    "zai": ("zai",),
    "qwen": ("dashscope",),
}
"""Our providers → their names in the tables of others, where these differ."""
_CLOSE = 1e-6
_STATEMENTS = (
    """create or replace macro internal.model_name(model) as (
        replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(lower(model), {makers}, ''),
            {suffixes}, ''), {effort}, {without_effort}), {number_first}, {number_last}), '.', '-'))""",
    # Whoever asks OpenRouter for the free variant of a model pays nothing, whatever the model costs.
    "create or replace macro internal.is_free(model) as (ends_with(lower(model), ':free'))",
    # The same model may be named with a maker or a date; an alias, which has no number, stands for any.
    """create or replace macro internal.is_swap(asked, served) as (
        internal.model_name(asked) <> internal.model_name(served)
        and regexp_matches(internal.model_name(asked), '[0-9]'))""",
    # List price of a prompt, of a row of prices, in US dollars; longer keeping in a cache is paid beside shorter.
    """create or replace macro internal.prompt_usd(price, tokens) as (
        (coalesce(tokens.input_tokens, 0) * price.input
        + coalesce(tokens.cache_read_tokens, 0) * price.cache_read
        + coalesce(tokens.cache_write_tokens, 0) * price.cache_write
        + coalesce(tokens.cache_write_hour_tokens, 0) * (price.cache_write_hour - price.cache_write)) / 1e6)""",
    """create or replace macro internal.reply_usd(price, tokens) as (
        coalesce(tokens.output_tokens, 0) * price.output / 1e6)""",
    # A sum of fractions depends on the order of its terms, which shows at half a millionth.
    "create or replace macro internal.sum_usd(cost) as (round(sum(cost::decimal(38, 9)), 6)::double)",
    "create or replace macro internal.is_billed(provider) as (coalesce(provider, '') not in ({local}))",
    """create or replace table internal.list_price as select * from (values {rows})
        as t(name, {kinds}, {extras}, valid_from, valid_to, above_tokens, upto_tokens)""",
    # Of a row of prices, a tier and a region as logs name them: the factor of all of its prices.
    """create or replace macro internal.price_factor(price, tier, region) as (
        case when tier = 'fast' then price.fast when tier = 'priority' then price.priority
            when tier in ({half}) then 0.5 else 1 end * case when region = 'us' then price.us else 1 end)""",
)


@frozen
class Price:
    """The cost of a million tokens of a model, in US dollars."""

    provider: str
    model: str
    input: float
    output: float
    cache_read: float | None
    cache_write: float | None
    cache_write_hour: float | None
    """For tokens that the cache keeps for an hour; without it, `cache_write` holds."""
    above_tokens: int
    """The price holds for prompts of more tokens than these."""
    valid_from: date | None
    """The first day, UTC; None if it holds from the beginning."""
    source: str


@frozen
class Difference:
    """A price that differs in another table."""

    provider: str
    model: str
    kind: str
    """One of `KINDS`."""
    ours: float | None
    theirs: float


@cache
def prices() -> tuple[Price, ...]:
    """Return every row of the table, in its order."""
    table = toml(_content())
    return tuple(
        Price(
            provider,
            row["model"],
            row["input"],
            row["output"],
            row.get("cache_read"),
            row.get("cache_write"),
            row.get("cache_write_hour"),
            row.get("above_tokens", 0),
            row.get("valid_from"),
            table["sources"][row["source"]],
        )
        for provider, rows in table["prices"].items()
        for row in rows
    )


def _content() -> bytes:
    return resources.files("analyzer.store").joinpath("prices.toml").read_bytes()


def digest() -> str:
    """Return the digest of the table and of the rules for names of models.

    A store that holds another digest gets this table.
    """
    return hashlib.sha256(_content() + f"{_MAKERS}{_SUFFIXES}{_EFFORT}{_NUMBER_FIRST}-fast".encode()).hexdigest()[:16]


def model_name(model: str) -> str:
    """Return the name by which a model is priced: no maker's path, date, suffix or effort.

    Hyphens for dots.
    """
    short = re2.sub(_EFFORT, _WITHOUT_EFFORT, re2.sub(_SUFFIXES, "", re2.sub(_MAKERS, "", model.lower())))
    return str(re2.sub(_NUMBER_FIRST, _NUMBER_LAST, short)).replace(".", "-")


@cache
def statements() -> tuple[str, ...]:
    """Return the SQL of the macros of costs and names, and of the table of list prices.

    The table has one row per price with its bounds.
    """
    table = toml(_content())
    searches = table["web_search"]
    rows = []
    models: dict[tuple[str, str], list[Price]] = {}
    for price in prices():
        models.setdefault((price.provider, price.model), []).append(price)
    for price in prices():
        same = models[price.provider, price.model]
        ends = [
            other.valid_from for other in same if other.valid_from and other.valid_from > (price.valid_from or date.min)
        ]
        tiers = [
            other.above_tokens
            for other in same
            if other.valid_from == price.valid_from and other.above_tokens > price.above_tokens
        ]
        write = price.cache_write or price.input
        costs = (price.input, price.output, price.cache_read or price.input, write, price.cache_write_hour or write)
        since, until = price.valid_from or date(1970, 1, 1), min(ends, default=date(2200, 1, 1))
        bounds = price.above_tokens, min(tiers, default=2**62)
        extras = (*(table["factors"][name].get(price.model, 1) for name in FACTORS), searches.get(price.provider, 0))
        fast, name = extras[0], model_name(price.model)
        variants = [(name, costs)]
        if fast != 1:  # gateways name the model in its fast mode so
            variants.append((f"{name}-fast", tuple(cost * fast for cost in costs)))
        for variant, dollars in variants:
            numbers = ", ".join(f"{number:.9f}e0" for number in (*dollars, *extras))
            rows.append(
                f"({quoted(variant)}, {numbers}, timestamp '{since}', timestamp '{until}', {bounds[0]}, {bounds[1]})"
            )
    parts = {
        "makers": quoted(_MAKERS),
        "suffixes": quoted(_SUFFIXES),
        "effort": quoted(_EFFORT),
        "without_effort": quoted(_WITHOUT_EFFORT),
        "number_first": quoted(_NUMBER_FIRST),
        "number_last": quoted(_NUMBER_LAST),
        "local": ", ".join(map(quoted, table["local"])),
        "half": ", ".join(map(quoted, table["half"])),
        "extras": ", ".join((*FACTORS, "web_search")),
        "rows": ", ".join(rows),
        "kinds": ", ".join(KINDS),
    }
    return tuple(sql(statement, **parts) for statement in _STATEMENTS)


def differences(text: bytes, where: str) -> tuple[list[Difference], int]:
    """Compare today's prices with those of another table.

    Return the differences and the number compared.

    It is LiteLLM's `model_prices_and_context_window.json` or `data.json` of genai-prices. Prices of long prompts are
    not compared, nor are models that only one of the tables has.

    Raises:
        InputError: it is neither.
    """
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        table = None
    if isinstance(table, dict):
        theirs = dict(_litellm(table))
    elif isinstance(table, list):
        theirs = dict(_genai(table))
    else:
        theirs = {}
    if not theirs:
        hint = "give LiteLLM's model_prices_and_context_window.json or data.json of genai-prices"
        raise InputError(f"{where} holds no prices that are known", hint)
    today: dict[tuple[str, str], Price] = {
        (price.provider, model_name(price.model)): price for price in prices() if not price.above_tokens
    }
    different, compared = [], 0
    for (provider, name), price in today.items():
        makers = _MAKERS_THERE.get(provider, (provider,))
        costs = next((theirs[maker, name] for maker in makers if (maker, name) in theirs), {})
        for kind, cost in costs.items():
            ours: float | None = getattr(price, kind)
            compared += 1
            if ours is None or not math.isclose(ours, cost, rel_tol=_CLOSE):
                different.append(Difference(provider, price.model, kind, ours, cost))
    return different, compared


Costs = dict[str, float]


def _litellm(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Costs]]:
    """Yield the cost of each kind of a million tokens, by maker and name.

    A name without a date comes last, and replaces the others.
    """
    for key in sorted(table, key=len, reverse=True):
        row = table[key]
        if isinstance(row, dict) and isinstance(row.get("litellm_provider"), str):
            costs = {kind: round(row[name] * 1e6, 9) for name, kind in _LITELLM.items() if _counts(row.get(name))}
            if costs:
                yield (row["litellm_provider"], model_name(key)), costs


def _genai(table: list[Any]) -> Iterator[tuple[tuple[str, str], Costs]]:
    """Yield prices as `_litellm` does.

    Of several periods the last one counts, of several sizes of prompts the smallest.
    """
    for provider in table:
        models = provider.get("models") if isinstance(provider, dict) else None
        priced_models = [
            model for model in models or () if isinstance(model, dict) and isinstance(model.get("id"), str)
        ]
        for model in sorted(priced_models, key=lambda model: len(model["id"]), reverse=True):
            priced = model.get("prices")
            last = priced[-1].get("prices") if isinstance(priced, list) and priced else priced
            if isinstance(last, dict):
                plain = {key: cost["base"] if isinstance(cost, dict) else cost for key, cost in last.items()}
                costs = {kind: float(plain[name]) for name, kind in _GENAI.items() if _counts(plain.get(name))}
                yield (str(provider.get("id")), model_name(model["id"])), costs


def _counts(cost: object) -> bool:
    return isinstance(cost, int | float) and not isinstance(cost, bool) and cost > 0
