"""Judge a day with `analyzer check`, and record decisions on findings with `analyzer findings`.

A check answers by its exit code, and in the form of --format.
"""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from analyzer.cli.inputs import objectives_in_use, rules_in_use
from analyzer.cli.options import (
    ListingGroup,
    chosen_window,
    complete_finding,
    deliver_option,
    fail_on_option,
    json_option,
    result_options,
    rules_option,
    selection_options,
    store_option,
    window_options,
)
from analyzer.cli.output import Out, add_to_job_summary, is_terminal, narrate, terminal_width, write
from analyzer.cli.stores import NamedStore
from analyzer.command_lines import command_line
from analyzer.errors import FINDINGS, AnalyzerError
from analyzer.readable import counted

if TYPE_CHECKING:
    from analyzer.analysis import Night, WindowWords
    from analyzer.cli.delivery import Target
    from analyzer.command_lines import Asking
    from analyzer.store import Selection, Store

FORMATS = ("table", "json", "jsonl", "markdown")


@click.command("check")
@store_option
@window_options
@rules_option
@selection_options
@fail_on_option
@click.option("--each-day", is_flag=True, help="Judge every day of the window; store nothing.")
@click.option("--again", is_flag=True, help="Judge the day again, with late events.")
@click.option("--prometheus", metavar="FILE", help="Write metrics for node exporter.")
@click.option("--webhook", metavar="URL", help="Same as --deliver webhook:URL.")
@deliver_option
@result_options(*FORMATS)
def check_command(
    store: NamedStore,
    words: WindowWords,
    rules_path: str | None,
    only: Selection,
    fail_on: str,
    each_day: bool,
    again: bool,
    prometheus: str | None,
    webhook: str | None,
    deliver_to: tuple[str, ...],
    out: Out,
) -> int:
    """Compare the last whole day with the days before it, and exit with 1 if something broke.

    \b
      analyzer check --store fleet.duckdb
      analyzer check --last 1h
      analyzer check --each-day --last 30d
      analyzer check --project shop --fail-on critical
      analyzer check --deliver slack:"$HOOK" --deliver mail:ops@example.org

    A quiet day prints nothing. The result is stored, so the same day gives the same answer again. Acknowledge
    what you know (analyzer findings), and it no longer fails a night. With --since or --last it judges up to 23
    whole hours instead, and stores nothing.
    """
    from analyzer.store import defer_polars

    defer_polars()
    from analyzer.analysis import check, check_hours, each_night
    from analyzer.analysis.nightly.decisions import Undelivered
    from analyzer.classifier.rules.loading import ruleset_for

    targets: list[Target] = []
    if addresses := [*deliver_to, *([f"webhook:{webhook}"] if webhook else [])]:
        from analyzer.cli.delivery import deliver, read_targets

        targets = read_targets(addresses)
    delivers = click.get_current_context().get_parameter_source("deliver_to") is ParameterSource.COMMANDLINE
    if each_day and (again or prometheus or webhook or delivers):
        hint = "leave out --again, --prometheus, --webhook and --deliver"
        raise AnalyzerError("--each-day stores nothing", hint)
    if only and prometheus:
        raise AnalyzerError("gauges always cover the whole fleet", f"leave out --prometheus, or {only}")
    is_hours = not each_day and bool(words.get("since") or words.get("last"))
    if is_hours and again:
        raise AnalyzerError("results of single hours are not stored", "leave out --again, or --since and --last")
    chosen = chosen_window(**words)
    rules = rules_in_use(rules_path)
    digest = ruleset_for(rules_path).digest if rules_path else None
    with store.open_for_decisions() as opened:
        if each_day:
            nights = each_night(opened, chosen, rules=rules)
            out.narrate("Nothing of this is stored: only analyzer check of a single day stores its findings.")
        elif is_hours:
            nights = [check_hours(opened, chosen, rules=rules)]
        else:
            nights = [check(opened, until=chosen.until, timezone=chosen.timezone, rules=rules, again=again)]
        gauges = night_gauges(opened, nights[-1]) if prometheus else b""
        whole_fleet, nights = nights, _narrow(opened, nights, only)
        undelivered = Undelivered.of(opened, nights[-1]) if targets and not each_day else None
    if others := sum(len(night.findings) for night in whole_fleet) - sum(len(night.findings) for night in nights):
        out.narrate(f"only {only}: {counted(others, 'finding')} about others not shown")
    if digest and nights and nights[0].ruleset_in_force != digest:
        other = command_line("reclassify", "--rules", "FILE", "--apply", store=store.name)
        applied = f"ruleset {nights[0].ruleset_in_force} was applied to this store"
        out.narrate(f"{rules_path} is not used: {applied}; to use another one, run {other}")
    is_empty = not any(night.findings for night in nights)
    if out.form != "table" or not is_empty or out.path:
        write(_render(nights, each_day, out, store.asking()), out.path)
    if is_empty:
        from analyzer.report.night.document import nothing_to_report
        from analyzer.report.writers.text import to_text

        for line in to_text(
            [nothing_to_report(nights)], terminal_width() if is_terminal(sys.stderr) else None
        ).splitlines():
            out.narrate(line)
    add_to_job_summary(lambda: _summary(nights))
    if prometheus:
        write(gauges, prometheus, option="--prometheus")
    if undelivered:
        deliver(undelivered, targets, store.open_for_decisions)
    return FINDINGS if any(night.fails(fail_on) for night in nights) else 0


