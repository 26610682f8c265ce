"""A change of wording as nights tell it: by itself, once, with both texts and the draft of a rule, to its end."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from analyzer.analysis import Night, check, each_night
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.tables import window
from analyzer.report.night.document import finding_document, night_document
from analyzer.report.night.messages import chat_message
from analyzer.report.writers.markdown import to_markdown
from analyzer.report.writers.text import to_text
from analyzer.store import Store, open_store

Native = Callable[..., bytes]
START = date(2026, 9, 7)
CHANGE, BACK, DAYS = 30, 34, 37
OLD = "Too Many Requests, slow down"
NEW = "the quota heron of lane {} is asleep"


def lines(native: Native, callers: tuple[str, ...], sessions: int) -> Iterator[bytes]:
    """Callers with so many sessions a day, two in three of them limited, in other words for some days."""
    for number in range(DAYS):
        for caller in callers:
            for session in range(sessions):
                name = f"{caller}-{number}-{session}"
                moment = datetime(START.year, START.month, START.day, 8, session) + timedelta(days=number)
                if session * 3 >= sessions * 2:
                    facts, reason = {"status": 400, "message": "messages: at least one is required"}, "validation"
                elif CHANGE <= number < BACK:
                    facts, reason = {"message": NEW.format(session + 10)}, "unknown"
                else:
                    facts, reason = {"status": 429, "message": OLD}, "rate_limited"
                yield native(name, at=moment.isoformat(), session=name, caller=caller, reason=reason, facts=facts)


@pytest.fixture
def store(tmp_path: Path, native: Native) -> Iterator[Store]:
    """One caller with twelve sessions a day."""
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines(native, ("probe",), 12)))
    with open_store(tmp_path / "s.duckdb", writable=True) as opened:
        opened.ingest([str(tmp_path / "log.jsonl")])
        yield opened


def night(store: Store, number: int) -> Night:
    """The check of the day so many days after the first."""
    return check(store, until=f"{START + timedelta(days=number + 1)}")


def test_it_is_told_by_itself_with_both_texts_and_a_draft(store: Store) -> None:
    """One finding: the rise of unknown errors and the new message that it makes are not told beside it."""
    (found,) = night(store, CHANGE).findings
    assert (found.finding, found.severity, found.state) == ("wording_changed", "warning", "new")
    assert (found.scope.caller, found.scope.reason) == ("probe", "rate_limited")
    wording = found.wording
    assert wording is not None
    assert (wording.rule, wording.reason) == (found.scope.rule, "rate_limited")
    assert wording.old == OLD
    assert wording.new is not None and wording.new.startswith("the quota heron of lane")
    assert found.statement.startswith(f"rule {wording.rule} (rate_limited) matched in 0 sessions since ")
    assert f"What it matched: “{OLD}”. The new text: “the quota heron" in found.explanation
    assert found.kind.chart is not None
    assert found.parts == ()


def test_its_draft_has_the_reason_of_the_rule(store: Store) -> None:
    """The entry of a rules file, as `analyzer unknowns --suggest` drafts it, and what speaks for the reason."""
    (found,) = night(store, CHANGE).findings
    assert found.wording is not None and found.wording.draft is not None
    rule = found.wording.draft["rule"]
    assert (rule["reason"], rule["text"][0]) == ("rate_limited", found.wording.pattern)
    gap, ending = r"[^\w.!?\n]{1,4}", "(?:s|ed|ing)?"
    assert rule["text"] == [
        r"\bthe quota heron of lane \d+ is asleep\b",
        rf"\bquota{ending}{gap}heron{ending}{gap}of{gap}lane{ending}\b",
    ]
    assert f"rule {found.wording.rule} (rate_limited) fell silent" in found.wording.draft["evidence"][0]
    patterns = "', '".join(rule["text"])
    entry = f"[[rule]]\nid = '{rule['id']}'\ntext = ['{patterns}']"
    assert tomllib.loads(entry)["rule"][0]["text"] == rule["text"]


def test_every_medium_says_so(store: Store) -> None:
    """A terminal, Markdown, a webhook, and `findings show` name rule, texts and draft."""
    judged = night(store, CHANGE)
    (found,) = judged.findings
    assert found.wording is not None
    for said in (
        to_text(night_document(judged), 100),
        to_markdown(night_document(judged)).replace("\\", ""),
        str(chat_message("webhook", judged)["text"]),
        to_text(finding_document(found), 200),
    ):
        flat = " ".join(said.split())
        assert "draft" in flat.lower()
        assert "quota heron of lane" in flat
        assert found.wording.rule in flat
    assert chat_message("webhook", judged)["findings"][0]["wording"]["old"] == OLD


def test_it_goes_on_and_ends_as_one_finding(store: Store) -> None:
    """It keeps its id and its draft while the text is seen, and is over three days after."""
    nights = [night(store, number) for number in range(CHANGE, BACK + 3)]
    found = [one for each in nights for one in each.findings]
    assert {one.id for one in found} == {found[0].id}
    assert [one.state for one in found] == ["new", *["ongoing"] * 3, *["open"] * 2, "resolved"]
    assert (found[-1].resolution, found[-1].resolved_on) == ("quiet", START + timedelta(days=BACK + 2))
    assert all(one.wording == found[0].wording for one in found)


def test_a_night_that_is_read_back_says_the_same(store: Store) -> None:
    """The journal keeps texts and draft."""
    judged = night(store, CHANGE)
    again = night(store, CHANGE)
    assert again.recorded
    assert [one.to_dict() for one in again.findings] == [one.to_dict() for one in judged.findings]
    (found,) = judged.findings
    assert Finding.from_dict(found.to_dict()) == found


def test_many_small_callers_have_one_finding(tmp_path: Path, native: Native) -> None:
    """A rewording that hits ten callers with a limited session a day is one finding of the fleet."""
    callers = tuple(f"small-{number}" for number in range(10))
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines(native, callers, 2)))
    with open_store(":memory:") as opened:
        opened.ingest([str(tmp_path / "log.jsonl")])
        nights = each_night(
            opened, window(since=f"{START + timedelta(days=CHANGE)}", until=f"{START + timedelta(days=BACK)}")
        )
    found = [one for each in nights for one in each.findings if one.severity != "info"]
    assert {(one.finding, one.scope.caller) for one in found} == {("wording_changed", None)}
    assert len({one.id for one in found}) == 1
    assert "of 10 callers met a new text that no rule knows instead" in found[-1].explanation
