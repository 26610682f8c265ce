"""The report as documents: a summary for a terminal, and the whole report; and the report as JSON.

The summary is one screen of 24 lines at 80 columns: the verdict, then the findings or, without any,
what failed most. It names only callers with a finding, and on a quiet day the best and the worst
caller.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from analyzer.analysis import Finding, Overview
from analyzer.classifier.fingerprint import fingerprint
from analyzer.command_lines import HERE, Asking
from analyzer.readable import counted, percent
from analyzer.report.document import Block, Command, Document, Heading, Items, Paragraph, TableBlock, quote
from analyzer.report.escape import json_text
from analyzer.report.overview_words import (
    NEWS,
    completeness,
    cost_beside,
    day_title,
    day_words,
    endings_words,
    entry_of,
    exhaustions_words,
    handled,
    leading_words,
    limits_words,
    news_of,
    open_words,
    opening_words,
    relays_words,
    retries_words,
    sessions_words,
    verdict_word,
    window_details,
    window_words,
)
from analyzer.report.rows import brief, count, heading, plain
from analyzer.report.sections import Part, drift_part, sections, sessions_part, templates_part
from analyzer.report.writers.markdown import to_markdown
from analyzer.report.writers.monospace import fit_middle
from analyzer.report.writers.text import to_text

NARROWEST, WIDEST = 72, 100
LINES = 22
"""The lines of a report if they are enough: the line above it and the next prompt make it 24."""
_HEADINGS = ("errors", "share", "recovered", "gave up", "shown to the user", "other")
_ENDS = ("recovered", "exhausted", "surfaced")
"""The outcomes with a column of their own, in the order of their headings."""
_FEWEST_REASONS, _MOST_REASONS = 2, 8
_BESIDE = frozenset({"cost", "whose"})
"""The topics of opening sentences that are shown beside findings, too."""
_MAX_SENTENCES = 6
_MAX_NAMES = 40
_MAX_COMMANDS = 3
_SENTENCE_CELLS = 440
_OPEN_CELLS = 78
"""The most cells of the line about a finding without new evidence."""
_NAME_CELLS = 60


def render_text(overview: Overview, width: int = 80, *, colour: bool = False, asking: Asking = HERE) -> str:
    """Write the summary in lines of at most `width` cells (72 to 100), with a newline at its end.

    A command is a line of its own, however long, so that it works when it is pasted; `asking` says
    which store it asks.
    """
    size = max(NARROWEST, min(width, WIDEST))
    # As many reasons are shown as leave the whole within `LINES`.
    used = to_text(summary_document(overview, None, asking), size).count("\n")
    return to_text(summary_document(overview, LINES - used - 1, asking), size, colour=colour)


def summary_document(overview: Overview, room: int | None, asking: Asking = HERE) -> Document:
    """Return the summary; its table of reasons takes about `room` lines; None is no table."""
    return [
        *([Paragraph(overview.widened)] if overview.asked else []),
        _verdict(overview, asking),
        Items([*_window(overview), *_leading(overview)]),
        *(_reasons(overview, room) if room is not None else []),
        Items([*_facts(overview), *_unread(overview, asking)]),
    ]


def _verdict(overview: Overview, asking: Asking) -> Items:
    verdict = overview.verdict
    texts: list[str | Command] = []
    hidden = _hidden_callers(overview, list(verdict.details))
    cases = sorted(overview.cases, key=lambda case: NEWS.index(news_of(case, overview.latest)))
    findings = [case.finding for case in cases]
    if overview.latest is not None and verdict.level == "quiet":
        texts.append(_short(f"{day_title(overview.latest)}: {day_words(overview.latest)}"))
    for case, finding in zip(cases[:_MAX_SENTENCES], findings, strict=False):
        if finding.is_quiet:
            texts.append(fit_middle(open_words(finding), _OPEN_CELLS))
        else:
            sentence, cost = _short(_masked(finding.explanation, hidden)), cost_beside(finding)
            sentence += f"{'' if sentence.endswith(('.', '…')) else '.'} {cost}." if cost else ""
            texts.append(f"{_since(finding, news_of(case, overview.latest))}: {sentence}")
        if finding.handling:
            texts.append(_short(_masked(f"decided: {handled(finding.handling)}", hidden)))
    steps = dict.fromkeys(_steps(findings[:_MAX_SENTENCES], asking))
    texts += [*steps][:_MAX_COMMANDS]
    if verdict.level == "unjudged":
        texts.append(_short(overview.too_little))
    callers = [finding.scope.who for finding in findings]
    rest = [caller for caller in dict.fromkeys(callers[_MAX_SENTENCES:]) if caller not in callers[:_MAX_SENTENCES]]
    if rest:
        names = ", ".join(fit_middle(caller, _NAME_CELLS) for caller in rest[:_MAX_NAMES])
        beyond = f" and {count(len(rest) - _MAX_NAMES)} more" if len(rest) > _MAX_NAMES else ""
        texts.append(f"also {names}{beyond}: the HTML report has them")
    headline = fit_middle(verdict.headline, _SENTENCE_CELLS)
    return Items(texts, headline, verdict_word(verdict.level), verdict.level)


def _steps(findings: list[Finding], asking: Asking) -> Iterator[str | Command]:
    """Yield the command of each finding, or its advice if it has no command."""
    for finding in findings:
        if command := asking.command(*finding.words):
            yield Command(command)
        elif finding.advice:
            yield f"→ {finding.advice}"


def _since(finding: Finding, news: str) -> str:
    """Say whether a finding is new, worse, resolved or goes on, and since when."""
    if not finding.is_open:
        return f"Resolved on {finding.resolved_on}"
    before = f", since {finding.onset}" if finding.onset < finding.opened_on else ""
    words = {"New": f"New on {finding.opened_on}{before}", "Worse": f"Worse, goes on since {finding.onset}"}
    return words.get(news, f"Goes on since {finding.onset}")


def _short(sentence: str) -> str:
    return fit_middle(sentence, _SENTENCE_CELLS)


def _window(overview: Overview) -> tuple[str, ...]:
    totals = overview.totals
    if not totals.events:
        return (window_words(overview),)
    sentence = counted(totals.errors, "error")
    if totals.errors:
        sentence += f" of {counted(totals.callers, 'caller')} in {sessions_words(overview)}"
    if totals.counted_errors:
        of = f"{count(totals.unknown_errors)} of {count(totals.counted_errors)}"
        if aside := totals.errors - totals.counted_errors:
            of += f" that count; {count(aside)} aborted or without detail"
        sentence += f"; {percent(totals.unknown_share)} unknown ({of})"
    return window_words(overview), sentence


def _leading(overview: Overview) -> Iterator[str]:
    """Yield the sentences about the window; beside findings only those on topics of `_BESIDE`."""
    hidden = _hidden_callers(overview, [sentence.quote for sentence in overview.leading])
    for sentence in overview.leading:
        if not overview.cases:
            yield _short(_masked(leading_words(sentence), hidden))
            if sentence.advice:
                yield f"→ {sentence.advice}"
        elif sentence.topic in _BESIDE:
            yield f"{_short(sentence.text.removesuffix('.').partition('. ')[0])}."
    yield from map(_short, window_details(overview))


def _reasons(overview: Overview, room: int) -> Document:
    """Return the errors by reason and outcome in about `room` lines, at least 2 and at most 8 reasons."""
    frame = overview.tables["errors-by-reason"].frame
    if frame.is_empty():
        return []
    outcomes: defaultdict[str | None, Counter[str]] = defaultdict(Counter)
    for row in overview.tables["errors-by-reason-caller-outcome"].frame.iter_rows(named=True):
        outcomes[row["reason"]][row["outcome"]] += row["errors"]
    rows = list(frame.iter_rows(named=True))
    shown = max(_FEWEST_REASONS, min(room - 1, _MOST_REASONS))
    if len(rows) > shown:
        shown = max(_FEWEST_REASONS, shown - 1)
    cells = [
        (
            quote(_reason(row), 22),
            brief(row["errors"]),
            percent(row["share"]),
            *(brief(outcomes[row["reason"]][end]) for end in _ENDS),
            brief(sum(number for end, number in outcomes[row["reason"]].items() if end not in _ENDS)),
        )
        for row in rows[:shown]
    ]
    more = ""
    if (hidden := len(rows) - shown) > 0:
        errors = sum(row["errors"] for row in rows[shown:])
        more = f"and {counted(hidden, 'more reason')} with {counted(errors, 'error')}"
    return [TableBlock(("Errors by reason", *_HEADINGS), cells, more=more)]


def _reason(row: Mapping[str, Any]) -> str:
    """Name a reason.

    For unknown errors add how many of them the unknown share counts, if it is not all.
    """
    if not row["uncounted_errors"]:
        return row["reason"] or "(none)"
    counting = row["errors"] - row["uncounted_errors"]
    return f"{row['reason']}, {brief(counting)} count" if counting else "aborted or no detail"


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
    """Yield a sentence each on unknown texts, retries, hand-offs, limits, and how much was read."""
    sentences = (_unknown(overview), retries_words(overview), relays_words(overview), exhaustions_words(overview))
    yield from filter(None, (*sentences, limits_words(overview), endings_words(overview), completeness(overview)))


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
    quoted = [text for finding in overview.findings if not finding.is_quiet for text in finding.samples[:1]]
    if any(fingerprint(text) == row["fingerprint"] for text in quoted):
        return ""
    hidden = _hidden_callers(overview, [row["message"]])
    return f"Unknown, {counted(row['errors'], 'time')}: {quote(_masked(row['message'], hidden), 60)}"


def render_markdown(overview: Overview, asking: Asking = HERE) -> str:
    """Write the report as Markdown, for pull requests, job summaries and chats.

    Tables are as short as on the page. `asking` says how the store is asked from where the text is
    read.
    """
    return to_markdown(overview_document(overview, asking))


def overview_document(overview: Overview, asking: Asking) -> list[Block]:
    """Return the document of the report: verdict, findings, then every table with its query."""
    verdict = overview.verdict
    blocks: list[Block] = [Heading(f"{verdict_word(verdict.level)}: {verdict.headline}")]
    blocks += [Paragraph(overview.widened)] if overview.asked else []
    details = verdict.details[len(overview.cases) :]
    opening = opening_words(overview.leading)
    blocks += [Paragraph(window_words(overview))]
    blocks += [*([Items(opening)] if opening else []), *([Items(details)] if details else [])]
    blocks += [Heading("Findings", 2)] if overview.cases else []
    for case in overview.cases:
        command = asking.command(*case.finding.words)
        blocks.append(replace(entry_of(case.finding), command=command, command_in_chats=command))
        for part in (templates_part(case), sessions_part(case), drift_part(case)):
            blocks += _part_blocks(part, 4) if not part.frame.is_empty() else []
    for section in sections(overview, asking):
        blocks += [Heading(section.title, 2), Paragraph(section.lead)]
        if section.name == "completeness" and overview.completeness.unsupported:
            formats = sorted(overview.completeness.unsupported.items())
            blocks.append(Paragraph(f"Not read yet: {', '.join(f'{name} ({files:,})' for name, files in formats)}."))
        for part in section.parts:
            blocks += _part_blocks(part, 3)
    return blocks


def _part_blocks(part: Part, rank: int) -> list[Block]:
    if part.frame.is_empty():
        return [Heading(part.title, rank), Command(part.command, "None.")]
    table = TableBlock([*map(heading, part.columns)], part.cells)
    return [Heading(part.title, rank), table, *([Command(part.command, part.cut)] if part.cut or part.command else [])]


def render_json(overview: Overview) -> str:
    """Write the report as one JSON object without NaN, schema `analyzer.report/1`.

    The text ends with a newline.
    """
    return json_text(plain(overview.to_dict()), indent=2) + "\n"
