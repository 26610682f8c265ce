"""Define the options that several commands share, and complete their values in a shell.

A file whose name begins with `-` may be an argument, as shells expand `*` to such names. If a store
cannot be read, completion proposes nothing and says nothing.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from analyzer.cli.output import Out
from analyzer.cli.stores import NamedStore, default_store
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from typing import Unpack

    from analyzer.analysis import Window, WindowWords


F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_LOG = "telemetry"
MOST_NAMES = 200
"""At most so many names are proposed."""
_FILE_WORDS = ("FILE", "PATH", "DIR", "FOLDER")
"""A shell proposes files for a value whose metavar contains one of these words."""


class Seconds(click.FloatRange):
    """A number of seconds in a range; infinity and NaN are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; fail with a usage error for a value that is no number of seconds."""
        seconds = float(super().convert(value, param, ctx))
        return seconds if math.isfinite(seconds) else self.fail(f"{value!r} is no number of seconds.", param, ctx)


def store_path_option(note: str = "", default: Callable[[], str] | None = default_store) -> Callable[[F], F]:
    """Add `--store FILE` as `store_path`: the option, else $ANALYZER_STORE, else the default.

    Without a `default` the command gets None, and decides itself.
    """

    def expanded(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
        # Programs run the commands that we print without a shell, which would expand `~`.
        name = os.path.expanduser(name) if name and name.startswith("~/") else name
        return name or (default() if default else None)

    return click.option(
        "--store",
        "store_path",
        metavar="FILE",
        envvar="ANALYZER_STORE",
        callback=expanded,
        help=f"The store (default: see analyzer --help).{note}",
    )


def store_option(command: F) -> F:
    """Add `--store FILE`; the command gets the store that it names as `store`."""

    @functools.wraps(command)
    def function(*, store_path: str, **options: Any) -> Any:
        return command(store=NamedStore(store_path), **options)

    return store_path_option()(cast("F", function))


rules_option = click.option(
    "--rules",
    "rules_path",
    metavar="FILE",
    help="Your rules file (default $ANALYZER_RULES, else analyzer.toml).",
)


def window_options(command: F) -> F:
    """Add `--since`, `--until`, `--last`, `--timezone`.

    The command gets those that were named as `words`.
    """
    zone = click.option(
        "--timezone", "-z", default="UTC", metavar="ZONE", help="Time zone of days, such as Europe/Berlin. Default UTC."
    )
    return span_options(zone(command))


def span_options(command: F) -> F:
    """Add `--since`, `--until`, `--last`; the command gets those that were named as `words`."""

    @functools.wraps(command)
    def function(**options: Any) -> Any:
        values = {name: options.pop(name, None) for name in ("since", "until", "last", "timezone")}
        return command(words={name: value for name, value in values.items() if value is not None}, **options)

    for option in (
        click.option("--last", metavar="SPAN", help="The last 36h, 7d, 2w, 6mo or 1y."),
        click.option("--until", metavar="TIME", help="To this time."),
        click.option("--since", metavar="TIME", help="From this time: 2026-11-01, 2026-11-01T06:00, 7d, yesterday."),
    ):
        function = option(function)
    return cast("F", function)


fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(("info", "warning", "critical")),
    default="warning",
    help="Least severity of an open finding for exit code 1. Default: warning.",
)
deliver_option = click.option(
    "--deliver",
    "deliver_to",
    multiple=True,
    metavar="FORM:ADDRESS",
    envvar="ANALYZER_DELIVER",
    help="Send what is new, worse or resolved to slack:URL, teams:URL, discord:URL, pagerduty:KEY, alertmanager:URL, "
    "mail:ADDRESS or webhook:URL. May be repeated. Default $ANALYZER_DELIVER.",
)


def json_option(command: F) -> F:
    """Add `--json`; the command gets the form of its answer as `out`."""

    @functools.wraps(command)
    def function(*, as_json: bool, **options: Any) -> Any:
        return command(out=Out("json" if as_json else "table"), **options)

    option = click.option("--json", "-j", "as_json", is_flag=True, help="Print JSON.")
    return cast("F", option(function))


def selection_options(command: F) -> F:
    """Add the options of `_SELECTED`; the command gets them as `only`."""

    @functools.wraps(command)
    def function(**options: Any) -> Any:
        from analyzer.classifier import REASONS
        from analyzer.store import Selection

        values = {name: options.pop(name) for name in _SELECTED}
        if values["reason"] is not None and values["reason"] not in REASONS:
            raise AnalyzerError.unknown_value("reason", values["reason"], REASONS)
        return command(only=Selection(**values), **options)

    for name, (meaning, sql) in reversed(_SELECTED.items()):
        complete = partial(_complete_name, sql)
        function = click.option(f"--{name}", metavar="NAME", shell_complete=complete, help=f"Only {meaning}.")(function)
    return cast("F", function)


_SELECTED = {
    "project": ("this project", "select distinct project from sessions"),
    "agent": ("this agent, such as codex", "select distinct agent from sessions"),
    "caller": ("this caller", "select distinct caller from errors"),
    "reason": ("this reason", None),
    "provider": ("this provider", "select distinct provider from sessions"),
    "model": ("this model", "select distinct model from sessions"),
}
"""Options of a selection → the end of their help, and the query for the names in a store.

