"""Charts as pictures and as figures: bars, lines, symbols and notes stand at their values, and say the same in both."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from analyzer.analysis.charts.chart import (
    AMBER,
    GREY,
    VERMILION,
    WATER,
    Axis,
    Bars,
    Chart,
    Mark,
    Note,
    Points,
    Style,
    Upright,
    as_number,
    counts,
    day_bars,
    milliseconds,
)
from analyzer.analysis.charts.figures import figure_of
from analyzer.report.charts.axes import moment, number, scale_of
from analyzer.report.charts.elements import palette, swatch
from analyzer.report.charts.picture import picture
from tests.report.svg_pictures import parsed, titles

HEIGHT = 200
DAYS = Axis("day", "date", "%-d %b\n%Y", grid=False)


def drawn(*marks: Mark, **parts: Any) -> Xml.Element:
    """The picture of a chart on days, or with axes of its own."""
    return parsed(picture(chart(*marks, **parts), "chart", HEIGHT))


def chart(*marks: Mark, **parts: Any) -> Chart:
    """A chart in the style of all others."""
    return Chart("A title", "", parts.pop("x", DAYS), parts.pop("y", counts("errors")), marks, **parts)


def rectangles(root: Xml.Element) -> list[tuple[float, float, float, float]]:
    """Left, top, width and height of all bars; horizontal ones in percent."""
    return rectangles_of(root.iter("rect"))


def rectangles_of(found: Iterable[Xml.Element]) -> list[tuple[float, float, float, float]]:
    """The same of some of them."""
    return [
        tuple(float(each.get(name, "").rstrip("%")) for name in ("x", "y", "width", "height"))  # type: ignore[misc]
        for each in found
    ]


def days(*numbers: int, style: Style = (AMBER, ""), name: str = "errors") -> Bars:
    """Bars of the first days of November."""
    return day_bars({date(2026, 11, place + 1): number for place, number in enumerate(numbers)}, name, style)


def line(*shares: float | None, **more: Any) -> Points:
    """A line over the first days of November."""
    at = tuple(date(2026, 11, place + 1) for place in range(len(shares)))
    tips = tuple("" if share is None else f"{day}: {share:.1%}" for day, share in zip(at, shares, strict=True))
    return replace(Points("share", VERMILION, at, shares, tips, width=2, size=6), **more)


def test_bars_are_as_high_as_their_counts() -> None:
    """From a common floor, in the ratio of the numbers; a count of zero has no bar; each says its number."""
    root = drawn(days(10, 0, 5))
    (_, top, wide, high), (_, lower, same, half) = rectangles(root)
    assert high == pytest.approx(2 * half, abs=0.2)
    assert (wide, top + high) == pytest.approx((same, lower + half), abs=0.2)
    assert titles(picture(chart(days(10, 0, 5)), "chart", HEIGHT))[1:] == [
        "2026-11-01: 10 errors",
        "2026-11-03: 5 errors",
    ]


def test_stacks_stand_on_each_other() -> None:
    """A second series begins where the first one ends, in its own pattern."""
    root = drawn(days(10), days(20, style=(GREY, "x")))
    (_, top, _, high), (_, above, _, higher) = rectangles(root)
    assert above + higher == pytest.approx(top, abs=0.2)
    assert higher == pytest.approx(2 * high, abs=0.2)
    groups = [each.get("fill", "") for each in root.findall("g") if each.find("rect") is not None]
    assert groups[0] == "var(--c-e69f00)"
    assert groups[1] == f"url(#{root.find('defs/pattern').get('id')})"  # type: ignore[union-attr]


def test_bars_lie_by_category_beside_each_other_with_whiskers() -> None:
    """Two series share the slot of a category; whiskers end where the numbers say."""
    series = [Bars(name, (GREY, ""), ("a",), (0.4,), ("a: 40%",), intervals=((0.2, 0.5),)) for name in ("now", "then")]
    share = Axis("share (%)", form=".0%", ends=(0, 1))
    root = drawn(*series, x=share, y=Axis(kind="category", grid=False), stacked=False)
    (left, upper, wide, high), (_, lower, _, _) = rectangles(root)
    assert (left, wide, lower) == pytest.approx((0, 40, upper + high), abs=0.2)
    ends = {(each.get("x1"), each.get("x2")) for each in root.iter("line")}
    assert ("20%", "50%") in ends


def test_a_bar_of_many_years_can_be_seen() -> None:
    """However long the window is, a bar is at least two thousandths of its width."""
    (bar,) = rectangles(
        drawn(days(3), x=replace(DAYS, ends=(milliseconds(date(2000, 1, 1)), milliseconds(date(2030, 1, 1)))))
    )
    assert bar[2] >= 0.2


def test_a_gap_is_no_line() -> None:
    """A day without a value cuts the line; its neighbours keep their marks."""
    root = drawn(line(0.1, 0.2, None, 0.4, 0.5))
    path = next(each.get("d", "") for each in root.iter("path") if each.get("stroke") == "var(--c-d55e00)")
    assert path.count("M") == 2
    assert len(list(root.iter("circle"))) == 4


def test_a_band_fills_what_is_between_two_lines() -> None:
    """It goes along one edge and back along the other; an edge along the axis is not drawn."""
    for floor, edges in ((0.1, 2), (0.0, 1)):
        root = drawn(line(0.4, 0.4, colour=WATER, size=0, dash="dot", floor=(floor, floor)))
        (filled,) = [each for each in root.iter("path") if each.get("fill-opacity")]
        assert filled.get("fill") == "var(--c-2f8fd0)"
        assert filled.get("d", "").count("L") == 3
        (edge,) = [each.get("d", "") for each in root.iter("path") if each.get("stroke") == "var(--c-2f8fd0)"]
        assert edge.count("M") == edges


def test_steps_change_half_way() -> None:
    """A line of expectations is flat over each day."""
    root = drawn(line(0, 1, colour=GREY, width=1, size=0, stepped=True))
    (path,) = [each.get("d", "") for each in root.iter("path") if each.get("stroke") == "var(--c-8a929e)"]
    (_, y), (middle, before), (same, after), (_, end) = [
        tuple(map(float, pair.split())) for pair in path.removeprefix("M").split("L")
    ]
    assert (middle, before, after) == (same, y, end)


@pytest.mark.parametrize("name", ["diamond", "square", "triangle-up", "star", "cross", "hexagon", "x"])
def test_symbols_differ_without_colour(name: str) -> None:
    """Each has an outline of its own, in the plot as in the legend."""
    marks = line(0.5, width=0, size=12, colour=GREY, symbol=name)
    outline = swatch(marks, "key")
    assert parsed(outline).find("svg/path").get("d") in {each.get("d") for each in drawn(marks).iter("path")}  # type: ignore[union-attr]
    assert outline != swatch(line(0.5, width=0), "key")


def test_notes_and_upright_lines_stand_at_their_values() -> None:
    """In percent of the width, so that they move with it; text of a log stays text."""
    ends = milliseconds(date(2026, 11, 1)), milliseconds(date(2026, 11, 5))
    note = Note("<i>x 100%", date(2026, 11, 3), 1, "center", up=26, colour=GREY, strong=True)
    upright = Upright(milliseconds(date(2026, 11, 2)), "onset", left=False)
    made = chart(line(0, 0, 1, 0, 0), x=replace(DAYS, ends=ends), notes=(note,), uprights=(upright,))
    root = parsed(picture(made, "chart", HEIGHT))
    onset, said = [each for each in root.iter("text") if (each.get("class") or "").startswith("said")]
    assert (said.text, said.get("x"), said.get("class")) == ("<i>x 100%", "50%", "said strong")
    assert (onset.text, onset.get("x")) == ("onset", "25%")
    assert "25%" in {each.get("x1") for each in root.iter("line")}


def test_a_tooltip_keeps_its_lines_and_shows_what_steers() -> None:
    """Its own line breaks are breaks, where a control character of a name is a code."""
    made = line(0.5, tips=("a\x1bb\n2026-11-01: 50%",))
    assert titles(picture(chart(made), "chart", HEIGHT))[1:] == ["a\\x1bb\n2026-11-01: 50%"]


def test_a_long_line_has_one_tooltip() -> None:
    """The points of a year share the tooltip of their line, so that a page stays light."""
    root = drawn(line(*([0.5] * 150)[:28]), line(*([0.5] * 28)))
    assert len(list(root.iter("circle"))) == 56
    days = tuple(date(2026, 1, 1) + timedelta(day) for day in range(151))
    long = Points("share", VERMILION, days, (0.5,) * 151, ("",) * 151, width=2, size=6)
    root = drawn(long)
    assert len(list(root.iter("circle"))) == 0
    assert sum("h0" in each.get("d", "") for each in root.iter("path")) == 1


def test_days_of_a_week_are_one_bar_where_they_are_many() -> None:
    """From Monday on, seven days wide, with the sum in its tooltip."""
    bars = day_bars({date(2026, 11, day): 1 for day in range(1, 15)}, "errors", (GREY, ""), weekly=True)
    assert bars.lengths == (1, 7, 6)
    assert bars.tips[1] == "week of 2026-11-02: 7 errors"
    assert bars.at[1] == date(2026, 11, 5)


def test_a_picture_has_a_name_and_says_what_it_shows() -> None:
    """For who does not see it: the title, and each series with its days and its range."""
    root = drawn(days(10, 0, 5), line(0.25, None, 1.0))
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "chart-title")
    assert root.findtext("title") == "A title"
    said = root.findtext("desc") or ""
    assert said.startswith("errors: 3 points, 2026-11-01 to 2026-11-03, 0 to 10.")
    assert "share: 2 points" in said
    shares = drawn(line(0.25, None, 1.0), y=Axis("share (%)", form=".0%")).findtext("desc") or ""
    assert "2026-11-01 to 2026-11-03, 25.0% to 100.0%." in shares


def test_a_figure_says_what_its_picture_says() -> None:
    """Title, note, names, tips and words are those of the chart in both, literally."""
    caller = "<b>{x}&lt;"
    ends = milliseconds(date(2026, 11, 1)), milliseconds(date(2026, 11, 3))
    made = Chart(
        "A title", f"without {caller}", replace(DAYS, ends=ends), counts("errors"),
        (replace(days(10, 5), name=caller), line(0.5, 0.7, tips=(f"{caller}\none", "two"))), counts("sessions"),
        (Note(caller, date(2026, 11, 2), 1, up=26),), (Upright(ends[0], "onset", left=False),),
    )  # fmt: skip
    written = figure_of(made).to_dict()
    escaped = "&lt;b&gt;&#123;x}&amp;lt;"
    assert written["layout"]["title"]["subtitle"]["text"] == f"without {escaped}"
    assert [trace["name"] for trace in written["data"]] == [escaped, "share"]
    assert written["data"][0]["hovertext"] == ["2026-11-01: 10 errors", "2026-11-02: 5 errors"]
    assert written["data"][1]["hovertext"] == [f"{escaped}<br>one", "two"]
    assert [each["text"].strip() for each in written["layout"]["annotations"]] == ["onset", escaped]
    assert written["layout"]["yaxis2"]["title"]["text"] == "sessions"
    root = parsed(picture(made, "chart", HEIGHT))
    texts = [each.text for each in root.iter("text")] + titles(picture(made, "chart", HEIGHT))
    for said in ("errors", "sessions", "onset", caller, f"{caller}\none", "2026-11-02: 5 errors"):
        assert said in texts


def test_every_colour_is_a_property_for_light_and_dark() -> None:
    """No colour is written into a picture; the palette sets each twice."""
    made = picture(chart(days(1, style=(GREY, "x")), line(0.5)), "chart", HEIGHT)
    assert "#" not in made.replace("url(#chart", "")
    assert palette().count("--c-8a929e:") == 2
    with pytest.raises(AssertionError, match="#123456"):
        picture(chart(line(0.5, colour="#123456")), "chart", HEIGHT)


@pytest.mark.parametrize(
    ("low", "high", "axis", "ticks"),
    [
        (0, 26.5, Axis(form=",d"), ["0", "5", "10", "15", "20", "25"]),
        (0, 2.5, Axis(form=",~r", most_ticks=5), ["0", "1", "2"]),
        (0, 0.055, Axis(form=".0%", most_ticks=5), ["0%", "2%", "4%"]),
        (0, 125, Axis(step=20), ["0", "20", "40", "60", "80", "100", "120"]),
        (0, 1.12, Axis(ticks=(0, 0.5, 1), form=".0%"), ["0%", "50%", "100%"]),
        (0, 3_400_000, Axis(form="~s"), ["0", "1M", "2M", "3M"]),
    ],
)
def test_ticks_are_round(low: float, high: float, axis: Axis, ticks: list[str]) -> None:
    """Ones, twos and fives; of counts whole ones."""
    assert [tick.lines[0] for tick in scale_of(axis, (), (low, high)).ticks] == ticks


@pytest.mark.parametrize(
    ("begin", "end", "step", "ticks"),
    [
        ("2026-11-01", "2026-11-04", 86_400_000, ["1 Nov 2026", "2 Nov", "3 Nov", "4 Nov"]),
        ("2026-11-01", "2026-12-10", None, ["2 Nov 2026", "9 Nov", "16 Nov", "23 Nov", "30 Nov", "7 Dec"]),
        ("2025-12-20", "2026-11-04", None, ["1 Jan 2026", "1 Mar", "1 May", "1 Jul", "1 Sep", "1 Nov"]),
        ("2026-12-30", "2027-01-02", None, ["30 Dec 2026", "31 Dec", "1 Jan 2027", "2 Jan"]),
    ],
)
def test_dates_can_be_read(begin: str, end: str, step: float | None, ticks: list[str]) -> None:
    """Midnights, Mondays or first days of months; the year where it changes."""
    ends = as_number(date.fromisoformat(begin)), as_number(date.fromisoformat(end))
    scale = scale_of(replace(DAYS, step=step), (), ends)
    assert [" ".join(tick.lines) for tick in scale.ticks] == ticks


def test_the_whole_calendar_has_ticks() -> None:
    """Its ends, and the room beside them that no date can name, are no error."""
    ends = milliseconds(date.min) - 1e9, milliseconds(date.max) + 1e9
    ticks = scale_of(Axis(kind="date", form="%Y", ends=ends), (), (0, 1)).ticks
    assert 3 <= len({tick.lines[0] for tick in ticks}) <= 6


@pytest.mark.parametrize(
    ("value", "form", "said"),
    [(1234, ",d", "1,234"), (0.123, ".1%", "12.3%"), (1500, "~s", "1.5k"), (7, "", "7"), (math.pi, "", "3.141593")],
)
def test_numbers_read_as_in_plotly(value: float, form: str, said: str) -> None:
    """By the formats that charts use."""
    assert number(value, form) == said


def test_moments_read_as_in_plotly() -> None:
    """To the second, month names in English."""
    assert moment(datetime(2026, 11, 2, 9, 5, 7), "%H:%M:%S\n%-d %b %Y") == "09:05:07\n2 Nov 2026"
