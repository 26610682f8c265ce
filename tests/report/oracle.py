"""An oracle for sentences: what every medium says of made-up nights, beside a second count out of their lines.

`python -m tests.report.oracle --nights 200` reads so many nights; `--seed` reads one of them. A difference is printed
with its seed, its medium and the sentence.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from click.testing import CliRunner

from analyzer.analysis.nightly.night import Night as JudgedNight
from analyzer.cli import cli
from analyzer.report.night.document import night_document, night_subject
from analyzer.report.night.messages import alertmanager_alerts, chat_message, pagerduty_events
from analyzer.report.writers.chat import CHATS
from analyzer.report.writers.mail import to_mail
from analyzer.report.writers.text import to_text
from tests.report import recount_report
from tests.report.nights import MadeNight, make_night
from tests.report.read_page import Page, Piece
from tests.report.recount import About, Night, Reader, days_up_to, masked
from tests.report.recount_tables import TABLES, FindingTables, minute, missing_rows, wrong_cells

STORE = ("--store", "n.duckdb")
Finding = dict[str, Any]


def differences(seed: int) -> list[str]:
    """Return what any medium says of the night of a seed otherwise than its lines."""
    made = make_night(seed)
    with tempfile.TemporaryDirectory() as folder, working_in(Path(folder)):
        made.write(Path(folder))
        return [f"seed {seed}, {problem}" for problem in _differences(made, Night(made.lines, made.timezone))]


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Work in a folder, which is the home directory, too."""
    before, variables = Path.cwd(), dict(os.environ)
    os.environ |= {"HOME": str(folder), "COLUMNS": "100"}
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(variables)


def run(*words: str) -> str:
    """Run a command line in this process and return what it prints."""
    done = CliRunner().invoke(cli, list(words), catch_exceptions=False)
    assert done.exit_code in {0, 1}, f"{words}: {done.output}"
    return done.stdout


def _differences(made: MadeNight, night: Night) -> Iterator[str]:
    run("ingest", "events.jsonl", "--quiet", *STORE)
    for back in (1, 0):
        day = made.day - timedelta(days=back)
        asked = ("--until", f"{day + timedelta(days=1)}", "--timezone", made.timezone, *STORE)
        checked = ("check", *asked, "--quiet")
        result = json.loads(run(*checked, "--json"))
        for finding in result["findings"]:
            for one in (finding, *finding["parts"]):
                yield from (f"JSON of {day}: {problem}" for problem in wrong_finding(About(night, one), day))
        reader = Reader(night, day=day, phrases=phrases(result["findings"]))
        for medium, text in media(checked, result).items():
            yield from (f"{medium} of {day}: {problem}" for problem in reader.read(_without_commands(text)))
    for finding in result["findings"]:
        about = About(night, finding)
        yield from (f"show of {finding['id']}: {problem}" for problem in wrong_timeline(about))
        known = Reader(night, day=made.day, phrases=[*phrases([finding]), *_of_known(finding)])
        text = _without_commands(run("findings", "show", finding["id"], *STORE))
        yield from (f"findings show: {problem}" for problem in known.read(text))
    terminal = run("report", *asked, "--output", "r.html", "--quiet")
    found = json.loads(run("report", *asked, "--format", "json", "--quiet"))["findings"]
    for finding in found:
        for one in (finding, *finding["parts"]):
            yield from (f"JSON of the report: {problem}" for problem in wrong_finding(About(night, one), made.day))
    told = [*phrases(found), *_of_days(found), _of_before(found, made.day)]
    of_report = Reader(night, day=made.day, phrases=told)
    yield from (f"terminal: {problem}" for problem in of_report.read(_without_commands(terminal)))
    page = Page(Path("r.html").read_text("utf-8"))
    yield from (f"page: {problem}" for problem in wrong_page(of_report, page, found))