def _narrow(store: Store, nights: list[Night], only: Selection) -> list[Night]:
    """Return the nights with only the findings about the selected part; all without a selection."""
    if not only:
        return nights
    from analyzer.analysis.summary.window_findings import select_nights

    return select_nights(store, nights, only)


def night_gauges(store: Store, night: Night) -> bytes:
    """Render the gauges of a night, and of objectives as they stand now, for node exporter's textfile collector."""
    from analyzer.analysis.objectives import objective_states
    from analyzer.analysis.summary.day_figures import night_figures
    from analyzer.report.night.metrics import render_prometheus

    return render_prometheus(night, night_figures(store, night), objective_states(store, objectives_in_use()))


def _render(nights: list[Night], each_day: bool, out: Out, asking: Asking) -> str:
    from analyzer.report.escape import json_text, jsonl_text
    from analyzer.report.night.document import night_document, nights_document, nothing_to_report

    if out.form == "json":
        if not each_day:
            return json_text(nights[0].to_dict())
        return json_text({"schema": "analyzer.nights/1", "nights": [night.to_dict() for night in nights]})
    if out.form == "jsonl":
        return jsonl_text(night.to_dict() for night in nights)
    if not any(night.findings for night in nights):
        return out.written([nothing_to_report(nights)])
    if out.form == "markdown":
        return "\n".join(out.written(night_document(night)) for night in nights if night.findings)
    return out.written(nights_document(nights) if each_day else night_document(nights[0], asking))


def _summary(nights: list[Night]) -> str:
    from analyzer.report.night.document import night_document
    from analyzer.report.writers.markdown import to_markdown

    shown = nights if len(nights) == 1 else [night for night in nights if night.findings]
    return "".join(to_markdown(night_document(night)) + "\n" for night in shown)


identifier = click.argument("finding", metavar="ID", shell_complete=complete_finding)
identifiers = click.argument("findings", metavar="[ID]...", nargs=-1, shell_complete=complete_finding)


def many_findings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add an argument of several IDs, and options that name all open findings of a caller and so on."""
    caller = click.option("--caller", metavar="NAME", help="All open findings of this caller.")
    kind = click.option("--kind", metavar="NAME", help="All open findings of this kind, such as outage.")
    provider = click.option("--provider", metavar="NAME", help="All open findings of this provider.")
    return identifiers(caller(kind(provider(function))))


def decision_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--store`, `--note` and `--by`."""
    by = click.option("--by", metavar="NAME", help="Who decides. Default: your account.")
    note = click.option("--note", default="", metavar="TEXT", help="Why.")
    return store_option(note(by(function)))


@click.group("findings", cls=ListingGroup)
def findings_command() -> None:
    """List what the nightly check found; acknowledge, snooze or close it.

    \b
      analyzer findings --store fleet.duckdb
      analyzer findings ack 3f9c --note "known: the gateway moves on Monday"
      analyzer findings ack --provider openai --kind outage
      analyzer findings snooze 3f9c 7d
      analyzer findings close 3f9c --note "key rotated"

    The first characters of an ID are enough. Decisions are kept in the journal.
    """


