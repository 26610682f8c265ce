"""The words of the program stand in the glossary or on their page of reference, and pages that use one lead there."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from analyzer.analysis.kinds.finding import KINDS, RESOLUTIONS, STATES
from analyzer.analysis.kinds.finding_fields import SEVERITIES
from analyzer.classifier import REASONS
from analyzer.classifier.recovery_table import ACTIONS
from analyzer.events.payloads import EVENT_TYPES
from tests import REPOSITORY

DOCS = REPOSITORY / "docs"
GLOSSARY = (DOCS / "reference" / "glossary.md").read_text("utf-8")
ENTRIES = dict(re.findall(r"^## (.+)\n\n((?:.+\n)+)", GLOSSARY, re.MULTILINE))
LINKED = (
    *("baseline", "caller", "escalated", "facts", "finding", "journal", "quarantine", "relay", "ruleset", "summarizer"),
    *("surfaced", "template", "unresolved"),
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


def test_every_word_has_a_short_entry() -> None:
    """Each entry stands in its alphabetical place, has one to four sentences, and no heading is without one."""
    assert list(ENTRIES) == re.findall(r"^## (.+)$", GLOSSARY, re.MULTILINE)
    assert all(before < after for before, after in pairwise(ENTRIES))
    for word, entry in ENTRIES.items():
        sentences = re.findall(r"[.?](?=\s|$)", re.sub(r"`[^`]*`", "", entry))
        assert 1 <= len(sentences) <= (5 if word == "resolution" else 4), word


def test_every_outcome_and_resolution_is_explained() -> None:
    """An outcome has an entry of its own; resolutions, severities and actions are named in theirs."""
    assert set(OUTCOMES) <= set(ENTRIES)
    assert all(f"(#{outcome})" in ENTRIES["outcome"] for outcome in OUTCOMES)
    assert set(re.findall(r"`(\w+)`", ENTRIES["resolution"])) == set(RESOLUTIONS)
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


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_leads_to_the_words_that_it_uses(path: Path) -> None:
    """A page whose text uses such a word links its entry; the generated pages link the glossary at their head."""
    text = path.read_text("utf-8")
    if path.name in GENERATED:
        assert "(glossary.md)" in text.partition("\n## ")[0]
        return
    prose = NO_PROSE.sub("", text)
    used = [word for word in LINKED if re.search(rf"\b{word}s?\b", prose, re.IGNORECASE)]
    assert [word for word in used if f"glossary.md#{word})" not in text] == []