def media(checked: tuple[str, ...], result: dict[str, Any]) -> dict[str, str]:
    """Return the night as each medium tells it."""
    night = JudgedNight.from_dict(result)
    told = {
        "terminal": run(*checked),
        "Markdown": html.unescape(run(*checked, "--format", "markdown").replace("\\", "")),
        "mail": to_text(night_document(night), 78),
        "mail as HTML": _visible(to_mail(night_document(night))),
        "subject": night_subject(night),
    }
    told |= {form: _texts_of(chat_message(form, night)) for form in ("webhook", *CHATS)}
    told["PagerDuty"] = _texts_of([event for _, event in pagerduty_events(night, "key")])
    told["Alertmanager"] = _texts_of(alertmanager_alerts(night))
    return told


def _texts_of(message: object) -> str:
    """Return the texts of a message that people read."""
    shown = {"text", "description", "title", "summary", "advice", "content"}
    if isinstance(message, dict):
        return "\n".join(
            _texts_of(value)
            for key, value in message.items()
            if key in shown or (isinstance(value, dict | list) and key not in {"findings", "window", "baseline"})
        )
    if isinstance(message, list):
        return "\n".join(map(_texts_of, message))
    return html.unescape(str(message).replace("\u2060", "").replace("\\", "")) if isinstance(message, str) else ""


