"""`analyzer nightly`: do the night's work: ingest, check, report, prune, and deliver."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from platform import node
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from analyzer import interpreter
from analyzer.cli.commands.checking import night_gauges
from analyzer.cli.delivery import VARIABLE, deliver, read_targets
from analyzer.cli.inputs import rules_in_use
from analyzer.cli.options import (
    chosen_window,
    deliver_option,
    fail_on_option,
    quiet_option,
    rules_option,
    store_path_option,
)
from analyzer.cli.output import (
    add_to_job_summary,
    complain,
    narrate,
    report_problems,
    text_layout,
    write,
    write_new,
)
from analyzer.cli.stores import REPORTED, NamedStore, home_folder, read_logs, store_to_fill
from analyzer.errors import FINDINGS, OK, PARTIAL, UNREADABLE, AnalyzerError
from analyzer.readable import counted
from analyzer.report.night.job import KINDS, LABEL, job_units

if TYPE_CHECKING:
    from analyzer.analysis import Night
    from analyzer.analysis.nightly.decisions import Undelivered
    from analyzer.cli.delivery import Target
    from analyzer.report.night.job import JobStep
    from analyzer.store import Store

Outcome = tuple[int, str]
"""The exit code of a step, and its summary."""


@click.command("nightly")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@store_path_option(default=None)
@click.option("--timezone", "-z", default="UTC", metavar="ZONE", help="Time zone of days. Default UTC.")
@click.option("--until", metavar="TIME", help="Judge the day before this time. Default: now.")
@rules_option
@click.option("--strict", is_flag=True, help="Exit with 4 if lines went to quarantine.")
@fail_on_option
@click.option("--last", default=REPORTED, metavar="SPAN", help=f"Window of the page. Default: {REPORTED}.")
@click.option("--page", metavar="FILE", default="report.html", help="The page. Default: report.html.")
@click.option("--keep", metavar="SPAN", help="Delete older events, such as 180d. Default: never.")
@click.option("--prometheus", metavar="FILE", help="Write metrics for node exporter.")
@deliver_option
@click.option("--install", type=click.Choice(KINDS), help="Only print a unit that runs this command nightly.")
@click.option("--write", "write_it", is_flag=True, help="With --install: install the unit.")
@click.option("--json", "-j", "as_json", is_flag=True, help="Print JSON.")
@quiet_option
def command(
    paths: tuple[str, ...],
    store_path: str | None,
    timezone: str,
    until: str | None,
    rules_path: str | None,
    strict: bool,
    fail_on: str,
    last: str,
    page: str,
    keep: str | None,
    prometheus: str | None,
    deliver_to: tuple[str, ...],
    install: str | None,
    write_it: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Do the night's work in one command: ingest, check, report, prune.

    \b
      analyzer nightly
      analyzer nightly ~/.claude/projects telemetry/ --store fleet.duckdb --strict
      analyzer nightly telemetry/ --keep 180d --deliver slack:"$HOOK" --json
      analyzer nightly telemetry/ --store fleet.duckdb --install systemd --write

    Without PATHs it reads the logs of all agents on this machine. If a step fails, the others still run. The worst
    step gives the exit code: 3, then 2, 4 and 1. The store stays locked until the job ends. With --install
    it prints a unit that runs this command every night, and does nothing else.
    """
    if write_it and not install:
        raise AnalyzerError("--write goes with --install", f"name one: {', '.join(KINDS)}")
    if install:
        _install(install, write_it)
        return OK
    from analyzer.store import load_frugal_polars

    load_frugal_polars()
    from analyzer.analysis import check, overview
    from analyzer.analysis.nightly.decisions import Undelivered
    from analyzer.analysis.summary.leading import leading_of_night
    from analyzer.report import render_html
    from analyzer.report.night.job import gravest_code, job_dict, job_document
    from analyzer.report.overview import Made
    from analyzer.report.overview_words import beside_findings
    from analyzer.report.writers.markdown import to_markdown
    from analyzer.report.writers.text import to_text

    # All options are read before the first step, so that a wrong one stops the command.
    shown, judged = chosen_window(last=last, timezone=timezone), chosen_window(until=until, timezone=timezone)
    rules, targets = rules_in_use(rules_path), read_targets(deliver_to)
    from analyzer.store import kept_since

    before = kept_since(keep) if keep else None
    target_store = NamedStore(store_path or store_to_fill(paths))
    if not paths:
        target_store.announce_logs(quiet=quiet)
    steps: list[JobStep] = []
    nights: list[Undelivered] = []
    with target_store.open_for_logs() as store:

        def judge() -> Outcome:
            night = check(store, until=judged.until, timezone=timezone, rules=rules)
            if night.findings:
                night = replace(night, opening=beside_findings(leading_of_night(store, night)))
            nights.append(Undelivered.of(store, night))
            return FINDINGS if night.fails(fail_on) else OK, night.headline

        def draw() -> Outcome:
            made = Made(node(), target_store.name, target_store.asking(elsewhere=True))
            write(render_html(overview(store, shown, rules=rules), made), page)
            return OK, f"written to {page}"

        steps.append(_step("ingest", lambda: _ingest(store, paths, strict, quiet)))
        steps.append(_step("check", judge))
        steps.append(_step("report", draw))
        # The figures of the judged day are taken before prune may delete its events.
        night = nights[0].night if nights else None
        gauged = [_step("prometheus", lambda: _gauges(store, night, prometheus))] if night and prometheus else []
        if before is not None:
            kept = before

            def prune() -> Outcome:
                result = store.prune(kept)
                return OK, f"{counted(result.events, 'event')} from before {kept:%Y-%m-%d} UTC deleted"

            steps.append(_step("prune", prune))
    steps += gauged
    if nights and targets:
        steps.append(_step("deliver", lambda: _deliver(nights[0], targets, target_store.open_for_decisions)))
    add_to_job_summary(lambda: to_markdown(job_document(steps, night)))
    if as_json:
        write(job_dict(steps, night, target_store.name), None)
    else:
        width, colour = text_layout(None)
        write(to_text(job_document(steps, night, target_store.asking()), width, colour=colour), None)
    return gravest_code(steps)