Reasons need no query.
"""


log_option = click.option(
    "--log", "folder", default=DEFAULT_LOG, metavar="DIR", help=f"Log folder. Default {DEFAULT_LOG}/."
)
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Only errors on stderr.")


def result_options(*formats: str) -> Callable[[F], F]:
    """Add `--format`, `--json`, `--output`, `--quiet`; `formats` begins with `table` and `json`.

    The command gets them as `out`. Its form is `json` under `--json`, whatever `--format` says.
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def function(*, row_format: str, as_json: bool, output: str | None, quiet: bool, **options: Any) -> Any:
            return command(out=Out("json" if as_json else row_format, output, quiet), **options)

        for option in (
            quiet_option,
            click.option("--output", "-o", metavar="FILE", help="Write to this file."),
            click.option("--json", "-j", "as_json", is_flag=True, help="Same as --format json."),
            click.option(
                "--format", "-f", "row_format", type=click.Choice(formats), default="table", help="Default: table."
            ),
        ):
            function = option(function)
        return cast("F", function)

    return decorate


def chosen_window(**words: Unpack[WindowWords]) -> Window:
    """Return the window that the options describe.

    Raises:
        AnalyzerError: they describe no window.
    """
    from analyzer.analysis import window

    return window(**words)


class PathsCommand(click.Command):
    """A command with file names as arguments: an existing file that begins with `-` is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, after putting `./` before file names that begin with `-`."""
        options = {name for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        stop = args.index("--") if "--" in args else len(args)
        words = [f"./{word}" if _is_file_name(word, options) else word for word in args[:stop]]
        return super().parse_args(ctx, [*words, *args[stop:]])


class ListingGroup(click.Group):
    """A group that runs its command `list` if options come without a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, after putting `list` before a line that begins with an option."""
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = ["list", *args]
        return super().parse_args(ctx, args)


def _is_file_name(argument: str, options: set[str]) -> bool:
    if not argument.startswith("-") or argument.partition("=")[0] in options:
        return False
    return argument != "-" and "\0" not in argument and os.path.lexists(argument)


def offer_files(command: click.Command) -> None:
    """Let a shell complete file names for a command and its subcommands."""
    for param in command.params:
        if any(word in (param.metavar or "") for word in _FILE_WORDS):
            param.type = click.Path()
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            offer_files(subcommand)


def complete_query(_: click.Context, __: click.Parameter, prefix: str) -> list[str]:
    """Return the names of the catalogue that begin so."""
    from analyzer.store import catalogue

    return [name for name in catalogue() if name.startswith(prefix)]


def complete_finding(context: click.Context, _: click.Parameter, prefix: str) -> list[str]:
    """Return the ids of stored findings that begin so."""
    return _stored_names(context, "select distinct finding_id from findings", prefix)


def _complete_name(sql: str | None, context: click.Context, _: click.Parameter, prefix: str) -> list[str]:
    from analyzer.classifier import REASONS

    if sql is None:
        return [name for name in REASONS if name.startswith(prefix)]
    return _stored_names(context, sql, prefix)


def _stored_names(context: click.Context, sql: str, prefix: str) -> list[str]:
    """Return the values of a query that begin so; none if the store cannot be read."""
    from analyzer.store import open_store

    try:
        with open_store(context.params.get("store_path") or default_store()) as store:
            values = store.sql(sql).to_series().drop_nulls().sort().to_list()
    except (AnalyzerError, OSError):
        return []
    return [name for name in values if name.startswith(prefix) and name.isprintable()][:MOST_NAMES]
