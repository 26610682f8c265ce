"""The report of a window: one document for a page and Markdown, its first screen for a terminal, and JSON.

The first screen says what is wrong, since when and how bad that is against what is normal, what it cost and
what to do; then which figures moved most. In a terminal it has about 24 lines of 80 columns, and names only
callers with a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from analyzer.analysis import Case, Overview, charts
from analyzer.analysis.summary.window_findings import MAX_CASES
from analyzer.classifier.fingerprint import fingerprint
from analyzer.command_lines import HERE, Asking, command_line
from analyzer.frozen import frozen
from analyzer.readable import counted, percent, terminal_safe
from analyzer.report.document import (
    Block,
    ChartBlock,
    Command,
    Document,
    Fold,
    Items,
    Paragraph,
    Section,
    TableBlock,
    advised,
    quote,
)
from analyzer.report.escape import json_text
from analyzer.report.objectives import objective_sentences
from analyzer.report.overview_words import (
    BESIDE,
    NEWS,
    completeness,
    cost_beside,
    endings_words,
    entry_of,
    exhaustions_words,
    figures,
    handled,
    head_of,
    judging,
    leading_words,
    limits_words,
    news_of,
    open_words,
    quiet_words,
    retries_words,
    sessions_words,
    title_of,
    verdict_word,
    what_happened,
    window_words,
)
from analyzer.report.rows import brief, count, minute, plain
from analyzer.report.sections import evidence, sections
from analyzer.report.writers.html import to_html
from analyzer.report.writers.markdown import to_markdown
from analyzer.report.writers.monospace import fit_middle
from analyzer.report.writers.text import to_text

NARROWEST, WIDEST = 72, 100
_MOST_REASONS = 5
_IN_FULL, _IN_A_LINE = 3, 3
"""The number of findings that the first screen explains, and of those that it names in a line each."""
_MAX_NAMES = 40
_WITHOUT_FINDINGS = frozenset({"most", "cost", "whose", "version"})
"""The topics of opening sentences of a report without findings."""
_SENTENCE_CELLS = 440
_OPEN_CELLS = 78
"""The most cells of the line about a finding without new evidence."""
_NAME_CELLS = 60


@frozen
class Made:
    """The circumstances of a page."""

    host: str = ""
    """The machine; empty if nobody named it."""
    store: str = ""
    """The store's file; empty for a throw-away store, which answers nothing later."""
    asking: Asking = HERE
    """How the store is asked from where the page is read."""


ANYWHERE = Made()
"""The circumstances if nobody named any."""


def render_text(overview: Overview, width: int = 80, *, colour: bool = False, asking: Asking = HERE) -> str:
    """Write the summary in lines of at most `width` cells (72 to 100), with a newline at its end.

    A command is a line of its own, however long, so that it works when it is pasted; `asking` says
    which store it asks.
    """
    size = max(NARROWEST, min(width, WIDEST))
    return to_text(summary_document(overview, asking), size, colour=colour)


def render_markdown(overview: Overview, asking: Asking = HERE) -> str:
    """Write the report as Markdown, for pull requests, job summaries and chats.

    Tables are as short as on the page. `asking` says how the store is asked from where the text is
    read.
    """
    return to_markdown(report_document(overview, Made(asking=asking)))


def render_html(overview: Overview, made: Made = ANYWHERE, *, interactive: bool = False) -> str:
    """Write the whole page; `made` says on which machine, and which store its commands ask.

    If it is `interactive`, plotly.js is inside and draws the charts again.
    """
    host = f" on {made.host}" if made.host else ""
    foot = f"Made {minute(overview.generated_at)} UTC{host}. Times are UTC. All figures: "
    return to_html(
        report_document(overview, made),
        page_title(overview, made),
        bar=window_words(overview),
        foot=Command(command_line("query", "--list"), foot),
        interactive=interactive,
    )


def render_json(overview: Overview) -> str:
    """Write the report as one JSON object without NaN, schema `analyzer.report/1`.

    The text ends with a newline.
    """
    return json_text(plain(overview.to_dict()), indent=2) + "\n"


def page_title(overview: Overview, made: Made) -> str:
    """Return the title of tab and bookmark: whose errors, of which window, made when."""
    origin = " on ".join(name for name in (Path(made.store).stem, made.host) if name)
    of = f" of {origin}" if origin else ""
    return f"Agent errors{of}: {window_words(overview)}; made {minute(overview.generated_at)} UTC"


def summary_document(overview: Overview, asking: Asking = HERE) -> Document:
    """Return the first screen, and below it the rest in a sentence each."""
    rest = [*_leading(overview), *_facts(overview), *_unread(overview, asking)]
    return [first_screen(overview, asking, [*_reasons(overview), Items(rest)])]


