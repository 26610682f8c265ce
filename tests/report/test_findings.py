"""What a report shows of each finding: first in the page, with a chart, its numbers, its messages and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from analyzer.analysis import Case, Overview, charts
from analyzer.analysis.charts import finding_chart, rules_chart
from analyzer.analysis.kinds.families.causes import Drift
from analyzer.command_lines import HERE
from analyzer.report import render_html, render_markdown, render_text
from analyzer.report.sections import MAX_CALLERS, heat_map

Report = Callable[..., Overview]


def ended(case: Case) -> Case:
    """The same finding, over three days later."""
    one = case.finding
    over = one.last_on + timedelta(days=3)
    return replace(case, finding=replace(one, state="resolved", resolved_on=over, resolution="quiet", advice=""))


def section(page: str, name: str) -> str:
    """One section of the page without its scripts."""
    (inside,) = re.findall(rf'<section id="{name}">(.*?)</section>', page, re.DOTALL)
    return re.sub(r"<script>.*?</script>|</?bdi[^>]*>", "", inside, flags=re.DOTALL)


def test_findings_come_before_all_tables(report: Report) -> None:
    """After the verdict and the window with its key figures, the first section is that of the findings."""
    page = render_html(report())
    assert re.findall(r'<section id="([a-z-]+)"', page)[0] == "findings"
    assert page.index("<h1") < page.index("Unknown errors spiked: ") < page.index('<section id="findings"')


def test_a_finding_says_all_that_is_known_of_it(report: Report) -> None:
    """Severity as a word, since when, the sentence, what to do, the chart's numbers, the messages, its id."""
    found = report()
    (case,) = found.cases
    shown = section(render_html(found), "findings")
    assert "CRITICAL · new since 2026-11-21" in re.sub("</?(?:time|bdi)>", "", shown)
    assert "12 of 12 distinct errors matched no rule" in re.sub("</?(?:time|bdi)>", "", shown)
    days = "--caller figma-probe --since 2026-11-21 --until 2026-11-22"
    assert f'the command drafts one: <code class="command">analyzer unknowns --suggest {days}</code>' in shown
    assert "The numbers: 21 rows" in shown
    assert "<h3>Messages</h3>" in shown
    assert "E_PIPE while draining" in shown
    assert f"id {case.finding.id}" in shown


def test_what_is_over_comes_with_a_smaller_chart_and_no_advice(report: Report) -> None:
    """It says when and why it ended, in a word and not by colour alone."""
    found = report()
    shown = section(render_html(replace(found, cases=(ended(found.cases[0]),))), "findings")
    assert re.search(r"RESOLVED · \d\d:\d\d.*, over, resolved on <time>2026-11-24</time>: no longer seen", shown)
    assert "Next:" not in shown
    over = replace(found, cases=(ended(found.cases[0]),))
    page = render_html(over, interactive=True)
    (height,) = re.findall(r'style="min-height:(\d+)px"><div id="chart-finding-1"', page)
    assert int(height) < charts.finding(found.cases[0]).height - 60
    assert "Nothing is open; what was found is resolved.</strong></h1>" in page
    text = " ".join(render_text(over).split())
    assert "RESOLVED Unknown errors spiked: figma-probe, 08:15 on 21 November. It is over." in text


def test_several_findings_are_linked_from_the_verdict(report: Report) -> None:
    """Three are explained there, and the others counted; those beyond what a page can carry are named."""
    found = report()
    page = render_html(replace(found, cases=found.cases * 33))
    assert page.count('<a href="#finding-') == 3
    assert "27 more findings: figma-probe." in re.sub("</?bdi>", "", page)
    assert page.count('<article id="finding-') == 30
    assert "And 3 more" in page


def test_a_finding_about_something_else_has_no_chart_of_unknown_errors(report: Report) -> None:
    """Without days there is neither chart nor table, and the sentence stands."""
    found = report()
    case = found.cases[0]
    plain = replace(case, numbers=case.numbers.clear(), templates=case.templates.clear())
    shown = section(render_html(replace(found, cases=(plain,))), "findings")
    assert "chart-finding" not in shown
    assert "distinct errors" in shown


def test_drifts_of_a_finding_are_told_with_their_evidence(report: Report) -> None:
    """Which of the three it is, in HTML and Markdown, hostile messages escaped."""
    found = report()
    change = Drift(
        "wording", "rate_limited", "a new text under rate_limited, in 4 sessions", "<b>soon|now</b>", 4, 1e-5
    )
    told = replace(found, cases=(replace(found.cases[0], changes=(change,)),))
    shown = section(render_html(told), "findings")
    assert "What else changed at its onset" in shown
    assert "&lt;b&gt;soon|now&lt;/b&gt;" in shown
    assert r"| wording | rate\_limited | a new text under rate\_limited, in 4 sessions | &lt;b&gt;soon\|now" in (
        render_markdown(told)
    )


