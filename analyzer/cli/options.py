"""The options that mean the same in several commands are defined here once, and what a shell completes their values by.

Names of files whose first character is that of an option are taken as shells give them for `*`. Whatever is wrong with
a store, completion says nothing and proposes nothing.
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
from analyzer.cli.stores import HERE, NamedStore, default_store
from analyzer.errors import AnalyzerError

if TYPE_CHECKING:
    from typing import Unpack

    from analyzer.analysis import Window, WindowWords


F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_LOG = "telemetry"
MOST_NAMES = 200
"""Names that are proposed at most."""
_PLACES = ("FILE", "PATH", "DIR", "FOLDER")
"""What the name of a value has in it, where a shell proposes files."""


class Seconds(click.FloatRange):
    """A number of seconds in a range; neither infinity nor what is no number is one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; a usage error for what is none."""
        seconds = float(super().convert(value, param, ctx))
        return seconds if math.isfinite(seconds) else self.fail(f"{value!r} is no number of seconds.", param, ctx)


def store_path_option(note: str = "", default: Callable[[], str] | None = default_store) -> Callable[[F], F]:
    """`--store FILE` as `store_path`, else $ANALYZER_STORE, else the default; None where the command decides."""

    def chosen(_: click.Context, __: click.Parameter, named: str | None) -> str | None:
        # As in the commands that are printed, which programs run without a shell, too.
        named = os.path.expanduser(named) if named and named.startswith("~/") else named
        return named or (default() if default else None)

    return click.option(
        "--store",
        "store_path",
        metavar="FILE",
        envvar="ANALYZER_STORE",
        callback=chosen,
        help=f"The store; default $ANALYZER_STORE, else {HERE} here, else this machine's.{note} delta:PATH is a lake.",
    )


master_option = click.option(
    "--master",
    metavar="MASTER",
    help="The Spark that reads logs for a lake: local[*], spark://HOST:PORT or sc://HOST:PORT. Default: none.",
)


def store_option(command: F) -> F:
    """`--store FILE` and `--master MASTER`; the command gets the store that they name as `store`."""

    @functools.wraps(command)
    def function(*, store_path: str, master: str | None, **given: Any) -> Any:
        return command(store=NamedStore(store_path, master), **given)

    return store_path_option()(master_option(cast("F", function)))


rules_option = click.option(
    "--rules",
    "rules_path",
    metavar="FILE",
    help="Rules that extend or override the built-in ones; default $ANALYZER_RULES, else what analyzer.toml names.",
)


def window_options(command: F) -> F:
    """`--since`, `--until`, `--last`, `--timezone`; the command gets those that are given as `words`."""
    zone = click.option(
        "--timezone", "-z", default="UTC", metavar="ZONE", help="Where days begin, as Europe/Berlin. Default UTC."
    )
    return span_options(zone(command))


def span_options(command: F) -> F:
    """`--since`, `--until`, `--last`; the command gets those that are given as `words`."""

    @functools.wraps(command)
    def function(**given: Any) -> Any:
        asked = {name: given.pop(name, None) for name in ("since", "until", "last", "timezone")}
        return command(words={name: value for name, value in asked.items() if value is not None}, **given)

    for option in (
        click.option("--last", metavar="SPAN", help="Only the last 36h, 7d, 2w, 6mo or 1y."),
        click.option("--until", metavar="TIME", help="Only before this time."),
        click.option(
            "--since", metavar="TIME", help="Only from this time on: 2026-11-01, 2026-11-01T06:00, 7d, yesterday."
        ),
    ):
        function = option(function)
    return cast("F", function)


fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(("info", "warning", "critical")),
    default="warning",
    help="Exit with 1 when a finding that is new or goes on is at least so severe. Default: warning.",
)
deliver_option = click.option(
    "--deliver",
    "deliver_to",
    multiple=True,
    metavar="FORM:ADDRESS",
    envvar="ANALYZER_DELIVER",
    help="Tell there what is new, worse or resolved: slack:URL, teams:URL, discord:URL, pagerduty:KEY, "
    "alertmanager:URL, mail:ADDRESS, webhook:URL. May be repeated; default $ANALYZER_DELIVER, with spaces between.",
)


def json_option(command: F) -> F:
    """`--json`; the command gets the form that it asks for as `out`."""

    @functools.wraps(command)
    def function(*, as_json: bool, **given: Any) -> Any:
        return command(out=Out("json" if as_json else "table"), **given)

    option = click.option("--json", "-j", "as_json", is_flag=True, help="One JSON object instead of text.")
    return cast("F", option(function))


def selection_options(command: F) -> F:
    """`--project`, `--agent`, `--caller`, `--reason`, `--provider` and `--model`, as the `only` of the command."""

    @functools.wraps(command)
    def function(**given: Any) -> Any:
        from analyzer.classifier import REASONS
        from analyzer.store import Selection

        asked = {name: given.pop(name) for name in _SELECTED}
        if asked["reason"] is not None and asked["reason"] not in REASONS:
            raise AnalyzerError.unknown_value("reason", asked["reason"], REASONS)
        return command(only=Selection(**asked), **given)

    for name, (said, sql) in reversed(_SELECTED.items()):
        known = partial(_known, sql)
        function = click.option(f"--{name}", metavar="NAME", shell_complete=known, help=f"Only {said}.")(function)
    return cast("F", function)


_SELECTED = {
    "project": ("this project, the last name of a working directory", "select distinct project from sessions"),
    "agent": ("this agent, as claude-code or codex", "select distinct agent from sessions"),
    "caller": ("this caller", "select distinct caller from errors"),
    "reason": ("this reason", None),
    "provider": ("this provider, as anthropic", "select distinct provider from sessions"),
    "model": ("this model", "select distinct model from sessions"),
}
"""What a selection asks for, and the names that a store has of it; reasons are known without one."""


log_option = click.option(
    "--log", "folder", default=DEFAULT_LOG, metavar="DIR", help=f"The log folder. Default {DEFAULT_LOG}/."
)
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Say nothing on stderr but errors.")


def result_options(*formats: str) -> Callable[[F], F]:
    """`--format`, `--json`, `--output`, `--quiet`; the formats are `table`, `json` and what else there is.

    The command gets them as `out`, whose form is `json` under `--json`, whatever else is asked for.
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def function(*, row_format: str, as_json: bool, output: str | None, quiet: bool, **given: Any) -> Any:
            return command(out=Out("json" if as_json else row_format, output, quiet), **given)

        for option in (
            quiet_option,
            click.option("--output", "-o", metavar="FILE", help="Write there instead of to stdout."),
            click.option("--json", "-j", "as_json", is_flag=True, help="Short for --format json."),
            click.option(
                "--format", "-f", "row_format", type=click.Choice(formats), default="table", help="Default: table."
            ),
        ):
            function = option(function)
        return cast("F", function)

    return decorate


