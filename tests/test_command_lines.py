"""Commands that are printed: a shell reads them as they were meant, and they answer about what they stand beside."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.analysis import check, overview, window
from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.cli import COMMANDS, cli
from analyzer.command_lines import STORELESS, STORELESS_RULES, Asking, command_line, window_words
from analyzer.events import Event, encode
from analyzer.readable import terminal_safe
from analyzer.report import Made, render_html, render_markdown, render_text
from analyzer.report.night.document import night_document
from analyzer.report.night.messages import (
    alertmanager_alerts,
    chat_message,
    pagerduty_events,
)
from analyzer.report.writers.mail import to_mail
from analyzer.report.writers.markdown import to_markdown
from analyzer.report.writers.text import to_text
from analyzer.store import open_store
from tests.analysis.histories import DAYS, START, every_finding
from tests.cli.conftest import UNSET, forks
from tests.cli.forking import Done, Forks, Line

__all__ = ["forks"]

CALLER = "it's @here `id` $HOME; wait www.example.org"
"""A name that a shell, a chat and a browser would each do something with."""
LAST = START + timedelta(days=DAYS - 1)


def bash(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """What a script gives in a shell in which this analyzer is installed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    known = {**os.environ, "PATH": path, "HOME": str(folder), "XDG_DATA_HOME": "", "ANALYZER_STORE": "", **environment}
    return subprocess.run(["bash", "-c", script], cwd=folder, env=known, capture_output=True, check=False)


def words_of(commands: Iterable[str], folder: Path) -> list[list[str]]:
    """The words as which bash reads each command."""
    script = "".join(f"printf '%s\\0' {command}; printf '\\0'\n" for command in commands)
    told = bash(script, folder, LC_ALL="C")
    assert told.returncode == 0 and not told.stderr
    return [each.decode("utf-8", "surrogateescape").split("\0") for each in told.stdout.split(b"\0\0")[:-1]]


def ran(command: str, folder: Path, forks: Forks) -> Done:
    """What a command does, read by bash and run in a folder."""
    (words,) = words_of([command], folder)
    assert words[0] == "analyzer"
    return forks.run(Line(words[1:], str(folder), environment={"HOME": str(folder)}, unset=UNSET, seconds=120))


@settings(max_examples=30)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), max_size=4))
def test_a_shell_reads_the_words_that_were_meant(words: list[str]) -> None:
    """Whatever a log put into them; nothing in the line is invisible, and in chats nothing calls or is a link."""
    for chat in (False, True):
        line = command_line("query", *words, store="my store.duckdb", chat=chat)
        assert terminal_safe(line) == line
        read = words_of([line], Path.cwd())[0]
        assert sorted(read) == sorted(["analyzer", "query", *words, "--store", "my store.duckdb"])
        assert not (chat and re.search("[@`<>&]|://", line))


def test_a_store_is_named_where_one_is_asked() -> None:
    """By every command that has the option and by no other; before what follows a `--`."""
    context = click.Context(cli)
    commands = {(name,): cli.get_command(context, name) for name in COMMANDS}
    rules = commands.pop(("rules",))
    assert isinstance(rules, click.Group)
    commands |= {("rules", name): each for name, each in rules.commands.items()}
    for words, command in commands.items():
        below = command.commands.values() if isinstance(command, click.Group) else [command]
        takes = any(param.name == "store_path" for each in below for param in each.params)
        assert ("--store" in command_line(*words, store="x.duckdb")) == takes, words
    assert {*STORELESS} < {*COMMANDS} and {*STORELESS_RULES} < {*rules.commands}
    assert command_line("sql", "--", "-x", store="x.duckdb") == "analyzer sql --store x.duckdb -- -x"


def test_a_window_is_named_by_days_or_moments() -> None:
    """Days are those of the zone; what is open is left out."""
    chosen = window("2026-11-01T06:00", None, None, "Europe/Berlin")
    assert window_words(chosen.since, chosen.until, chosen.timezone) == (
        *("--since", "2026-11-01T05:00:00Z"),
        *("--timezone", "Europe/Berlin"),
    )
    assert window_words(LAST) == ("--since", LAST.isoformat())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store that holds every kind of finding; one caller's name is hostile."""
    made = tmp_path_factory.mktemp("a b")
    named = json.dumps(CALLER).encode()
    lines = [each.replace(b'"caller":"spike"', b'"caller":' + named) for each in every_finding()]
    (made / "log.jsonl").write_bytes(b"".join(re.sub(rb',"crc":"[0-9a-f]+"', b"", each) for each in lines))
    with open_store(str(made / "it's.duckdb"), writable=True) as store:
        store.ingest([str(made / "log.jsonl")])
    return made


