"""One finding as a part of the page: what, since when, the chart, the messages, and what to do."""

from __future__ import annotations

from analyzer.analysis import Case, Finding
from analyzer.report.escape import html_text
from analyzer.report.page.blocks import chart_part, folded_part, plain_part
from analyzer.report.page.case_parts import drift_part, numbers_part, sessions_part, templates_part
from analyzer.report.page.figures import Drawing
from analyzer.report.words import course, title_of

ICONS = {"critical": "▲", "warning": "▲", "info": "●", "resolved": "✓"}


def finding_html(case: Case, place: str, drawing: Drawing | None, script: str) -> str:
    """The finding; `place` is its anchor, `drawing` its chart where it has one."""
    one = case.finding
    tone = "resolved" if one.state == "resolved" else one.severity
    word = "over" if tone == "resolved" else tone
    icon = f'<span aria-hidden="true">{ICONS.get(tone, "●")}</span>'
    inside = [
        f'<p class="badge">{icon} {html_text(word.upper())} · {html_text(course(one))}</p>',
        f"<h3>{html_text(title_of(one))}</h3>",
        f"<p>{html_text(one.explanation)}</p>",
        *(f'<p class="also">Part of it: {html_text(part.explanation)}</p>' for part in one.parts),
    ]
    if one.advice:
        inside.append(f'<p class="next">Next: <code>{html_text(one.advice)}</code></p>')
    if drawing is not None:
        inside.append(chart_part(numbers_part(case), drawing, script))
    inside += [plain_part(part) for part in (templates_part(case), drift_part(case)) if not part.frame.is_empty()]
    if not case.sessions.is_empty():
        inside.append(folded_part(sessions_part(case)))
    return f'<article id="{place}" class="finding {tone}">\n' + "\n".join(inside) + f"\n{_foot(one)}</article>"


def _foot(one: Finding) -> str:
    figures = [("p", one.latest.p_value), ("q", one.latest.q_value)]
    said = [f"{name} = {value:.2g}" for name, value in figures if value is not None]
    return f'<p class="id">{html_text(" · ".join([*said, f"id {one.id}"]))}</p>'
