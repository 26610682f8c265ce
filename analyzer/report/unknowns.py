"""Write unknown errors for a terminal, and drafts of rules for them as the text of a rules file.

No line is wider than `width`; every text of a log went through `terminal_safe`. The rules file is
TOML that loads: a draft without a reason is commented out, since nobody has chosen one yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date

from analyzer.analysis.rules.drafts import RuleDraft, Taken
from analyzer.analysis.rules.unknowns import UnknownGroup, Unknowns
from analyzer.classifier.recovery_table import REASONS
from analyzer.command_lines import HERE, Asking, command_line
from analyzer.readable import counted
from analyzer.report.escape import one_line, terminal_safe
from analyzer.report.monospace import columns, fit, fold, indented
from analyzer.report.rows import count, minute

NARROWEST, WIDEST = 60, 200
TREND_DAYS = 28
"""The most bars of a trend; a bar is a day, or several days of a long span."""
_LEVELS = "▁▂▃▄▅▆▇█"
_NONE = "·"


def render_unknowns(unknowns: Unknowns, width: int = 80, asking: Asking = HERE) -> str:
    """Write all groups of unknown errors in lines of at most `width` cells.

    The text ends with a newline.
    """
    size = max(NARROWEST, min(width, WIDEST))
    lines = fold(unknowns.headline, size)
    if not unknowns.groups:
        return "\n".join(lines) + "\n"
    first = min(group.first_seen_at for group in unknowns.groups)
    last = max(group.last_seen_at for group in unknowns.groups)
    lines += fold(f"{minute(first)} to {minute(last)} UTC, {counted(unknowns.sessions, 'session')}", size)
    days = [day for group in unknowns.groups for day, _ in group.by_day]
    heads = columns([_head(group, min(days), max(days)) for group in unknowns.groups], [True, True, True, False, False])
    for group, head in zip(unknowns.groups, heads, strict=True):
        lines += ["", fit(head, size), *_body(group, size)]
    hidden = unknowns.templates - len(unknowns.groups)
    if hidden:
        lines += ["", *fold(f"{count(hidden)} more with --limit {unknowns.templates}", size)]
    lines += ["", "Drafts of rules:", f"  {asking.command('unknowns', '--suggest', '--output', 'draft.toml')}"]
    return "\n".join(lines) + "\n"


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


def _head(group: UnknownGroup, first: date, last: date) -> list[str]:
    return [
        counted(group.count, "error"),
        counted(group.sessions, "session"),
        counted(group.callers, "caller"),
        trend(group, first, last),
        group.fingerprint,
    ]


def _body(group: UnknownGroup, size: int) -> list[str]:
    lines = indented(fit(one_line(group.template), 3 * (size - 2)), size)
    samples = [one_line(text) for text in group.samples]
    lines += [fit(f"    e.g. {text}", size) for text in samples if text != one_line(group.template)]
    names = ", ".join(one_line(name) for name in group.caller_names)
    more = (
        f" and {count(group.callers - len(group.caller_names))} more" if group.callers > len(group.caller_names) else ""
    )
    begin, end = minute(group.first_seen_at), minute(group.last_seen_at)
    when = begin if begin == end else f"{begin} to {end}"
    lines.append(fit(f"    {when}, by {names}{more}", size))
    if group.recoveries is not None and group.recoveries.retried:
        perhaps = f"perhaps {group.suggested_reason}: " if group.suggested_reason else ""
        lines.append(fit(f"    {perhaps}{group.recoveries.sentence}", size))
    near = group.nearest
    if near is not None:
        lines += [fit(f"    near {near.reason}: {one_line(near.text)}", size), fit(f"      {one_line(near.why)}", size)]
    return lines


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
    lines += _comment(f"Where nothing speaks for a reason, the rule is commented out. The reasons: {reasons}.")
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
    return [
        "[[rule]]",
        f"id = {_string(draft.id)}",
        f"reason = {_string(reason)}",
        *_patterns(draft),
        *(["weak = true"] if draft.weak else []),
        f"source = {_string(draft.source)}",
        *_list("examples", draft.examples),
        *_list("counter_examples", draft.counter_examples),
    ]


def _patterns(draft: RuleDraft) -> list[str]:
    if not draft.wordings:
        return [f"text = ['{draft.text}']"]
    return ["text = [", *(f"  '{wording}'," for wording in (draft.text, *draft.wordings)), "]"]


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
