"""`analyzer hook` is what an agent's hooks run; see `analyzer.__main__` for the short way to the same."""

from __future__ import annotations

import click


@click.command("hook")
@click.argument("what", type=click.Choice(["status", "codex", "gemini"]), required=False)
@click.argument("given", required=False)
def command(what: str | None, given: str | None) -> int:
    """Take the input of an agent's hook from standard input, and append what failed to a log.

    Claude Code's StopFailure, PostToolUseFailure and SessionEnd become OpenTelemetry records in $ANALYZER_HOOKS,
    or in ~/.local/share/analyzer/hooks, which every command reads. With the word gemini it takes AfterTool and
    SessionEnd of Gemini CLI, with the word codex the JSON that Codex puts behind its `notify` command.

    With the word status it prints a status line for Claude Code instead: retries and whose they are, and how full
    the limits are, which it logs once a minute at most. It is quick, and exits with 0 whatever it is given.

    \b
      analyzer hook < input.json
      analyzer hook status < input.json
      analyzer hook codex '{"type": "agent-turn-complete", "thread-id": "t-1"}'
      analyzer watch ~/.local/share/analyzer/hooks
    """
    from analyzer.recovery.hooks import run

    return run(what, given)
