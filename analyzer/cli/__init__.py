"""Run the command line. Only this package prints, exits, and reads arguments and the environment.

stdout is data, stderr is narration. A command is loaded when it is named, so that `--help` stays
quick.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import signal
import sys
from importlib import import_module

import click

from analyzer.cli.output import complain, is_terminal
from analyzer.cli.signals import raising
from analyzer.errors import FINDINGS, FREE_SPACE, INTERRUPTED, LIMIT, OK, UNREADABLE, AnalyzerError, system_text

COMMANDS = {
    "report": "Read logs and report: findings, reasons, outcomes, retries, relays.",
    "ingest": "Read logs into a store, only what is new.",
    "watch": "Follow logs as they grow, and print what goes wrong as it happens.",
    "sources": "List where agents keep logs on this machine, and what is new.",
    "check": "Judge the last day against the days before it; exit 1 on findings.",
    "nightly": "Do the night's work: ingest, check, report, prune, in one command.",
    "findings": "List what check found; acknowledge, snooze or close it.",
    "compare": "Lay two weeks, versions, models or projects beside each other.",
    "show": "Tell what happened in a session, a chain of retries, or behind a finding.",
    "unknowns": "Group the unknown errors by what they say, and draft rules for them.",
    "reclassify": "Judge all history again, and show what would change.",
    "query": "Run a query of the catalogue, or list them.",
    "sql": "Run ad-hoc SQL over a store, read-only.",
    "push": "Share the events of this machine with a fleet: one table of event lines.",
    "export": "Write days of a store as Parquet, CSV or JSONL, or a slice of it.",
    "classify": "Say which reason an error has, and what to do about it.",
    "rules": "List, test and explain the rules, and score them against labels.",
    "prices": "List the list prices of models, and compare them with other tables.",
    "run": "Run an agent's command under supervision: timeouts, retries, limits, relays.",
    "verdict": "Say what one run of an agent came to, for a pipeline to act on.",
    "mcp": "Answer an agent's questions about failures, over MCP.",
    "receive": "Take OpenTelemetry over HTTP into a log folder.",
    "hook": "Log what an agent's hook says failed, or print a status line.",
    "emit": "Append events to a log, from a shell, a hook or a file.",
    "doctor": "Check that store, journal and logs are in order.",
    "quarantine": "List the lines that could not be read, or retry them.",
    "rebuild": "Make the store again from journal and logs.",
    "prune": "Delete what is older than you want to keep.",
    "completion": "Complete commands and names in bash, zsh and fish.",
}
"""Every command and its short help, in the order in which a newcomer needs them."""

_COMMANDS_OF_MODULE = {
    "checking": ("check", "findings"),
    "questions": ("query", "sql", "show", "compare", "unknowns"),
    "reading": ("ingest", "sources"),
    "running": ("run", "verdict"),
    "upkeep": ("doctor", "prune", "quarantine", "rebuild", "reclassify"),
    "writing": ("emit", "hook", "receive"),
}
"""Modules of several commands; any other command is a module of its own."""

ASKS_FOR_COMPLETION = "_ANALYZER_COMPLETE"
"""The environment variable by which a shell asks click for completions, or for its script."""

EPILOG = """\b
Begin with a look at the logs that agents keep on this machine:
  analyzer
Of your own programs, keep a store, and read only what is new each night:
  analyzer nightly ~/.claude/projects telemetry/ --store fleet.duckdb
  analyzer report --store fleet.duckdb --last 7d

