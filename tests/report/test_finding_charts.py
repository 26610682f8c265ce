"""The chart of each kind of finding, in the page: titled, with units, readable without colour, its numbers below."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest

from analyzer.analysis import Case, Overview, Window, overview
from analyzer.analysis.charts import finding, finding_chart
from analyzer.analysis.charts.chart import milliseconds
from analyzer.analysis.kinds.families.volumes import volume_hours
from analyzer.analysis.kinds.finding import KINDS as ALL_KINDS
from analyzer.analysis.kinds.finding import NOTHING
from analyzer.report import render_html, render_markdown
from analyzer.report.charts.picture import Drawing, draw
from analyzer.report.document import TableBlock, walk
from analyzer.report.sections import evidence
from analyzer.store import open_store
from tests import REPOSITORY, each_row
from tests.analysis.histories import every_finding

KINDS = sorted(name for name, kind in ALL_KINDS.items() if not kind.cause)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Overview:
    """A report with a finding of each kind."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "log.jsonl").write_bytes(b"".join(every_finding()))
    with open_store(":memory:") as store:
        store.ingest([str(folder)])
        return overview(store, Window())


@pytest.fixture(scope="module")
def articles(found: Overview) -> dict[str, str]:
    """What the page has of each kind, without scripts."""
    page = re.sub(r"<script>.*?</script>", "", render_html(found), flags=re.DOTALL)
    shown = re.findall(r'<article id="[^"]+".*?</article>', page, re.DOTALL)
    return {case.finding.finding: text for case, text in zip(found.cases, shown, strict=True)}


def case_of(found: Overview, kind: str) -> Case:
    """The finding of a kind, drawn by day."""
    (case,) = (case for case in found.cases if case.finding.finding == kind)
    return replace(case, hours=pl.DataFrame())


def drawing(case: Case) -> Drawing:
    """Its chart as the page takes it apart."""
    return draw(finding(case), "chart")


def numbers(case: Case) -> TableBlock:
    """The table of the chart's numbers."""
    return next(block for block in walk(evidence(case, 1)) if isinstance(block, TableBlock))


def test_every_finding_that_is_told_alone_has_a_chart() -> None:
    """Causes are told with the finding that they explain."""
    charts = {name: kind.chart for name, kind in ALL_KINDS.items()}
    assert {name for name, chart in charts.items() if chart} == set(KINDS)


@each_row("kind", KINDS)
def test_a_finding_is_shown_with_all_that_was_promised(found: Overview, articles: dict[str, str], kind: str) -> None:
    """Chart, title, legend, numbers as a table, sessions, messages where it is about errors, and what to do."""
    shown, first = articles[kind], found.cases[0].finding.finding
    # The chart of the first finding is on the first screen.
    if kind != first:
        assert shown.count('class="plot"') == 1
        assert re.search(r"<figcaption><h3>.{20,}</h3>", shown)
        assert '<ul class="legend"><li>' in shown
    assert re.search(r"The numbers: [\d,]+ rows?</summary>", shown)
    behind = ALL_KINDS[kind].behind is not NOTHING
    assert ("<h3>Sessions</h3>" in shown) == behind
    assert ("<h3>Messages</h3>" in shown) == (behind and not ALL_KINDS[kind].behind.hand_offs)
    assert re.search(r"Next: [a-z][^<]{8,}(: <code|</p>)", shown)


def test_a_page_with_everything_is_light(found: Overview) -> None:
    """A finding of each kind with its chart and tables over seven weeks, in bytes for each of them."""
    assert len(render_html(found).encode("utf-8")) < 32_000 * len(found.cases)


@each_row("kind", KINDS)
def test_both_axes_say_what_they_count(found: Overview, kind: str) -> None:
    """With a unit, in each plot."""
    layout = finding_chart(case_of(found, kind)).layout
    titles = [layout.xaxis.title.text, layout.yaxis.title.text]
    if kind != "burst":
        titles.append(layout.yaxis2.title.text)
    assert all(titles)


@each_row("kind", KINDS)
def test_a_chart_needs_no_colour(found: Overview, kind: str) -> None:
    """Every series has a look of its own: a line, dashes, a band, or a pattern."""
    keys = drawing(case_of(found, kind)).keys
    assert keys
    looks = {re.sub(r' (?:id|fill|stroke)="[^"]*"', "", key.swatch) for key in keys}
    assert len(looks) == len(keys)


