"""Write changes for a reader: between two groups of sessions, and of history under another ruleset.

No line is wider than `width`; every text of a log went through `terminal_safe`, recorded reasons
among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analyzer.analysis.comparison import CHANCE, LEAST_SESSIONS, ComparedFigure, Comparison, OneSidedMessage
from analyzer.analysis.kinds.finding import kind_of
from analyzer.analysis.rules.drafts import Recoveries
from analyzer.analysis.rules.ruleset_changes import AlarmChanges, Churn, Rejudged
from analyzer.command_lines import HERE, Asking
from analyzer.readable import counted, percent
from analyzer.report.document import Block, Command, Document, Heading, Items, Paragraph, TextTable
from analyzer.report.escape import one_line, terminal_safe
from analyzer.report.monospace import columns, fit, fold, indented
from analyzer.report.rows import brief, count
from analyzer.store import Change, Reclassification

MAX_SHOWN = 10
"""The number of templates or messages that a list shows."""
NARROWEST, WIDEST = 60, 200
_WORDS = {"worse": "WORSE", "better": "BETTER", "other": "CHANGED", "noise": "noise", "too_few": "too few"}


def render_churn(churn: Churn, width: int = 80) -> str:
    """Write what another ruleset changes, in lines of at most `width` cells.

    The text ends with a newline.
    """
    size = max(NARROWEST, min(width, WIDEST))
    lists = (
        ("Recovered: unknown before, known after", "recovered", churn.recovered),
        ("REGRESSED: known before, unknown after", "regressed", churn.regressed),
        ("Moved: from one reason to another", "moved", churn.moved),
    )
    counts = ", ".join(f"{counted(len(changes), 'template')} {word}" for _, word, changes in lists)
    lines = fold(f"{counts} under ruleset {churn.ruleset}.", size)
    rows = [["", "changed", "of", "share"]]
    rates = (("errors", churn.events), ("groups", churn.groups), ("sessions", churn.sessions))
    rows += [[name, count(rate.changed), count(rate.total), percent(rate.share)] for name, rate in rates]
    lines += ["", *columns(rows, [False, True, True, True])]
    lines += ["", *fold(_test(churn), size)]
    for title, _, changes in lists:
        lines += _changes(title, changes, size)
    return "\n".join(lines) + "\n"


def render_alarms(changes: AlarmChanges, width: int = 80) -> str:
    """Write the alarms of past nights that vanish, appear or stay, at most `width` cells wide."""
    size = max(NARROWEST, min(width, WIDEST))
    sides = (("vanished", changes.vanished), ("appeared", changes.appeared), ("stayed", changes.stayed))
    if not any(alarms for _, alarms in sides):
        return "No alarms in this history, neither before nor after.\n"
    counts = ", ".join(f"{count(len(alarms))} {word}" for word, alarms in sides)
    lines = [f"Alarms of past nights: {counts}."]
    rows = [
        [
            word,
            alarm.opened_on.isoformat(),
            alarm.severity,
            kind_of(alarm.finding).title,
            terminal_safe(alarm.caller or "the fleet"),
        ]
        for word, alarms in sides
        for alarm in alarms[:MAX_SHOWN]
    ]
    lines += ["", *[fit(line, size) for line in columns(rows, [False] * 5)]]
    hidden = sum(max(0, len(alarms) - MAX_SHOWN) for _, alarms in sides)
    if hidden:
        lines.append(f"{count(hidden)} more: --json lists them")
    return "\n".join(lines) + "\n"


def render_helped(groups: Sequence[tuple[str, Recoveries]], width: int = 80) -> str:
    """Write the unknown groups that recover on a retry, in lines of at most `width` cells.

    Empty without any.
    """
    if not groups:
        return ""
    size = max(NARROWEST, min(width, WIDEST))
    lines = ["Unknown still, and recovered on a retry: perhaps network_transient"]
    for template, outcome in groups[:MAX_SHOWN]:
        lines += [fit(f"  {one_line(template)}", size), fit(f"    {outcome.sentence}", size)]
    if len(groups) > MAX_SHOWN:
        lines.append(f"  {count(len(groups) - MAX_SHOWN)} more: --json lists them")
    return "\n".join(lines) + "\n"


def _test(churn: Churn) -> str:
    freed, spoiled = counted(churn.sessions_freed, "session"), counted(churn.sessions_spoiled, "session")
    sentence = f"Their last unknown error is gone from {freed}, a first one came to {spoiled}"
    return f"{sentence} (exact McNemar test: p = {churn.p_value:.2g})."


def _changes(title: str, changes: tuple[Rejudged, ...], size: int) -> list[str]:
    if not changes:
        return []
    lines = ["", title]
    for change in changes[:MAX_SHOWN]:
        what = f"{counted(change.events, 'error')}, {counted(change.sessions, 'session')}"
        verdict = f"{what}: {change.before} → {change.after}, by rule {change.rule}"
        lines += indented(terminal_safe(verdict), size)
        lines.append(fit(f"    {one_line(change.template)}", size))
        lines += [fit(f"      e.g. {one_line(text)}", size) for text in change.samples]
    if len(changes) > MAX_SHOWN:
        lines.append(f"  {count(len(changes) - MAX_SHOWN)} more: --json lists them")
    return lines


MAX_CELLS = 12
"""The number of changes from one reason to another that are shown."""
_SAMPLE_CELLS = 64


def render_reclassification(result: Reclassification, asking: Asking = HERE) -> str:
    """Write a reclassification: the verdict, the changed reasons, then what recovery would do."""
    share = f" ({percent(result.changed / result.examined)})" if result.examined else ""
    lines = [
        f"{result.changed:,} of {result.examined:,} errors change their reason{share} under ruleset {result.ruleset}.",
        "Applied: reports and queries show the new reasons." if result.applied else "A dry run; --apply makes it so.",
    ]
    if result.active not in {None, result.ruleset}:
        tense = "was" if result.applied else "is"
        lines.append(
            f"Another ruleset {tense} active, {result.active}: reports showed its verdicts, not the recorded ones."
        )
    if result.unknown_before is not None and result.unknown_after is not None:
        lines.append(
            f"Unknown share: {percent(result.unknown_before)} recorded,"
            f" {percent(result.unknown_after)} by this ruleset."
        )
    if result.without_facts:
        lines.append(f"Without facts, and so with the reason that they came with: {result.without_facts:,}.")
    moved = [cell for cell in result.matrix if cell.before != cell.after]
    if moved:
        lines += ["", *_cells(moved[:MAX_CELLS])]
    if len(moved) > MAX_CELLS:
        hidden = f"{len(moved) - MAX_CELLS} more"
        all_of_them = asking.command("query", "ruleset-matrix") if result.applied else "--json has them"
        lines.append(f"{hidden}: {all_of_them}")
    if result.actions:
        lines += ["", "What recovery would do differently:"]
        lines += [f"  {cell.count:>7,}  {terminal_safe(cell.before)} → {cell.after}" for cell in result.actions]
    same = sum(cell.count for cell in result.matrix if cell.before == cell.after)
    return "\n".join([*lines, "", f"{same:,} keep their reason."])


def _cells(cells: Sequence[Change]) -> list[str]:
    names = [terminal_safe(cell.before) for cell in cells]
    width = max(len("recorded"), *map(len, names))
    lines = [f"  {'errors':>7}  {'recorded':{width}}    by this ruleset"]
    for name, cell in zip(names, cells, strict=True):
        lines.append(f"  {cell.count:>7,}  {name:{width}}  → {cell.after}")
        lines += [f"             {fit(one_line(sample), _SAMPLE_CELLS)}" for sample in cell.samples]
    return lines


def comparison_document(comparison: Comparison, asking: Asking = HERE) -> Document:
    """Return the verdict, the table of figures, and the messages that came and went.

    If one of the compared values has no session, a command lists the values that have some.
    """
    sides = [f"{counted(side.sessions, 'session')} of {side.name}" for side in (comparison.before, comparison.after)]
    blocks: list[Block] = [Heading(comparison_verdict(comparison))]
    blocks.append(Paragraph(f"Before: {sides[0]}. After: {sides[1]}."))
    if comparison.dimension and not (comparison.before.sessions and comparison.after.sessions):
        values = f"select {comparison.dimension}, count(*) as sessions from sessions"  # noqa: S608  one of DIMENSIONS
        values += " group by all order by sessions desc"
        blocks.append(Command(asking.command("sql", values), "which values there are"))
    if comparison.figures:
        rows = tuple(_row(figure) for figure in comparison.figures)
        names = ("", "", "before", "after", "change", "95% interval")
        blocks += [
            TextTable(names, rows, (False, False, True, True, True, True)),
            Paragraph(
                "A change is called worse or better where chance alone would make one so great in less than "
                f"{percent(CHANCE)} of comparisons, all figures together."
            ),
        ]
    for title, messages in (("New after", comparison.came), ("Gone after", comparison.went)):
        if messages:
            blocks.append(Items(tuple(_messages(messages)), f"{title} ({len(messages)}):"))
    return blocks


def comparison_verdict(comparison: Comparison) -> str:
    """Say in one sentence what clearly changed."""
    empty = [side for side in (comparison.before, comparison.after) if not side.sessions]
    if empty:
        return f"No session of {' and none of '.join(side.name for side in empty)}: nothing to compare."
    if not comparison.enough:
        return (
            f"Too few sessions to judge: {comparison.before.sessions} before and {comparison.after.sessions} after, "
            f"at least {LEAST_SESSIONS} of each are needed."
        )
    if not comparison.clear:
        return "No clear change: every difference may be noise."
    sentences = "; ".join(
        f"{figure.title} {_cell(figure.before, figure.unit)} before, {_cell(figure.after, figure.unit)} after"
        for figure in comparison.clear
    )
    worse, better = (sum(figure.verdict == word for figure in comparison.clear) for word in ("worse", "better"))
    counts = [f"{number} {word}" for number, word in ((worse, "worse"), (better, "better")) if number]
    head = ", ".join(counts) or "Changed"
    return f"{head}: {sentences}."


def _row(figure: ComparedFigure) -> tuple[str, ...]:
    low, high = (_change(end, figure.unit) for end in (figure.low, figure.high))
    return (
        _WORDS[figure.verdict],
        # In the table these rows are below the sessions with any error.
        figure.title.replace("sessions with ", "… with ") if figure.figure != "failed_sessions" else figure.title,
        _cell(figure.before, figure.unit),
        _cell(figure.after, figure.unit),
        _change(figure.change, figure.unit),
        f"{low} to {high}" if figure.low is not None else "–",
    )


def _cell(value: float | None, unit: str) -> str:
    if value is None or unit == "share":
        return percent(value)
    return f"${value:,.2f}" if unit == "usd" else _number(value, unit)


def _change(value: float | None, unit: str) -> str:
    """Write a change with its sign; that of a share is in percentage points."""
    if value is None:
        return "–"
    if unit == "share":
        return f"{100 * value:+.1f}"
    sign = "-" if value < 0 else "+"
    return f"{sign}{_cell(abs(value), unit)}"


def _number(value: float, unit: str) -> str:
    if unit == "seconds":
        return f"{value:,.1f} s"
    return f"{value:,.2f}" if value < 1000 else brief(round(value))


def _messages(messages: tuple[OneSidedMessage, ...]) -> Iterable[str]:
    for message in messages[:MAX_SHOWN]:
        doubt = "" if message.p_value <= CHANCE else ", perhaps by chance"
        yield f"{counted(message.sessions, 'session')}{doubt}: {message.reason}: {message.message}"
    if len(messages) > MAX_SHOWN:
        yield f"and {len(messages) - MAX_SHOWN} more, which --json lists"
