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

GROUPS = {
    "Look at what went wrong": {
        "report": "Show what failed, why, and what it cost.",
        "ui": "Open live pages of it all in the browser.",
        "show": "Show what happened in a session, a retry or a finding.",
        "compare": "Compare two weeks, versions, models or projects.",
        "whatif": "Try another retry policy, rules or model on history.",
        "claim": "Collect a provider's failures for its support.",
        "watch": "Print errors as they happen.",
        "sources": "List the agents' logs on this machine.",
        "unknowns": "Group unrecognised errors, and draft rules for them.",
        "classify": "Tell why an error happened, and what to do next.",
        "query": "Run a ready-made query, or list them.",
        "sql": "Run read-only SQL on a store.",
    },
    "Every night": {
        "nightly": "Run the nightly job: ingest, check, report, prune.",
        "ingest": "Read new log lines into a store.",
        "check": "Compare the last day with the days before it.",
        "objectives": "Show budgets left by objectives, and how fast they burn.",
        "budget": "Compare today's cost with a budget.",
        "findings": "List what check found; acknowledge, snooze or close it.",
        "rules": "List, test and explain the rules that classify errors.",
        "reclassify": "Classify old errors again with today's rules.",
        "prices": "List the prices of models.",
        "change": "Write down a change, and see what became of it.",
        "push": "Share this machine's events with a fleet.",
        "export": "Write data for other tools: files, or OpenTelemetry.",
        "doctor": "Check a store, its journal and logs.",
        "quarantine": "List lines that could not be read, or retry them.",
        "rebuild": "Rebuild the store from its journal and logs.",
        "prune": "Delete old events.",
    },
    "Build into your agent": {
        "run": "Run an agent with a timeout, retries and limits.",
        "verdict": "Judge one agent run for a pipeline.",
        "mcp": "Let an agent ask about failures, over MCP.",
        "hook": "Log failures from an agent's hooks.",
        "emit": "Append an event to a log.",
        "receive": "Accept OpenTelemetry over HTTP.",
        "completion": "Complete commands in bash, zsh and fish.",
    },
}
"""Every command and its short help, by what a person wants to do."""
COMMANDS = {name: text for commands in GROUPS.values() for name, text in commands.items()}

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
The store is the file that keeps what was read. --store FILE names it. Without
it the store is $ANALYZER_STORE, else analyzer.duckdb in this folder, else the
one of this machine, in ~/.local/share/analyzer.

\b
Exit codes: 0 fine, 1 findings, 2 wrong usage, 3 store or input unreadable,
4 lines unreadable (--strict), 75 busy, 124 at a limit, 130 interrupted.
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
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in commands.items()])


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        from analyzer import __version__

        click.echo(f"analyzer {__version__}")
        context.exit()


@click.command(
    cls=_Commands, epilog=EPILOG, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
@click.option("--open", "open_it", is_flag=True, help="Open the page in the browser.")
@click.pass_context
def cli(context: click.Context, open_it: bool) -> int | None:
    """Find out why your LLM agents fail, what retries cost, and which errors are new.

    \b
      analyzer
      analyzer report ~/.claude/projects --last 7d
      analyzer nightly ~/.claude/projects telemetry/ --store fleet.duckdb

    Without a COMMAND it reports on the agents of this machine.
    """
    if context.invoked_subcommand is not None:
        if open_it:
            raise click.UsageError("--open goes after the command: analyzer report --open", context)
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
            "set ANALYZER_DEBUG=1 for the traceback, and report it",
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