def _visible(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", " ", page)).replace("\u2060", "")


def _without_commands(text: str) -> str:
    """Return a text without the commands in it, which `wrong_finding` looks at."""
    return re.sub(r"`?analyzer [a-z]+ .*?(?:--store \S+|-- '[^']*')`?", " ", text)


def phrases(findings: list[Finding]) -> list[str]:
    """Return what media repeat of findings word for word, which was counted again in their JSON."""
    made = []
    for one in findings:
        for each in (one, *one["parts"]):
            text, statement = each["explanation"], _statement(each)
            lead = text.removesuffix(statement)
            headline = lead + re.split(r"[.;] ", statement, maxsplit=1)[0].rstrip(".") if lead else text.split(": ")[0]
            made += [text, text.removesuffix("."), statement, statement.partition(" Most often ")[0], headline]
        made += [f"id {one['id']}", f"id {one['id'][:8]}", one["id"], _course(one), _open(one), _who(one), _row(one)]
        made += [f"{name} = {one[f'{name}_value']:.2g}" for name in "pq" if one[f"{name}_value"] is not None]
        made += [*_of_head(one), f"Resolved on {one['resolved_on']}: {_who(one)}"]
    counts = Counter(one["state"] for one in findings)
    parts = [f"{counts[state]} {state}" for state in ("new", "ongoing", "open", "resolved") if counts[state]]
    noun = "finding" if len(findings) == 1 else "findings"
    made.append(", ".join(parts) + f" {noun}")
    before = sum(one["state"] in {"ongoing", "open"} and not one["worse"] for one in findings)
    made.append(f"And {before} {'finding' if before == 1 else 'findings'} as before")
    open_ones = [one for one in findings if one["state"] != "resolved"]
    alike = [one for one in open_ones if one["finding"] == open_ones[0]["finding"]]
    made.append(f"Open findings {len(open_ones)} {counts['resolved']} resolved by now")
    made.append(f"for {len({_who(one) for one in alike})} callers")
    rest = len(open_ones) - len(alike)
    news = [one for one in findings if one["state"] in {"new", "resolved"} or one["worse"]]
    made.append(f"And {len(news) - 1} more")
    return [*made, f"and {rest} more {'finding' if rest == 1 else 'findings'}"]


def _of_head(finding: Finding) -> Iterator[str]:
    """Return what the first screen says of a finding's days, and its sentence there."""
    sentence = _statement(finding).removesuffix(".")
    yield from (sentence, f"{sentence[:1].upper()}{sentence[1:]}")
    onset, last, span = finding["onset"], _last_seen(finding), _span(finding)
    if span:
        yield f"{_who(finding)}, {span}"
    yield from (
        f"{_who(finding)}, {onset} to {last}",
        f"{_who(finding)}, {onset}",
        f"{_who(finding)}, since {onset}",
    )


def _statement(finding: Finding) -> str:
    """Return a finding's explanation without the name and the time that it begins with."""
    text, who = str(finding["explanation"]), _who(finding)
    return text.removeprefix(who).partition(": ")[2] if text.startswith(who) else text


def _row(finding: Finding) -> str:
    """Return the cells of a finding in the table of a night."""
    share = finding["finding"] in {"spike", "drift"}
    figures = (finding[name] for name in ("observed", "expected"))
    cells = ("" if f is None else f"{100 * f:.1f}%" if share else f"{f:,.2f}" for f in figures)
    return " | ".join((_who(finding), *cells, f"{finding['sessions'] or 0:,}"))


def _who(finding: Finding) -> str:
    scope = finding["scope"]
    return next(filter(None, (scope[name] for name in ("caller", "provider", "model", "project", "tool"))), "the fleet")


def _course(finding: Finding) -> str:
    onset, last = finding["onset"], _last_seen(finding)
    if finding["state"] == "resolved":
        days, span = f"{onset} to {last}" if onset < last else onset, _span(finding)
        return f"{f'{span}, over' if span else days}, resolved on {finding['resolved_on']}"
    if finding["state"] == "open":
        return f"open since {onset}, last seen {last}"
    return f"{'new' if finding['state'] == 'new' else 'goes on'} since {onset}"


def _open(finding: Finding) -> str:
    """Return what media say of a finding that its night has nothing new of."""
    last = date.fromisoformat(_last_seen(finding))
    return f"Open, last seen {last.day} {last:%B}: {_who(finding)}"


def _last_seen(finding: Finding) -> str:
    """Return the day of its last error, or of its last detection."""
    return _local(finding, "last_error_at")[0] or str(finding["window"]["until"])


def _span(finding: Finding) -> str:
    """Return from when to when its errors came."""
    (_, first, begin), (_, last, end) = (_local(finding, name) for name in ("first_error_at", "last_error_at"))
    zone = "" if finding["timezone"] == "UTC" else f" ({finding['timezone']})"
    if begin != end:
        return f"{first} on {begin} to {last} on {end}{zone}"
    return f"{first}{f'–{last}' if first != last else ''} on {begin}{zone}" if begin else ""


def _local(finding: Finding, name: str) -> tuple[str, str, str]:
    """Return the day, the time and the words of a moment in the zone of a finding."""
    if finding[name] is None:
        return "", "", ""
    at = datetime.fromisoformat(finding[name]).astimezone(ZoneInfo(finding["timezone"]))
    return f"{at:%Y-%m-%d}", f"{at:%H:%M}", f"{at.day} {at:%B}"


def _of_known(finding: Finding) -> Iterator[str]:
    """Return what `findings show` says of the days, texts and events of a finding."""
    yield f"opened on {finding['window']['since']}"
    yield f"began on {finding['onset']}"
    yield f"last seen on {_last_seen(finding)}"
    count = finding["errors"] or 0
    yield f"counts {count:,} {'event' if count == 1 else 'events'}, {_span(finding)}"
    yield f"and {count - len(finding['evidence']):,} more"
    yield f"resolved {finding['resolved_on']}"
    yield from (*finding["samples"], *finding["evidence"])


def _of_before(findings: list[Finding], day: date) -> str:
    """Return how many findings a report says were resolved before its last day."""
    count = sum(bool(one["resolved_on"]) and one["resolved_on"] < f"{day}" for one in findings)
    return f"{count} finding" + ("s" if count != 1 else "")


def _of_days(findings: list[Finding]) -> Iterator[str]:
    """Return what a report says of the days of findings, and of the sessions of the last one."""
    for one in findings:
        onset, last, opened = one["onset"], _last_seen(one), one["window"]["since"]
        yield f"from {onset} to {last}" if last > onset else f"on {onset}"
        yield f"since {onset}"
        yield f"since {onset}, last seen {last}"
        yield f"New on {opened}"
        yield f"Resolved on {one['resolved_on']}"
        if cost := one["cost"]:
            day = one["window"]["until"]
            failed = f"{cost['sessions_failed']:,} of {cost['sessions_seen']:,} sessions failed on {day}"
            waited = recount_report.duration(cost["waited_seconds"])
            yield f"{failed}, {waited} of waiting" if cost["waited_seconds"] else failed


def wrong_finding(about: About, day: date) -> Iterator[str]:
    """Say what is wrong with the JSON of a finding: its sentence, figures, days, texts and command."""
    one, night = about.finding, about.night
    yield from Reader(night, about).read(one["explanation"])
    if not about.first <= about.last <= day or not about.onset <= about.last:
        yield f"days in no order: {one['onset']}, {one['window']}"
    own = about.counted
    counted = {"errors": len(own), "error_sessions": len({e.session for e in own})}
    for name, value in counted.items():
        if one["first_error_at"] and one[name] != value:
            yield f"{name} is {one[name]}, recounted {value}"
    for name, end in {"onset": about.onset, "window": about.last, "last_seen": about.last_seen}.items():
        if not about.anything(end):
            yield f"{name}: nothing of it on {end}"
    if one["last_seen"] != f"{about.last_seen}":
        yield f"last_seen is {one['last_seen']}, recounted {about.last_seen}"
    if one["state"] in {"ongoing", "open"} and (one["state"] == "ongoing") != (about.last_seen == day):
        yield f"{one['state']} on {day}, and last seen on {about.last_seen}"
    if one["state"] == "open" and about.scope["template"] and about.on(day):
        yield f"open on {day}, which has its text"
    events = {event.line["id"]: event for event in night.events}
    given_up = {e.line["id"] for e in night.events if e.kind == "relay.halted" and e.relay in {r.relay for r in own}}
    ids = {event.line["id"] for event in own} | given_up
    if ids and (wrong := [name for name in one["evidence"] if name not in ids]):
        yield f"evidence {wrong} is not of it"
    if unknown := [name for name in one["evidence"] if name not in events]:
        yield f"evidence {unknown} is no event"
    chains = {event.operation for event in own if event.kind == "retry.settled"}
    texts = {masked(e.message) for e in (*own, *(e for e in night.errors if e.operation in chains))}
    if own and (wrong := [text for text in one["samples"] if masked(text) not in texts]):
        yield f"samples {wrong} are not of it"
    if cost := one["cost"]:
        errors = about.on(about.last)
        counted = {
            "error_sessions": len({error.session for error in errors}),
            "sessions_failed": len(night.failed(errors)),
            "sessions_seen": len(night.sessions(about.callers, [about.last])),
            "waited_seconds": sum(night.chains[name].waited_seconds for name in {e.operation for e in errors} - {None}),
        }
        for name, value in counted.items():
            if cost[name] != value:
                yield f"cost {name} is {cost[name]}, recounted {value}"
    yield from _wrong_command(about, one["command"] or "")


def _wrong_command(about: About, command: str) -> Iterator[str]:
    given = dict(re.findall(r"--(since|until|caller|model|provider|reason|timezone) '?(\S+?)'?(?= |$)", command))
    for name in ("caller", "model", "provider", "reason"):
        if name in given and given[name] not in {about.scope[name], about.reason}:
            yield f"command {command!r}: another {name}"
    until = f"{about.last + timedelta(days=1)}"
    if "T" in given.get("since", ""):  # From the first error to the last one, to the second.
        inside = about.inside()
        since, until = (f"{at:%Y-%m-%dT%H:%M:%S}Z" for at in (inside[0].at, inside[-1].at + timedelta(seconds=1)))
        if given["since"] != since:
            yield f"command {command!r}: begins at another moment than {since}"
    elif "since" in given and given["since"] > f"{about.onset}":
        yield f"command {command!r}: begins on another day"
    if "until" in given and given["until"] != until:
        yield f"command {command!r}: ends at another moment than {until}"


def wrong_timeline(about: About) -> Iterator[str]:
    """Say what `show` says of a finding otherwise than its events."""
    shown = json.loads(run("show", about.finding["id"], "--json", *STORE))
    text = run("show", about.finding["id"], *STORE)
    lines = list(about.night.events)
    for one in shown["happenings"]:
        line = lines[one["source_line"] - 1]
        if line.line["id"] != one["event_id"] or f"events.jsonl:{one['source_line']}" not in text:
            yield f"{one['event_id']} is not in line {one['source_line']}"
        for name in ("caller", "reason", "tool"):
            if one[name] is not None and one[name] != getattr(line, name):
                yield f"{name} of {one['event_id']} is {one[name]}"
        if one["message"] is not None and one["message"] != line.message:
            yield f"message of {one['event_id']} is {one['message']!r}"
        if f"{line.at:%H:%M:%S}" not in text or f"{line.at:%Y-%m-%d} UTC" not in text:
            yield f"the time of {one['event_id']} is not {line.at}"
    times = set(re.findall(r"^\d\d:\d\d:\d\d", text, re.MULTILINE))
    if extra := times - {f"{lines[one['source_line'] - 1].at:%H:%M:%S}" for one in shown["happenings"]}:
        yield f"times {extra} of no event"
    if not shown["happenings"] and about.on(about.last):
        yield "nothing of it is shown"


def wrong_page(reader: Reader, page: Page, findings: list[Finding]) -> Iterator[str]:
    """Say what the page says otherwise than the events."""
    abouts = {one["id"]: About(reader.night, one) for one in findings}
    first = next((abouts[one["id"]] for one in findings if one["state"] != "resolved"), None)
    span, last, marks = None, Piece("table", "", "", ""), list[str]()
    for piece in page:
        if piece.section == "glossary" and "tables" not in piece.text:
            continue
        # The first screen has the chart of the first open finding.
        about = abouts.get(piece.finding) or (first if not piece.section else None)
        if piece.kind == "table":
            last = piece
            yield from _wrong_table(reader, about, piece, span)
            yield from (f"chart {mark!r} is not in table {piece.title!r}" for mark in marks if not _is_in(mark, piece))
            marks.clear()
        elif "of the last 14 days" in piece.text:
            yield from reader.read(piece.text)
        elif piece.kind == "mark":
            marks.append(piece.text)
        elif piece.kind == "text":
            if found := re.fullmatch(r"(\d+) tables? without any row", piece.text):
                names = [
                    each
                    for each in page
                    if each.section == "glossary" and "analyzer query " in each.text and "--list" not in each.text
                ]
                if int(found[1]) != len(names):
                    yield f"{piece.text!r} before {names}"
                continue
            if found := _ROWS.fullmatch(piece.text):
                yield from _wrong_number(found, page, piece, last)
                continue
            if found := re.search(r" (?:on|from) (\d{4}-\d\d-\d\d)(?: to (\d{4}-\d\d-\d\d))?, most", piece.text):
                span = tuple(date.fromisoformat(found[place] or found[1]) for place in (1, 2))
            own = Reader(reader.night, about, reader.day, reader.phrases)
            yield from own.read(_without_commands(piece.text))


_MARK = re.compile(r"(?P<day>\d{4}-\d\d-\d\d): (?P<number>[\d,.]+%?) .*")


def _is_in(mark: str, piece: Piece) -> bool:
    """Return whether a table has what a mark of its chart says of a day; of other marks nothing is said."""
    found = _MARK.fullmatch(mark)
    if found is None or "day" not in piece.header or len(piece.body) == MOST_ROWS:
        return True
    rows = [row for row in piece.body if found["day"] in row]
    # What is left of a count beside a part of it is drawn, too.
    rest = {f"{int(a) - int(b)}" for row in rows for a in row for b in row if a.isdigit() and b.isdigit()}
    return any(found["number"] in row for row in rows) or found["number"] in rest


_ROWS = re.compile(
    r"(?P<title>.*): (?P<rows>[\d,]+) rows?|(?P<part>\d+) of (?P<all>[\d,]+) rows\.|The first (?P<first>\d+)(?: rows)?;"
    r" there may be more\."
)
MOST_ROWS = 50
"""Rows of a table that a page shows."""


def _wrong_number(found: re.Match[str], page: Page, piece: Piece, last: Piece) -> Iterator[str]:
    """Say where the number of rows beside a table is not that of its rows."""
    if found["title"]:
        last = next(each for each in page.pieces[page.pieces.index(piece) :] if each.kind == "table")
    whole = int((found["rows"] or found["all"] or found["first"]).replace(",", ""))
    shown = len(last.body)
    right = whole == shown or (whole > shown == MOST_ROWS and not found["first"])
    if not right or (found["part"] and int(found["part"]) != shown):
        yield f"{piece.text!r} beside {shown} rows"


def _wrong_heat(reader: Reader, piece: Piece) -> Iterator[str]:
    """Say what the map of callers and reasons counts otherwise."""
    counts = Counter((error.caller, error.reason) for error in reader.night.errors)
    for caller, *cells in piece.body:
        for reason, cell in zip(piece.header[1:], cells, strict=True):
            right = sum(n for (who, why), n in counts.items() if who == caller and reason in {"all", why})
            if cell.replace("–", "0") != f"{right:,}":
                yield f"heat map: {caller}, {reason} is {cell}, recounted {right}"


def _wrong_table(reader: Reader, about: About | None, piece: Piece, span: tuple[date, ...] | None) -> Iterator[str]:
    title, night = piece.title, reader.night
    if title in _APART:
        yield from _APART[title](reader, piece)
        return
    if about is not None:
        first, last = (
            span if span and title in {"Messages", "Sessions"} else (about.onset - timedelta(days=42), reader.day)
        )
        found = FindingTables(about).rows(title, first, last)
    else:
        found = (TABLES[title][0], TABLES[title][1](night)) if title in TABLES else None
    if found is None:
        yield f"table {title!r} is counted nowhere"
        return
    keys, expected = found
    yield from wrong_cells(title, piece.header, piece.body, expected, keys)
    if about is None and len(piece.body) < 20:
        yield from missing_rows(title, piece.header, piece.body, expected, keys)


def _wrong_excerpts(reader: Reader, piece: Piece) -> Iterator[str]:
    lines = list(reader.night.events)
    for row in piece.body:
        cells = dict(zip(piece.header, row, strict=True))
        event = lines[int(cells["source_path"].rpartition(":")[2]) - 1]
        if (cells["occurred_at"], cells["message"], cells["session"]) != (
            minute(event.at),
            event.message,
            event.session,
        ):
            yield f"excerpt {row}"


def _wrong_drifts(reader: Reader, piece: Piece) -> Iterator[str]:
    """Say what a table of drifts counts otherwise: its numbers are sessions of some days beside those before them."""
    known = set(_drifts(reader)) if piece.body else set()
    for row in piece.body:
        said = dict(zip(piece.header, row, strict=True))["said"]
        numbers = re.findall(r"\bin (\d+)(?: of (\d+))?", said)
        if tuple(int(number) for pair in numbers for number in pair if number) not in known:
            yield f"drift {row}"


def _drifts(reader: Reader) -> Iterator[tuple[int, ...]]:
    """Count, for each caller and all, the sessions of a reason or text in the days from one to another."""
    night = reader.night
    for caller in ("", *{error.caller for error in night.errors}):
        errors = [error for error in night.errors if caller in {"", error.caller}]
        for last in days_up_to(reader.day, 5):
            for first in days_up_to(last, 15):
                every = [e for e in errors if first <= e.day <= last]
                before = [e for e in errors if e.day < first]
                sides = [len({e.session for e in side}) for side in (before, every)]
                for name in {e.reason for e in errors} | {masked(e.message) for e in errors}:
                    had, has = (
                        len({e.session for e in side if name in {e.reason, masked(e.message)}})
                        for side in (before, every)
                    )
                    yield from ((has,), (has, sides[1]), (had, sides[0], has, sides[1]))


_APART = {
    "In the log": _wrong_excerpts,
    "Errors by caller and reason": _wrong_heat,
    "What else changed at its onset": _wrong_drifts,
    "What is new in the last 7 days, compared with the 42 before": _wrong_drifts,
}
"""Titles of tables that are no grouping of events."""


def main() -> int:
    """Read the nights and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=200)
    parser.add_argument("--seed", type=int)
    asked = parser.parse_args()
    seeds = range(asked.nights) if asked.seed is None else [asked.seed]
    count = 0
    for seed in seeds:
        for problem in differences(seed):
            count += 1
            print(problem, flush=True)
    print(f"{len(seeds)} nights, {count} differences")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
