"""Figures as pictures: bars, lines, symbols and notes stand where plotly puts them; what is unknown is refused."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any
from xml.etree import ElementTree as Xml

import plotly.graph_objects as go
import pytest

from analyzer.analysis.charts.base import day_bars, finish, marker
from analyzer.analysis.charts.colours import AMBER, GREY, VERMILION
from analyzer.errors import AnalyzerError
from analyzer.report.svg import columns
from analyzer.report.svg.figure import picture
from analyzer.report.svg.formats import number, plain, tooltip
from analyzer.report.svg.looks import palette, swatch
from analyzer.report.svg.scales import as_number, scale_of
from tests.report.svg_pictures import parsed, titles

HEIGHT = 200
LINE = {"mode": "lines+markers", "line": {"color": VERMILION, "width": 2}, "marker": {"color": VERMILION, "size": 6}}


def drawn(*traces: Any, **layout: Any) -> Xml.Element:
    """The picture of a figure on days, or with axes of its own."""
    return parsed(picture(figure(*traces, **layout), "chart", HEIGHT))


def figure(*traces: Any, **layout: Any) -> go.Figure:
    """A figure in the style of all others."""
    made = go.Figure(list(traces))
    finish(made, "A title", "", "", "errors", stacked=layout.pop("barmode", "stack") == "stack")
    made.update_xaxes(type="date", tickformat="%-d %b\n%Y")
    return made.update_layout(**layout)


def rectangles(root: Xml.Element) -> list[tuple[float, float, float, float]]:
    """Left, top, width and height of all bars; horizontal ones in percent."""
    return rectangles_of(root.iter("rect"))


def rectangles_of(found: Iterable[Xml.Element]) -> list[tuple[float, float, float, float]]:
    """The same of some of them."""
    return [
        tuple(float(each.get(name, "").rstrip("%")) for name in ("x", "y", "width", "height"))  # type: ignore[misc]
        for each in found
    ]


def days(*counts: int, style: tuple[str, str] = (AMBER, ""), name: str = "errors") -> go.Bar:
    """Bars of the first days of November."""
    return day_bars({date(2026, 11, place + 1): count for place, count in enumerate(counts)}, name, style)


def line(*shares: float | None, **more: Any) -> go.Scatter:
    """A line over the first days of November."""
    x = [f"2026-11-{place + 1:02}" for place in range(len(shares))]
    return go.Scatter(x=x, y=list(shares), name="share", hovertemplate="%{x|%Y-%m-%d}: %{y:.1%}", **{**LINE, **more})


def test_bars_are_as_high_as_their_counts() -> None:
    """From a common floor, in the ratio of the numbers; a count of zero has no bar; each says its number."""
    root = drawn(days(10, 0, 5))
    (_, top, wide, high), (_, lower, same, half) = rectangles(root)
    assert high == pytest.approx(2 * half, abs=0.2)
    assert (wide, top + high) == pytest.approx((same, lower + half), abs=0.2)
    assert titles(picture(figure(days(10, 0, 5)), "chart", HEIGHT))[1:] == [
        "2026-11-01: 10 errors",
        "2026-11-03: 5 errors",
    ]


def a_year() -> go.Figure:
    """Stacked bars of 365 days, patterns among them."""
    begin = date(2025, 11, 1)
    styles = [(GREY, ""), (AMBER, "x"), (VERMILION, "/")]
    made = [
        day_bars(
            {begin + timedelta(day): (day * (place + 3)) % 23 + (place == 0) for day in range(365)},
            f"reason-{place}",
            style,
        )
        for place, style in zip(range(8), itertools.cycle(styles), strict=False)
    ]
    return figure(*made)


def outline(root: Xml.Element) -> list[tuple[float, ...]]:
    """Left, top, width and height of the bars that are pieces of one shape a series; horizontal ones in percent."""
    found = []
    for path in root.findall("clipPath/path"):
        for bar in re.findall(r"M(\d+) (\d+)h(\d+)v(\d+)h-\3z", path.get("d", "")):
            left, top, width, high = map(int, bar)
            found.append((left / 100, top / 10, width / 100, high / 10))
    return found


def test_very_many_bars_are_where_each_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """One shape a series has the bars that were elements, to a tenth of a pixel, through the same patterns."""
    many = parsed(picture(a_year(), "chart", HEIGHT))
    monkeypatch.setattr(columns, "MAX_APART", 3000)
    apart = parsed(picture(a_year(), "chart", HEIGHT))
    wanted = rectangles_of(apart.findall("g/rect"))
    got = outline(many)
    assert len(got) == len(wanted) > 2500
    # The ends of a bar are rounded each, so that neighbours in a stack meet.
    assert (
        max(abs(one - other) for pair in zip(got, wanted, strict=True) for one, other in zip(*pair, strict=True)) < 0.11
    )
    windows = [each for each in many.findall("rect") if each.get("clip-path")]
    assert [each.get("fill") for each in windows] == [
        each.get("fill") for each in apart.findall("g") if each.get("fill")
    ][:8]
    assert [each.get("clip-path") for each in windows] == [
        f"url(#{each.get('id')})" for each in many.findall("clipPath")
    ]


def test_very_many_bars_say_their_day_once() -> None:
    """A year of eight reasons has a tooltip a day, with the number of each, and stays light."""
    drawn_year = picture(a_year(), "chart", HEIGHT)
    said = titles(drawn_year)[1:]
    assert len(said) == 365
    assert said[1].split("\n") == [
        "2025-11-02",
        "4 reason-0",
        *(f"{place + 3} reason-{place}" for place in range(1, 8)),
    ]
    assert len(drawn_year) < 170_000
    places = rectangles_of(parsed(drawn_year).findall("g[@class='columns']/rect"))
    assert len({left for left, *_ in places}) == 365


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
    error = {"type": "data", "array": [0.1], "arrayminus": [0.2], "color": "#78808c", "thickness": 1.5, "width": 3}
    bar = {"y": ["a"], "x": [0.4], "orientation": "h", "hovertemplate": "%{y}: %{x:.0%}<extra></extra>"}
    made = go.Figure([go.Bar(**bar, name=name, marker=marker((GREY, "")), error_x=error) for name in ("now", "then")])
    finish(made, "A title", "", "share (%)", "")
    made.update_xaxes(range=[0, 1], tickformat=".0%").update_yaxes(autorange="reversed", type="category")
    root = parsed(picture(made, "chart", HEIGHT))
    (left, upper, wide, high), (_, lower, _, _) = rectangles(root)
    assert (left, wide, lower) == pytest.approx((0, 40, upper + high), abs=0.2)
    ends = {(each.get("x1"), each.get("x2")) for each in root.iter("line")}
    assert ("20%", "50%") in ends


def test_a_gap_is_no_line() -> None:
    """A day without a value cuts the line; its neighbours keep their marks."""
    root = drawn(line(0.1, 0.2, None, 0.4, 0.5))
    path = next(each.get("d", "") for each in root.iter("path") if each.get("stroke") == "var(--c-d55e00)")
    assert path.count("M") == 2
    assert len(list(root.iter("circle"))) == 4


def test_a_band_fills_what_is_between_two_lines() -> None:
    """It goes along one edge and back along the other."""
    band = {"fill": "tonexty", "fillcolor": "rgba(47,143,208,.22)", "mode": "lines"}
    root = drawn(line(0.1, 0.1, mode="lines"), line(0.4, 0.4, **band))
    (filled,) = [each for each in root.iter("path") if each.get("fill-opacity")]
    assert filled.get("fill") == "var(--c-2f8fd0)"
    assert filled.get("d", "").count("L") == 3


def test_steps_change_half_way() -> None:
    """A line of expectations is flat over each day."""
    root = drawn(line(0, 1, mode="lines", line={"color": GREY, "width": 1, "shape": "hvh"}, marker=None))
    (path,) = [each.get("d", "") for each in root.iter("path") if each.get("stroke") == "var(--c-8a929e)"]
    (_, y), (middle, before), (same, after), (_, end) = [
        tuple(map(float, pair.split())) for pair in path.removeprefix("M").split("L")
    ]
    assert (middle, before, after) == (same, y, end)


@pytest.mark.parametrize("name", ["diamond", "square", "triangle-up", "star", "cross", "hexagon", "x"])
def test_symbols_differ_without_colour(name: str) -> None:
    """Each has an outline of its own, in the plot as in the legend."""
    marks = line(0.5, mode="markers", marker={"symbol": name, "size": 12, "color": GREY})
    outline = swatch(marks.to_plotly_json(), "key")
    assert parsed(outline).find("svg/path").get("d") in {each.get("d") for each in drawn(marks).iter("path")}  # type: ignore[union-attr]
    circle = swatch(line(0.5, mode="markers").to_plotly_json(), "key")
    assert outline != circle


def test_notes_and_upright_lines_stand_at_their_values() -> None:
    """In percent of the width, so that they move with it; text of a log stays text."""
    made = figure(line(0, 0, 1, 0, 0), xaxis_range=["2026-11-01", "2026-11-05"])
    made.update_xaxes(range=[as_number("2026-11-01"), as_number("2026-11-05")])
    made.add_vline(x=as_number("2026-11-02"), line={"dash": "dot", "width": 2, "color": "#78808c"})
    made.add_annotation(
        x="2026-11-03", y=1, text="<b>&lt;i&gt;x 100%</b>", showarrow=True, ax=0, ay=-26, arrowcolor=GREY
    )
    root = parsed(picture(made, "chart", HEIGHT))
    (said,) = [each for each in root.iter("text") if (each.get("class") or "").startswith("said")]
    assert (said.text, said.get("x")) == ("<i>x 100%", "50%")
    assert "25%" in {each.get("x1") for each in root.iter("line")}


def test_a_tooltip_keeps_its_lines_and_shows_what_steers() -> None:
    """Its own line breaks are breaks, where a control character of a name is a code."""
    made = line(0.5).update(hovertemplate="a\x1bb<br>%{x|%Y-%m-%d}: %{y:.0%}<extra></extra>")
    assert titles(picture(figure(made), "chart", HEIGHT))[1:] == ["a\\x1bb\n2026-11-01: 50%"]


def test_very_many_points_have_one_tooltip_a_line() -> None:
    """A page of forty busy callers over a year stays light: what lies on top keeps its tooltips."""
    many = [line(*([0.5] * 30)) for _ in range(60)]
    root = drawn(*many)
    assert len(list(root.iter("circle"))) == 1500
    assert sum("h0" in each.get("d", "") for each in root.iter("path")) == 10


def test_a_picture_has_a_name_and_says_what_it_shows() -> None:
    """For who does not see it: the title, and each series with its days and its range."""
    root = drawn(days(10, 0, 5), line(0.25, None, 1.0, yaxis="y"))
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "chart-title")
    assert root.findtext("title") == "A title"
    said = root.findtext("desc") or ""
    assert said.startswith("errors: 3 points, 2026-11-01 to 2026-11-03, 0 to 10.")
    assert "share: 2 points" in said


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (go.Figure(go.Pie(values=[1])), "a trace of the type pie"),
        (figure(line(0.5, line={"smoothing": 1.2})), "scatter.line.smoothing"),
        (figure(line(0.5, mode="text")), "scatter.mode = 'text'"),
        (figure(line(0.5), yaxis={"type": "log"}), "yaxis.type = 'log'"),
        (figure(line(0.5), polar={"hole": 0.5}), "layout.polar"),
        (figure(line(0.5, marker={"color": "#123456", "size": 3})), "the colour #123456"),
        (figure(line(0.5, marker={"color": GREY, "size": 3, "symbol": "bowtie"})), "the symbol bowtie"),
        (figure(line(0.5), yaxis={"tickformat": "$,.2f"}), "the number format"),
        (figure(days(-1)), "a stack that goes below zero"),
        (figure(go.Bar(x=["2026-11-01"], y=[1], marker=marker((GREY, "")))), "upright bars without a width"),
    ],
)
def test_what_is_not_known_is_refused(made: go.Figure, said: str) -> None:
    """By name, before half of a figure is shown."""
    with pytest.raises(AnalyzerError, match="the page cannot draw") as caught:
        picture(made, "chart", HEIGHT)
    assert said in str(caught.value)


def test_every_colour_is_a_property_for_light_and_dark() -> None:
    """No colour is written into a picture; the palette sets each twice."""
    made = picture(figure(days(1, style=(GREY, "x")), line(0.5)), "chart", HEIGHT)
    assert "#" not in made.replace("url(#chart", "")
    assert palette().count("--c-8a929e:") == 2


@pytest.mark.parametrize(
    ("low", "high", "axis", "ticks"),
    [
        (0, 26.5, {"tickformat": ",d"}, ["0", "5", "10", "15", "20", "25"]),
        (0, 2.5, {"tickformat": ",~r", "nticks": 5}, ["0", "1", "2"]),
        (0, 0.055, {"tickformat": ".0%", "nticks": 5}, ["0%", "2%", "4%"]),
        (0, 125, {"dtick": 20}, ["0", "20", "40", "60", "80", "100", "120"]),
        (0, 1.12, {"tickvals": [0, 0.5, 1], "tickformat": ".0%"}, ["0%", "50%", "100%"]),
        (0, 3_400_000, {"tickformat": "~s"}, ["0", "1M", "2M", "3M"]),
    ],
)
def test_ticks_are_round(low: float, high: float, axis: dict[str, Any], ticks: list[str]) -> None:
    """Ones, twos and fives; of counts whole ones."""
    assert [tick.lines[0] for tick in scale_of(axis, (), (low, high)).ticks] == ticks


@pytest.mark.parametrize(
    ("begin", "end", "axis", "ticks"),
    [
        ("2026-11-01", "2026-11-04", {"dtick": 86_400_000}, ["1 Nov 2026", "2 Nov", "3 Nov", "4 Nov"]),
        ("2026-11-01", "2026-12-10", {}, ["2 Nov 2026", "9 Nov", "16 Nov", "23 Nov", "30 Nov", "7 Dec"]),
        ("2025-12-20", "2026-11-04", {}, ["1 Jan 2026", "1 Mar", "1 May", "1 Jul", "1 Sep", "1 Nov"]),
        ("2026-12-30", "2027-01-02", {}, ["30 Dec 2026", "31 Dec", "1 Jan 2027", "2 Jan"]),
    ],
)
def test_dates_can_be_read(begin: str, end: str, axis: dict[str, Any], ticks: list[str]) -> None:
    """Midnights, Mondays or first days of months; the year where it changes."""
    axis = {"type": "date", "tickformat": "%-d %b\n%Y", **axis}
    assert [" ".join(tick.lines) for tick in scale_of(axis, (), (as_number(begin), as_number(end))).ticks] == ticks


def test_the_whole_calendar_has_ticks() -> None:
    """Its ends, and the room beside them that no date can name, are no error."""
    axis = {"type": "date", "tickformat": "%Y", "range": [as_number("0001-01-01") - 1e9, as_number("9999-12-31") + 1e9]}
    ticks = scale_of(axis, (), (0, 1)).ticks
    assert [tick.lines[0] for tick in ticks] == ["2000", "4000", "6000", "8000"]


@pytest.mark.parametrize(
    ("value", "form", "said"),
    [(1234, ",", "1,234"), (0.123, ".1%", "12.3%"), (1500, "~s", "1.5k"), (7, "", "7"), (math.pi, "", "3.141593")],
)
def test_numbers_read_as_in_plotly(value: float, form: str, said: str) -> None:
    """By the formats that charts use."""
    assert number(value, form) == said


def test_a_tooltip_says_what_its_template_says() -> None:
    """Values, days and own data; what is extra in a line of its own; braces and entities of a label are text."""
    point = {"x": "2026-11-02", "y": 0.5, "customdata": (3, 1200)}
    said = tooltip(
        "a &lt;b&gt; %&#123;y}<br>%{x|%Y-%m-%d}: %{customdata[0]} of %{customdata[1]:,}<extra>rise</extra>", point
    )
    assert said == "a <b> %{y}\n2026-11-02: 3 of 1,200\nrise"
    with pytest.raises(AnalyzerError, match="element"):
        plain("<i>x</i>")
