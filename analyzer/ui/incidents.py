"""The pages of incidents: the list, one with its decisions, and the writing of a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from analyzer.analysis.nightly.decisions import findings, handle, identified
from analyzer.analysis.observations import observe
from analyzer.analysis.summary.window_findings import cases
from analyzer.errors import AnalyzerError
from analyzer.report.document import Heading, Paragraph, TableBlock
from analyzer.report.night.document import finding_document, findings_document
from analyzer.report.overview_words import cost_words, title_of
from analyzer.report.sections import evidence
from analyzer.store import span
from analyzer.ui.page import Field, Page, finding_link, linked, session_link, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analyzer.analysis.kinds.finding import Finding
    from analyzer.analysis.summary.window_findings import Case
    from analyzer.command_lines import Asking
    from analyzer.report.document import Block
    from analyzer.store import Store
    from analyzer.ui.kept import Kept

MAX_NOTE = 500
"""Characters of a note."""
ACTS = {"acknowledge": "acknowledged", "snooze": "snoozed", "close": "closed", "reopen": "reopened"}
"""Buttons, and the decisions that they write."""
_SESSIONS = """
select session_id, min(occurred_at) as first_at, count(*) as events, mode(type) as mostly
from events where event_id in (select unnest($events)) and session_id is not null
group by session_id order by first_at, session_id limit 50
"""


def listed(shown: Sequence[Finding]) -> list[Block]:
    """Return the table of incidents, each with a link to its page."""
    blocks = []
    for block in findings_document(shown):
        if isinstance(block, TableBlock):
            rows = [(finding_link(finding.id), *row[1:]) for finding, row in zip(shown, block.rows, strict=True)]
            block = replace(block, rows=rows)
        blocks.append(block)
    return blocks


def listing(store: Store, values: Mapping[str, str]) -> Page:
    """Return the page of open incidents, or of all."""
    field = Field("which", "Which", values.get("which", "open"), {"open": "open ones", "all": "all"})
    return Page("Incidents", listed(findings(store, every=field.value == "all")), [field])


def finding(store: Store, values: Mapping[str, str], kept: Kept, asking: Asking) -> Page:
    """Return the page of an incident with the buttons that decide about it: what happened, its cost, its evidence."""
    name = identified(store, values.get("id", ""))
    shown = next(finding for finding in findings(store, every=True) if finding.id == name)
    case = kept.of(store, ("case", name), lambda: _case(store, shown))
    _, sentence, facts, advice, *_ = finding_document(shown, asking)
    document: list[Block] = [sentence]
    if cost := cost_words(shown):
        document.append(Paragraph(f"Cost: {cost}."))
    document += [advice, *map(linked, evidence(case, 0)), Heading("Facts", 3), facts]
    if shown.evidence and case.sessions.is_empty():
        frame = store.sql(_SESSIONS, {"events": list(shown.evidence)}, timeout=10)
        document += [Heading("Sessions", 3), table_of(frame, {"session_id": session_link})]
    decision = [Field("id", "", name, kind="hidden"), Field("note", "Note"), Field("span", "Snooze for", "7d")]
    buttons = {act: act.capitalize() for act in ACTS if act != "reopen" or shown.handling}
    return Page(title_of(shown), document, buttons=buttons if shown.is_open else {}, decision=decision)


def _case(store: Store, shown: Finding) -> Case:
    """Return an incident with the numbers that its last day rests on."""
    last = shown.last_on
    seen = observe(store, last, judged_from=shown.onset)
    return cases(store, [shown], seen, last)[0]


def decide(store: Store, form: Mapping[str, str], person: str) -> str:
    """Write down the decision of a form, and return the id of its finding.

    Raises:
        AnalyzerError: there is no such decision or finding, or it is resolved.
        StoreError: the store or its journal cannot be written.
    """
    act = form.get("act", "")
    if act not in ACTS:
        raise AnalyzerError.unknown_value("decision", act, ACTS)
    length = span(form.get("span", "")) if act == "snooze" else None
    note = form.get("note", "")[:MAX_NOTE]
    name, _ = handle(store, form.get("id", ""), ACTS[act], snoozed_for=length, note=note, by=person)
    return name
