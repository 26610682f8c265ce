"""What a ruleset changes in history, for a terminal: a replay, templates that change sides, past alarms.

No line is wider than asked; every text of a log went through `terminal_safe`, recorded reasons among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis.kinds.finding import kind_of
from analyzer.analysis.rules.ruleset_changes import AlarmChanges, ChangedShare, Churn, Rejudged
from analyzer.command_lines import HERE, Asking
from analyzer.readable import counted, percent
from analyzer.report.cells import count
from analyzer.report.escape import one_line, terminal_safe
from analyzer.report.monospace import columns, fit, fold, indented
from analyzer.store import Change, Reclassification

MAX_SHOWN = 10
"""Templates a list shows."""
NARROWEST, WIDEST = 60, 200


def render_churn(found: Churn, width: int = 80) -> str:
    """The changes, in lines of at most `width` cells, with a newline at its end."""
    size = max(NARROWEST, min(width, WIDEST))
    lists = (
        ("Recovered: unknown before, known after", "recovered", found.recovered),
        ("REGRESSED: known before, unknown after", "regressed", found.regressed),
        ("Moved: from one reason to another", "moved", found.moved),
    )
    said = ", ".join(f"{counted(len(changes), 'template')} {word}" for _, word, changes in lists)
    lines = fold(f"{said} under ruleset {found.ruleset}.", size)
    rows = [["", "changed", "of", "share"]]
    rates = (("errors", found.events), ("groups", found.groups), ("sessions", found.sessions))
    rows += [_rate(name, rate) for name, rate in rates]
    lines += ["", *columns(rows, [False, True, True, True])]
    lines += ["", *fold(_test(found), size)]
    for title, _, changes in lists:
        lines += _changes(title, changes, size)
    return "\n".join(lines) + "\n"


def render_alarms(found: AlarmChanges, width: int = 80) -> str:
    """What the nights of history would have told otherwise, in lines of at most `width` cells."""
    size = max(NARROWEST, min(width, WIDEST))
    sides = (("vanished", found.vanished), ("appeared", found.appeared), ("stayed", found.stayed))
    if not any(alarms for _, alarms in sides):
        return "No alarms in this history, neither before nor after.\n"
    said = ", ".join(f"{count(len(alarms))} {word}" for word, alarms in sides)
    lines = [f"Alarms of past nights: {said}."]
    rows = [
        [
            word,
            one.opened_on.isoformat(),
            one.severity,
            kind_of(one.finding).title,
            terminal_safe(one.caller or "the fleet"),
        ]
        for word, alarms in sides
        for one in alarms[:MAX_SHOWN]
    ]
    lines += ["", *[fit(line, size) for line in columns(rows, [False] * 5)]]
    hidden = sum(max(0, len(alarms) - MAX_SHOWN) for _, alarms in sides)
    if hidden:
        lines.append(f"{count(hidden)} more: --json lists them")
    return "\n".join(lines) + "\n"


def _rate(name: str, rate: ChangedShare) -> list[str]:
    return [name, count(rate.changed), count(rate.total), percent(rate.share)]


def _test(found: Churn) -> str:
    freed, spoiled = counted(found.sessions_freed, "session"), counted(found.sessions_spoiled, "session")
    said = f"Their last unknown error is gone from {freed}, a first one came to {spoiled}"
    return f"{said} (exact McNemar test: p = {found.p_value:.2g})."


def _changes(title: str, changes: tuple[Rejudged, ...], size: int) -> list[str]:
    if not changes:
        return []
    lines = ["", title]
    for change in changes[:MAX_SHOWN]:
        what = f"{counted(change.events, 'error')}, {counted(change.sessions, 'session')}"
        said = f"{what}: {change.before} → {change.after}, by rule {change.rule}"
        lines += indented(terminal_safe(said), size)
        lines.append(fit(f"    {one_line(change.template)}", size))
        lines += [fit(f"      e.g. {one_line(text)}", size) for text in change.samples]
    if len(changes) > MAX_SHOWN:
        lines.append(f"  {count(len(changes) - MAX_SHOWN)} more: --json lists them")
    return lines


MAX_CELLS = 12
"""Changes from one reason to another that are shown."""
_SAMPLE_CELLS = 64


def render_reclassification(result: Reclassification, asking: Asking = HERE) -> str:
    """The verdict first, then the cells that changed, then what that does to recovery."""
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
