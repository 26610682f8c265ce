"""Find and open the store of a command by its name.

Without a name it is the store of the working directory, or else the store of this machine for the
logs of its agents.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from analyzer.errors import UNREADABLE, AnalyzerError, StoreError, system_text
from analyzer.frozen import frozen

if TYPE_CHECKING:
    from analyzer.command_lines import Asking
    from analyzer.importers.places import LogPlace
    from analyzer.store import IngestResult, Store, Survey

HERE = "analyzer.duckdb"
"""The store of the working directory."""
REPORTED = "30d"
"""The window of a report without paths, store and window."""


@frozen
class NamedStore:
    """A store by its name.

    Its methods raise:
        StoreError: the store cannot be opened; see `open_store`.
    """

    name: str

    def open_for_queries(self) -> Store:
        """Open the store for queries."""
        from analyzer.store import open_store

        return open_store(self.name)

    def open_for_decisions(self) -> Store:
        """Open an existing store to write what a check or a person decides."""
        from analyzer.store import open_store

        return open_store(self.name, writable=True, create=False)

    def open_for_logs(self) -> Store:
        """Open the store to read logs into it; make it if it is missing."""
        from analyzer.store import open_store

        return open_store(self.name, writable=True)

    @property
    def is_there(self) -> bool:
        """True if there is a store of this name."""
        return os.path.exists(self.name)

    def asking(self, paths: Sequence[str] = (), *, elsewhere: bool = False) -> Asking:
        """Return how printed commands name this store.

        A store in memory of these paths must be kept first.

        `elsewhere` means that the reader may be in another folder and have another default store.
        """
        from analyzer.command_lines import Asking, whole_path
        from analyzer.store import MEMORY

        if self.name == MEMORY:
            kept = tuple(map(whole_path, paths)) if elsewhere else tuple(paths)
            return Asking(gone=True) if "-" in paths else Asking(_kept_store(paths), kept)
        if elsewhere:
            return Asking(whole_path(self.name))
        return Asking(None if self.name == (os.environ.get("ANALYZER_STORE") or default_store()) else self.name)

    def make_room(self) -> None:
        """Make the folder of this machine's store, for its owner only (0700), if this is that store.

        Raises:
            StoreError: it cannot be made.
        """
        if self.name != machine_store():
            return
        folder = os.path.dirname(self.name)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{folder}: cannot be made: {system_text(error)}", "name a store: --store FILE") from None

    def survey(self) -> Survey:
        """List the logs on this machine and what is new of them to this store.

        All is new to a missing store.
        """
        if not self.is_there:
            from analyzer.store import survey

            return survey(places_here(), {})
        with self.open_for_queries() as store:
            return store.survey(places_here())

    def announce_logs(self, *, quiet: bool) -> None:
        """List the logs of this machine on stderr, and make the folder of the store.

        Raises:
            AnalyzerError: there are no logs, and the store is missing, too.
        """
        from analyzer.cli.output import narrate, terminal_width
        from analyzer.report.store_work import logs_document
        from analyzer.report.writers.text import to_text

        survey = self.survey()
        if not survey.found and not self.is_there:
            from analyzer.command_lines import command_line

            hint = f"name a log: {command_line('report', 'PATH')}; where it looked: {command_line('sources')}"
            raise AnalyzerError("no agent has left logs on this machine", hint, exit_code=UNREADABLE)
        text = to_text(logs_document(survey, self.name, home_folder()), terminal_width())
        for line in filter(None, text.splitlines()):
            narrate(line, quiet=quiet)
        self.make_room()


def _kept_store(paths: Sequence[str]) -> str:
    """Return a name for the store of these logs.

    It is not the default name, so no command takes it by itself.
    """
    name = re.sub(r"[^\w-]+", "-", os.path.basename(os.path.abspath(paths[0]))).strip("-") if paths else ""
    others = f"-{crc32(os.fsencode(chr(10).join(paths))):08x}" if len(paths) > 1 else ""
    return f"{name or 'logs'}{others}-report.duckdb"


def home_folder() -> str | None:
    """Return the user's home directory; None if there is none."""
    home = os.path.expanduser("~")
    return home if os.path.isabs(home) else None


def machine_store() -> str | None:
    """Return the path of this machine's store, which may be missing.

    Return None without a home directory.
    """
    data = os.environ.get("XDG_DATA_HOME", "")
    home = home_folder()
    if not os.path.isabs(data):
        data = os.path.join(home, ".local", "share") if home else ""
    return os.path.join(data, "analyzer", HERE) if data else None


def default_store() -> str:
    """Return the store to query if none is named.

    It is that of the working directory, unless only this machine has one.
    """
    machine = machine_store()
    return machine if machine and not is_here() and os.path.exists(machine) else HERE


def is_here() -> bool:
    """Tell whether the working directory has a store, or the journal of a former one."""
    return os.path.lexists(HERE) or os.path.isdir(HERE.replace(".duckdb", ".journal"))


def store_to_fill(paths: Sequence[str] = ()) -> str:
    """Return the store to read paths, or without paths this machine's logs, into if none is named."""
    return HERE if paths or is_here() else store_of_agents()


def store_of_agents() -> str:
    """Return the store for this machine's agents, even if the working directory has one."""
    return machine_store() or HERE


def places_here() -> list[LogPlace]:
    """List where agents may keep logs for this user."""
    from analyzer.importers.places import places

    return places(os.environ, home=home_folder(), working=os.getcwd(), system=sys.platform)


def read_logs(
    ingest: Callable[[Any, Callable[[str, int, int], None] | None], IngestResult],
    paths: Sequence[str] = (),
    *,
    quiet: bool,
) -> IngestResult:
    """Read what is new of the paths with the `ingest` of a store.

    Without paths it reads the logs of all agents on this machine, and progress and problems show
    `~` for the home directory.
    """
    from analyzer.cli.output import progress
    from analyzer.redaction.walk import without_home

    with progress(quiet=quiet) as shown:
        if paths:
            return ingest(paths, shown)
        home = home_folder()
        shorter = shown and (lambda path, index, total: shown(without_home(path, home), index, total))
        result = ingest(places_here(), shorter)
    result.problems = [replace(problem, path=without_home(problem.path, home)) for problem in result.problems]
    return result
