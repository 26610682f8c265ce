"""Drafts of rules become the text of a rules file, with what speaks for and against each of them in comments.

Invariant: the text is TOML that loads; a draft without a reason is commented out, since nobody has chosen one yet.
"""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.analysis.rules.drafts import RuleDraft, Taken
from analyzer.analysis.rules.unknowns import UnknownGroup, Unknowns
from analyzer.classifier.recovery_table import REASONS
from analyzer.command_lines import command_line
from analyzer.phrases import counted
from analyzer.report.cells import count
from analyzer.report.escape import terminal_safe
from analyzer.report.terminal.monospace import fold

WIDTH = 120
_MAX_LISTED = 5


def render_rules(found: Unknowns) -> str:
    """A rules file with a draft for each group that has one."""
    drafted = [group for group in found.groups if group.suggestion]
    backtest = command_line("rules", "backtest", "--rules", "FILE", store="STORE")
    lines = [
        *_comment(found.headline),
        *_comment(f"Drafts of rules. Read each one, mend it, then: {command_line('rules', 'test', '--rules', 'FILE')}"),
        *_comment(f"and see what it does to history: {backtest}"),
    ]
    reasons = ", ".join(reason for reason in REASONS if reason != "unknown")
    lines += _comment(f"Where nothing speaks for a reason, the rule is commented out. The reasons: {reasons}.")
    left = len(found.groups) - len(drafted)
    if left:
        lines += _comment(f"{counted(left, 'group')} below have no draft: their texts share no words to hold on to.")
    for group in found.groups:
        lines += ["", *_group(group)]
    return "\n".join(lines) + "\n"


def _group(group: UnknownGroup) -> list[str]:
    said = f"{counted(group.count, 'error')} in {counted(group.sessions, 'session')}: {group.template}"
    lines = _comment(said, more="    ")
    draft = group.suggestion
    if draft is None:
        return [*lines, *_comment("No draft.")]
    lines += _takes(draft)
    for sentence in draft.evidence:
        lines += _comment(f"Evidence: {sentence}", more="    ")
    if draft.reason is not None:
        return [*lines, *entry(draft, draft.reason)]
    return [
        *lines,
        *_comment("Choose a reason, and take the marks away."),
        *(f"# {line}" for line in entry(draft, "")),
    ]


def _takes(draft: RuleDraft) -> list[str]:
    lines = _comment(f"Takes {counted(draft.errors, 'unknown error')} in {counted(draft.groups, 'group')}.")
    for title, listed in (("ALSO TAKES", draft.also), ("COLLIDES WITH", draft.collisions)):
        lines += [line for each in listed[:_MAX_LISTED] for line in _comment(f"{title} {_taken(each)}", more="    ")]
        if len(listed) > _MAX_LISTED:
            lines += _comment(f"{title} {count(len(listed) - _MAX_LISTED)} more: --json lists them.")
    return lines


def _taken(each: Taken) -> str:
    if each.rule == "none":
        return f"{counted(each.errors, 'unknown error')} of another group: {each.template}"
    where = counted(each.errors, "error") if each.errors else "an example"
    return f"{where} of rule {each.rule} ({each.reason}): {each.template}"


def entry(draft: RuleDraft, reason: str) -> list[str]:
    """The lines of one `[[rule]]`."""
    return [
        "[[rule]]",
        f"id = {_string(draft.id)}",
        f"reason = {_string(reason)}",
        *_patterns(draft),
        f"source = {_string(draft.source)}",
        *_list("examples", draft.examples),
        *_list("counter_examples", draft.counter_examples),
    ]


def _patterns(draft: RuleDraft) -> list[str]:
    if not draft.wordings:
        return [f"text = ['{draft.text}']"]
    return ["text = [", *(f"  '{each}'," for each in (draft.text, *draft.wordings)), "]"]


def _list(name: str, texts: Iterable[str]) -> list[str]:
    return [f"{name} = [", *(f"  {_string(text)}," for text in texts), "]"]


def _string(text: str) -> str:
    """A basic string of TOML, every invisible character as an escape."""
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