@findings_command.command("list", short_help="List the open findings, worst first.")
@store_option
@click.option("--all", "every", is_flag=True, help="Also resolved ones.")
@json_option
def list_command(store: NamedStore, every: bool, out: Out) -> None:
    """List the open findings, worst first, with your decisions.

    \b
      analyzer findings list --store fleet.duckdb --all --json
    """
    from analyzer.analysis import findings
    from analyzer.report.night.document import findings_document

    with store.open_for_queries() as opened:
        listed = findings(opened, every=every)
    content = {"schema": "analyzer.findings/1", "findings": [finding.to_dict() for finding in listed]}
    out.answer(content, lambda: findings_document(listed))


@findings_command.command("show", short_help="Show one finding.")
@identifier
@store_option
@json_option
def show_command(finding: str, store: NamedStore, out: Out) -> None:
    """Show one finding with its messages, events and decisions.

    \b
      analyzer findings show 3f9c --store fleet.duckdb
    """
    from analyzer.analysis import findings
    from analyzer.analysis.nightly.decisions import identified
    from analyzer.report.night.document import finding_document

    with store.open_for_queries() as opened:
        name = identified(opened, finding)
        shown = next(stored for stored in findings(opened, every=True) if stored.id == name)
    content = {"schema": "analyzer.finding/1", **shown.to_dict()}
    out.answer(content, lambda: finding_document(shown, store.asking()))


def _add_decision(name: str, act: str, short_text: str, help_text: str) -> None:
    """Add a command for a decision that needs only the findings."""

    @findings_command.command(name, short_help=short_text, help=help_text)
    @many_findings
    @decision_options
    def decide(
        findings: tuple[str, ...],
        caller: str | None,
        kind: str | None,
        provider: str | None,
        **decision: Any,
    ) -> None:
        options = {"caller": caller, "finding": kind, "provider": provider}
        about = {name: value for name, value in options.items() if value is not None}
        if not findings and not about:
            raise click.UsageError("name findings by their IDs, or by --caller, --kind or --provider")
        _decide(act, findings, about=about, **decision)


_add_decision(
    "ack",
    "acknowledged",
    "Acknowledge findings.",
    """Acknowledge findings: they stay in the report, but fail no night and are sent to nobody.

    \b
      analyzer findings ack 3f9c 81d2 --note "the provider knows"
      analyzer findings ack --provider openai
    """,
)


@findings_command.command("snooze", short_help="Silence a finding for a while.")
@identifier
@click.argument("length", metavar="SPAN")
@decision_options
def snooze_command(finding: str, length: str, **decision: Any) -> None:
    """Silence a finding for a while (36h, 7d, 2w).

    \b
      analyzer findings snooze 3f9c 7d
    """
    from analyzer.store import span

    _decide("snoozed", (finding,), snoozed_for=span(length), **decision)


_add_decision(
    "close",
    "closed",
    "Close findings as resolved.",
    """Close findings as resolved, for good.

    \b
      analyzer findings close 3f9c --note "key rotated"
    """,
)
_add_decision(
    "reopen",
    "reopened",
    "Undo a decision.",
    """Undo an acknowledgement, a snooze, or a close since the last night.

    \b
      analyzer findings reopen 3f9c
    """,
)


def _decide(
    act: str,
    findings: Sequence[str],
    *,
    store: NamedStore,
    note: str,
    by: str | None,
    snoozed_for: timedelta | None = None,
    about: Mapping[str, str] | None = None,
) -> None:
    from analyzer.analysis import handle
    from analyzer.analysis.nightly.decisions import identified, open_about

    person = account() if by is None else by
    with store.open_for_decisions() as opened:
        # All are looked up before the first is decided, so that an unknown one stops the command.
        names = [identified(opened, finding) for finding in findings]
        if about:
            names += open_about(opened, about)
        for finding_id in dict.fromkeys(names):
            name, decision = handle(opened, finding_id, act, snoozed_for=snoozed_for, note=note, by=person)
            until = f" until {decision.snoozed_until:%Y-%m-%d %H:%M} UTC" if decision.snoozed_until else ""
            narrate(f"finding {name}: {decision.act}{until}", quiet=False)


def account() -> str:
    """Return the name of the account; an empty text if it has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
