"""A sparkline is honest about its scale and its gaps, and says in words what it draws."""

from __future__ import annotations

import re

import pytest

from analyzer.report.charts.sparkline import HEIGHT, sparkline
from analyzer.report.writers.html import environment
from tests.report.svg_pictures import parsed, titles


def heights(picture: str) -> list[float]:
    """The vertical places of the line, from the top."""
    path = parsed(picture).find("path")
    assert path is not None
    return [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path.get("d", ""))]


def test_it_tells_ends_and_range_in_words() -> None:
    """What is seen is heard."""
    assert titles(sparkline([3, 1200, 5], "Errors a day")) == ["Errors a day: from 3 to 5, between 3 and 1,200."]
    assert titles(sparkline([0.5], "Share", is_share=True)) == ["Share: from 50.0% to 50.0%, between 50.0% and 50.0%."]


def test_its_scale_begins_at_zero() -> None:
    """A wobble far above zero stays a wobble; only what is below zero moves the floor."""
    low, high = heights(sparkline([90, 100], "x"))
    assert low - high < 0.11 * HEIGHT
    assert heights(sparkline([0, 0, 0], "x")) == [HEIGHT - 3.0] * 3
    assert heights(sparkline([-5, 5], "x")) == [HEIGHT - 3.0, 3.0]


def test_a_day_without_data_is_a_gap() -> None:
    """The line is cut there, a value between two gaps is a dot, and the words count the gaps."""
    picture = sparkline([1, 2, None, 4, None, 5, 6], "x")
    path = parsed(picture).find("path")
    assert path is not None
    assert path.get("d", "").count("M") == 3
    assert path.get("d", "").count("h0") == 1
    assert titles(picture) == ["x: from 1 to 6, between 1 and 6; 2 gaps without data."]


@pytest.mark.parametrize("values", [[], [None, None]])
def test_nothing_draws_nothing(values: list[float | None]) -> None:
    """Without a value there is no picture and nothing to read."""
    assert sparkline(values, "x") == ""


def test_a_template_puts_it_in_as_it_is_and_its_words_stay_text() -> None:
    """Markup is ours, words are escaped."""
    page = environment().from_string("{{ line }}").render(line=sparkline([1, 2], '<b>"\u202e'))
    assert page.startswith('<svg class="sparkline"')
    assert titles(page) == ['<b>"\\u202e: from 1 to 2, between 1 and 2.']