def test_markdown_has_the_findings_first(report: Report) -> None:
    """With severity, sentence, messages and what to do."""
    text = render_markdown(report())
    assert re.findall("^##+ .*$", text, re.MULTILINE)[:2] == [
        "## Findings",
        "### CRITICAL: Unknown errors spiked: figma-probe, 08:15 on 21 November",
    ]
    assert "the command drafts one: `analyzer unknowns --suggest --caller figma-probe --since 2026-11-21" in text
    assert text.index("E\\_PIPE while draining") < text.index("## Unknown errors")


def test_the_chart_of_a_finding_shows_what_was_expected(report: Report) -> None:
    """The share by day, the band and the line of what was expected, the onset, and the sessions as bars."""
    (case,) = report().cases
    figure = finding_chart(case)
    names = [trace.name for trace in figure.data if trace.name]
    latest = case.finding.latest
    assert names[:3] == [
        f"normal share: {latest.expected:.1%}",
        f"normal range, up to {latest.high:.1%}",
        "unknown share",
    ]
    bars = [trace for trace in figure.data if trace.type == "bar"]
    total = [sum(values) for values in zip(*(bar.y for bar in bars), strict=True)]
    assert total == case.numbers["sessions"].to_list()
    assert [note.text.strip() for note in figure.layout.annotations] == ["onset 2026-11-21"]
    assert len(figure.layout.shapes) == 1
    assert figure.layout.yaxis.range[0] == 0
    # Told apart without colour.
    assert len({bar.marker.pattern.shape for bar in bars}) == 2


@pytest.mark.parametrize("wild", ["<b>x</b>", "漢字" * 400])
def test_no_figure_is_large(report: Report, wild: str) -> None:
    """Each chart's script stays below 100 kB."""
    page = render_html(report(spiking=wild, message=wild), interactive=True)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 10
    assert sum(len(script.encode()) > 100_000 for script in scripts) == 1  # plotly.js


def test_the_heat_map_reads_without_colour(report: Report) -> None:
    """Every count stands in its cell, callers with the most errors first, and the rows add up."""
    (block,) = heat_map(report(), HERE)
    cells = {row[0]: [int(each) for each in row[1:] if each.isdigit()] for row in block.rows}
    assert next(iter(cells)) == "figma-probe"
    assert cells["lint-hook"] == [40, 40]
    assert all(sum(counts[:-1]) == counts[-1] for counts in cells.values())


def test_the_heat_map_says_what_it_leaves_out(report: Report) -> None:
    """Rows are capped with a note."""
    found = report(others=[f"c-{number}" for number in range(60)])
    shown = render_html(found)
    assert len(next(heat_map(found, HERE)).rows) == MAX_CALLERS
    assert "30 of 62 callers." in shown
    assert "<code>analyzer query errors-by-reason-caller-outcome</code>" in shown


def test_an_empty_heat_map_is_left_out(nothing: Overview) -> None:
    """Without an error there is nothing to show."""
    assert "Errors by caller and reason" not in render_html(nothing)


def test_the_rules_chart_marks_applied_rulesets(report: Report) -> None:
    """Two lines, and a mark on the day on which a ruleset became the active one."""
    found = report().drifts
    day = found.days["day"][3]
    row = {"applied_on": day, "applied_at": None, "ruleset": "abc", "previous": None}
    frame = found.applied.frame.vstack(type(found.days)([row], schema=found.applied.frame.schema))
    figure = rules_chart(replace(found, applied=replace(found.applied, frame=frame)))
    assert [trace.name for trace in figure.data] == ["as recorded", "under the rules in force"]
    assert [note.text.strip() for note in figure.layout.annotations] == ["rules applied"]
    assert len(figure.layout.shapes) == 1
    assert rules_chart(found).layout.shapes == ()


def test_the_foot_says_how_far_to_trust_it(report: Report) -> None:
    """The warnings a week stand with completeness; where too few weeks were checked, that does."""
    found = report()
    assert "fewer than four weeks were checked" in section(render_html(found), "completeness")
    measured = replace(found, warnings_a_week=0.42)
    assert "0.4 warnings a week opened" in section(render_html(measured), "completeness")


def test_a_history_without_a_before_has_no_drift_to_tell(report: Report) -> None:
    """Nothing to compare with is not the same as no drift."""
    found = report()
    assert "show no drift of traffic, classifier or wording" not in section(render_html(found), "rules")
    alone = replace(found, drifts=replace(found.drifts, split=None, found=()))
    assert "Drift cannot be judged: there is no day before the last 7." in section(render_html(alone), "rules")
    quiet = replace(found, drifts=replace(found.drifts, found=()))
    assert "show no drift of traffic, classifier or wording" in section(render_html(quiet), "rules")
