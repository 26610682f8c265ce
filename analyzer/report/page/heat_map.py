"""A heat map of counts that needs no colour: the number stands in every cell, the shade only repeats it."""

from __future__ import annotations

from collections import Counter
from math import sqrt

from analyzer.analysis import Overview
from analyzer.classifier import REASONS
from analyzer.report.cells import count
from analyzer.report.escape import html_text

MAX_CALLERS = 30
_DARKEST = 60
"""Percent of the shade's colour in the fullest cell."""
_OTHER = "other"
_QUERY = "errors-by-reason-caller-outcome"


def heat_html(overview: Overview) -> str:
    """Errors by caller and reason; empty where there is no error."""
    cells: Counter[tuple[str, str]] = Counter()
    for row in overview.tables[_QUERY].frame.iter_rows(named=True):
        cells[row["caller"], row["reason"] if row["reason"] in REASONS else _OTHER] += row["errors"]
    if not cells:
        return ""
    callers: Counter[str] = Counter()
    for (caller, _), errors in cells.items():
        callers[caller] += errors
    ranked = sorted(callers, key=lambda caller: (-callers[caller], caller))
    reasons = [reason for reason in (*REASONS, _OTHER) if any(each == reason for _, each in cells)]
    top = max(cells.values())
    head = "".join(f'<th scope="col" class="number">{name.replace("_", " ")}</th>' for name in (*reasons, "all"))
    body = "\n".join(
        f'<tr><th scope="row">{html_text(caller)}</th>'
        + "".join(_cell(cells[caller, reason], top) for reason in reasons)
        + f'<td class="number">{count(callers[caller])}</td></tr>'
        for caller in ranked[:MAX_CALLERS]
    )
    more = f"{MAX_CALLERS} of {len(ranked):,} callers; all: analyzer query {_QUERY}"
    cut = f'<p class="note">{more}</p>' if len(ranked) > MAX_CALLERS else ""
    return (
        '<div class="part"><h3>Errors by caller and reason</h3>'
        '<p class="about">Numbers of errors; the shade repeats them.'
        f" <code>analyzer query {_QUERY}</code></p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Errors by caller and reason">'
        f'<table class="heat"><thead><tr><th scope="col">Caller</th>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>{cut}</div>"
    )


def _cell(errors: int, top: int) -> str:
    if not errors:
        return '<td class="number zero">·</td>'
    # By the root: one loud caller must not leave all others white.
    return f'<td class="number" style="--heat:{max(4, round(_DARKEST * sqrt(errors / top)))}%">{count(errors)}</td>'
