"""A night of `analyzer check` becomes a mail: a subject, a text and an HTML part that mail programs show alike."""

from __future__ import annotations

from html import escape

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.report.escape import one_line, unlinked
from analyzer.report.overview_words import course, draft_words
from analyzer.report.terminal.night import render_night_text

_EDGES = {"critical": "#b42318", "warning": "#b54708", "info": "#175cd3"}
_CODE = "font:13px ui-monospace,monospace;background:#f2f4f7;padding:6px 8px;margin:6px 0 0"


def night_subject(night: Night) -> str:
    """The verdict in one line, the gravest severity first."""
    worst = night.worst()
    return f"analyzer: {f'{worst}: ' if worst else ''}{one_line(night.headline)}"


def night_text(night: Night) -> str:
    """What the terminal shows, in 78 columns."""
    return render_night_text(night, 78)


def night_html(night: Night) -> str:
    """A table of one column with a cell for each finding: no style sheet, script or picture, which mail leaves out."""
    cells = [_cell(one) for one in night.findings]
    remarks = "".join(f'<p style="color:#475467">{escape(unlinked(one_line(said)))}</p>' for said in night.remarks)
    return (
        '<!doctype html><html lang="en"><body style="font:15px/1.45 system-ui,sans-serif;color:#101828;margin:0">'
        f'<table role="presentation" width="100%" style="max-width:720px;margin:0 auto;padding:16px"><tr><td>'
        f'<h1 style="font-size:20px">{escape(one_line(night.headline))}</h1></td></tr>'
        f"{''.join(cells)}<tr><td>{remarks}</td></tr></table></body></html>"
    )


def _cell(found: Finding) -> str:
    edge = _EDGES[found.severity] if found.is_open else "#067647"
    state = f"{found.state}, worse" if found.worse else found.state
    said = [f"<strong>{escape(f'{found.severity}, {state}')}</strong>: {escape(_said(found))}"]
    said.append(f'<div style="color:#475467">{escape(course(found))}; id {escape(found.id[:8])}</div>')
    if draft := draft_words(found):
        said.append(f"<div>{escape(unlinked(one_line(draft)))}</div>")
    if found.advice:
        said.append(f"<div>{escape(one_line(found.advice))}</div>")
    if command := found.command:
        said.append(f'<pre style="{_CODE};white-space:pre-wrap">{escape(command)}</pre>')
    return f'<tr><td style="border-left:4px solid {edge};padding:8px 12px">{"".join(said)}</td></tr>'


def _said(found: Finding) -> str:
    return unlinked(one_line(found.explanation or found.kind.title))