@pytest.fixture(scope="module")
def night(folder: Path) -> Night:
    """The last night of it."""
    with open_store(str(folder / "it's.duckdb"), writable=True) as store:
        return check(store, until=(LAST + timedelta(days=1)).isoformat())


def shown_by_night(night: Night) -> dict[str, list[str]]:
    """The commands of a night in every form in which it is told, as a person copies them."""
    slack = [block["text"]["text"] for block in chat_message("slack", night)["blocks"] if block["type"] == "section"]
    card = chat_message("teams", night)["attachments"][0]["content"]["body"]
    teams = [block["text"] for block in card if block.get("fontType") == "monospace"]
    here = Asking("it's.duckdb")
    webhook = chat_message("webhook", night)
    return {
        "terminal": re.findall("(?m)^ {4}(analyzer .*)", to_text(night_document(night, asking=here), 80)),
        "mail": re.findall("(?m)^ {4}(analyzer .*)", to_text(night_document(night), 78)),
        "mail in HTML": list(map(html.unescape, re.findall("<pre[^>]*>(.*?)</pre>", to_mail(night_document(night))))),
        "markdown": re.findall("`(analyzer .*)`", to_markdown(night_document(night))),
        "slack": [html.unescape(found) for text in slack for found in re.findall("`(analyzer .*)`", text)],
        "teams": [re.sub(r"\\(.)", r"\1", text) for text in teams],
        "discord": [embed["footer"]["text"] for embed in chat_message("discord", night)["embeds"] if "footer" in embed],
        "webhook": re.findall("→ (analyzer .*)", webhook["text"]),
        "webhook's JSON": [found["command"] for found in webhook["findings"] if found["command"]],
        "pagerduty": [event["payload"]["custom_details"]["command"] for _, event in pagerduty_events(night, "key")],
        "alertmanager": [alert["annotations"]["command"] for alert in alertmanager_alerts(night)],
    }


def test_every_command_of_a_night_is_one_of_its_findings(night: Night, folder: Path) -> None:
    """In terminal, mail, chats, webhooks and alerts bash reads the words that the finding's own command has."""
    known = {(*one.words, "--store") for one in night.findings}
    callers = set()
    for medium, commands in shown_by_night(night).items():
        read = words_of(filter(None, commands), folder)
        assert read, medium
        for words in read:
            at = words.index("--store") if "--store" in words else len(words)
            assert (*words[1:at], *words[at + 2 :], "--store") in known, medium
            assert "--store" not in words or words[at + 1] in {"it's.duckdb", str(folder / "it's.duckdb")}
            callers.update(words[words.index("--caller") + 1 :][:1] if "--caller" in words else ())
    assert CALLER in callers and "wait" not in callers


