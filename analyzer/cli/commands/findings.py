"""`analyzer findings` lists what the nightly check found, shows one finding, and takes what a person decides of it."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import click

from analyzer.cli.options import findings as findings_of
from analyzer.cli.options import json_option, store_option
from analyzer.cli.output import Out, narrate, terminal_width
from analyzer.cli.stores import NamedStore

identifier = click.argument("finding", metavar="ID", shell_complete=findings_of)
identifiers = click.argument("findings", metavar="[ID]...", nargs=-1, shell_complete=findings_of)


def of_many(function: Callable[..., Any]) -> Callable[..., Any]:
    """Several IDs, and `--caller`, `--kind` and `--provider` for all open findings that they name."""
    caller = click.option("--caller", metavar="NAME", help="Every open finding of this caller.")
    kind = click.option("--kind", metavar="NAME", help="Every open finding of this kind, such as outage.")
    provider = click.option("--provider", metavar="NAME", help="Every open finding of this provider.")
    return identifiers(caller(kind(provider(function))))


def decision_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """`--store`, `--master`, `--note` and `--by`."""
    by = click.option("--by", metavar="NAME", help="Who decides; default: the account that runs this.")
    note = click.option("--note", default="", metavar="TEXT", help="Why; kept in the journal.")
    return store_option(note(by(function)))


@click.group("findings")
def command() -> None:
    """List the findings of the nightly check, show one, and say what becomes of it.

    An acknowledged finding keeps its place in check and report, but fails no night and is posted to no webhook; a
    snoozed one until its time is over. A closed one is resolved, whatever the tests still see of it. What was decided
    is in the journal. The first characters of an ID are enough.

    \b
      analyzer findings list --store fleet.duckdb
      analyzer findings ack 3f9c --note "known: the gateway moves on Monday"
      analyzer findings ack --provider openai --kind outage
      analyzer findings snooze 3f9c 7d
      analyzer findings close 3f9c --note "key rotated"
    """


@command.command("list", short_help="List the open findings, the gravest first.")
@store_option
@click.option("--all", "every", is_flag=True, help="Those that are resolved, too.")
@json_option
def list_command(store: NamedStore, every: bool, out: Out) -> None:
    """List the open findings, the gravest first, with what was decided of them.

    \b
      analyzer findings list --store fleet.duckdb --all --json
    """
    from analyzer.analysis import findings
    from analyzer.report.night.document import render_findings

    with store.asked() as opened:
        known = findings(opened, every=every)
    content = {"schema": "analyzer.findings/1", "findings": [one.to_dict() for one in known]}
    out.answer(content, lambda: render_findings(known, terminal_width()))


@command.command("show", short_help="Show one finding whole.")
@identifier
@store_option
@json_option
def show_command(finding: str, store: NamedStore, out: Out) -> None:
    """Show one finding as the last night reported it: its sentence, messages, events, and what was decided of it.

    \b
      analyzer findings show 3f9c --store fleet.duckdb
      analyzer findings show 3f9c --store delta:/lake/fleet
    """
    from analyzer.analysis import findings
    from analyzer.analysis.nightly.decisions import identified
    from analyzer.report.night.document import render_known_finding

    with store.asked() as opened:
        name = identified(opened, finding)
        one = next(each for each in findings(opened, every=True) if each.id == name)
    content = {"schema": "analyzer.finding/1", **one.to_dict()}
    out.answer(content, lambda: render_known_finding(one, terminal_width(), store.asking()))


def _plain(name: str, act: str, short: str, said: str) -> None:
    """Adds a command for a decision that needs nothing but the findings."""

    @command.command(name, short_help=short, help=said)
    @of_many
    @decision_options
    def decide(
        findings: tuple[str, ...],
        caller: str | None,
        kind: str | None,
        provider: str | None,
        **decision: Any,
    ) -> None:
        named = {"caller": caller, "finding": kind, "provider": provider}
        about = {name: value for name, value in named.items() if value is not None}
        if not findings and not about:
            raise click.UsageError("name findings by their IDs, or by --caller, --kind or --provider")
        _decide(act, findings, about=about, **decision)


_plain(
    "ack",
    "acknowledged",
    "Acknowledge some: they fail no night any more.",
    """Acknowledge findings: they stay where they are told, but fail no night and are posted to nobody.

    \b
      analyzer findings ack 3f9c 81d2 --note "the provider knows"
      analyzer findings ack --provider openai
    """,
)


@command.command("snooze", short_help="Let one be silent for a while.")
@identifier
@click.argument("length", metavar="SPAN")
@decision_options
def snooze_command(finding: str, length: str, **decision: Any) -> None:
    """Let a finding be silent for a while (36h, 7d, 2w), as if it were acknowledged.

    \b
      analyzer findings snooze 3f9c 7d
    """
    from analyzer.store import span

    _decide("snoozed", (finding,), snoozed_for=span(length), **decision)


_plain(
    "close",
    "closed",
    "Close some: they are resolved.",
    """Close findings: the next night tells that they are resolved, and nothing more of these incidents.

    \b
      analyzer findings close 3f9c --note "key rotated"
    """,
)
_plain(
    "reopen",
    "reopened",
    "Take such a decision back.",
    """Take back that findings were acknowledged, snoozed, or closed since the last night.

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

    who = _account() if by is None else by
    with store.judging() as opened:
        # All are known before the first is decided.
        names = [identified(opened, one) for one in findings] + (open_about(opened, about) if about else [])
        for each in dict.fromkeys(names):
            name, decision = handle(opened, each, act, snoozed_for=snoozed_for, note=note, by=who)
            until = f" until {decision.snoozed_until:%Y-%m-%d %H:%M} UTC" if decision.snoozed_until else ""
            narrate(f"finding {name}: {decision.act}{until}", quiet=False)


def _account() -> str:
    """The name of the account; empty where it has none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""
