"""The manual page `docs/reference/analyzer.1`, out of the commands themselves; the wheel puts it where `man` looks."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

import click

from analyzer.cli import COMMANDS, cli, command_named


def man_page(exit_codes: Mapping[str, Mapping[int, str]]) -> str:
    """The page in the macros of man(7)."""
    lines = ['.\\" Made by `python -m tests.reference`. Change the command instead.', ".TH ANALYZER 1"]
    lines += [".SH NAME", _plain("analyzer - why LLM agents fail, what retries cost, which errors are new")]
    lines += [".SH SYNOPSIS", ".B analyzer", "[\\fICOMMAND\\fR] [\\fIOPTION\\fR]... [\\fIPATH\\fR]..."]
    lines += [".SH DESCRIPTION", *_text(cli.help or ""), *_text(cli.epilog or "")]
    root = click.Context(cli, info_name="analyzer", **cli.context_settings)
    lines += [".SH OPTIONS", *_options(cli, root)]
    for name in COMMANDS:
        command = command_named(name)
        lines += _command(command, context_below(root, command, name))
        lines += [".PP", "Exit codes:"]
        for code, meaning in exit_codes[name].items():
            lines += [".TP", f".B {code}", _plain(meaning)]
    lines += [".SH ENVIRONMENT"]
    for name, said in (
        ("ANALYZER_STORE", "the store to ask where none is named"),
        ("ANALYZER_RULES", "rules beside the built-in ones"),
        ("NO_COLOR", "takes the colours away"),
        ("ANALYZER_DEBUG", "shows the traceback of an internal error"),
    ):
        lines += [".TP", f".B {name}", _plain(said)]
    return "\n".join(lines) + "\n"


def context_below(parent: click.Context, command: click.Command, name: str) -> click.Context:
    """Return the context of a command that was called by its parent, with the parent's help options.

    click keeps a command's help option from its first context, which another test may have made without a parent.
    """
    command._help_option = None
    return click.Context(command, info_name=name, parent=parent, terminal_width=parent.terminal_width)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f".SH {_plain(context.command_path).upper()}"
    yield f".B {_plain(context.command_path)}"
    yield _plain(" ".join(command.collect_usage_pieces(context)))
    yield from _text(command.help or "")
    yield from _options(command, context)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            within = context_below(context, inner, name)
            yield f".SS {_plain(within.command_path)} {_plain(' '.join(inner.collect_usage_pieces(within)))}"
            yield from _text(inner.help or "")
            yield from _options(inner, within)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for param in command.get_params(context):
        if (record := param.get_help_record(context)) and record[1]:
            yield ".TP"
            yield f".B {_plain(record[0])}"
            yield _plain(record[1])


def _text(text: str) -> Iterator[str]:
    """Paragraphs; one that begins with `\\b` keeps its lines."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield from (".PP", ".nf", *map(_plain, paragraph.strip("\b\n").split("\n")), ".fi")
        else:
            yield from (".PP", _plain(" ".join(paragraph.split())))


def _plain(text: str) -> str:
    """A line that no macro or escape is in."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
