"""List prices beside those of genai-prices: the models that differ, and rows for `analyzer/store/prices.toml`.

    python -m tests.prices              # where today's prices differ, and the models that only genai-prices has
    python -m tests.prices gpt-6 opus   # rows for the models whose names have one of these words in them

genai-prices comes with its table: nothing is downloaded. LiteLLM's table is in its wheel, which no test needs.
`pip download --no-deps litellm`, unpack `litellm/model_prices_and_context_window_backup.json`, and give it to
`analyzer prices check`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from importlib.metadata import version
from typing import Any

from analyzer.store.prices import KINDS, Price, model_name, prices

MAKERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "google": "google",
    "x-ai": "xai",
    "deepseek": "deepseek",
    "moonshotai": "moonshot",
    "zai": "zai",
    "mistral": "mistral",
}
"""Providers of genai-prices that make models, and their names in our table."""
NAMES = dict(zip(KINDS, ["input", "output", "cache_read", "cache_write", "cache_write_1h"], strict=True))
DIFFERENT = {
    "grok-code-fast-1": "retired on 2026-05-15: since then xAI's own list has the price of the model that answers",
    "magistral-medium": "retired on 2026-05-22: since then its name means Mistral Medium 3.5, by LiteLLM",
    "magistral-small": "retired on 2026-04-30: since then its name means Mistral Small 4, by LiteLLM",
    "deepseek-chat": "genai-prices has the prices of 2025 by the hour of the day; LiteLLM has DeepSeek's page of 2026",
    "deepseek-reasoner": "as deepseek-chat",
    "deepseek-v3.2": "genai-prices names no cache, as gateways do; LiteLLM has DeepSeek's own price",
    "deepseek-v4-flash": "costs twice as much in seven hours of a weekday: ours is the dear price, as LiteLLM's",
    "deepseek-v4-pro": "as deepseek-v4-flash",
}
"""Models whose prices differ from those of genai-prices, and why ours stay."""
Costs = dict[str, float]
Bounds = tuple[date | None, int]
"""The first day of a price, and the tokens that a prompt has to pass."""


def theirs() -> dict[tuple[str, str], tuple[str, dict[Bounds, Costs]]]:
    """Return the models of genai-prices by provider and name: their ids, and their prices in order of time."""
    from genai_prices.data import providers

    models: dict[tuple[str, str], tuple[str, dict[Bounds, Costs]]] = {}
    for provider in (provider for provider in providers if provider.id in MAKERS):
        # A name without a date comes last, and replaces the others.
        for model in sorted(provider.models, key=lambda model: len(model.id), reverse=True):
            is_own = provider.id != "google" or not model.id.startswith("claude")  # Vertex sells these, too
            if is_own and (costs := dict(_costs(model.prices))):
                models[MAKERS[provider.id], model_name(model.id)] = model.id, costs
    return models


def _costs(periods: Any) -> Iterator[tuple[Bounds, Costs]]:
    """Yield the prices of a model, without those of some hours of the day."""
    for period in periods if isinstance(periods, list) else [None]:
        if hasattr(period and period.constraint, "start_time"):
            continue
        since = getattr(period and period.constraint, "start_date", None)
        values = {kind: getattr(period.prices if period else periods, f"{name}_mtok") for kind, name in NAMES.items()}
        if values["input"] is None or values["output"] is None:
            continue
        yield (since, 0), {kind: float(getattr(v, "base", v)) for kind, v in values.items() if v is not None}
        for start in sorted({tier.start for value in values.values() for tier in getattr(value, "tiers", ())}):
            yield (since, start), {kind: _above(value, start) for kind, value in values.items() if value is not None}


def _above(value: Any, tokens: int) -> float:
    """Return the price of a prompt of more than so many tokens."""
    tiers = [tier.price for tier in getattr(value, "tiers", ()) if tier.start <= tokens]
    return float(tiers[-1] if tiers else getattr(value, "base", value))


def differences(table: Iterable[Price], day: date) -> list[str]:
    """Return a line for each price of a day that both tables have, and that differs without a reason in `DIFFERENT`."""
    ours: dict[tuple[str, str, int], Price] = {}
    for price in table:
        if price.valid_from is None or price.valid_from <= day:
            ours[price.provider, price.model, price.above_tokens] = price  # the later row of a model is the newer one
    lines = []
    models = theirs()
    for (provider, model, above), price in ours.items():
        _, costs = models.get((provider, model_name(model)), ("", {}))
        today = [cost for (since, over), cost in costs.items() if over == above and (since is None or since <= day)]
        for kind, cost in today[-1].items() if today and model not in DIFFERENT else ():
            mine = getattr(price, kind)
            if mine is None or not math.isclose(mine, cost, rel_tol=1e-3):
                lines.append(f"{provider} {model} over {above}: {kind} {mine}, theirs {cost}")
    return lines


def missing() -> Mapping[tuple[str, str], tuple[str, dict[Bounds, Costs]]]:
    """Return the models that only genai-prices has."""
    ours = {(price.provider, model_name(price.model)) for price in prices()}
    return {key: model for key, model in theirs().items() if key not in ours}


def rows(words: Iterable[str]) -> Iterator[str]:
    """Yield rows for `prices.toml` of the models whose ids have one of the words in them."""
    words = list(words)
    for _, (model, costs) in sorted(theirs().items()):
        for (since, above), cost in costs.items() if any(word in model for word in words) else ():
            fields = [f'model = "{model}"', *(f"{kind} = {value:g}" for kind, value in cost.items())]
            fields += [f"above_tokens = {above}"] if above else []
            fields += [f"valid_from = {since}"] if since else []
            yield f'  {{{", ".join(fields)}, source = "genai-prices-{version("genai-prices")}"}},'


def main(words: list[str]) -> int:
    """Print rows for the words; without words what differs, and return 1 if anything does."""
    if words:
        print(*rows(words), sep="\n")
        return 0
    lines = differences(prices(), datetime.now(UTC).date())
    print(*lines, f"{len(lines)} prices differ", sep="\n")
    print("only in genai-prices:", ", ".join(sorted(model for model, _ in missing().values())))
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
