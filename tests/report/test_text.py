"""The summary for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from analyzer.analysis import Case, Overview, overview
from analyzer.analysis.kinds.finding_fields import Cost
from analyzer.report import render_html, render_text
from analyzer.report.document import TableBlock
from analyzer.report.night.document import findings_document
from analyzer.report.overview_words import cost_words, news_of, relays_words, retries_words
from analyzer.report.writers.monospace import fit, fit_middle, fold, width_of
from analyzer.report.writers.text import text_lines, to_text
from analyzer.store import Selection, Store

Report = Callable[..., Overview]
ENDLESS = "漢字 " * 900 + "x" * 3000


def renamed(case: Case, caller: str) -> Case:
    """The same finding of another caller."""
    one = case.finding
    words = one.explanation.replace(one.scope.caller or "", caller)
    return replace(case, finding=replace(one, latest=replace(one.latest, caller=caller), explanation=words))


def test_verdict_comes_first(report: Report) -> None:
    """The first line says in a word and a sentence what to take away."""
    assert render_text(report()).startswith("CRITICAL  Unknown errors spiked: figma-probe, 08:15 on 21 Nov")


def test_names_only_callers_with_a_finding(report: Report) -> None:
    """Other callers appear nowhere, not even where an error message, a relay or an exhaustion speaks of them."""
    text = " ".join(render_text(report(message="bridge of lint-hook and mcp-search broke")).split())
    assert "figma-probe" in text
    assert "lint-hook" not in text
    assert "mcp-search" not in text
    assert "bridge of [caller] and [caller] broke" in text


def test_quiet_report_names_no_caller(report: Report) -> None:
    """Without a finding one sentence says so, and no caller is named."""
    quiet = replace(report(others=()), cases=())
    text, totals = render_text(quiet), quiet.totals
    assert text.startswith(f"QUIET  Nothing unusual in {totals.sessions} sessions and {totals.errors} errors.\n")
    assert "figma-probe" not in text


def test_a_finding_says_what_its_last_day_cost(report: Report) -> None:
    """In the words of the page."""
    found = report()
    (case, *_) = found.cases
    cost = Cost(5, 4, 9, 75.0)
    told = replace(case, finding=replace(case.finding, cost=cost))
    said = " ".join(render_text(replace(found, cases=(told,))).split())
    assert f"4 of 9 sessions failed on {case.finding.last_on}, 1 min 15 s of waiting." in said
    assert cost_words(told.finding) in said
    counted = replace(told, finding=replace(told.finding, explanation="a: 4 of 9 sessions of the day failed."))
    assert "failed on" not in render_text(replace(found, cases=(counted,))), "once is enough"


def test_what_is_worse_is_graver_than_on_the_night_before(report: Report) -> None:
    """Whatever its chart shows; a finding that has paused is not worse."""
    found = report()
    (case, *_) = found.cases
    one = replace(case.finding, state="ongoing", opened_on=case.finding.last_on - timedelta(days=1))
    assert found.latest is not None
    for worse, pause, kind in ((True, 0, "Worse"), (False, 0, "Goes on"), (True, 1, "Goes on")):
        latest = replace(found.latest, day=one.last_on + timedelta(days=pause))
        own = replace(case, finding=replace(one, worse=worse))
        assert news_of(own, latest) == kind
        said = "It got worse." if worse else "It goes on."
        assert said in " ".join(render_text(replace(found, cases=(own,), latest=latest)).split())[:100]


def test_all_callers_with_a_finding_are_named(report: Report) -> None:
    """Beyond the sentences that fit, the callers are still listed by name."""
    found = report()
    case = found.cases[0]
    many = tuple(renamed(case, f"caller-{number:02d}") for number in range(25))
    text = render_text(replace(found, cases=many))
    assert all(f"caller-{number:02d}" in text for number in range(25))


def unpasted(text: str) -> list[str]:
    """The lines but for commands, which stay in one piece; none is endless."""
    lines = text.splitlines()
    assert max(map(len, lines)) < 400
    return [line for line in lines if not re.match(r"  (?:→|  )? ?analyzer ", line)]


@pytest.mark.parametrize("width", [20, 72, 80, 100, 300])
@pytest.mark.parametrize("wild", ["plain", ENDLESS, "\x1b[2J\u202e\n" * 300, "🙂" * 500])
def test_lines_fit(report: Report, width: int, wild: str) -> None:
    """No line is wider than asked, whatever the log says; the least is 72 cells and the most 100."""
    found = report(spiking=wild, message=wild, step=wild, others=(ENDLESS,))
    text = render_text(found, width)
    assert max(map(width_of, unpasted(text))) <= max(72, min(width, 100))


def test_what_to_do_without_a_command_is_folded(report: Report) -> None:
    """An advice is prose: it breaks where a command may not."""
    found = report()
    (case,) = found.cases
    latest = replace(case.finding.latest, finding="shipped_twice")
    told = replace(case, finding=replace(case.finding, latest=latest, advice="ship each log once, and no more " * 4))
    lines = render_text(replace(found, cases=(told,)), 72).splitlines()
    place = next(at for at, line in enumerate(lines) if line.startswith("  → Ship each log once"))
    assert all(width_of(line) <= 72 for line in lines[place : place + 2])
    assert lines[place + 1].strip() in "ship each log once, and no more " * 4


def test_large_counts_fit(report: Report) -> None:
    """Counts of millions and long reasons that nobody knows fit into 80 cells."""
    found = report()
    table = found.tables["errors-by-reason"]
    frame = table.frame.with_columns(
        pl.lit(987_654_321_987).alias("errors"), (pl.col("reason") + "_and_much_more" * 9).alias("reason")
    )
    tables = {**found.tables, "errors-by-reason": replace(table, frame=frame)}
    text = render_text(replace(found, cases=(), tables=tables))
    assert max(map(width_of, unpasted(text))) <= 80
    assert "987.7G" in text


def test_errors_that_do_not_count_are_said(memory: Store, jsonl: Any, native: Any) -> None:
    """The unknown share says how many errors it leaves out."""
    payloads = [{"reason": "unknown", "detail": detail} for detail in ("no_detail", "aborted")]
    payloads += [{"reason": "validation", "facts": {"status": 400, "message": "no such field"}}] * 4
    lines = [native(f"e-{place}", session="s", caller="c", **each) for place, each in enumerate(payloads)]
    memory.ingest([str(jsonl("log.jsonl", *(line.decode().strip() for line in lines)))])
    told = overview(memory)
    share = "0.0% unknown (0 of 4 that count; 2 aborted or without detail)"
    assert share in " ".join(render_text(told).split())
    assert told.tables["errors-by-reason"].frame.filter(reason="unknown")["uncounted_errors"].item() == 2


def test_a_finding_is_dated_by_its_evidence(report: Report) -> None:
    """A finding that was told days after it began is dated by the day on which its chart shows it."""
    found = report()
    (case,) = found.cases
    one = case.finding
    began = one.opened_on - timedelta(days=3)
    late = replace(one, state="ongoing", latest=replace(one.latest, onset=began))
    for shown in (late, replace(late, state="new")):
        told = replace(found, cases=(replace(case, finding=shown),))
        assert f"since {began}" in render_text(told)
        page = re.sub("</?(?:time|bdi)>", "", render_html(told))
        assert f"{'new' if shown.state == 'new' else 'goes on'} since {began}" in page
        assert f"since {one.opened_on}" not in page + render_text(told)
    assert str(began) in to_text(findings_document([late]))


def test_is_one_screen(report: Report) -> None:
    """A report of a usual size fits a terminal of 24 lines."""
    assert len(render_text(report()).splitlines()) <= 24


def test_a_quiet_report_says_what_failed_most(report: Report) -> None:
    """And what to do about it, and whose errors they were; a finding replaces what failed most."""
    found = report()
    quiet = render_text(replace(found, cases=()))
    assert re.search(r"Most failures: one \w+ message,\s+\d+\s+times?\s+in \d+ of \d+\s+sessions", quiet)
    most, whose = (one for one in found.leading if one.topic != "change")
    assert " ".join(most.advice.split()) in " ".join(quiet.split())
    assert whose.text in " ".join(quiet.split())
    beside = " ".join(render_text(found).split())
    assert whose.text in beside
    assert "failed most" not in beside


def test_findings_come_in_the_order_of_interest(report: Report) -> None:
    """What the last day brought stands before what is over, and that before what goes on; each with its day."""
    found = report()
    case = found.cases[0]

    def told(caller: str, **changes: object) -> Case:
        case_of = renamed(case, caller)
        finding = replace(case_of.finding, **{"opened_on": opened, **changes})
        return replace(case_of, finding=finding, numbers=pl.DataFrame())

    day = case.finding.last_on
    opened = day - timedelta(days=1)
    many = (
        told("a", state="ongoing", worse=False),
        told("b", state="resolved", worse=False, resolved_on=day, resolution="quiet"),
        told("c", state="ongoing", worse=True),
        told("d", state="new", worse=False, opened_on=day),
    )
    text = render_text(replace(found, cases=many))
    places = [text.index(f"spiked: {name}, ") for name in "dcb"]
    assert places == sorted(places)
    assert text.index("Open, last seen 21 November: a: unknown") > places[-1]
    assert "It got worse." in text and "It is over." in text


def test_log_text_cannot_steer_the_terminal(report: Report) -> None:
    """Escape sequences and newlines from a log come out as visible codes."""
    text = render_text(report(spiking="evil\x1b[31m\nQUIET", message="\x1b]0;title\x07", step="st\u202eep"))
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert r"evil\x1b[31m\x0aQUIET" in text


def test_colour_is_on_the_verdict_alone(report: Report) -> None:
    """With colour the same words stand there, and only the verdict's word is dressed."""
    found = report()
    coloured = render_text(found, colour=True)
    assert coloured.count("\x1b[") == 2
    assert coloured.startswith("\x1b[1;31mCRITICAL\x1b[0m")
    assert coloured.replace("\x1b[1;31m", "").replace("\x1b[0m", "") == render_text(found)


