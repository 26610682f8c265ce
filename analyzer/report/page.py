"""The page of the report: its key figures, findings and sections, with all charts inside."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.analysis import Case, Overview, charts
from analyzer.analysis.summary.window_findings import MAX_CASES
from analyzer.command_lines import HERE, Asking, command_line
from analyzer.readable import counted, gist
from analyzer.report.charts.elements import Svg
from analyzer.report.charts.figures import heat_map, tiles
from analyzer.report.charts.picture import Drawing, draw, plotly_script
from analyzer.report.escape import terminal_safe
from analyzer.report.overview_words import (
    completeness,
    cost_beside,
    cost_words,
    course,
    dates,
    day_title,
    day_words,
    draft_words,
    handled,
    judging,
    leading_words,
    news,
    title_of,
    verdict_word,
    window_details,
    window_words,
)
from analyzer.report.rows import MEANINGS, count, minute, plain_heading
from analyzer.report.sections import drift_part, excerpts_part, numbers_part, places_part, sections, templates_part
from analyzer.report.writers.html import escaping_templates, resource, style

if TYPE_CHECKING:
    from jinja2 import Environment


def filtered(case: Case) -> Svg:
    """Return the attributes that filters read, as JSON arrays of names.

    They name the caller, the reasons, the agents and the projects.
    """
    finding, scope, places = case.finding, case.finding.scope, case.places
    # A change of verdict names two reasons; the evidence adds the reason of unknown errors.
    reasons = dict.fromkeys([*(scope.reason or "").split(" → "), finding.kind.evidence.reason(finding)])
    names = {"caller": [scope.caller], "reason": [*reasons]}
    for what in ("agent", "project"):
        names[what] = sorted(set(places[what].drop_nulls())) if places.height else []
    attributes = {what: [terminal_safe(name) for name in values if name] for what, values in names.items()}
    return Svg(" ".join(f'data-{what}="{html.escape(json.dumps(values))}"' for what, values in attributes.items()))


@dataclass(frozen=True, slots=True)
class Made:
    """The circumstances of a page."""

    host: str = ""
    """The machine; empty if nobody named it."""
    store: str = ""
    """The store's file; empty for a throw-away store, which answers nothing later."""
    asking: Asking = HERE
    """How the store is asked from where the page is read."""


ANYWHERE = Made()
"""The circumstances if nobody named any."""


ICONS = {
    "critical": "▲",
    "warning": "▲",
    "info": "●",
    "resolved": "✓",
    "unjudged": "?",
    "quiet": "✓",
    "empty": "○",
}
_OPENED = frozenset(
    {"unknown-messages", "errors-messages", "exhaustions-list", "tools-by-tool", "tools-messages"}
    | {"cost-of-failure", "cost-by-model"}
)
"""The tables without a chart that are open; the others are a click away."""
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_ENDED_HEIGHT = 240
"""The height of the chart of a resolved finding, in pixels."""


def render_html(overview: Overview, made: Made = ANYWHERE, *, interactive: bool = False) -> str:
    """Write the whole file; `made` says on which machine, and which store its commands ask.

    If it is `interactive`, plotly.js is inside and draws the charts again.
    """
    cases = overview.cases
    all_sections = sections(overview, made.asking)
    # A section whose every table is empty is a name in one line, unless its sentence says why.
    shown = [
        section
        for section in all_sections
        if section.name == "completeness" or any(part.frame.height for part in section.parts)
    ]
    parts = [part for section in all_sections for part in section.parts]
    findings = [
        (case, _finding_drawing(index, case, interactive=interactive)) for index, case in enumerate(cases[:MAX_CASES])
    ]
    drawings = {
        part.query: draw(part.chart(), f"chart-{part.query}", interactive=interactive)
        for part in parts
        if part.chart and not part.frame.is_empty()
    }
    drawn = [*(drawing for _, drawing in findings if drawing is not None), *drawings.values()]
    plotly = [plotly_script()] if drawn and interactive else []
    # Without an event there is nothing to look through.
    last = [*([resource("print.js")] if plotly else []), *([resource("page.js")] if overview.totals.events else [])]
    page: str = (
        environment()
        .get_template("page.html.jinja")
        .render(
            overview=overview,
            made=made,
            title=page_title(overview, made),
            latest=overview.latest,
            news=news(overview),
            verdict=overview.verdict,
            details=window_details(overview),
            cases=cases,
            findings=findings,
            shown=shown,
            opened=_OPENED,
            nothing=[part for part in parts if part.query and part.frame.is_empty()],
            meanings=MEANINGS,
            drawings=drawings,
            tiles=tiles(overview),
            heat=heat_map(overview, made.asking),
            listing=command_line("query", "--list"),
            unsupported=overview.completeness.unsupported,
            style=style(),
            plotly=plotly,
            scripts=[*plotly, *(drawing.script for drawing in drawn if interactive), *last],
            last=last,
        )
    )
    return page


def page_title(overview: Overview, made: Made) -> str:
    """Return the title of tab and bookmark: whose errors, of which window, made when."""
    origin = " on ".join(name for name in (Path(made.store).stem, made.host) if name)
    of = f" of {origin}" if origin else ""
    return f"Agent errors{of}: {window_words(overview)}; made {minute(overview.generated_at)} UTC"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the templates, with the filters that word the page."""
    templates = escaping_templates()
    filters: tuple[Callable[..., Any], ...] = (
        *(
            completeness,
            counted,
            gist,
            course,
            draft_words,
            handled,
            judging,
            leading_words,
            minute,
            title_of,
            verdict_word,
            window_words,
        ),
        *(drift_part, excerpts_part, numbers_part, places_part, templates_part),
        *(cost_beside, cost_words, dated, dates, day_title, day_words, filtered, plain_heading),
    )
    templates.filters.update({function.__name__: function for function in filters}, figure=count)
    templates.globals["icons"] = ICONS
    return templates


def load_templates() -> None:
    """Compile all templates ahead of their first use."""
    for name in environment().list_templates(["jinja"]):
        environment().get_template(name)


def dated(text: str) -> Svg:
    """Mark the dates of a text, so that no line ends inside of a date."""
    escaped = html.escape(terminal_safe(text), quote=False)
    return Svg(_DATE.sub(r"<time>\g<0></time>", escaped))


def _finding_drawing(index: int, case: Case, *, interactive: bool) -> Drawing | None:
    """Draw the chart of a finding, smaller if it is resolved; None without numbers."""
    if case.numbers.is_empty():
        return None
    height = None if case.is_open else _ENDED_HEIGHT
    return draw(charts.finding(case), f"chart-finding-{index}", height, interactive=interactive)
