"""The report for a terminal: one screen, the verdict first.

Invariants: no line is wider than asked; of all callers only those with a finding are named, so that a name stands out;
every text from a log went through `terminal_safe`.
"""

from __future__ import annotations

import re
from collections import Counter

from analyzer.analysis import Overview
from analyzer.phrases import counted
from analyzer.report.cells import NOTHING, count, minute, percent
from analyzer.report.escape import terminal_safe
from analyzer.report.overview_words import completeness, handled, sessions_words, verdict_word, window_words
from analyzer.report.terminal.colour import painted
from analyzer.report.terminal.monospace import columns, fit, fit_middle, fold, indented, width_of

NARROWEST, WIDEST = 72, 100
OUTCOMES = ("recovered", "exhausted", "surfaced", "escalated", "aborted", "unresolved")
_MAX_REASONS = 8
_MAX_SENTENCES = 6
_MAX_NAMES = 40
_MAX_MESSAGES = 3
_MAX_STEPS = 3
_NO_STEP = "(no step)"
"""What the query says of hand-offs whose log names no step."""
_SENTENCE_CELLS = 320
_NAME_CELLS = 60
_BAR = 10


def render_text(overview: Overview, width: int = 80, *, colour: bool = False) -> str:
    """The summary, in lines of at most `width` cells (72 to 100 of them), with a newline at its end."""
    size = max(NARROWEST, min(width, WIDEST))
    blocks = [
        _verdict(overview, size, colour),
        _window(overview, size),
        _reasons(overview, size),
        _unknown(overview, size),
        _retries(overview, size),
        _relays(overview, size),
        _exhaustions(overview, size),
        _completeness(overview, size),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _verdict(overview: Overview, size: int, colour: bool) -> list[str]:
    verdict = overview.verdict
    word = verdict_word(verdict.level)
    said = fit_middle(terminal_safe(verdict.headline), _SENTENCE_CELLS)
    first, *more = fold(f"{word}  {said}", size)
    if colour:
        first = painted(first, word, verdict.level)
    lines = [first, *more]
    hidden = _hidden_callers(overview, list(verdict.details))
    for one in overview.findings[:_MAX_SENTENCES]:
        over = f"over since {one.resolved_on}: " if one.state == "resolved" else ""
        lines += indented(over + _short(_masked(one.explanation, hidden)), size)
        lines += indented(_short(_masked(handled(one.handling), hidden)), size, 4) if one.handling else []
    for advice in dict.fromkeys(one.advice for one in overview.findings[:_MAX_SENTENCES] if one.advice):
        lines += indented(f"→ {terminal_safe(advice)}", size)
    for detail in verdict.details[len(overview.cases) :]:
        lines += indented(_short(detail), size)
    callers = [one.scope.who for one in overview.findings]
    rest = [caller for caller in dict.fromkeys(callers[_MAX_SENTENCES:]) if caller not in callers[:_MAX_SENTENCES]]
    if rest:
        names = ", ".join(fit_middle(terminal_safe(caller), _NAME_CELLS) for caller in rest[:_MAX_NAMES])
        beyond = f" and {count(len(rest) - _MAX_NAMES)} more" if len(rest) > _MAX_NAMES else ""
        lines += indented(f"also {names}{beyond}: the HTML report has them", size)
    return lines


def _short(sentence: str) -> str:
    return fit_middle(terminal_safe(sentence), _SENTENCE_CELLS)


def _window(overview: Overview, size: int) -> list[str]:
    totals = overview.totals
    lines = fold(window_words(overview), size)
    if not totals.events:
        return lines
    said = counted(totals.errors, "error")
    if totals.errors:
        said += f" in {sessions_words(overview)}"
    if totals.counted_errors:
        of = f"{count(totals.unknown_errors)} of {count(totals.counted_errors)} that count"
        if aside := totals.errors - totals.counted_errors:
            of += f"; {count(aside)} aborted or without detail"
        said += f"; {percent(totals.unknown_share)} unknown ({of})"
    lines += fold(said, size)
    if totals.errors:
        lines += fold(f"{counted(totals.callers, 'caller')}: analyzer query errors-by-caller", size)
    return lines


def _reasons(overview: Overview, size: int) -> list[str]:
    """Errors by reason with a bar, and their outcomes; headings give way when the line is short, then the bar."""
    frame = overview.tables["errors-by-reason"].frame
    if frame.is_empty():
        return []
    outcomes: dict[str | None, Counter[str]] = {}
    for row in overview.tables["errors-by-reason-caller-outcome"].frame.iter_rows(named=True):
        outcomes.setdefault(row["reason"], Counter())[row["outcome"]] += row["errors"]
    rows = list(frame.iter_rows(named=True))
    body = [
        [
            fit(terminal_safe(row["reason"] or "(none)"), 17),
            _brief(row["errors"]),
            percent(row["share"], 0),
            *(_brief(outcomes[row["reason"]][outcome]) for outcome in OUTCOMES),
        ]
        for row in rows[:_MAX_REASONS]
    ]
    right = [False, *[True] * (2 + len(OUTCOMES))]
    lines = columns([["Errors by reason", "errors", "share", *OUTCOMES], *body], right, gap=" ")
    if max(map(width_of, lines)) > size:
        short = [outcome[:5] + "." for outcome in OUTCOMES]
        lines = columns([["Errors by reason", "errors", "share", *short], *body], right, gap=" ")
    room = min(_BAR, size - max(map(width_of, lines)) - 1)
    if room >= 4:
        longest = max(row["errors"] for row in rows)
        bars = ["", *(_bar(row["errors"] / longest, room) for row in rows[:_MAX_REASONS])]
        widest = max(map(width_of, lines))
        lines = [
            f"{line}{' ' * (widest - width_of(line))} {bar}".rstrip() for line, bar in zip(lines, bars, strict=True)
        ]
    if len(rows) > _MAX_REASONS:
        lines.append(f"and {count(len(rows) - _MAX_REASONS)} more reasons: analyzer query errors-by-reason")
    return lines


def _unknown(overview: Overview, size: int) -> list[str]:
    frame = overview.tables["unknown-messages"].frame
    if frame.is_empty():
        return []
    lines = ["Unknown errors, most frequent texts: analyzer query unknown-messages"]
    rows = list(frame.head(_MAX_MESSAGES).iter_rows(named=True))
    hidden = _hidden_callers(overview, [row["message"] for row in rows])
    counts = [_brief(row["errors"]) for row in rows]
    wide = max(map(len, counts))
    for number, row in zip(counts, rows, strict=True):
        message = terminal_safe(" ".join(_masked(row["message"], hidden).split()))
        lines.append(f"  {number:>{wide}}  {fit(message, size - wide - 4)}")
    return lines


def _hidden_callers(overview: Overview, messages: list[str]) -> re.Pattern[str] | None:
    """Callers without a finding that the messages speak of; this summary must not."""
    seen = {
        caller for name in ("errors-by-caller", "relays-by-step") for caller in overview.tables[name].frame["caller"]
    }
    # A log may hold a million callers: only those that occur become part of the pattern.
    said = "\n".join(messages)
    known = {one.scope.caller for one in overview.findings}
    names = sorted((name for name in seen - known if name in said), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])") if names else None