def test_a_quiet_report_has_the_reasons(report: Report) -> None:
    """Each reason stands in one line with its errors, their share and its sessions; findings replace the table."""
    lines = render_text(replace(report(), cases=())).splitlines()
    line = next(line for line in lines if line.startswith("rate_limited"))
    assert line.split() == ["rate_limited", "120", "90.2%", "60"]
    assert "Errors by reason" not in render_text(report())


def test_incompleteness_is_said(report: Report) -> None:
    """Lines in quarantine and unfinished last lines are counted, with the query that shows them."""
    text = " ".join(render_text(report()).split())
    assert "; 2 could not be read; 1 file with an unfinished last line. → analyzer query quarantine-lines" in text


def test_errors_are_told_with_their_own_sessions(report: Report) -> None:
    """Sessions without an error are not counted as if they had one; what takes no part in the share is counted too."""
    found = report()
    totals = replace(
        found.totals, callers=2, errors=7, sessions=9, error_sessions=5, counted_errors=6, unknown_errors=1
    )
    text = " ".join(render_text(replace(found, totals=replace(totals, unknown_share=1 / 6))).split())
    assert (
        "7 errors of 2 callers in 5 of 9 sessions; 16.7% unknown (1 of 6 that count; 1 aborted or without detail)"
        in text
    )
    every = render_text(replace(found, totals=replace(totals, sessions=5)))
    assert "7 errors of 2 callers in 5 sessions;" in " ".join(every.split())
    nameless = render_text(replace(found, totals=replace(totals, error_sessions=0)))
    assert "7 errors of 2 callers in no named session;" in " ".join(nameless.split())