def report_document(overview: Overview, made: Made = ANYWHERE) -> Document:
    """Return the whole report: its first screen, its findings, then every table with its query."""
    first = first_screen(overview, made.asking, [Items([*_leading(overview)])])
    if overview.is_bare:
        return [first]
    return [first, *_findings(overview, made), *sections(overview, made.asking)]


def first_screen(overview: Overview, asking: Asking, rest: Iterable[Block]) -> Section:
    """Return what is wrong and what to do, one chart that shows it, and the figures that moved most.

    The `rest` follows, unless there is nothing to report.
    """
    level = overview.verdict.level
    cases = sorted(overview.cases, key=lambda case: NEWS.index(news_of(case, overview.latest)))
    blocks: list[Block] = [Paragraph(overview.widened)] if overview.asked else []
    if not cases or not cases[0].is_open:
        texts = [_short(overview.too_little)] if level == "unjudged" else []
        blocks.append(Items(texts, _short(quiet_words(overview)), verdict_word(level), level))
    hidden = _hidden_callers(overview, [case.finding.explanation for case in cases])
    blocks += [_finding(case, hidden, asking) for case in cases[:_IN_FULL]]
    blocks += [Items(lines)] if (lines := _further(cases[_IN_FULL:])) else []
    charted = next((case for case in cases if case.is_open and not case.numbers.is_empty()), None)
    if charted is not None:
        blocks.append(ChartBlock(partial(charts.finding, charted), "chart-finding-0"))
    if overview.totals.events:
        blocks.append(Paragraph(_window(overview)))
        if overview.latest and (moved := figures(overview.latest)).figures:
            blocks.append(moved)
        if overview.objectives:
            blocks.append(Items(objective_sentences(overview.objectives)))
        blocks += rest
    return Section("latest", "Now", blocks, level)


def _finding(case: Case, hidden: re.Pattern[str] | None, asking: Asking) -> Items:
    """Say what is wrong and since when, how bad that is, what it cost and what to do."""
    finding = case.finding
    sentence, cost = _short(_masked(what_happened(finding), hidden)), cost_beside(finding)
    texts: list[str | Command] = [" ".join(filter(None, (sentence, f"{cost}." if cost else "")))]
    if finding.handling:
        texts.append(_short(_masked(f"Decided: {handled(finding.handling)}", hidden)))
    if step := advised(finding.advice, asking.command(*finding.words)):
        texts.append(step)
    level = finding.severity if case.is_open else "resolved"
    return Items(texts, _short(head_of(finding)), verdict_word(level), level, f"finding-{finding.id}")


def _further(cases: list[Case]) -> list[str]:
    """Name the findings that the first screen does not explain."""
    lines = [fit_middle(open_words(case.finding), _OPEN_CELLS) for case in cases[:_IN_A_LINE]]
    if rest := list(dict.fromkeys(case.finding.scope.who for case in cases[_IN_A_LINE:])):
        names = ", ".join(fit_middle(caller, _NAME_CELLS) for caller in rest[:_MAX_NAMES])
        beyond = f" and {count(len(rest) - _MAX_NAMES)} more" if len(rest) > _MAX_NAMES else ""
        lines.append(f"{counted(len(cases) - _IN_A_LINE, 'more finding')}: {names}{beyond}.")
    return lines


def _short(sentence: str) -> str:
    return fit_middle(sentence, _SENTENCE_CELLS)


def _window(overview: Overview) -> str:
    """Name the window and count its errors."""
    totals = overview.totals
    sentence = counted(totals.errors, "error")
    if totals.errors:
        sentence += f" of {counted(totals.callers, 'caller')} in {sessions_words(overview)}"
    aside = totals.errors - totals.counted_errors
    if totals.counted_errors and not totals.unknown_errors and not aside:
        sentence += "; none unknown"
    elif totals.counted_errors:
        of = f"{count(totals.unknown_errors)} of {count(totals.counted_errors)}"
        of += f" that count; {count(aside)} aborted or without detail" if aside else ""
        sentence += f"; {percent(totals.unknown_share)} unknown ({of})"
    return f"{window_words(overview)}: {sentence}."


def _leading(overview: Overview) -> Iterator[str]:
    """Yield the sentences about the window; those that fit a report with findings, or without."""
    hidden = _hidden_callers(overview, [sentence.quote for sentence in overview.leading])
    for sentence in overview.leading:
        if sentence.topic in (BESIDE if overview.cases else _WITHOUT_FINDINGS):
            yield _short(" ".join(filter(None, (_masked(leading_words(sentence), hidden), sentence.advice))))
    if overview.totals.tool_failures and not overview.cases:
        yield _short(overview.verdict.details[-1])


