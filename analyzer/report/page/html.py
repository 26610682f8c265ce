"""The report as one HTML file that needs nothing else and may reach nothing else: plotly.js and all charts are inside.

Invariants: every text that a log filled goes through `html_text`; a policy forbids the network and every script but
our own, by hash.
"""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from analyzer.analysis import Case, Overview
from analyzer.analysis.summary.cases import MAX_CASES
from analyzer.report.cells import count, counted, minute, percent
from analyzer.report.escape import html_text
from analyzer.report.page.blocks import chart_part, empty_part, plain_part
from analyzer.report.page.figures import draw, figure_of, plotly_script
from analyzer.report.page.finding_html import ICONS, finding_html
from analyzer.report.page.heat_map import heat_html
from analyzer.report.page.section_parts import Part, Section
from analyzer.report.page.sections import completeness, ended_chains, sections
from analyzer.report.words import course, sessions_words, title_of, verdict_word, window_words

_ICONS = {**ICONS, "unjudged": "?", "quiet": "✓", "empty": "○"}
_ENDED_HEIGHT = 240
"""Pixels of the chart of a finding that is over."""
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
        f"<style>\n{resources.files('analyzer.report.page').joinpath('style.css').read_text('utf-8')}</style>\n"
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
        charts = charts or any(not case.numbers.is_empty() for case in self.overview.cases)
        parts = [_header(self.overview), _tiles(self.overview), _contents(self.overview, found)]
        if charts:
            parts += [
                self.script(plotly_script()),
                "<noscript><p>The charts need JavaScript. Their numbers do not.</p></noscript>",
            ]
        parts += [self.findings(), *(self.section(section) for section in found)]
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
        if section.name == "errors":
            # Behind the timeline.
            inside.insert(3, heat_html(self.overview))
        return f'<section id="{section.name}">\n' + "\n".join(inside) + "\n</section>"

    def part(self, part: Part) -> str:
        """A table under its title; under its chart, where there is one."""
        if part.frame.is_empty():
            return empty_part(part)
        if not part.chart:
            return plain_part(part)
        drawing = draw(figure_of(self.overview, part), f"chart-{part.query}")
        return chart_part(part, drawing, self.script(drawing.script))

    def findings(self) -> str:
        """All findings, the gravest open one first; charts for as many as a page can carry."""
        cases = self.overview.cases
        if not cases:
            return ""
        inside = [self.finding(place, case) for place, case in enumerate(cases[:MAX_CASES])]
        rest = "".join(f"<li>{html_text(title_of(case.finding))}</li>" for case in cases[MAX_CASES:])
        more = f'<div class="part"><h3>And {len(cases) - MAX_CASES:,} more</h3><ul>{rest}</ul></div>' if rest else ""
        return '<section id="findings">\n<h2>Findings</h2>\n' + "\n".join(inside) + f"{more}\n</section>"

    def finding(self, place: int, case: Case) -> str:
        """One finding; what is over gets a smaller chart."""
        drawing, script = None, ""
        if not case.numbers.is_empty():
            from analyzer.analysis.charts import finding_chart

            height = None if case.is_open else _ENDED_HEIGHT
            drawing = draw(finding_chart(case), f"chart-finding-{place}", height)
            script = self.script(drawing.script)
        return finding_html(case, f"finding-{place}", drawing, script)


def _header(overview: Overview) -> str:
    verdict, cases = overview.verdict, overview.cases
    # What findings say stands with them; here are links where there are several.
    lines = [html_text(detail) for detail in verdict.details[len(cases) :]]
    if len(cases) > 1:
        lines += [
            f'<a href="#finding-{place}">{html_text(title_of(case.finding))}</a> '
            f"<small>{html_text(course(case.finding))}</small>"
            for place, case in enumerate(cases[:MAX_CASES])
        ]
    inside = f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>\n" if lines else ""
    return (
        f'<header class="verdict {verdict.level}"><p class="badge"><span aria-hidden="true">{_ICONS[verdict.level]}'
        f"</span> {html_text(verdict_word(verdict.level))}</p>\n<h1>{html_text(verdict.headline)}</h1>\n{inside}"
        f'<p class="window">{html_text(window_words(overview))}. {html_text(completeness(overview))}</p></header>'
    )


def _tiles(overview: Overview) -> str:
    totals, known = overview.totals, overview.completeness
    recovered, ended = ended_chains(overview)
    still = sum(case.is_open for case in overview.cases)
    tiles = (
        (
            "findings" if overview.cases else "unknown",
            "Open findings",
            count(still),
            f"{count(len(overview.cases) - still)} over by now",
        ),
        (
            "errors",
            "Errors",
            count(totals.errors),
            f"{counted(totals.callers, 'caller')}, {sessions_words(overview)}",
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


def _contents(overview: Overview, found: tuple[Section, ...]) -> str:
    names = [("findings", "Findings")] if overview.cases else []
    names += [(section.name, section.title) for section in found]
    links = "".join(f'<li><a href="#{name}">{html_text(title)}</a></li>' for name, title in names)
    return f'<nav class="contents" aria-label="Sections"><ul>{links}</ul></nav>'


def _unsupported(overview: Overview) -> str:
    formats = overview.completeness.unsupported
    if not formats:
        return ""
    items = "".join(f"<li>{html_text(name)}: {counted(files, 'file')}</li>" for name, files in sorted(formats.items()))
    return f'<div class="part"><h3>Formats that are not read yet</h3><ul>{items}</ul></div>'


def _footer(overview: Overview) -> str:
    return (
        f"<footer><p>Made {minute(overview.generated_at)} UTC. Times are UTC. All figures: "
        "<code>analyzer query --list</code>. This file reaches no network.</p></footer>"
    )