def _masked(message: str, hidden: re.Pattern[str] | None) -> str:
    return hidden.sub("[caller]", message) if hidden else message


def _retries(overview: Overview, size: int) -> list[str]:
    frame = overview.tables["retries-outcomes"].frame
    if frame.is_empty():
        return []
    rows = [
        [
            fit(terminal_safe(row["reason"] or "(none)"), 17),
            _brief(row["chains"]),
            _brief(row["recovered"]),
            percent(row["recovery_share"], 0),
            _brief(row["attempts"]),
            _seconds(row["waited_seconds"]),
            _seconds(row["wasted_seconds"]),
        ]
        for row in frame.head(_MAX_REASONS).iter_rows(named=True)
    ]
    head = ["Retries by reason", "chains", "recovered", "of ended", "calls", "waited", "in vain"]
    return [fit(line, size) for line in columns([head, *rows], [False, *[True] * 6])] + _more(
        frame.height, "retries-outcomes"
    )


def _more(height: int, query: str) -> list[str]:
    return [f"and {count(height - _MAX_REASONS)} more reasons: analyzer query {query}"] if height > _MAX_REASONS else []


def _relays(overview: Overview, size: int) -> list[str]:
    totals = overview.totals
    if not totals.relays:
        return []
    steps: dict[str, list[int]] = {}
    for row in overview.tables["relays-by-step"].frame.iter_rows(named=True):
        # Without their callers, rows of one step are one line.
        known = steps.setdefault(row["step_id"], [0, 0, 0])
        known[0] += row["relays"]
        known[1] += row["halted"]
        known[2] = max(known[2], row["most_in_one_session"])
    ranked = sorted(steps.items(), key=lambda item: (-item[1][0], item[0]))
    known_steps = len(steps.keys() - {_NO_STEP})
    said = f"in {counted(known_steps, 'step')}" if known_steps else "in no named step"
    lines = [fit(f"{counted(totals.relays, 'relay')} {said}: analyzer query relays-by-step", size)]
    names = [fit(terminal_safe(step), 32) for step, _ in ranked[:_MAX_STEPS]]
    rows = [
        [f"  {name}", _brief(relays), f"at most {_brief(most)} in one session", f"{_brief(halted)} given up"]
        for name, (_, (relays, halted, most)) in zip(names, ranked, strict=False)
    ]
    lines += [fit(line, size) for line in columns(rows, [False, True, False, True])]
    if len(ranked) > _MAX_STEPS:
        beyond = sum(relays for _, (relays, *_) in ranked[_MAX_STEPS:])
        lines.append(f"  and {_brief(beyond)} elsewhere")
    return lines


def _exhaustions(overview: Overview, size: int) -> list[str]:
    frame = overview.tables["exhaustions-list"].frame
    if frame.is_empty():
        return []
    last = frame.row(frame.height - 1, named=True)
    back = last["restored_at"] or last["reset_at"]
    until = f", back {minute(back)}" if back else ""
    said = f"Usage limit reached {counted(frame.height, 'time')}, last {minute(last['occurred_at'])} UTC{until}"
    return fold(f"{said}: analyzer query exhaustions-list", size)


def _completeness(overview: Overview, size: int) -> list[str]:
    said = completeness(overview)
    known = overview.completeness
    if known.quarantined:
        said = said.rstrip(".") + ": analyzer query quarantine-lines"
    lines = fold(said, size)
    if known.unsupported:
        formats = ", ".join(
            f"{fit(terminal_safe(name), 24)} ({counted(files, 'file')})"
            for name, files in sorted(known.unsupported.items())
        )
        lines += fold(f"Not read yet: {formats}: analyzer query sources-completeness", size)
    return lines


def _bar(share: float, room: int) -> str:
    return "#" * max(1, round(share * room))


def _brief(number: int) -> str:
    """A count in at most seven cells; from a million on it is rounded and says so by its unit."""
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M")):
        if number >= size:
            return f"{number / size:,.1f}{unit}"
    return count(number)


def _seconds(seconds: float | None) -> str:
    """A duration in its two largest units."""
    if seconds is None:
        return NOTHING
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    for large, size, small, part in (("d", 86_400, "h", 3_600), ("h", 3_600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size:,} {large} {whole % size // part} {small}"
    return NOTHING
