"""`analyzer hook` is what an agent's hooks run; see `analyzer.__main__` for the short way to the same."""

from __future__ import annotations

import click


@click.command("hook")
@click.argument("what", type=click.Choice(["status"]), required=False)
def command(what: str | None) -> int:
    """Take the input of a Claude Code hook from standard input, and append what failed to a log.

    StopFailure, PostToolUseFailure and SessionEnd become OpenTelemetry records in $ANALYZER_HOOKS, or in
    ~/.local/share/analyzer/hooks, which every command reads. With the word status it prints a status line instead:
    retries and whose they are, and how full the limits are. It is quick, and exits with 0 whatever it is given.

    \b
      analyzer hook < input.json
      analyzer hook status < input.json
      analyzer watch ~/.local/share/analyzer/hooks
    """
    from analyzer.recovery.hooks import run

    return run(what)
