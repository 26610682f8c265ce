"""The words of the program stand in the glossary or on their page of reference, and pages that use one lead there."""

from __future__ import annotations

import re
from pathlib import Path

from analyzer.analysis.kinds.finding import KINDS, RESOLUTIONS, STATES
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.classifier import REASONS
from analyzer.classifier.recovery_table import ACTIONS
from analyzer.events.payloads import EVENT_TYPES
from tests import REPOSITORY, each_row

DOCS = REPOSITORY / "docs"
GLOSSARY = (DOCS / "reference" / "glossary.md").read_text("utf-8")
ENTRIES = {word: entry for word, _, entry in (part.partition("\n\n") for part in GLOSSARY.split("\n## ")[1:])}
LINKED = (
    *("baseline", "caller", "facts", "finding", "journal", "quarantine", "relay", "ruleset", "summarizer", "template"),
)
"""Words that nobody knows before reading what they mean here, and that have no other meaning in the pages."""
NO_PROSE = re.compile(r"^```.*?^```$|^#.*?$|`[^`\n]*`|\[[^\]]*\]\([^)]*\)", re.MULTILINE | re.DOTALL)
PAGES = sorted(
    page
    for page in DOCS.rglob("*.md")
    if page.parent.name != "decisions" and page.name not in {"README.md", "glossary.md"}
)
GENERATED = ("commands.md", "queries.md", "views.md")


OUTCOMES = ("recovered", "exhausted", "surfaced", "escalated", "aborted", "unresolved")


def page(name: str) -> str:
    """A page of docs/."""
    return (DOCS / name).read_text("utf-8")


def test_the_glossary_is_short() -> None:
    """It has at most 25 words in alphabetical order, and an entry of at most seven short sentences for each."""
    assert len(ENTRIES) <= 25
    assert list(ENTRIES) == sorted(ENTRIES)
    for word, entry in ENTRIES.items():
        sentences = re.findall(r"[.?](?=\s|$)", re.sub(r"`[^`]*`", "", entry))
        assert 1 <= len(sentences) <= 7, word


def test_every_outcome_and_resolution_is_explained() -> None:
    """Outcomes, resolutions, severities and actions are named in the entries of these words."""
    assert set(OUTCOMES) == set(re.findall(r"`(\w+)`:", ENTRIES["outcome"]))
    assert set(re.findall(r"`(\w+)`:", ENTRIES["resolution"])) == set(RESOLUTIONS)
    assert set(re.findall(r"`(\w+)`", ENTRIES["severity"])) == set(SEVERITIES)
    assert set(re.findall(r"`(\w+)`", ENTRIES["action"])) == set(ACTIONS)


def test_every_reason_type_and_kind_is_on_the_page_that_the_glossary_names() -> None:
    """Reasons stand with the classifier, types with the event log, kinds and states of findings with the check."""
    assert [reason for reason in REASONS if f"| `{reason}` |" not in page("explanation/classifier.md")] == []
    headings = re.findall(r"^### (.+)$", page("reference/events.md"), re.MULTILINE)
    assert set(EVENT_TYPES) <= {kind for heading in headings for kind in heading.split(", ")}
    check = page("reference/check.md")
    assert [kind for kind in (*KINDS, *STATES, *RESOLUTIONS) if f"`{kind}`" not in check] == []
    beginning = GLOSSARY.partition("\n## ")[0]
    assert all(name in beginning for name in ("classifier.md#", "events.md#", "check.md#"))


@each_row("path", PAGES)
def test_a_page_leads_to_the_words_that_it_uses(path: Path) -> None:
    """A page whose text uses such a word links its entry; the generated pages link the glossary at their head."""
    text = path.read_text("utf-8")
    if path.name in GENERATED:
        assert "(glossary.md)" in text.partition("\n## ")[0]
        return
    prose = NO_PROSE.sub("", text)
    used = [word for word in LINKED if re.search(rf"\b{word}s?\b", prose, re.IGNORECASE)]
    assert [word for word in used if f"glossary.md#{word})" not in text] == []
