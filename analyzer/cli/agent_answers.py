"""Answer an agent's questions about failures in few words.

Invariants: an answer has at most `MAX_TOKENS` and `MAX_BYTES`, and says where it was cut. Texts of
logs are data: they stand on lines of their own or in cells, with secrets taken out. A store is
read, never written.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from analyzer.errors import AnalyzerError
from analyzer.readable import counted, percent
from analyzer.store import Store

if TYPE_CHECKING:
    from analyzer.analysis.tables import Window

MAX_TOKENS = 1_500
"""Tokens of an answer, as `tokens` counts them.

Cells of ids and figures have fewer than two bytes a token, prose has four.
"""
MAX_BYTES = 4_500
MAX_ASKED_CHARS = 20_000
"""Characters of an error that are classified: the rest of a longer one says nothing new."""
_MESSAGES, _TOOLS, _FINDINGS = 8, 5, 5
_ROWS = 50
_LONGEST_ID = 200
_QUOTED_CHARS = 160


def recent_failures(store: Store, last: str = "24h", caller: str | None = None) -> str:
    """Say what failed most in the last hours or days and what to do.

    List failed tools and open findings.

    If nothing failed, the answer shows the same span up to the newest failure.
    """
    from analyzer.analysis.nightly.decisions import findings
    from analyzer.analysis.summary.leading import LEADING_TABLES, leading
    from analyzer.analysis.tables import Window, table, window
    from analyzer.report.overview_words import entry_of, open_words

    chosen, instead = window(last=last), list[str]()
    if _last_failure(store, chosen, caller) is None and (newest := _last_failure(store, Window(), caller)):
        chosen = window(until=newest + timedelta(milliseconds=1), last=last)
        shown = f"Shown: the {last} up to the newest failure, {newest:%Y-%m-%d %H:%M} UTC."
        instead = [f"Nothing failed in the last {last}. {shown}", ""]
    names = (*LEADING_TABLES, "versions-by-agent", "tools-messages")
    tables = {name: table(store, name, chosen, caller=caller) for name in names}
    sessions = table(store, "overview-totals", chosen).frame["sessions"][0]
    leads = leading(tables, sessions, None)
    lines = [text for lead in leads for text in (lead.text, lead.advice) if text]
    if not lines:
        lines = [f"No error in the last {last}.{_newest(store)}"]
    lines = [*instead, *lines]
    messages, tools = tables["errors-messages"].frame.head(_MESSAGES), tables["tools-messages"].frame.head(_TOOLS)
    if not messages.is_empty():
        lines += ["", "Errors (whose they are), those first that left the most sessions without an answer:"]
        for row in messages.iter_rows(named=True):
            counts = f"{row['errors']:,} × {row['reason']} ({row['party']}), {counted(row['sessions'], 'session')}"
            lines.append(f"- {counts}: {_quoted(row['message'])}")
    if not tools.is_empty():
        lines += ["", "Failed tools:"]
        lines += [
            f"- {row['failures']:,} × {row['tool']}: {_quoted(row['message'])}" for row in tools.iter_rows(named=True)
        ]
    if open_findings := findings(store)[:_FINDINGS]:
        lines += ["", "Open findings of the nightly check (ask `why` with the id):"]
        for finding in open_findings:
            sentence = open_words(finding) if finding.is_quiet else entry_of(finding).sentence
            lines.append(f"- {finding.id[:8]} {finding.severity}: {sentence}")
    return _cut(lines, "ask for a shorter time, or one caller")


def _last_failure(store: Store, chosen: Window, caller: str | None) -> datetime | None:
    """Return the time of the newest error or failed tool call of a window."""
    from analyzer.analysis.tables import table

    tables = (table(store, name, chosen, caller=caller).frame for name in ("errors-by-party", "tools-by-tool"))
    return max((at for frame in tables for at in frame["last_at"] if at is not None), default=None)


def why(store: Store, about: str) -> str:
    """Tell the story of a session or a finding, or explain an error.

    `about` is an id or its beginning, or the text of the error.

    Raises:
        AnalyzerError: the question is empty, or several ids begin so.
    """
    from analyzer.analysis.timeline import identified, timeline
    from analyzer.report.timeline import timeline_document
    from analyzer.report.writers.text import to_text

    asked = about.strip()
    if not asked:
        raise AnalyzerError("there is no question", "give the id of a session or a finding, or the text of an error")
    if len(asked) <= _LONGEST_ID and not any(map(str.isspace, asked)) and identified(store, asked):
        shown = timeline(store, asked)
        return _cut(to_text(timeline_document(shown), 120).splitlines(), f"analyzer show {shown.id} has all of it")
    return _meaning(store, asked[:MAX_ASKED_CHARS])


def _meaning(store: Store, text: str) -> str:
    from analyzer.classifier import classify
    from analyzer.classifier.fingerprint import fingerprint
    from analyzer.classifier.reading.extract import extract
    from analyzer.report.rules import verdict_document
    from analyzer.report.writers.text import to_text

    lines = to_text(verdict_document(classify(text)), 120).splitlines()
    alike = store.query("errors-messages", fingerprint=fingerprint(extract(text).message or text))
    for row in alike.head(1).iter_rows(named=True):
        company = f"{counted(row['sessions'], 'session')} of {counted(row['callers'], 'caller')}"
        lines += [
            "",
            f"Seen {counted(row['errors'], 'time')} in {company}; {row['failed_sessions']:,} gave up,",
        ]
        lines.append(f"{row['first_at']:%Y-%m-%d %H:%M} to {row['last_at']:%Y-%m-%d %H:%M} UTC.")
    if alike.is_empty():
        lines += ["", "No such error is in the logs."]
    return _cut(lines, "")


def is_it_me_or_them(store: Store, provider: str | None = None, last: str = "1h") -> str:
    """Say whether the last hours' failures are the provider's, account's, network's or caller's."""
    from analyzer.analysis.nightly.check import check_hours
    from analyzer.analysis.summary.leading import NOBODY, WHOSE, blame
    from analyzer.analysis.tables import window

    chosen = window(last=last)
    rows = store.query("errors-by-party", since=chosen.since, until=chosen.until, provider=provider).rows(named=True)
    of_provider = f" of {provider}" if provider else ""
    if not rows:
        return f"No error{of_provider} in the last {last}: neither.{_newest(store)}"
    total, first = counted(sum(row["errors"] for row in rows), "error"), rows[0]
    whose = WHOSE.get(first["party"], NOBODY)
    head = "Mostly " if first["share"] > 0.5 else "Mixed, most of all "
    company = f"{counted(first['sessions'], 'session')} of {counted(first['callers'], 'caller')}"
    lines = [
        f"{head}{whose}: {first['errors']:,} of {total}{of_provider} in the last {last}, in {company}.",
        "",
        *(
            f"- {row['party']}: {row['errors']:,} ({percent(row['share'])}), {counted(row['sessions'], 'session')},"
            f" {counted(row['callers'], 'caller')}, mostly {row['reason']}, latest {row['last_at']:%H:%M} UTC"
            for row in rows
        ),
    ]
    judged = store.query("errors-blame", since=chosen.since, until=chosen.until, provider=provider, limit=3)
    lines += [
        "",
        "Compared with other callers and providers:",
        *(f"- {blame(row)}" for row in judged.iter_rows(named=True)),
    ]
    findings = check_hours(store, chosen).findings[:_FINDINGS]
    lines += ["", *(f"- {finding.explanation}" for finding in findings)]
    if not findings:
        lines.append("That is normal for these hours.")
    return _cut(lines, "ask for one provider, or for fewer hours")