def _findings(overview: Overview, made: Made) -> Iterator[Section]:
    """Yield the section of the findings, each with its evidence; those beyond what a page can carry are named."""
    cases = overview.cases
    if not cases:
        return
    first = next((case for case in cases if case.is_open and not case.numbers.is_empty()), None)
    blocks: list[Block] = []
    for index, case in enumerate(cases[:MAX_CASES], 1):
        finding, command = case.finding, made.asking.command(*case.finding.words)
        own = evidence(case, index, with_chart=case is not first)
        figures = [(name, getattr(finding.latest, f"{name}_value")) for name in ("p", "q")]
        values = [f"{name} = {value:.2g}" for name, value in figures if value is not None]
        own.append(Fold("Ids and probabilities", [Paragraph(" · ".join((*values, f"id {finding.id}")))]))
        block = replace(
            entry_of(finding),
            command=command,
            command_in_chats=command,
            steps=tuple(_to_acknowledge(case, made)),
            blocks=own if case.is_open else [Fold("What it was", own)],
            filters=_filters(case),
        )
        blocks.append(block)
    if rest := cases[MAX_CASES:]:
        blocks.append(Items([title_of(case.finding) for case in rest], f"And {count(len(rest))} more"))
    yield Section("findings", "Findings", blocks)


def _to_acknowledge(case: Case, made: Made) -> Iterator[Command]:
    """Yield the commands by which somebody acknowledges a finding."""
    finding, ask = case.finding, made.asking.command
    if not case.is_open or finding.handling:
        return
    if not made.store:
        keep = ask(*judging(finding)) if made.asking.keep else ""
        yield Command(keep, "To acknowledge findings, first create a store")
        return
    if not case.reported:
        yield Command(ask(*judging(finding)), "No night has recorded it yet")
    yield Command(ask("findings", "ack", finding.id), "Acknowledge it")


def _filters(case: Case) -> dict[str, list[str]]:
    """Return the names by which filters select a finding: its caller, reasons, agents and projects."""
    finding, scope, places = case.finding, case.finding.scope, case.places
    # A change of verdict names two reasons; the evidence adds the reason of unknown errors.
    reasons = dict.fromkeys([*(scope.reason or "").split(" → "), finding.kind.evidence.reason(finding)])
    names: dict[str, list[str | None]] = {"caller": [scope.caller], "reason": [*reasons]}
    for what in ("agent", "project"):
        names[what] = sorted(set(places[what].drop_nulls())) if places.height else []
    return {what: [terminal_safe(name) for name in values if name] for what, values in names.items()}


def _reasons(overview: Overview) -> Document:
    """Return the errors by reason, of a report without a finding."""
    frame = overview.tables["errors-by-reason"].frame.head(_MOST_REASONS)
    if overview.cases or frame.is_empty():
        return []
    rows = [
        (row["reason"] or "(none)", brief(row["errors"]), percent(row["share"]), brief(row["sessions"]))
        for row in frame.iter_rows(named=True)
    ]
    return [TableBlock(("Errors by reason", "errors", "share", "sessions"), rows)]


def _hidden_callers(overview: Overview, messages: list[str]) -> re.Pattern[str] | None:
    """Match the callers without a finding in the messages, since the summary must not name them."""
    tables = (overview.tables[name] for name in ("errors-by-caller", "relays-by-step"))
    seen = {caller for table in tables for caller in table.frame["caller"]}
    # A log may hold a million callers: only those that occur become part of the pattern.
    text = "\n".join(messages)
    named: set[str | None] = set()
    for finding in overview.findings:
        named |= {finding.scope.caller, *(finding.cost.callers if finding.cost else ())}
    names = sorted((name for name in seen - named if name in text), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])") if names else None


def _masked(message: str, hidden: re.Pattern[str] | None) -> str:
    return hidden.sub("[caller]", message) if hidden else message


def _facts(overview: Overview) -> Iterator[str]:
    """Yield a sentence each on unknown texts, retries, limits, endings, and how much was read."""
    sentences = (_unknown(overview), retries_words(overview), exhaustions_words(overview), limits_words(overview))
    yield from filter(None, (*sentences, endings_words(overview), completeness(overview)))


def _unread(overview: Overview, asking: Asking) -> Iterator[str | Command]:
    """Yield the formats that are not read yet, and the command that lists unreadable lines."""
    if formats := sorted(overview.completeness.unsupported.items()):
        words = (f"{quote(name, 24)} ({counted(files, 'file')})" for name, files in formats)
        yield f"Not read yet: {', '.join(words)}."
    if overview.completeness.quarantined:
        yield Command(asking.command("query", "quarantine-lines"))


def _unknown(overview: Overview) -> str:
    """Quote the most frequent unknown text; empty if a finding quotes it."""
    frame = overview.tables["unknown-messages"].frame
    if frame.is_empty():
        return ""
    row = frame.row(0, named=True)
    quoted = [text for finding in overview.findings for text in finding.samples[:1]]
    if any(fingerprint(text) == row["fingerprint"] for text in quoted):
        return ""
    hidden = _hidden_callers(overview, [row["message"]])
    return f"Unknown, {counted(row['errors'], 'time')}: {quote(_masked(row['message'], hidden), 60)}"
