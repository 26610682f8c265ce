"""Unknown errors for a terminal: the verdict first, then a block a group.

Invariants: no line is wider than asked; every text from a log went through `terminal_safe`.
"""

from __future__ import annotations

from datetime import date

from analyzer.analysis.rules.unknowns import UnknownGroup, Unknowns
from analyzer.command_lines import HERE, Asking
from analyzer.phrases import counted
from analyzer.report.cells import count, minute
from analyzer.report.escape import one_line
from analyzer.report.terminal.monospace import columns, fit, fold, indented

NARROWEST, WIDEST = 60, 200
TREND_DAYS = 28
"""Days, or stretches of several days, that a trend shows."""
_LEVELS = "▁▂▃▄▅▆▇█"
_NONE = "·"


def render_unknowns(found: Unknowns, width: int = 80, asking: Asking = HERE) -> str:
    """All groups, in lines of at most `width` cells, with a newline at its end."""
    size = max(NARROWEST, min(width, WIDEST))
    lines = fold(found.headline, size)
    if not found.groups:
        return "\n".join(lines) + "\n"
    first = min(group.first_seen_at for group in found.groups)
    last = max(group.last_seen_at for group in found.groups)
    lines += fold(f"{minute(first)} to {minute(last)} UTC, {counted(found.sessions, 'session')}", size)
    days = [day for group in found.groups for day, _ in group.by_day]
    heads = columns([_head(group, min(days), max(days)) for group in found.groups], [True, True, True, False, False])
    for group, head in zip(found.groups, heads, strict=True):
        lines += ["", fit(head, size), *_body(group, size)]
    hidden = found.templates - len(found.groups)
    if hidden:
        lines += ["", *fold(f"{count(hidden)} more with --limit {found.templates}", size)]
    lines += ["", "Drafts of rules:", f"  {asking.command('unknowns', '--suggest', '--output', 'draft.toml')}"]
    return "\n".join(lines) + "\n"


def trend(group: UnknownGroup, first: date, last: date) -> str:
    """Errors by day as a row of bars, the highest one full; `·` where there are none. Long spans share a bar."""
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
    if group.suggested_reason is not None:
        right = f"{group.suggested_probability:.0%} of such opinions are right"
        lines.append(fit(f"    perhaps {group.suggested_reason}: {right}", size))
    near = group.nearest
    if near is not None:
        lines += [fit(f"    near {near.reason}: {one_line(near.text)}", size), fit(f"      {one_line(near.why)}", size)]
    return lines
