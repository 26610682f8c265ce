"""This machine: where agents keep their logs on it, and the one store for all of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from analyzer.cli.stores import asked, is_there
from analyzer.errors import UNREADABLE, AnalyzerError, StoreError, system_text

if TYPE_CHECKING:
    from analyzer.command_lines import Asking
    from analyzer.importers.places import LogPlace
    from analyzer.store import IngestResult, Survey

HERE = "analyzer.duckdb"
"""The store of the working directory."""
REPORTED = "30d"
"""The days of a report for which nobody names paths, a store or a window."""


def home_folder() -> str | None:
    """The user's home directory; None where there is none."""
    found = os.path.expanduser("~")
    return found if os.path.isabs(found) else None


def machine_store() -> str | None:
    """The store for the logs of this machine, which need not be there; None where there is no home directory."""
    data = os.environ.get("XDG_DATA_HOME", "")
    home = home_folder()
    if not os.path.isabs(data):
        data = os.path.join(home, ".local", "share") if home else ""
    return os.path.join(data, "analyzer", HERE) if data else None


def default_store() -> str:
    """The store to ask where none is named: that of the working directory, else this machine's, if there is one."""
    machine = machine_store()
    return machine if machine and not is_here() and os.path.exists(machine) else HERE


def is_here() -> bool:
    """Whether the working directory has a store, or had one: its journal is left."""
    return os.path.lexists(HERE) or os.path.isdir(HERE.replace(".duckdb", ".journal"))


def store_to_fill() -> str:
    """The store for the logs of this machine where none is named."""
    return HERE if is_here() else machine_store() or HERE


def asking_of(name: str, paths: Sequence[str] = (), *, elsewhere: bool = False) -> Asking:
    """Return how a store is asked further; one in memory of these PATHs has to be kept first.

    Who reads of it `elsewhere` may be in another folder, and have another store.
    """
    from analyzer.command_lines import Asking, whole_path
    from analyzer.store import MEMORY

    if name == MEMORY:
        kept = tuple(map(whole_path, paths)) if elsewhere else tuple(paths)
        return Asking(gone=True) if "-" in paths else Asking(keep=kept)
    if elsewhere:
        return Asking(whole_path(name))
    return Asking(None if name == (os.environ.get("ANALYZER_STORE") or default_store()) else name)


def make_room(name: str) -> None:
    """Make the folder of this machine's store, its owner's alone, where that is the store.

    Raises:
        StoreError: it cannot be made.
    """
    if name != machine_store():
        return
    folder = os.path.dirname(name)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be made: {system_text(error)}", "name a store: --store FILE") from None


def places_here() -> list[LogPlace]:
    """Where agents may keep logs for this user."""
    from analyzer.importers.places import places

    return places(os.environ, home=home_folder(), working=os.getcwd(), system=sys.platform)


def look(name: str) -> Survey:
    """What lies there, and what of it this store does not have; of a store that is not there yet, all.

    Raises:
        StoreError: the store cannot be opened.
    """
    if not is_there(name):
        from analyzer.store import survey

        return survey(places_here(), {})
    with asked(name, None) as store:
        return store.survey(places_here())


def tell_found(name: str, *, quiet: bool) -> None:
    """Say on stderr what lies there before it is read, which may take a while.

    Raises:
        AnalyzerError: nothing does, and the store is not there either.
    """
    from analyzer.cli.output import narrate, terminal_width
    from analyzer.report.store_work import render_found, render_nothing

    found, home, width = look(name), home_folder(), terminal_width()
    said = render_found(found, name, home, width) if found.found else render_nothing(found, home, width)
    for line in said.splitlines():
        narrate(line, quiet=quiet)
    if found.found:
        return
    if not is_there(name):
        hint = "name the files or folders that hold them; $CODEX_HOME and other variables of agents are followed"
        raise AnalyzerError("no logs of agents were found on this machine", hint, exit_code=UNREADABLE)


def read_into(
    ingest: Callable[[list[LogPlace], Callable[[str, int, int], None] | None], IngestResult], *, quiet: bool
) -> IngestResult:
    """Read what is new of all agents on this machine, by the `ingest` of a store; what could not be read is told with
    `~` for the home directory.
    """
    from analyzer.cli.output import progress
    from analyzer.redaction.homes import without_home

    home = home_folder()
    with progress(quiet=quiet) as shown:
        told = shown and (lambda path, place, total: shown(without_home(path, home), place, total))
        result = ingest(places_here(), told)
    result.problems = [replace(item, path=without_home(item.path, home)) for item in result.problems]
    return result
