"""A replay of history under other rules, for a terminal: the verdict, the reasons that changed, what recovery would do.

Invariant: a recorded reason is what a log says, and went through `terminal_safe` as any text of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.command_lines import HERE, Asking
from analyzer.phrases import percent
from analyzer.report.escape import one_line, terminal_safe
from analyzer.report.terminal.monospace import fit
from analyzer.store import Change, Reclassification

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
