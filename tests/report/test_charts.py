"""Figures: what they show, what they say of what they leave out, and that log text stays text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from analyzer.analysis import Overview, Table, table
from analyzer.analysis.charts import (
    errors_timeline_chart,
    outcomes_chart,
    relays_chart,
    retries_chart,
    unknown_share_chart,
    utilization_chart,
)
from analyzer.analysis.charts.figures import label
from analyzer.analysis.summary.window_findings import Spikes
from analyzer.classifier import REASONS
from analyzer.errors import AnalyzerError
from analyzer.store import Store

Report = Callable[..., Overview]
BUILDERS = [
    ("errors-timeline", errors_timeline_chart),
    ("errors-by-reason-caller-outcome", outcomes_chart),
    ("retries-outcomes", retries_chart),
    ("relays-by-day", relays_chart),
    ("relays-utilization", utilization_chart),
]


def rewritten(table: Table, rows: Iterable[dict[str, Any]]) -> Table:
    """The table with other rows of the same columns."""
    return replace(table, frame=pl.DataFrame(list(rows), schema=table.frame.schema))


def lined(spikes: Spikes, callers: int) -> Spikes:
    """The spikes with counts of so many callers on one day."""
    day = date(2026, 11, 1)
    row = {"day": day, "errors": 10, "unknown_errors": 1, "unknown_share": 0.1, "sessions": 2, "unknown_sessions": 1}
    share = rewritten(spikes.share, ({**row, "caller": f"c{number}"} for number in range(callers)))
    found = spikes.found[0]
    return replace(
        spikes, share=share, found=tuple(replace(found, caller=f"c{number}", day=day) for number in range(9))
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ('<a href="x">', '&lt;a href="x"&gt;'),
        ("%{x}", "%&#123;x}"),
        ("&lt;", "&amp;lt;"),
        ("a\nb\x1b", r"a b\x1b"),
        ("x" * 50, "x" * 31 + "…"),
    ],
)
def test_label_is_literal(text: str, shown: str) -> None:
    """Pseudo-HTML, placeholders, entities and control characters lose their meaning; long texts are cut visibly."""
    assert label(text) == shown


@pytest.mark.parametrize(("query", "build"), BUILDERS)
def test_charts_have_titles_and_units(report: Report, query: str, build: Callable[[Table], Any]) -> None:
    """Each chart says what it shows and what its axes count."""
    layout = build(report().tables[query]).layout
    assert layout.title.text
    assert layout.xaxis.title.text
    assert layout.yaxis.title.text or layout.yaxis.type == "category"


@pytest.mark.parametrize(("query", "build"), [*BUILDERS, ("unknown-share", unknown_share_chart)])
def test_charts_draw_what_a_store_answers(
    memory: Store, samples: Path, query: str, build: Callable[[Any], Any]
) -> None:
    """The rows of a query draw as the report's table of it does; those of another one are refused with its name."""
    memory.ingest([str(samples)])
    rows = memory.query(query)
    assert build(rows) == build(table(memory, query))
    assert build(rows).data
    assert build(rows.clear()).data == ()
    with pytest.raises(AnalyzerError, match="nothing to draw without") as caught:
        build(memory.query("overview-totals"))
    assert f'store.query("{query}")' in str(caught.value.hint)


@pytest.mark.parametrize(("query", "build"), BUILDERS)
def test_one_row_is_enough(report: Report, query: str, build: Callable[[Table], Any]) -> None:
    """A single day or reason draws."""
    table = report().tables[query]
    assert build(replace(table, frame=table.frame.head(1))).data


def test_share_axis_is_honest(report: Report) -> None:
    """The share begins at zero and has room for 100 %."""
    low, high = unknown_share_chart(report().spikes).layout.yaxis.range
    assert low == 0
    assert high >= 1


def test_spikes_are_marked_and_named(report: Report) -> None:
    """The spiking caller has a colour, a mark on its day and a label; the others share one grey."""
    figure = unknown_share_chart(report().spikes)
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    assert [list(trace.x) for trace in marks] == [["2026-11-21"]]
    assert marks[0].marker.symbol != "circle"
    assert [note.text for note in figure.layout.annotations] == ["<b>figma-probe 100.0%</b>"]
    assert len({trace.line.color for trace in figure.data if trace.legendgroup == "others"}) == 1


def test_left_out_callers_are_said(report: Report) -> None:
    """When there are too many callers, the subtitle says how many are drawn."""
    note = unknown_share_chart(lined(report().spikes, 90)).layout.title.subtitle.text
    assert note == "6 of 9 callers with a rise; 40 of 81 without one are drawn"


def test_left_out_days_are_said(report: Report) -> None:
    """A timeline of years shows the latest one and says so."""
    row = {"reason": "unknown", "errors": 1, "sessions": 1}
    days = ({**row, "day": date(2020, 1, 1) + timedelta(days=number)} for number in range(1000))
    figure = errors_timeline_chart(rewritten(report().tables["errors-timeline"], days))
    assert figure.layout.title.subtitle.text == "the latest 366 of 1000 days; a bar a week"
    assert sum(sum(trace.y) for trace in figure.data) == 366


def test_strange_reasons_are_one_series(report: Report) -> None:
    """Reasons beyond the eight are added up, and the subtitle says so."""
    row = {"day": date(2026, 11, 1), "errors": 1, "sessions": 1}
    rows = ({**row, "reason": f"<i>{number}"} for number in range(40))
    figure = errors_timeline_chart(rewritten(report().tables["errors-timeline"], rows))
    assert figure.layout.title.subtitle.text == "other are 40 beyond the eight reasons"
    assert [(trace.name, list(trace.y)) for trace in figure.data] == [("other", [40])]


def test_first_and_last_days_of_the_calendar_draw(report: Report) -> None:
    """Dates at the ends of what dates can hold are no error."""
    row = {"reason": "unknown", "errors": 1, "sessions": 1}
    rows = [{**row, "day": date.min}, {**row, "day": date.max}]
    assert errors_timeline_chart(rewritten(report().tables["errors-timeline"], rows)).data


def test_outcomes_add_up(report: Report) -> None:
    """The segments of all bars are all errors."""
    found = report()
    figure = outcomes_chart(found.tables["errors-by-reason-caller-outcome"])
    assert sum(sum(trace.x) for trace in figure.data) == found.totals.errors


def test_utilization_falls_back_to_tokens(report: Report) -> None:
    """Logs that say no percentage are shown by tokens."""
    table = report().tables["relays-utilization"]
    frame = table.frame.with_columns(pl.lit(None).cast(pl.Float64).alias("token_usage_percent"))
    figure = utilization_chart(replace(table, frame=frame))
    assert "tokens" in figure.layout.xaxis.title.text
    assert sum(sum(trace.y) for trace in figure.data) == table.frame.height


def test_reasons_and_outcomes_have_patterns(report: Report) -> None:
    """In black and white the segments still differ."""
    row = {"day": date(2026, 11, 1), "errors": 1, "sessions": 1}
    rows = ({**row, "reason": reason} for reason in REASONS)
    figure = errors_timeline_chart(rewritten(report().tables["errors-timeline"], rows))
    assert [trace.name for trace in figure.data] == list(REASONS)
    assert len({trace.marker.pattern.shape for trace in figure.data}) == len(REASONS)
    assert {trace.marker.pattern.fillmode for trace in figure.data[1:]} == {"overlay"}
