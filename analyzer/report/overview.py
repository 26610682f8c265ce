"""The report as text for a terminal, as Markdown and as JSON.

The text is one screen of 24 lines at 80 columns: the verdict, then the findings or, without any,
what failed most. Only a command may be wider than `width`. The text names only callers with a
finding, and on a quiet day the best and the worst caller. Every text of a log is escaped for its
medium.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from analyzer.analysis import Finding, Overview
from analyzer.classifier.fingerprint import fingerprint
from analyzer.command_lines import HERE, Asking
from analyzer.readable import counted, percent
from analyzer.report.document import Block, Command, Heading, Items, Paragraph, TextTable, to_markdown
from analyzer.report.escape import json_text, terminal_safe
from analyzer.report.monospace import columns, fit, fit_middle, fold, indented, painted, step, width_of
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
_NAME_CELLS = 60


def render_text(overview: Overview, width: int = 80, *, colour: bool = False, asking: Asking = HERE) -> str:
    """Write the summary in lines of at most `width` cells (72 to 100), with a newline at its end.

    A command is a line of its own, however long, so that it works when it is pasted; `asking` says
    which store it asks.
    """
    size = max(NARROWEST, min(width, WIDEST))
    about_window = [*_window(overview, size), *_leading(overview, size)]
    before = [_verdict(overview, size, colour, asking), about_window]
    after = _facts(overview, size, asking)
    used = sum(len(block) + 1 for block in (*before, after) if block)
    blocks = [*before, _reasons(overview, size, LINES - used - 1), after]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _verdict(overview: Overview, size: int, colour: bool, asking: Asking) -> list[str]:
    verdict = overview.verdict
    word = verdict_word(verdict.level)
    headline = fit_middle(terminal_safe(verdict.headline), _SENTENCE_CELLS)
    first, *more = fold(f"{word}  {headline}", size)
    if colour:
        first = painted(first, word, verdict.level)
    lines = [*(fold(overview.widened, size) if overview.asked else ()), first, *more]
    hidden = _hidden_callers(overview, list(verdict.details))
    cases = sorted(overview.cases, key=lambda case: NEWS.index(news_of(case, overview.latest)))
    findings = [case.finding for case in cases]
    day = _day(overview)
    lines += indented(day, size) if day else []
    for case, finding in zip(cases[:_MAX_SENTENCES], findings, strict=False):
        if finding.is_quiet:
            lines.append(f"  {fit_middle(terminal_safe(open_words(finding)), size - 2)}")
        else:
            sentence, cost = _short(_masked(finding.explanation, hidden)), cost_beside(finding)
            sentence += f"{'' if sentence.endswith(('.', '…')) else '.'} {cost}." if cost else ""
            lines += indented(f"{_since(finding, news_of(case, overview.latest))}: {sentence}", size)
        lines += indented(_short(_masked(handled(finding.handling), hidden)), size, 4) if finding.handling else []
    commands = ((asking.command(*finding.words), finding.advice) for finding in findings[:_MAX_SENTENCES])
    steps = ((terminal_safe(command), "" if command else advice) for command, advice in commands)
    todo = dict.fromkeys(filter(any, steps))
    for command, advice in list(todo)[:_MAX_COMMANDS]:
        lines += step(command, advice, size)
    if verdict.level == "unjudged":
        lines += indented(_short(overview.too_little), size)
    callers = [finding.scope.who for finding in findings]
    rest = [caller for caller in dict.fromkeys(callers[_MAX_SENTENCES:]) if caller not in callers[:_MAX_SENTENCES]]
    if rest:
        names = ", ".join(fit_middle(terminal_safe(caller), _NAME_CELLS) for caller in rest[:_MAX_NAMES])
        beyond = f" and {count(len(rest) - _MAX_NAMES)} more" if len(rest) > _MAX_NAMES else ""
        lines += indented(f"also {names}{beyond}: the HTML report has them", size)
    return lines


def _day(overview: Overview) -> str:
    """Describe a quiet day: how much was looked at, its cost, the best and the worst caller.

    Empty for other days.
    """
    latest = overview.latest
    if latest is None or overview.verdict.level != "quiet":
        return ""
    return _short(f"{day_title(latest)}: {day_words(latest)}")


def _since(finding: Finding, news: str) -> str:
    """Say whether a finding is new, worse, resolved or goes on, and since when."""
    if not finding.is_open:
        return f"Resolved on {finding.resolved_on}"
    before = f", since {finding.onset}" if finding.onset < finding.opened_on else ""
    words = {"New": f"New on {finding.opened_on}{before}", "Worse": f"Worse, goes on since {finding.onset}"}
    return words.get(news, f"Goes on since {finding.onset}")


def _short(sentence: str) -> str:
    return fit_middle(terminal_safe(sentence), _SENTENCE_CELLS)


def _window(overview: Overview, size: int) -> list[str]:
    totals = overview.totals
    lines = fold(window_words(overview), size)
    if not totals.events:
        return lines
    sentence = counted(totals.errors, "error")
    if totals.errors:
        sentence += f" of {counted(totals.callers, 'caller')} in {sessions_words(overview)}"
    if totals.counted_errors:
        of = f"{count(totals.unknown_errors)} of {count(totals.counted_errors)}"
        if aside := totals.errors - totals.counted_errors:
            of += f" that count; {count(aside)} aborted or without detail"
        sentence += f"; {percent(totals.unknown_share)} unknown ({of})"
    return lines + fold(sentence, size)


def _leading(overview: Overview, size: int) -> list[str]:
    """Return the sentences about the window; beside findings only those on topics of `_BESIDE`."""
    lines: list[str] = []
    hidden = _hidden_callers(overview, [sentence.quote for sentence in overview.leading])
    for sentence in overview.leading:
        if not overview.cases:
            lines += fold(_short(_masked(leading_words(sentence), hidden)), size)
            lines += indented(sentence.advice, size) if sentence.advice else []
        elif sentence.topic in _BESIDE:
            lines += fold(f"{_short(sentence.text.removesuffix('.').partition('. ')[0])}.", size)
    return [*lines, *(line for text in window_details(overview) for line in fold(_short(text), size))]


def _reasons(overview: Overview, size: int, room: int) -> list[str]:
    """Write the errors by reason and outcome in about `room` lines, at least 2 and at most 8 reasons."""
    frame = overview.tables["errors-by-reason"].frame
    if frame.is_empty():
        return []
    outcomes: defaultdict[str | None, Counter[str]] = defaultdict(Counter)
    for row in overview.tables["errors-by-reason-caller-outcome"].frame.iter_rows(named=True):
        outcomes[row["reason"]][row["outcome"]] += row["errors"]
    rows = list(frame.iter_rows(named=True))
    shown = max(_FEWEST_REASONS, min(room, _MOST_REASONS))
    if len(rows) > shown:
        shown = max(_FEWEST_REASONS, shown - 1)
    body = [
        [
            fit(terminal_safe(_reason(row)), 22),
            brief(row["errors"]),
            percent(row["share"]),
            *(brief(outcomes[row["reason"]][end]) for end in _ENDS),
            brief(sum(number for end, number in outcomes[row["reason"]].items() if end not in _ENDS)),
        ]
        for row in rows[:shown]
    ]
    table, right = [["Errors by reason", *_HEADINGS], *body], [False, *[True] * len(_HEADINGS)]
    lines = columns(table, right)
    if max(map(width_of, lines)) > size:
        lines = columns(table, right, gap=" ")
    if (hidden := len(rows) - shown) > 0:
        errors = sum(row["errors"] for row in rows[shown:])
        lines.append(f"and {counted(hidden, 'more reason')} with {counted(errors, 'error')}")
    return [fit(line, size) for line in lines]


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


def _facts(overview: Overview, size: int, asking: Asking) -> list[str]:
    """Write a line each on unknown texts, retries, hand-offs, limits, and how much was read."""
    sentences = [_unknown(overview, size), retries_words(overview), relays_words(overview), exhaustions_words(overview)]
    sentences += [limits_words(overview), endings_words(overview)]
    coverage = overview.completeness
    sentences.append(completeness(overview))
    if coverage.unsupported:
        formats = ", ".join(
            f"{fit(terminal_safe(name), 24)} ({counted(files, 'file')})"
            for name, files in sorted(coverage.unsupported.items())
        )
        sentences.append(f"Not read yet: {formats}.")
    lines = [line for sentence in sentences if sentence for line in fold(sentence, size)]
    if coverage.quarantined:
        lines.append(f"  → {terminal_safe(asking.command('query', 'quarantine-lines'))}")
    return lines


def _unknown(overview: Overview, size: int) -> str:
    """Quote the most frequent unknown text; empty if a finding quotes it."""
    frame = overview.tables["unknown-messages"].frame
    if frame.is_empty():
        return ""
    row = frame.row(0, named=True)
    quoted = [text for finding in overview.findings if not finding.is_quiet for text in finding.samples[:1]]
    if any(fingerprint(text) == row["fingerprint"] for text in quoted):
        return ""
    hidden = _hidden_callers(overview, [row["message"]])
    message = terminal_safe(" ".join(_masked(row["message"], hidden).split()))
    head = f"Unknown, {counted(row['errors'], 'time')}: "
    return head + fit(message, size - width_of(head))


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
    table = TextTable(tuple(map(heading, part.columns)), tuple(map(tuple, part.cells)), tuple(part.numeric))
    return [Heading(part.title, rank), table, *([Command(part.command, part.cut)] if part.cut or part.command else [])]


def render_json(overview: Overview) -> str:
    """Write the report as one JSON object without NaN, schema `analyzer.report/1`.

    The text ends with a newline.
    """
    return json_text(plain(overview.to_dict()), indent=2) + "\n"