def chosen_window(**words: Unpack[WindowWords]) -> Window:
    """The window that the options describe.

    Raises:
        AnalyzerError: they describe none.
    """
    from analyzer.analysis import window

    return window(**words)


class PathsCommand(click.Command):
    """A command whose arguments are names of files: one that is there is no option, whatever it begins with."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, every name of a file that begins with `-` and is no option led by `./`."""
        options = {name for param in self.get_params(ctx) for name in (*param.opts, *param.secondary_opts)}
        stop = args.index("--") if "--" in args else len(args)
        named = [f"./{one}" if _is_name(one, options) else one for one in args[:stop]]
        return super().parse_args(ctx, [*named, *args[stop:]])


class ListingGroup(click.Group):
    """Commands of which `list` is the one that options without a command are for."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, `list` put before options that no command stands before."""
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = ["list", *args]
        return super().parse_args(ctx, args)


def _is_name(argument: str, options: set[str]) -> bool:
    if not argument.startswith("-") or argument.partition("=")[0] in options:
        return False
    return argument != "-" and "\0" not in argument and os.path.lexists(argument)


def offer_files(command: click.Command) -> None:
    """Let the values of a command, and of those below it, that are files be completed as files."""
    for param in command.params:
        if any(place in (param.metavar or "") for place in _PLACES):
            param.type = click.Path()
    if isinstance(command, click.Group):
        for below in command.commands.values():
            offer_files(below)


def queries(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Names of the catalogue."""
    from analyzer.store import catalogue

    return [name for name in catalogue() if name.startswith(begun)]


def findings(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Ids of findings that the last nights told."""
    return _stored(context, "select distinct finding_id from findings", begun)


def _known(sql: str | None, context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    from analyzer.classifier import REASONS

    return [name for name in REASONS if name.startswith(begun)] if sql is None else _stored(context, sql, begun)


def _stored(context: click.Context, sql: str, begun: str) -> list[str]:
    """Values that stand in the store; none where anything is wrong with it."""
    from analyzer.store import open_store

    try:
        with open_store(context.params.get("store_path") or default_store()) as store:
            values = store.sql(sql).to_series().drop_nulls().sort().to_list()
    except (AnalyzerError, OSError):
        return []
    return [name for name in values if name.startswith(begun) and name.isprintable()][:MOST_NAMES]
