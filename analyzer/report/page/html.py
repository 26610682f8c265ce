"""The report as one HTML file that needs nothing else and may reach nothing else: all charts are inside.

Invariants: the templates escape every text that they are given, none by hand; a policy forbids the network and every
script but our own, by hash; charts are there without a script.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from analyzer.analysis import Case, Overview
from analyzer.analysis.summary.cases import MAX_CASES
from analyzer.phrases import counted
from analyzer.report.cells import count, heading, minute, percent
from analyzer.report.escape import terminal_safe
from analyzer.report.overview_words import (
    completeness,
    course,
    draft_words,
    ended_chains,
    handled,
    sessions_words,
    title_of,
    verdict_word,
    window_words,
)
from analyzer.report.page.drawing import Drawing, draw, figure_of, plotly_script
from analyzer.report.page.heat_map import heat_map
from analyzer.report.sections.finding_parts import drift_part, numbers_part, sessions_part, templates_part
from analyzer.report.sections.overview_sections import sections
from analyzer.report.svg.looks import palette

ICONS = {
    "critical": "▲",
    "warning": "▲",
    "info": "●",
    "resolved": "✓",
    "unjudged": "?",
    "quiet": "✓",
    "empty": "○",
}
_ENDED_HEIGHT = 240
"""Pixels of the chart of a finding that is over."""


def render_html(overview: Overview, *, interactive: bool = False) -> str:
    """The whole file; where it is `interactive` plotly.js is inside and draws the charts again."""
    cases = overview.cases
    shown = sections(overview)
    findings = [
        (case, _finding_drawing(place, case, interactive=interactive)) for place, case in enumerate(cases[:MAX_CASES])
    ]
    drawings = {
        part.query: draw(figure_of(overview, part), f"chart-{part.query}", interactive=interactive)
        for section in shown
        for part in section.parts
        if part.chart and not part.frame.is_empty()
    }
    drawn = [*(drawing for _, drawing in findings if drawing is not None), *drawings.values()]
    page: str = (
        environment()
        .get_template("page.html.jinja")
        .render(
            overview=overview,
            verdict=overview.verdict,
            details=overview.verdict.details[len(cases) :],
            cases=cases,
            findings=findings,
            sections=shown,
            drawings=drawings,
            tiles=_tiles(overview),
            heat=heat_map(overview),
            unsupported=overview.completeness.unsupported,
            style=palette() + _file("style.css"),
            # Without a chart there is nothing to draw with or to print.
            scripts=[plotly_script(), *(each.script for each in drawn), _file("print.js")]
            if drawn and interactive
            else [],
        )
    )
    return page


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates, which escape every text that is put into them and fail on a name that they are not given."""
    made = Environment(
        loader=PackageLoader("analyzer.report.page"),
        autoescape=True,
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: tuple[Callable[..., Any], ...] = (
        *(completeness, counted, course, draft_words, handled, heading, minute, title_of, verdict_word, window_words),
        *(drift_part, numbers_part, sessions_part, templates_part),
    )
    made.filters.update({each.__name__: each for each in filters}, digest=_digest, figure=count)
    made.globals["icons"] = ICONS
    return made


def _visible(value: object) -> object:
    """What a template puts in, before it is escaped: invisible and steering characters shown as codes."""
    return value if hasattr(value, "__html__") else terminal_safe(str(value))


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def _file(name: str) -> str:
    return resources.files("analyzer.report.page").joinpath("templates", name).read_text("utf-8")


def _finding_drawing(place: int, case: Case, *, interactive: bool) -> Drawing | None:
    """The chart of a finding that has one; what is over gets a smaller one."""
    if case.numbers.is_empty():
        return None
    from analyzer.analysis.charts import finding_chart

    height = None if case.is_open else _ENDED_HEIGHT
    return draw(finding_chart(case), f"chart-finding-{place}", height, interactive=interactive)


def _tiles(overview: Overview) -> list[tuple[str, str, str, str]]:
    """The key figures: the section that a figure leads to, its name, the figure, and what it is a part of."""
    totals, known = overview.totals, overview.completeness
    recovered, ended = ended_chains(overview)
    still = sum(case.is_open for case in overview.cases)
    return [
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
    ]