\b
Exit codes: 0 fine, 1 findings, 2 usage, 3 store or input unreadable,
4 partial data under --strict, 75 busy (try later), 124 stopped at a limit,
130 interrupted.
"""


def command_named(name: str) -> click.Command:
    """Import the module of one of `COMMANDS`, and return the command."""
    home = next((module for module, names in _COMMANDS_OF_MODULE.items() if name in names), name)
    module = import_module(f"analyzer.cli.commands.{home}")
    command: click.Command = module.command if home == name else getattr(module, f"{name}_command")
    return command


class _Commands(click.Group):
    """Commands by name, imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = command_named(cmd_name)
        if ctx.resilient_parsing:  # a shell completes a line
            from analyzer.cli.options import offer_files

            offer_files(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise AnalyzerError.unknown_value("command", args[0], COMMANDS, "analyzer --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from analyzer import __version__

        click.echo(f"analyzer {__version__}")
        context.exit()


@click.command(
    cls=_Commands, epilog=EPILOG, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
@click.option("--open", "open_it", is_flag=True, help="Without a COMMAND: open the page in the browser.")
@click.pass_context
def cli(context: click.Context, open_it: bool) -> int | None:
    """Why do your agents fail, what did the retries buy, and where do unknown errors grow?

    Reads event logs and the logs that agents leave behind, and answers in the terminal, in one HTML file, or in SQL.
    Without a COMMAND, at a terminal, it is analyzer report: on all agents of this machine.
    """
    if context.invoked_subcommand is not None:
        if open_it:
            raise click.UsageError("--open goes behind the command, as in: analyzer report --open", context)
        return None
    if not open_it and not is_terminal(sys.stdout):
        raise click.exceptions.NoArgsIsHelpError(context)
    report = command_named("report")
    with report.make_context("report", ["--open"] if open_it else [], parent=context) as own:
        code: int = report.invoke(own)
        return code


def main() -> None:
    """Run the command of `sys.argv` and exit.

    Every expected failure is one line on stderr with a hint, and has its own exit code.
    """
    # A start makes a million objects that stay, and so does a batch: frequent searches for cycles
    # find none.
    gc.set_threshold(20_000, 50, 50)
    try:
        _occupy_standard_streams()
        code = _flush(call(sys.argv[1:]))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:
        # It came a second time, or just before or after the command.
        code = INTERRUPTED
        with contextlib.suppress(KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    if {"duckdb", "_duckdb"} & sys.modules.keys():
        # Where numpy is installed, the tear-down of the interpreter makes DuckDB's binding print a page about leaks.
        with contextlib.suppress(OSError, ValueError):
            if sys.stderr is not None:
                sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _flush(code: int) -> int:
    """Flush stdout, and return the exit code: `UNREADABLE` if the answer could not be written."""
    if sys.stdout is None:
        return code  # it was closed by whoever started us, and nothing could be written
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        if code in {OK, FINDINGS}:
            complain(f"the output cannot be written: {system_text(error)}", "free space, or write elsewhere: --output")
            code = UNREADABLE
    else:
        return code
    # What stays in the buffer would change the exit code at the end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _occupy_standard_streams() -> None:
    """Open closed standard streams: the next file, a log or a store, would get their numbers."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one


def call(arguments: list[str]) -> int:
    """Run a command line and return its exit code."""
    if ASKS_FOR_COMPLETION in os.environ:
        import_module("analyzer.cli.commands.completion")  # gives click our scripts
    try:
        with raising([signal.SIGINT]):
            code = cli.main(arguments, prog_name="analyzer", standalone_mode=False)
    except AnalyzerError as error:
        complain(error.message, error.hint)
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        if error.ctx is not None:
            click.echo(error.ctx.get_help(), err=True)
        return error.exit_code
    except click.ClickException as error:
        complain(error.format_message(), _usage_hint(error))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        with contextlib.suppress(KeyboardInterrupt):  # a second one while the message is written
            complain("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader of our output has gone, as `head` does. click makes that a SystemExit; Python
        # would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        if os.environ.get("ANALYZER_DEBUG"):
            raise
        complain(*said_by_system(error))
        return UNREADABLE
    except MemoryError:
        complain("memory has run out", "give it less at a time: fewer files, shorter lines")
        return LIMIT
    except Exception as error:
        if os.environ.get("ANALYZER_DEBUG"):
            raise
        complain(
            f"internal error: {type(error).__name__}: {error}",
            "set ANALYZER_DEBUG=1 for the whole story, and report it",
        )
        return UNREADABLE
    return code if isinstance(code, int) else OK


def said_by_system(error: OSError) -> tuple[str, str]:
    """Return the message and the hint for a refusal of the system that no command foresaw."""
    try:
        os.getcwd()
    except OSError:
        return "the working directory is gone", "change into one that is there"
    place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
    hint = FREE_SPACE if full else "check the path and its permissions"
    return f"{place}{system_text(error)}", hint


def _usage_hint(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"see: {context.command_path} --help" if isinstance(context, click.Context) else ""
