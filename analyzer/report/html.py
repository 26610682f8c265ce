"""The report as one HTML file that needs nothing else and may reach nothing else: plotly.js and all charts are inside.

Invariants: every text that a log filled goes through `html_text`; a policy forbids the network and every script but
our own, by hash.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from analyzer.analysis import Overview
from analyzer.report.cells import count, counted, heading, minute, percent, shown
from analyzer.report.escape import html_text
from analyzer.report.figures import Drawing, draw, plotly_script
from analyzer.report.sections import Part, Section, completeness, ended_chains, sections
from analyzer.report.words import verdict_word, window_words

_ICONS = {"spike": "▲", "unjudged": "?", "quiet": "✓", "empty": "○"}
_LONG_TEXT = 240
"""Characters of a cell that stand open; the rest is a click away."""
_PRINT_SCRIPT = """
(() => {
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);
  const size = layout => each('.plotly-graph-div', chart => Plotly.relayout(chart, layout));
  addEventListener('beforeprint', () => { each('details', item => { item.open = true; }); size({width: 660}); });
  addEventListener('afterprint', () => size({width: null, autosize: true}));
})();
"""


def render_html(overview: Overview) -> str:
    """The whole file."""
    page = _Page(overview)
    body = page.body()
    # The policy comes last in the making and first in the file: it names the scripts that the body turned out to need.
    hashes = " ".join(f"'sha256-{_digest(script)}'" for script in page.scripts)
    policy = (
        f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src {hashes}; connect-src 'none'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        '<meta name="robots" content="noindex">\n<title>Agent errors: report</title>\n'
        f"<style>\n{resources.files('analyzer.report').joinpath('style.css').read_text('utf-8')}</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


class _Page:
    """A page in the making: it collects the scripts that its parts bring along."""

    def __init__(self, overview: Overview) -> None:
        self.overview = overview
        self.scripts: list[str] = []

    def body(self) -> str:
        """Everything between the body tags."""
        found = sections(self.overview)
        charts = any(part.chart and not part.frame.is_empty() for section in found for part in section.parts)
        parts = [_header(self.overview), _tiles(self.overview), _contents(found)]
        if charts:
            parts += [
                self.script(plotly_script()),
                "<noscript><p>The charts need JavaScript. Their numbers do not.</p></noscript>",
            ]
        parts += [self.section(section) for section in found]
        parts.append(_footer(self.overview))
        if charts:
            parts.append(self.script(_PRINT_SCRIPT))
        return "\n".join(parts)

    def script(self, source: str) -> str:
        """An inline script that the policy will allow."""
        self.scripts.append(source)
        return f"<script>{source}</script>"

    def section(self, section: Section) -> str:
        """A section with its parts."""
        inside = [f"<h2>{html_text(section.title)}</h2>", f'<p class="lead">{html_text(section.lead)}</p>']
        if section.name == "completeness":
            inside.append(_unsupported(self.overview))
        inside += [self.part(part) for part in section.parts]
        return f'<section id="{section.name}">\n' + "\n".join(inside) + "\n</section>"

    def part(self, part: Part) -> str:
        """A table under its title; under its chart, where there is one."""
        title = f"<h3>{html_text(part.title)}</h3>"
        if part.frame.is_empty():
            return f'<div class="part">{title}{_about(part)}<p class="none">None.</p></div>'
        if not part.chart:
            return f'<div class="part">{title}{_about(part)}{_table(part)}</div>'
        drawing = draw(self.overview, part, f"chart-{part.query}")
        note = f'<p class="note">{html_text(drawing.note)}</p>' if drawing.note else ""
        caption = f"<h3>{html_text(drawing.title)}</h3>{_about(part)}{note}{_legend(drawing)}"
        numbers = f"<summary>The numbers: {counted(part.frame.height, 'row')}</summary>{_table(part)}"
        return (
            f'<div class="part"><figure><figcaption>{caption}</figcaption>'
            f'<div class="chart" style="min-height:{drawing.height}px">{drawing.place}</div>'
            f"{self.script(drawing.script)}</figure><details>{numbers}</details></div>"
        )


def _header(overview: Overview) -> str:
    verdict = overview.verdict
    details = "".join(f"<li>{html_text(detail)}</li>" for detail in verdict.details)
    level = verdict.level if verdict.level in _ICONS else "spike"
    return (
        f'<header class="verdict {level}"><p class="badge"><span aria-hidden="true">{_ICONS[level]}</span> '
        f"{html_text(verdict_word(verdict.level))}</p>\n<h1>{html_text(verdict.headline)}</h1>\n"
        + (f"<ul>{details}</ul>\n" if details else "")
        + f'<p class="window">{html_text(window_words(overview))}. {html_text(completeness(overview))}</p></header>'
    )


def _tiles(overview: Overview) -> str:
    totals, known = overview.totals, overview.completeness
    recovered, ended = ended_chains(overview)
    tiles = (
        (
            "errors",
            "Errors",
            count(totals.errors),
            f"{counted(totals.callers, 'caller')}, {counted(totals.sessions, 'session')}",
        ),
        (
            "unknown",
            "Unknown share",
            percent(totals.unknown_share),
            f"{count(totals.unknown_errors)} of {count(totals.counted_errors)} that count",
        ),
        (
            "retries",
            "Retries recovered",
            percent(recovered / ended if ended else None),
            f"{count(recovered)} of {counted(ended, 'chain')} that ended",
        ),
        ("relays", "Relays", count(totals.relays), f"{counted(totals.exhaustions, 'usage-limit exhaustion')}"),
        (
            "completeness",
            "Lines read",
            count(known.lines - known.quarantined),
            f"of {count(known.lines)}; {count(known.quarantined)} in quarantine",
        ),
    )
    return (
        '<nav class="tiles" aria-label="Key figures">'
        + "".join(
            f'<a class="tile" href="#{anchor}"><span class="name">{name}</span><span class="figure">{figure}</span>'
            f'<span class="more">{more}</span></a>'
            for anchor, name, figure, more in tiles
        )
        + "</nav>"
    )


def _contents(found: tuple[Section, ...]) -> str:
    links = "".join(f'<li><a href="#{section.name}">{html_text(section.title)}</a></li>' for section in found)
    return f'<nav class="contents" aria-label="Sections"><ul>{links}</ul></nav>'


def _unsupported(overview: Overview) -> str:
    formats = overview.completeness.unsupported
    if not formats:
        return ""
    items = "".join(f"<li>{html_text(name)}: {counted(files, 'file')}</li>" for name, files in sorted(formats.items()))
    return f'<div class="part"><h3>Formats that are not read yet</h3><ul>{items}</ul></div>'


def _about(part: Part) -> str:
    return f'<p class="about">{html_text(part.description)} <code>analyzer query {html_text(part.query)}</code></p>'


def _legend(drawing: Drawing) -> str:
    keys = "".join(
        f'<li><i class="{key.look}" style="--key:{key.colour}" aria-hidden="true">{key.symbol}</i>'
        f"{html_text(key.name)}</li>"
        for key in drawing.keys
    )
    return f'<ul class="legend">{keys}</ul>'


def _table(part: Part) -> str:
    frame = part.rows.select(list(part.columns))
    rows, right = frame.rows(), [kind.is_numeric() for kind in frame.dtypes]
    head = "".join(
        f'<th scope="col"{_class(flush)} title="{html_text(meaning)}">{html_text(heading(name))}</th>'
        for (name, meaning), flush in zip(part.columns.items(), right, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(_cell(name, value, flush) for name, value, flush in zip(part.columns, row, right, strict=True))
        + "</tr>"
        for row in rows
    )
    cut = f'<p class="note">{html_text(part.cut)}</p>' if part.cut else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{html_text(part.title)}"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>{cut}"
    )


def _cell(column: str, value: object, flush: bool) -> str:
    text = shown(column, value)
    if len(text) > _LONG_TEXT:
        inside = f"<details><summary>{html_text(text[:_LONG_TEXT])}…</summary>{html_text(text[_LONG_TEXT:])}</details>"
        return f"<td>{inside}</td>"
    return f"<td{_class(flush, text)}>{html_text(text)}</td>"


def _class(flush: bool, text: str = "") -> str:
    names = [name for name, wanted in (("number", flush), ("long", len(text) > 28)) if wanted]
    return f' class="{" ".join(names)}"' if names else ""


def _footer(overview: Overview) -> str:
    return (
        f"<footer><p>Made {minute(overview.generated_at)} UTC. Times are UTC. All figures: "
        "<code>analyzer query --list</code>. This file reaches no network.</p></footer>"
    )
