"""The store that a command asks, by its name: a file, or a lake. No command knows which of the two answers.

Where none is named, it is that of the working directory or the one store of this machine, for the logs of its agents.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from analyzer.command_lines import LAKE
from analyzer.errors import UNREADABLE, AnalyzerError, StoreError, system_text

if TYPE_CHECKING:
    from analyzer.command_lines import Asking
    from analyzer.importers.places import LogPlace
    from analyzer.lake.location import Lake
    from analyzer.store import IngestResult, Store, Survey

HERE = "analyzer.duckdb"
"""The store of the working directory."""
REPORTED = "30d"
"""The days of a report for which nobody names paths, a store or a window."""


@dataclass(frozen=True, slots=True)
class NamedStore:
    """A store by its name, with the Spark that reads logs for it if it is a lake.

    Raises:
        AnalyzerError: whatever asks for it, where the name can be that of no lake, or there is a master without a lake.
        StoreError: the extra for lakes is not installed, or it cannot be opened; see `open_store`.
    """

    name: str
    master: str | None = None

    def asked(self) -> Store:
        """Open it for queries."""
        from analyzer.store import open_store

        return open_store(self.name, master=self.master)

    def judging(self) -> Store:
        """Open it, which is there, for what a check or a person decides."""
        from analyzer.store import open_store

        return open_store(self.name, writable=True, create=False, master=self.master)

    def filling(self) -> Store:
        """Open it for logs, and make it where there is none."""
        from analyzer.store import open_store

        return open_store(self.name, writable=True, master=self.master)

    def lake(self) -> Lake | None:
        """Return the lake that the name means, None for a file; what a lake needs is installed."""
        if not self.name.startswith(LAKE):
            if self.master is not None:
                raise AnalyzerError("--master is for a lake alone", f"name one: --store {LAKE}PATH")
            return None
        from analyzer.lake.location import lake_of, require_extra

        lake = lake_of(self.name, self.master)
        require_extra()
        return lake

    @property
    def is_there(self) -> bool:
        """Whether there is a store of this name."""
        lake = NamedStore(self.name).lake()
        return os.path.exists(self.name) if lake is None else lake.exists

    def lake_for(self, paths: Sequence[str]) -> Lake | None:
        """Return the lake that logs of these paths, or without any of this machine, are read into.

        Raises:
            AnalyzerError: workers of Spark would have to read the logs of this machine.
        """
        lake = self.lake()
        if lake is not None and lake.master and not paths:
            raise AnalyzerError("--master reads logs that all its workers see", "name the PATHs to read")
        return lake

    def asking(self, paths: Sequence[str] = (), *, elsewhere: bool = False) -> Asking:
        """Return how it is asked further; one in memory of these PATHs has to be kept first.

        Who reads of it `elsewhere` may be in another folder, and have another store.
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
        """Make the folder of this machine's store, its owner's alone, where that is the store.

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

    def look(self) -> Survey:
        """What lies on this machine, and what of it this store does not have; of one that is not there yet, all."""
        if not self.is_there:
            from analyzer.store import survey

            return survey(places_here(), {})
        with NamedStore(self.name).asked() as store:
            return store.survey(places_here())

    def tell_found(self, *, quiet: bool) -> None:
        """Say on stderr what lies there before it is read, which may take a while; and make room for it.

        Raises:
            AnalyzerError: nothing does, and the store is not there either.
        """
        from analyzer.cli.output import narrate, terminal_width
        from analyzer.report.store_work import render_found, render_nothing

        found, home, width = self.look(), home_folder(), terminal_width()
        said = render_found(found, self.name, home, width) if found.found else render_nothing(found, home, width)
        for line in said.splitlines():
            narrate(line, quiet=quiet)
        if not found.found and not self.is_there:
            hint = "name the files or folders that hold them; $CODEX_HOME and other variables of agents are followed"
            raise AnalyzerError("no logs of agents were found on this machine", hint, exit_code=UNREADABLE)
        self.make_room()


def _kept_store(paths: Sequence[str]) -> str:
    """Name the store that keeps these logs: its own, so that no other command asks it by itself."""
    name = re.sub(r"[^\w-]+", "-", os.path.basename(os.path.abspath(paths[0]))).strip("-") if paths else ""
    others = f"-{crc32(os.fsencode(chr(10).join(paths))):08x}" if len(paths) > 1 else ""
    return f"{name or 'logs'}{others}-report.duckdb"


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


def store_to_fill(paths: Sequence[str] = ()) -> str:
    """The store for logs of these paths, or without any of this machine, where none is named."""
    return HERE if paths or is_here() else store_of_agents()


def store_of_agents() -> str:
    """Return the store for the logs of this machine's agents, whatever the working directory holds."""
    return machine_store() or HERE


def places_here() -> list[LogPlace]:
    """Where agents may keep logs for this user."""
    from analyzer.importers.places import places

    return places(os.environ, home=home_folder(), working=os.getcwd(), system=sys.platform)


def read_logs(
    ingest: Callable[[Any, Callable[[str, int, int], None] | None], IngestResult],
    paths: Sequence[str] = (),
    *,
    quiet: bool,
) -> IngestResult:
    """Read what is new of the paths by the `ingest` of a store; without paths, of all agents on this machine, and then
    what could not be read is told with `~` for the home directory.
    """
    from analyzer.cli.output import progress
    from analyzer.redaction.walk import without_home

    with progress(quiet=quiet) as shown:
        if paths:
            return ingest(paths, shown)
        home = home_folder()
        told = shown and (lambda path, place, total: shown(without_home(path, home), place, total))
        result = ingest(places_here(), told)
    result.problems = [replace(item, path=without_home(item.path, home)) for item in result.problems]
    return result