@each_row("kind", KINDS)
def test_the_table_has_every_number_of_the_chart(found: Overview, kind: str) -> None:
    """Each column is explained, and what JSON gives is documented."""
    case = case_of(found, kind)
    block = numbers(case)
    assert set(block.columns) == set(case.numbers.columns)
    assert len(block.rows) == case.numbers.height
    page = (REPOSITORY / "docs" / "reference" / "json.md").read_text("utf-8")
    (row,) = re.findall(rf"^\| [^|]*`{kind}`[^|]* \| a [^|]* \| ([^|]*) \|$", page, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(case.numbers.columns)
    data = next(each for each in found.to_dict()["findings"] if each["finding"] == kind)
    assert [list(each) for each in data["numbers"]] == [case.numbers.columns] * case.numbers.height
    assert len(data["sessions_behind"]) == case.sessions.height


@each_row("kind", sorted(set(KINDS) - {"burst"}))
def test_a_chart_by_day_marks_the_onset(found: Overview, kind: str) -> None:
    """With a line and its date, inside the plot."""
    case = case_of(found, kind)
    figure = finding_chart(case)
    (note,) = figure.layout.annotations
    assert note.text.strip().endswith(case.finding.onset.isoformat())
    (line,) = figure.layout.shapes
    low, high = figure.layout.xaxis.range
    assert low < line.x0 == line.x1 < high


@each_row("kind", sorted(set(KINDS) - {"burst"}))
def test_a_chart_by_day_ends_on_the_last_day(found: Overview, kind: str) -> None:
    """Whether or not the finding shows on it: what is over is seen to be over."""
    later = replace(case_of(found, kind), last=case_of(found, kind).last + timedelta(days=30))
    low, high = finding_chart(later).layout.xaxis.range
    assert low < milliseconds(later.finding.onset, 0) < milliseconds(later.last, 0) < high


def test_an_incident_of_hours_is_drawn_by_the_hour(found: Overview) -> None:
    """Its hours stand out from those before and after, beside what such an hour normally has."""
    (case,) = (case for case in found.cases if case.finding.finding == "outage")
    figure = finding_chart(case)
    bars = {trace.name: trace for trace in figure.data if trace.type == "bar"}
    assert all(text.endswith(":00:00") for text in bars["distinct errors"].x)
    marked, hours = sum(bars["distinct errors"].y), case.hours.filter("inside")
    assert marked == hours["errors"].sum() > 0
    begin, end = (at.replace(minute=0, second=0) for at in (case.finding.first_error_at, case.finding.last_error_at))
    assert (hours["at"].min(), hours["at"].max()) == (begin, end)
    assert any(trace.name.startswith("normal: ") for trace in figure.data)
    assert figure.layout.xaxis.title.text == "hour"
    longer = replace(case.finding, first_error_at=case.finding.first_error_at - timedelta(days=3))
    assert volume_hours(longer, None).is_empty(), "an incident of days is drawn by day"


def test_days_without_data_are_gaps(found: Overview) -> None:
    """The line of shares ends before them and begins again behind them."""
    case = case_of(found, "spike")
    left = case.numbers.filter(~pl.col("day").is_between(date(2026, 10, 1), date(2026, 10, 9)))
    (line,) = [each for each in finding_chart(replace(case, numbers=left)).data if each.name == "unknown share"]
    assert dict(zip(line.x, line.y, strict=True))["2026-10-01"] is None
    assert sum(share is None for share in line.y) == 1


def test_hand_offs_stand_beside_what_was_expected_of_each_day(found: Overview) -> None:
    """Bars add up to the hand-offs; the line and the band are those of the numbers."""
    case = case_of(found, "relays")
    traces = {trace.name: trace for trace in finding_chart(case).data if trace.name}
    assert list(traces["hand-offs, unusual days"].y) == [18]
    drawn = sum(sum(traces[name].y) for name in ("hand-offs, unusual days", "hand-offs, other days"))
    assert drawn == case.numbers["hand_offs"].sum()
    assert list(traces["expected"].y) == case.numbers["expected"].drop_nulls().to_list()
    assert list(traces["normal range"].y) == case.numbers["high"].drop_nulls().to_list()


def test_days_without_a_history_are_told(found: Overview) -> None:
    """There is nothing to expect from, and the chart says so."""
    case = case_of(found, "relays")
    assert "no history" not in drawing(case).note
    blank = pl.when(pl.int_range(pl.len()) >= 5).then
    blanked = case.numbers.with_columns(blank(pl.col(name)).alias(name) for name in ("expected", "high"))
    assert "no history" in draw(finding(replace(case, numbers=blanked)), "chart").note


@pytest.mark.parametrize(
    ("kind", "line"),
    [("recovery_fell", "normal share: 84.1%"), ("retry_in_vain", "share over all 49 days: 0.0%")],
)
def test_retries_stand_beside_what_is_known_of_them(found: Overview, kind: str, line: str) -> None:
    """Where they fell what was expected, else what all days say; both with the interval of the sentence."""
    case = case_of(found, kind)
    names = [key.name for key in drawing(case).keys]
    low, high = case.finding.latest.low, case.finding.latest.high
    assert names[:3] == [line, f"normal range: {low:.1%} to {high:.1%}", "recovered share of 7 days"]


def test_errors_that_are_not_retried_are_drawn_where_there_are_some(found: Overview) -> None:
    """As a third part of the bars."""
    names = {kind: [key.name for key in drawing(case_of(found, kind)).keys] for kind in KINDS}
    assert "errors without a retry" in names["retry_would_pay"]
    assert "errors without a retry" not in names["recovery_fell"]


def test_a_new_message_is_held_against_what_was_expected(found: Overview) -> None:
    """In sessions: there is no band of shares."""
    latest = case_of(found, "template").finding.latest
    note = drawing(case_of(found, "template")).note
    assert f"{latest.observed:.0f} sessions up to {latest.day}. Normal: {latest.expected:.2g}, rarely more" in note


@pytest.mark.parametrize(("seconds", "said"), [(1, "every second"), (300, "every 5 minutes"), (3600, "every hour")])
def test_a_burst_says_how_long_a_bar_is(found: Overview, seconds: int, said: str) -> None:
    """Below its title, with when the repeats began and what is usual; to the second in its table."""
    case = case_of(found, "burst")
    widened = case.numbers.with_columns(pl.lit(seconds, pl.Int64).alias("seconds"))
    made = draw(finding(replace(case, numbers=widened)), "chart")
    assert f"{said}. 63 repeats from 2026-10-26 08:05:00 to " in made.note
    assert "show a message 1 time (median)" in made.note
    assert numbers(case).rows[0][0] == "2026-10-26 08:05:00"


def test_a_report_on_hand_offs_alone_draws_its_charts(found: Overview) -> None:
    """Whatever section the first chart stands in: its picture, and where it is wanted the library."""
    empty = {name: replace(table, frame=table.frame.clear()) for name, table in found.tables.items()}
    drifts: Any = replace(found.drifts, days=found.drifts.days.clear())
    alone = replace(found, cases=(case_of(found, "relays"),), tables=empty, drifts=drifts)
    assert render_html(alone).count('<svg id="chart-') == 1
    page = render_html(alone, interactive=True)
    assert page.count('<div id="chart-') == 1
    assert "plotly.js v" in page


def test_markdown_has_what_is_behind_each_finding(found: Overview) -> None:
    """Its messages and its sessions; charts need a page."""
    text = render_markdown(found).partition("## Unknown errors\n")[0]
    behind = [kind for kind in KINDS if ALL_KINDS[kind].behind is not NOTHING]
    assert text.count("**Sessions**") == len(behind)
    assert text.count("**Messages**") == len(behind) - 2
    assert r"burst-49-5" in text


@pytest.mark.parametrize("days", [2, 5, 8, 43])
def test_dates_stand_upright_below_a_chart(found: Overview, days: int) -> None:
    """Of few days each or every second one has its date, at midnight; of many a handful."""
    case = case_of(found, "spike")
    axis = finding_chart(replace(case, numbers=case.numbers.tail(days))).layout.xaxis
    assert axis.tickangle == 0
    assert {2: 86_400_000, 5: 172_800_000, 8: 172_800_000, 43: None}[days] == axis.dtick
    assert axis.nticks == (6 if days == 43 else None)