def what_changed(store: Store, what: str | None = None, before: str | None = None, after: str | None = None) -> str:
    """Compare two weeks, versions, models, projects or callers: what became worse, what is noise.

    Raises:
        AnalyzerError: `what` is not NAME=OLD..NEW, or a window cannot be read.
    """
    from analyzer.analysis.comparison import compare, dimension_values
    from analyzer.report.changes import comparison_document
    from analyzer.report.writers.markdown import to_markdown

    by, values = dimension_values(what)
    comparison = compare(store, before, after, by=by, values=values)
    return _cut(to_markdown(comparison_document(comparison)).splitlines(), "analyzer compare has all of it")


def query(store: Store, name: str | None = None, params: Mapping[str, str] | None = None) -> str:
    """Run a query of the catalogue by its name, with its parameters.

    Without a name list the catalogue.

    Raises:
        QueryError: no such query or parameter, or a bad value.
    """
    from analyzer.report import render_rows
    from analyzer.store import catalogue

    if not name:
        queries = (f"- {entry.name}: {entry.header.title}" for entry in catalogue().values() if not entry.inner)
        return _cut(["Queries, with since, until or last as parameters of most:", *queries], "analyzer query --list")
    frame = store.query(name, **(params or {}))
    if frame.is_empty():
        return f"No row.{_newest(store)}"
    # CSV takes the fewest tokens of all row formats.
    text = str(render_rows(frame.head(_ROWS), "csv"))
    rest = [f"… {frame.height - _ROWS:,} rows left out"] if frame.height > _ROWS else []
    return _cut([*text.splitlines(), *rest], f"{frame.height:,} rows in all: narrow it by a parameter")


def _newest(store: Store) -> str:
    """Say in a sentence when the newest event was logged.

    Return an empty text if the logs have no event.
    """
    (totals,) = store.query("overview-totals").iter_rows(named=True)
    return f" The newest event of the logs is of {totals['last_at']:%Y-%m-%d %H:%M} UTC." if totals["last_at"] else ""


def _quoted(text: str) -> str:
    from analyzer.report.escape import one_line
    from analyzer.report.writers.monospace import fit

    return f"“{fit(one_line(text), _QUOTED_CHARS)}”"


def _cut(lines: list[str], more: str) -> str:
    """Join the lines that fit into an answer, and say how many did not."""
    kept: list[str] = []
    room, left = MAX_BYTES - 200, MAX_TOKENS - 60
    for line in lines:
        room -= len(line.encode("utf-8", "replace")) + 1
        left -= tokens(line) + 1
        if room < 0 or left < 0:
            rest = f"… {len(lines) - len(kept):,} of {len(lines):,} lines left out"
            return "\n".join([*kept, f"{rest}; {more}" if more else rest])
        kept.append(line)
    return "\n".join(kept)


def tokens(text: str) -> int:
    """Estimate the tokens of a text.

    It counts up to a third too many, and never too few for OpenAI's o200k and cl100k.

    A word has one token, and one more for each further eight letters. Three digits have one, and so
    has a space before digits. A punctuation mark has one, a character of another script two.
    """
    number, before = 0, ""
    for kind, run in groupby(text, _kind):
        length = sum(1 for _ in run)
        if kind == "letter":
            number += 1 + (length - 1) // 8
        elif kind == "digit":
            number += -(-length // 3) + (before == " ")
        elif kind != " ":
            number += 2 * length if kind == "other" else length
        before = kind
    return number


def _kind(character: str) -> str:
    if not character.isascii():
        return "other"
    if character.isalpha():
        return "letter"
    return "digit" if character.isdigit() else character
