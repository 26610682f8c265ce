"""Our list prices beside the table that genai-prices comes with."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from analyzer.store.prices import prices
from tests import prices as tables

pytest.importorskip("genai_prices", reason="the extra `test` is not installed as a whole")
DAY = date(2026, 11, 29)
"""When both tables were read."""


def test_prices_are_those_of_genai_prices() -> None:
    """Of the models that both tables have, for prompts of each length; what differs has a reason."""
    assert tables.differences(prices(), DAY) == []


def test_a_wrong_price_differs() -> None:
    """It is named with both prices; a price that begins later is not today's."""
    wrong = [replace(price, output=7.0) for price in prices() if price.model == "claude-opus-4-5"]
    assert tables.differences(wrong, DAY) == ["anthropic claude-opus-4-5 over 0: output 7.0, theirs 25.0"]
    assert tables.differences([replace(wrong[0], valid_from=date(2027, 1, 1))], DAY) == []


def test_each_exception_still_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that no longer differs goes out of the table of exceptions."""
    excepted = set(tables.DIFFERENT)
    monkeypatch.setattr(tables, "DIFFERENT", {})
    assert {line.split()[1] for line in tables.differences(prices(), DAY)} == excepted


def test_rows_are_made_for_models_that_are_missing() -> None:
    """With every price, the length of prompt, the first day, and the source."""
    plain, long = (row.partition(", source")[0] for row in tables.rows(["claude-sonnet-4-5"]))
    costs = "input = 3, output = 15, cache_read = 0.3, cache_write = 3.75, cache_write_hour = 6"
    assert plain == f'  {{model = "claude-sonnet-4-5", {costs}'
    assert long.endswith(
        "output = 22.5, cache_read = 0.6, cache_write = 7.5, cache_write_hour = 12, above_tokens = 200000"
    )
    assert "gpt-6-sol" not in {model for model, _ in tables.missing().values()}