def _step(name: str, work: Callable[[], Outcome]) -> JobStep:
    """Do a step, and return its outcome.

    A failure is told on stderr and does not stop the other steps.
    """
    from analyzer.cli import said_by_system
    from analyzer.report.night.job import JobStep

    try:
        return JobStep(name, *work())
    except AnalyzerError as error:
        code, message, hint = error.exit_code, error.message, error.hint
    except OSError as error:
        code, (message, hint) = UNREADABLE, said_by_system(error)
    complain(f"{name}: {message}", hint)
    from analyzer.redaction import redact

    return JobStep(name, code, redact(message), redact(hint))


def _ingest(store: Store, paths: tuple[str, ...], strict: bool, quiet: bool) -> Outcome:
    result = read_logs(store.ingest, paths, quiet=quiet)
    report_problems(result.problems)
    total = result.total
    parts = [counted(len(result.sources), "file"), counted(total.lines, "new line"), counted(total.events, "new event")]
    if total.quarantined:
        parts.append(f"{total.quarantined:,} in quarantine")
    if result.problems:
        return UNREADABLE, ", ".join([*parts, f"{counted(len(result.problems), 'path')} could not be read"])
    damaged = any(item.status == "damaged" for item in result.sources)
    return PARTIAL if strict and (total.quarantined or damaged) else OK, ", ".join(parts)


def _gauges(store: Store, night: Night, target: str) -> Outcome:
    write(night_gauges(store, night), target)
    return OK, f"written to {target}"


_NEXT = {
    "systemd": "systemctl --user daemon-reload && systemctl --user enable --now analyzer.timer",
    "launchd": f"launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/{LABEL}.plist",
    "github-actions": "commit it; the job runs on a runner of your own",
}


def _install(kind: str, write_it: bool) -> None:
    """Print the unit of a kind, or write it to its place.

    Raises:
        AnalyzerError: it has no place of its own, another text is there, it would hold a secret, or
            a name in the line or this folder has characters that a unit cannot hold.
    """
    context = click.get_current_context()
    if context.get_parameter_source("deliver_to") is ParameterSource.COMMANDLINE:
        raise AnalyzerError(
            "addresses to deliver to are private, and do not go into a unit", f"the job takes them from ${VARIABLE}"
        )
    line = _own_line()
    if context.get_parameter_source("store_path") is ParameterSource.ENVIRONMENT:
        line[4:4] = ["--store", context.params["store_path"]]
    folder = os.getcwd()
    from analyzer.report.escape import terminal_safe

    for text in (*line, folder):
        if terminal_safe(text) != text:
            hint = "name files by printable characters of UTF-8"
            raise AnalyzerError(f"a unit is text in lines, and cannot hold {text!r}", hint)
    units = job_units(kind, line, folder)
    if not write_it:
        write("\n".join(f"# {name}\n{text}" if len(units) > 1 else text for name, text in units.items()), None)
        return
    if kind == "cron":
        raise AnalyzerError("a crontab has more lines than ours", "add the printed line with: crontab -e")
    root = os.getcwd() if kind == "github-actions" else home_folder()
    if root is None:
        raise AnalyzerError("there is no home directory for it", "leave out --write, and place it yourself")
    for path in write_new({os.path.join(root, name): text for name, text in units.items()}):
        narrate(f"written: {shlex.quote(path)}")
    narrate(f"next: {_NEXT[kind]}")


def _own_line() -> list[str]:
    """Return this command line with the program's whole path, without `--install` and `--write`."""
    words, kept = iter(sys.argv[1:]), []
    for word in words:
        if word == "--":
            kept += [word, *words]
        elif word == "--install":
            next(words)
        elif word != "--write" and not word.startswith("--install="):
            kept.append(word)
    return [interpreter.path(), "-m", "analyzer", *kept]


def _deliver(
    undelivered: Undelivered, targets: list[Target], open_store: Callable[[], AbstractContextManager[Store]]
) -> Outcome:
    taken = deliver(undelivered, targets, open_store)
    news = "nothing new to tell" if undelivered.known else "nothing to tell"
    return OK, f"told {', '.join(taken)}" if taken else news
