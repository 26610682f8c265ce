"""What a shell completes: names of the catalogue, and of what stands in the store.

Invariant: whatever is wrong with a store, completion says nothing and proposes nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping

import click

VARIABLE = "_ANALYZER_COMPLETE"
"""The variable of the environment by which a shell asks."""
MOST = 200
"""Names that are proposed at most."""
_NAMES = {
    "project": "select distinct project from sessions",
    "agent": "select distinct agent from sessions",
    "caller": "select distinct caller from errors",
    "model": "select distinct model from sessions",
}
_PLACES = ("FILE", "PATH", "DIR", "FOLDER")
"""What the name of a value has in it, where a shell proposes files."""
Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def place_of(shell: str, environment: Mapping[str, str], home: str) -> tuple[str, tuple[str, str] | None]:
    """The file that a shell reads a script of completion from, and a file and a line to add where it reads none."""

    def folder(variable: str, *usual: str) -> str:
        named = environment.get(variable, "")
        return named if os.path.isabs(named) else os.path.join(home, *usual)

    if shell == "fish":
        return os.path.join(folder("XDG_CONFIG_HOME", ".config"), "fish", "completions", "analyzer.fish"), None
    data = folder("XDG_DATA_HOME", ".local", "share")
    if shell == "bash":
        named = environment.get("BASH_COMPLETION_USER_DIR", "")
        base = named if os.path.isabs(named) else os.path.join(data, "bash-completion")
        return os.path.join(base, "completions", "analyzer"), None
    script = os.path.join(data, "analyzer", "completion.zsh")
    return script, (os.path.join(folder("ZDOTDIR"), ".zshrc"), f"source {shlex.quote(script)}")


def offer_files(command: click.Command) -> None:
    """Let the values of a command, and of those below it, that are files be completed as files."""
    for param in command.params:
        if any(place in (param.metavar or "") for place in _PLACES):
            param.type = click.Path()
    if isinstance(command, click.Group):
        for below in command.commands.values():
            offer_files(below)


def names_of(option: str) -> Complete | None:
    """How the values of an option of a selection are completed; None for one that has a list of its own."""
    if option == "reason":
        return _reasons
    sql = _NAMES.get(option)
    return None if sql is None else lambda context, _, begun: _stored(context, sql, begun)


def queries(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Names of the catalogue."""
    from analyzer.store import catalogue

    return [name for name in catalogue() if name.startswith(begun)]


def findings(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Ids of findings that the last nights told."""
    return _stored(context, "select distinct finding_id from findings", begun)


def _reasons(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    from analyzer.classifier import REASONS

    return [reason for reason in REASONS if reason.startswith(begun)]


def _stored(context: click.Context, sql: str, begun: str) -> list[str]:
    from analyzer.cli.machine import default_store
    from analyzer.errors import AnalyzerError
    from analyzer.store import open_store

    try:
        with open_store(context.params.get("store_path") or default_store()) as store:
            values = store.sql(sql).to_series().drop_nulls().sort().to_list()
    except (AnalyzerError, OSError):
        return []
    return [name for name in values if name.startswith(begun) and name.isprintable()][:MOST]
