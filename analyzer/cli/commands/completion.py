"""Print the script by which bash, zsh or fish completes commands, options and names; click completes them.

`_ANALYZER_COMPLETE=bash_source analyzer` prints the same script.
"""

from __future__ import annotations

import os

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete, add_completion_class, shell_complete

from analyzer.cli import ASKS_FOR_COMPLETION

SHELLS = ("bash", "zsh", "fish")


class _Bash(BashComplete):
    """Quotes names, which click's script does not: a name from a log could run a command."""

    source_template = """\
%(complete_func)s() {
    local kind value IFS=$' \\t\\n'
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) printf -v value %%q "$value"; COMPREPLY+=("$value") ;;
        esac
    done < <(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Zsh(ZshComplete):
    """Starts zsh's completion where the user's settings do not."""

    source_template = (
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }\n" + ZshComplete.source_template
    )


class _Fish(FishComplete):
    """Cuts an answer only at its first comma, as names of callers may hold commas."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split -m 1 ","')


for _class in (_Bash, _Zsh, _Fish):
    add_completion_class(_class)


@click.group("completion")
def command() -> None:
    """Complete commands, options and names in bash, zsh and fish.

    \b
      eval "$(analyzer completion show bash)"
      eval "$(analyzer completion show zsh)"
      analyzer completion show fish | source

    Put the line into .bashrc, .zshrc, or ~/.config/fish/completions/analyzer.fish.
    """


@command.command("show", short_help="Print the script for a shell.")
@click.argument(
    "shell", type=click.Choice(SHELLS), required=False, default=lambda: os.path.basename(os.environ.get("SHELL", ""))
)
@click.pass_context
def show_command(context: click.Context, shell: str) -> int:
    """Print the script for bash, zsh or fish (default: $SHELL).

    \b
      analyzer completion show fish
    """
    root = context.find_root().command
    return shell_complete(root, {}, "analyzer", ASKS_FOR_COMPLETION, f"{shell}_source")