def test_no_command_names_the_home_directory(night: Night, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every form of a night it is `~/`, which bash makes the same store of; in the name of a table `$HOME`."""
    monkeypatch.setenv("HOME", str(folder))
    for medium, commands in shown_by_night(night).items():
        assert not any(str(folder) in command for command in commands), medium
        for words in words_of(filter(None, commands), folder):
            named = words[words.index("--store") + 1 :][:1] if "--store" in words else []
            assert named in ([], ["it's.duckdb"], [str(folder / "it's.duckdb")]), medium
    for store in (str(folder / "@here.duckdb"), f"delta:{folder}/a lake", f"delta:{folder}/"):
        for chat in (False, True):
            line = command_line("ingest", f"{folder}/l og", store=store, chat=chat)
            assert str(folder) not in line
            assert words_of([line], folder) == [["analyzer", "ingest", f"{folder}/l og", "--store", store]]
    assert str(folder.parent) in command_line("query", store=f"{folder}2/x.duckdb")
    monkeypatch.setenv("HOME", "/")
    assert command_line("query", store="/x.duckdb") == "analyzer query --store /x.duckdb"


def test_every_command_of_a_finding_answers_about_its_caller_and_days(night: Night, folder: Path, forks: Forks) -> None:
    """Run in another folder they end as they should, and say nothing of other callers or days."""
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    asked = {one.command: one for one in night.findings if one.is_open and one.command}
    assert len({one.finding for one in asked.values()}) > 10
    with open_store(str(folder / "it's.duckdb")) as store:
        errors, chains = store.view("errors"), store.view("retries").with_columns(occurred_at=pl.col("started_at"))
    for command, one in asked.items():
        done = ran(f"{command} --json" if " -- " not in command else command, elsewhere, forks)
        assert done.code == 0, (command, done.stderr)
        assert done.stdout.strip(), command
        told: Any = json.loads(done.stdout) if " -- " not in command else {}
        if one.words[0] == "unknowns":
            known = of_its_own(errors.filter(pl.col("counts_as_unknown")), one)
            assert sum(group["count"] for group in told["groups"]) == known.height > 0, command
        elif one.words[:2] == ("query", "errors-by-reason-caller-outcome"):
            assert sum(row["errors"] for row in told["rows"]) == of_its_own(errors, one).height > 0, command
        elif one.words[:2] == ("query", "retries-outcomes"):
            assert sum(row["chains"] for row in told["rows"]) == of_its_own(chains, one).height > 0, command


def of_its_own(rows: pl.DataFrame, one: Finding) -> pl.DataFrame:
    """The rows of what a finding singles out, from its first error to its last one, or of the days that it looks at."""
    first = min(one.onset, one.last_on - timedelta(days=one.kind.evidence.days - 1))
    for name in ("caller", "provider", "model", "project"):
        if (who := getattr(one.scope, name)) is not None:
            rows = rows.filter(pl.col(name) == who)
    if one.kind.asks_errors:
        return rows.filter(pl.col("occurred_at").is_between(one.first_error_at, one.last_error_at))
    return rows.filter(pl.col("occurred_at").dt.date().is_between(first, one.last_on))


def test_every_command_of_a_page_runs(folder: Path, forks: Forks) -> None:
    """Buttons to copy and the sentences under tables, in HTML, Markdown and on the terminal."""
    place = str(folder / "it's.duckdb")
    with open_store(place) as store:
        told = overview(store, window(START.isoformat(), (LAST + timedelta(days=1)).isoformat()))
    asking = Asking(place)
    page = render_html(told, Made("host", place, asking))
    shown = {html.unescape(found) for found in re.findall(r'<code(?: class="command")?>(analyzer .*?)</code>', page)}
    shown |= set(re.findall("`(analyzer .*?)`\n", render_markdown(told, Asking(place, chat=True))))
    shown |= set(re.findall("^ +(?:→ )?(analyzer .*)", render_text(told, asking=asking), re.MULTILINE))
    queries = [each for each in shown if each.startswith("analyzer query ") and "--list" not in each]
    assert all("--since" in each for each in queries if "errors-by" in each)
    commands = sorted(shown)
    forms = {}
    for words, command in zip(words_of(commands, folder), commands, strict=True):
        forms[words[1], *sorted(word for word in words if word.startswith("-"))] = command
    assert len(forms) > 5
    for command in sorted(forms.values(), key=lambda each: " findings " in each):
        done = ran(command, folder, forks)
        assert done.code == (1 if command.startswith("analyzer check") else 0), (command, done.stderr)


LATER = datetime(2026, 10, 28, 12)
"""Two days after the last day of the history."""


def test_every_finding_of_a_page_is_acknowledged_as_it_says(folder: Path, tmp_path: Path, forks: Forks) -> None:
    """Also one of a day that no night has judged: after the command beside it the one below knows the finding."""
    place = str(tmp_path / "new.duckdb")
    with open_store(place, writable=True) as store:
        store.ingest([str(folder / "log.jsonl")])
        told = overview(store)
        late = encode(Event("session.observed", LATER, "late", {"requests": 1}, "late"))
        (tmp_path / "later.jsonl").write_bytes(late)
        store.ingest([str(tmp_path / "later.jsonl")])
        later = overview(store)
    of_last_day = next(case for case in told.cases if case.is_open and not case.reported)
    earlier = (case for case in later.cases if case.is_open and not case.reported)
    cases = [of_last_day, next(case for case in earlier if case.finding.last_on < LATER.date() - timedelta(days=1))]
    for case in cases:
        page = html.unescape(render_html(replace(told, cases=(case,)), Made("host", place, Asking(place))))
        (judging,) = re.findall('No night has recorded it yet: <code class="command">(analyzer .*?)</code>', page)
        (acknowledging,) = re.findall('Acknowledge it: <code class="command">(analyzer .*?)</code>', page)
        assert ran(judging, tmp_path, forks).code in {0, 1}
        done = ran(acknowledging, tmp_path, forks)
        assert done.code == 0, (judging, acknowledging, done.stderr)
