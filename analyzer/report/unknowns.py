"""Documents about unknown errors, and drafts of rules for them as the text of a rules file.

The rules file is TOML that loads: a draft without a reason is commented out, since nobody has
chosen one yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from analyzer.analysis.rules.drafts import RuleDraft, Taken
from analyzer.analysis.rules.unknowns import UnknownGroup, Unknowns
from analyzer.classifier.recovery_table import REASONS
from analyzer.command_lines import HERE, Asking, command_line
from analyzer.readable import counted, terminal_safe
from analyzer.report.document import Command, Document, Items, OneLine, Paragraph, TableBlock, quote
from analyzer.report.rows import count, minute
from analyzer.report.writers.monospace import fold

TREND_DAYS = 28
"""The most bars of a trend; a bar is a day, or several days of a long span."""
_LEVELS = "▁▂▃▄▅▆▇█"
_NONE = "·"


def unknowns_document(unknowns: Unknowns, asking: Asking = HERE) -> Document:
    """Return all groups of unknown errors, those in most sessions first."""
    groups = unknowns.groups
    if not groups:
        return [Paragraph(unknowns.headline)]
    first, last = min(group.first_seen_at for group in groups), max(group.last_seen_at for group in groups)
    when = f"{minute(first)} to {minute(last)} UTC, {counted(unknowns.sessions, 'session')}"
    days = [day for group in groups for day, _ in group.by_day]
    rows = [
        (
            counted(group.count, "error"),
            counted(group.sessions, "session"),
            counted(group.callers, "caller"),
            trend(group, min(days), max(days)),
            group.fingerprint,
        )
        for group in groups
    ]
    hidden = unknowns.templates - len(groups)
    more = f"{count(hidden)} more with --limit {unknowns.templates}" if hidden else ""
    return [
        Items((unknowns.headline, when)),
        TableBlock((), rows, [*map(_notes, groups)], more=more, apart=True),
        Command(asking.command("unknowns", "--suggest", "--output", "draft.toml"), "Drafts of rules"),
    ]


def trend(group: UnknownGroup, first: date, last: date) -> str:
    """Draw errors by day as a row of bars, the highest of them full.

    `·` is none. Days of a long span share a bar.
    """
    span = (last - first).days + 1
    bars = min(span, TREND_DAYS)
    heights = [0] * bars
    for day, errors in group.by_day:
        heights[(day - first).days * bars // span] += errors
    top = max(heights)
    return "".join(_LEVELS[(height * len(_LEVELS) - 1) // top] if height else _NONE for height in heights)


def _notes(group: UnknownGroup) -> list[str]:
    template = quote(group.template)
    notes = [template, *(OneLine(f"e.g. {quote(text)}") for text in group.samples if quote(text) != template)]
    names = ", ".join(map(quote, group.caller_names))
    hidden = group.callers - len(group.caller_names)
    begin, end = minute(group.first_seen_at), minute(group.last_seen_at)
    when = begin if begin == end else f"{begin} to {end}"
    notes.append(f"{when}, by {names}{f' and {count(hidden)} more' if hidden > 0 else ''}")
    if group.recoveries is not None and group.recoveries.retried:
        perhaps = f"perhaps {group.suggested_reason}: " if group.suggested_reason else ""
        notes.append(f"{perhaps}{group.recoveries.sentence}")
    if (near := group.nearest) is not None:
        notes += [OneLine(f"near {near.reason}: {quote(near.text)}"), OneLine(quote(near.why))]
    return notes


WIDTH = 120
_MAX_LISTED = 5


def render_rules(unknowns: Unknowns) -> str:
    """Write a rules file with the draft of each group that has one."""
    drafted = [group for group in unknowns.groups if group.suggestion]
    backtest = command_line("rules", "backtest", "--rules", "FILE", store="STORE")
    lines = [
        *_comment(unknowns.headline),
        *_comment(f"Drafts of rules. Read each one, mend it, then: {command_line('rules', 'test', '--rules', 'FILE')}"),
        *_comment(f"and see what it does to history: {backtest}"),
    ]
    reasons = ", ".join(reason for reason in REASONS if reason != "unknown")
    lines += _comment(f"A rule without evidence for its reason is commented out. The reasons: {reasons}.")
    left = len(unknowns.groups) - len(drafted)
    if left:
        lines += _comment(f"{counted(left, 'group')} below have no draft: their texts share no words to hold on to.")
    for group in unknowns.groups:
        lines += ["", *_draft_lines(group)]
    return "\n".join(lines) + "\n"


def _draft_lines(group: UnknownGroup) -> list[str]:
    heading = f"{counted(group.count, 'error')} in {counted(group.sessions, 'session')}: {group.template}"
    lines = _comment(heading, more="    ")
    draft = group.suggestion
    if draft is None:
        return [*lines, *_comment("No draft.")]
    lines += _match_lines(draft)
    for sentence in draft.evidence:
        lines += _comment(f"Evidence: {sentence}", more="    ")
    if draft.refused is not None:
        lines += _comment(f"REFUSED: {draft.refused}", more="    ")
    elif draft.reason is not None:
        return [*lines, *entry(draft, draft.reason)]
    else:
        lines += _comment("Choose a reason, and take the marks away.")
    return [*lines, *(f"# {line}" for line in entry(draft, draft.reason or ""))]


def _match_lines(draft: RuleDraft) -> list[str]:
    """Comment on the errors that a draft matches, also those of other groups and rules."""
    lines = _comment(f"Takes {counted(draft.errors, 'unknown error')} in {counted(draft.groups, 'group')}.")
    for title, listed in (("ALSO TAKES", draft.also), ("COLLIDES WITH", draft.collisions)):
        for taken in listed[:_MAX_LISTED]:
            lines += _comment(f"{title} {_taken_words(taken)}", more="    ")
        if len(listed) > _MAX_LISTED:
            lines += _comment(f"{title} {count(len(listed) - _MAX_LISTED)} more: --json lists them.")
    return lines


def _taken_words(taken: Taken) -> str:
    if taken.rule == "none":
        return f"{counted(taken.errors, 'unknown error')} of another group: {taken.template}"
    where = counted(taken.errors, "error") if taken.errors else "an example"
    return f"{where} of rule {taken.rule} ({taken.reason}): {taken.template}"


def with_rule(text: str, draft: RuleDraft, reason: str) -> str:
    """Append the entry of a draft to the text of a rules file."""
    source = replace(draft, source=f"{draft.source}; {draft.evidence[0]}")
    return "\n\n".join(filter(None, (text.rstrip("\n"), "\n".join(entry(source, reason))))) + "\n"


def entry(draft: RuleDraft, reason: str) -> list[str]:
    """Return the lines of a draft's `[[rule]]`."""
    patterns = [f"text = ['{draft.text}']"]
    if draft.wordings:
        patterns = ["text = [", *(f"  '{wording}'," for wording in (draft.text, *draft.wordings)), "]"]
    return [
        "[[rule]]",
        f"id = {_string(draft.id)}",
        f"reason = {_string(reason)}",
        *patterns,
        *(["weak = true"] if draft.weak else []),
        f"source = {_string(draft.source)}",
        *_list("examples", draft.examples),
        *_list("counter_examples", draft.counter_examples),
    ]


def _list(name: str, texts: Iterable[str]) -> list[str]:
    return [f"{name} = [", *(f"  {_string(text)}," for text in texts), "]"]


def _string(text: str) -> str:
    """Write a text as a basic string of TOML, every invisible character as an escape."""
    out = []
    for character in text:
        if character in '"\\':
            out.append("\\" + character)
        elif character == " " or character.isprintable():
            out.append(character)
        else:
            number = ord(character)
            out.append(f"\\u{number:04X}" if number <= 0xFFFF else f"\\U{number:08X}")
    return '"' + "".join(out) + '"'


def _comment(text: str, more: str = "") -> list[str]:
    first, *rest = fold(terminal_safe(" ".join(text.split())), WIDTH - 2 - len(more))
    return [f"# {first}", *(f"# {more}{line}" for line in rest)]