def test_hand_offs_are_told_by_their_steps(report: Report) -> None:
    """A hand-off without a step makes no step, compactions are no hand-offs, and the session with the most is told."""
    found = report()
    table = found.tables["relays-by-step"]
    blank = {name: [None] * 5 for name in table.frame.columns}
    rows = {"step_id": ["(no step)", "a", "b", "c", "d"], "relays": [9, 4, 3, 2, 1], "halted": [0, 2, 0, 0, 0]}
    rows["compactions"] = [8, 0, 0, 0, 0]
    frame = pl.DataFrame({**blank, **rows, "caller": ["x"] * 5, "most_in_one_session": [1, 4, 1, 1, 1]})
    told = replace(
        found,
        totals=replace(found.totals, relays=19),
        tables={**found.tables, "relays-by-step": replace(table, frame=frame)},
    )
    assert relays_words(told) == "11 hand-offs in 4 steps and 8 context compactions, at most 4 in a session; 2 failed."


def test_retries_of_which_none_ended_have_no_share(report: Report) -> None:
    """A chain that the logs show no end of neither recovered nor failed."""
    found = report()
    table = found.tables["retries-outcomes"]
    ends = ("recovered", "exhausted", "surfaced", "escalated")
    open_chains = table.frame.head(1).with_columns(pl.lit(0).alias(name) for name in ends)
    told = replace(found, tables={**found.tables, "retries-outcomes": replace(table, frame=open_chains)})
    assert retries_words(told).startswith("No retried call ended; ")


def test_formats_that_are_not_read_are_named(report: Report) -> None:
    """A format without a reader is named with the number of its files."""
    found = report()
    known = replace(found.completeness, unsupported={"codex": 3})
    assert "Not read yet: codex (3 files)" in render_text(replace(found, completeness=known))


def test_nothing_is_a_report_too(nothing: Overview) -> None:
    """An empty store gives a short summary that says so."""
    text = render_text(nothing)
    assert text.startswith("EMPTY  There is nothing in these logs.")
    assert len(text.splitlines()) < 10
    part = replace(nothing, only=Selection(project="shop"))
    assert render_text(part).startswith("EMPTY  There is nothing about project shop in these logs.")
    unread = replace(nothing, completeness=replace(nothing.completeness, unsupported={"codex": 3}))
    assert render_text(unread).startswith("EMPTY  None of these files is a log that is read.")


def test_columns_align_by_cells() -> None:
    """Wide and combining characters do not push the next column."""
    table = TableBlock(("", ""), (("漢字", "1"), ("e\u0301", "22"), ("plain", "333")))
    lines = text_lines(table, 80)[1:]
    assert {width_of(line) for line in lines} == {10}


def test_cutting_and_folding_keep_their_width() -> None:
    """A cut says so with an ellipsis; a fold loses nothing."""
    assert fit("abcdef", 4) == "abc…"
    assert fit("漢字漢字", 5) == "漢字…"
    assert fit_middle("abcdefghijklmnop", 9) == "abc … nop"
    assert fold("one two " + "x" * 10, 5) == ["one", "two", "xxxxx", "xxxxx"]
