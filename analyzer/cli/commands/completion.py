"""`analyzer completion` completes commands, options and names in bash, zsh and fish, by click's own machinery."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

import click

from analyzer.cli.output import narrate, write
from analyzer.errors import UNREADABLE, AnalyzerError, system_text

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_ANALYZER_COMPLETE"
"""The environment variable with which a shell asks for completions."""

shell_argument = click.argument("shell", type=click.Choice(SHELLS), required=False)


@click.group("completion")
def command() -> None:
    """Complete commands, options, and names of queries, callers and projects in bash, zsh and fish.

    \b
      analyzer completion install
      eval "$(analyzer completion show bash)"
    """


@command.command("show", short_help="Print the script for a shell.")
@shell_argument
def show_command(shell: str | None) -> None:
    """Print the script for a SHELL: bash, zsh or fish; default: that of $SHELL.

    \b
      analyzer completion show fish
    """
    write(_script(_chosen(shell)), None)


@command.command("install", short_help="Put the script where the shell reads it.")
@shell_argument
def install_command(shell: str | None) -> None:
    """Put the script for a SHELL where it is read: bash, zsh or fish; default: that of $SHELL.

    bash reads it with the package bash-completion, fish by itself. For zsh a line is added to .zshrc, once.

    \b
      analyzer completion install zsh
    """
    name = _chosen(shell)
    path, line = place_of(name, os.environ, os.path.expanduser("~"))
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write(_script(name), path)
        if line is not None:
            _add(*line)
    except OSError as error:
        message, hint = f"{path}: cannot be written: {system_text(error)}", "analyzer completion show prints it"
        raise AnalyzerError(message, hint, exit_code=UNREADABLE) from None
    narrate(f"written to {path}; it works in the next {name} that you start")


def place_of(shell: str, environment: Mapping[str, str], home: str) -> tuple[str, tuple[str, str] | None]:
    """Return the file for a shell's script, and for zsh the file and the line that source it."""

    def folder(variable: str, *usual: str) -> str:
        path = environment.get(variable, "")
        return path if os.path.isabs(path) else os.path.join(home, *usual)

    if shell == "fish":
        return os.path.join(folder("XDG_CONFIG_HOME", ".config"), "fish", "completions", "analyzer.fish"), None
    data = folder("XDG_DATA_HOME", ".local", "share")
    if shell == "bash":
        user_folder = environment.get("BASH_COMPLETION_USER_DIR", "")
        base = user_folder if os.path.isabs(user_folder) else os.path.join(data, "bash-completion")
        return os.path.join(base, "completions", "analyzer"), None
    script = os.path.join(data, "analyzer", "completion.zsh")
    return script, (os.path.join(folder("ZDOTDIR"), ".zshrc"), f"source {shlex.quote(script)}")


def _chosen(shell: str | None) -> str:
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise AnalyzerError("no shell named that completion is for", f"name one: {', '.join(SHELLS)}")
    return name


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    from analyzer.cli import cli

    if shell == "bash":
        return _BASH
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(cli, {}, "analyzer", VARIABLE).source()
    if shell == "fish":
        # Names of callers may hold commas: an answer is cut only at its first one.
        return script.replace('string split ","', 'string split -m 1 ","')
    return f"(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit; }}\n{script}"


_BASH = f"""\
_analyzer_completion() {{
    local kind value IFS=$' \\t\\n'
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) printf -v value %q "$value"; COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_WORDS="${{COMP_WORDS[*]}}" COMP_CWORD=$COMP_CWORD {VARIABLE}=bash_complete "$1")
}}
complete -o nosort -F _analyzer_completion analyzer
"""
"""Replaces click's script, which does not quote names: a name from a log could run a command."""


def _add(path: str, line: str) -> None:
    """Add a line to the end of a file that does not hold it."""
    with open(path, "a+", encoding="utf-8", errors="surrogateescape") as handle:
        handle.seek(0)
        content = handle.read()
        if line not in content.splitlines():
            handle.write(f"{'' if content.endswith(chr(10)) or not content else chr(10)}{line}\n")
