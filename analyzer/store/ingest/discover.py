"""Turn paths as people give them into files to read and problems to report.

One bad path stops no other.

A survey counts what there is to read in the places of agents, and what of it a store does not have
yet; it opens no file.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analyzer.command_lines import command_line
from analyzer.errors import nearest, system_text
from analyzer.frozen import frozen
from analyzer.importers.places import LogPlace
from analyzer.store.db.location import kept, on_disk
from analyzer.store.journal import ENDING, is_journal

if TYPE_CHECKING:
    import duckdb

STDIN = "-"
_GLOB = frozenset("*?[")
SELF_TEST_FOLDER = ".analyzer-doctor"
_SKIPPED_FOLDERS = frozenset({".git", "node_modules", "__pycache__", ".venv", SELF_TEST_FOLDER})
"""Folders that hold no agent's log but may hold very many files."""
DEEPEST = 200
"""Deepest nesting of folders: each level costs more, and soon no system call takes the path."""
MOST_FILES = 250_000
"""Most files of one place of an agent; with more of them, name the folders that matter."""


@frozen
class Problem:
    """A path that could not be read, or only in part."""

    path: str
    message: str
    hint: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", kept(self.path))


@dataclass(slots=True)
class Discovery:
    """The files and problems that a list of paths stands for."""

    files: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    below: dict[str, str] = field(default_factory=dict)
    """The named folder of each file that was found inside one."""


Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str] | LogPlace]
"""One path or several, as a caller names them."""


def named(paths: Paths) -> list[str | LogPlace]:
    """Return each of the paths as a text."""
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    return [os.fspath(path) if isinstance(path, os.PathLike) else path for path in several]


def discover(paths: Iterable[str | LogPlace], *, own: Sequence[str] = (), journals: bool = False) -> Discovery:
    """List the files in the order of the paths.

    Folders are walked in name order, each file comes once.

    A place of an agent gives the files that it names, and none if it is missing.

    `own` are files and folders that belong to the store itself. The files are never opened, not even by name: closing
    any handle on a database makes its process lose the lock on it. The folders are left out of other folders. A
    journal is a problem, unless `journals`: as a log it would say nothing of what its store decided.
    """
    discovery = Discovery()
    seen: set[str] = set()
    excluded = {os.path.realpath(path) for path in own}
    candidates: Sequence[tuple[str, str]]
    for named_path in paths:
        path = named_path.folder if isinstance(named_path, LogPlace) else on_disk(named_path)
        if isinstance(named_path, LogPlace):
            candidates = _in_place(named_path, excluded, discovery) if os.path.isdir(path) else []
            discovery.below.update((name, path) for name, _ in candidates)
        elif path == STDIN:
            candidates = [(STDIN, STDIN)]
        elif os.path.isdir(path):
            if not journals and (os.path.realpath(path) in excluded or is_journal(path)):
                discovery.problems.append(_journal_problem(path))
                continue
            problems_before = len(discovery.problems)
            candidates = list(_walk(path, excluded, discovery, journals=journals))
            discovery.below.update((name, path) for name, _ in candidates)
            if not candidates and len(discovery.problems) == problems_before:
                discovery.problems.append(
                    Problem(path, "nothing to read in this folder", "point at a folder with logs in it")
                )
        elif os.path.lexists(path):
            real = os.path.realpath(path)
            if real in excluded:
                discovery.problems.append(Problem(path, "this file belongs to the store itself", "name logs"))
                continue
            if not journals and is_journal(os.path.dirname(real)):
                discovery.problems.append(_journal_problem(path))
                continue
            candidates = [(path, real)]
        elif _GLOB & set(path):
            names = [name for name in sorted(glob.glob(path, recursive=True)) if not os.path.isdir(name)]
            matched = [(name, os.path.realpath(name)) for name in names]
            # Each folder is looked at once, however many of its files match.
            folders = sorted({os.path.dirname(real) for _, real in matched})
            refused = [] if journals else [folder for folder in folders if is_journal(folder)]
            discovery.problems += map(_journal_problem, refused)
            candidates = [
                (name, real) for name, real in matched if real not in excluded and os.path.dirname(real) not in refused
            ]
            if not candidates and not refused:
                discovery.problems.append(Problem(path, "no file matches this pattern"))
        else:
            discovery.problems.append(Problem(path, "no such file or folder", _nearest(path)))
            continue
        for name, real in candidates:
            if real not in seen:
                seen.add(real)
                discovery.files.append(name)
    return discovery


def _in_place(place: LogPlace, excluded: set[str], discovery: Discovery) -> list[tuple[str, str]]:
    """Return the files that a place names, as `_walk` gives them: at most `MOST_FILES`."""
    files = list(islice(_walk(place.folder, excluded, discovery, journals=False, place=place), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        del files[MOST_FILES:]
        message = f"more than {MOST_FILES:,} files: the first of them are read"
        discovery.problems.append(Problem(place.folder, message, "name the folders further down that matter"))
    return files


def _walk(
    folder: str, excluded: set[str], discovery: Discovery, *, journals: bool, place: LogPlace | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the files below a folder, or those a place names, each with its real path.

    Links are not followed: a loop of them has no end, and a planted one leads out of the folder.
    """
    # Below the folder itself there are no links on the way, so that its real path tells those of all others.
    waiting = [(folder, os.path.realpath(folder), "", 0)]
    while waiting:
        folder, real, inner, depth = waiting.pop()
        below: list[tuple[str, str, str, int]] = []
        entries = _entries(folder, discovery, None if place is None else place.names_in(inner))
        base, real, inner = (part and os.path.join(part, "") for part in (folder, real, inner))
        for name, kind in entries:
            path, inside, within = f"{base}{name}", f"{real}{name}", f"{inner}{name}"
            if stat.S_ISDIR(kind):
                if name in _SKIPPED_FOLDERS or inside in excluded or (place is not None and not place.leads_on(within)):
                    continue
                if not journals and name.endswith(ENDING) and is_journal(inside):
                    discovery.problems.append(_journal_problem(path))
                elif depth == DEEPEST:
                    message = f"nested deeper than {DEEPEST} folders: not read from here on"
                    discovery.problems.append(Problem(path, message, "name a folder further down"))
                else:
                    below.append((path, inside, within, depth + 1))
            elif place is not None and not place.holds(within):
                continue
            elif stat.S_ISLNK(kind):
                if not os.path.isdir(path):
                    discovery.problems.append(
                        Problem(path, "a link inside a folder is not followed", "name its target instead")
                    )
            elif stat.S_ISREG(kind) and inside not in excluded:
                yield path, inside
        waiting += reversed(below)


def _entries(folder: str, discovery: Discovery, names: Iterable[str] | None = None) -> list[tuple[str, int]]:
    """Return names and modes of a folder's entries, by name: all, or only `names`.

    Entries that cannot be read become problems.
    """
    entries: list[tuple[str, int]] = []
    if names is not None:
        for name in names:
            try:
                entries.append((name, os.lstat(os.path.join(folder, name)).st_mode))
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError as error:
                discovery.problems.append(_unreadable(os.path.join(folder, name), error))
        return sorted(entries)
    try:
        with os.scandir(folder) as scan:
            for entry in scan:
                try:
                    entries.append((entry.name, _kind_of(entry)))
                except OSError as error:
                    discovery.problems.append(_unreadable(entry.path, error))
    except OSError as error:
        discovery.problems.append(_unreadable(folder, error))
    return sorted(entries)


def _kind_of(entry: os.DirEntry[str]) -> int:
    """Return the type of an entry as in a mode.

    The listing mostly has it, which saves a call per file.
    """
    if entry.is_file(follow_symlinks=False):
        return stat.S_IFREG
    if entry.is_dir(follow_symlinks=False):
        return stat.S_IFDIR
    return stat.S_IFLNK if entry.is_symlink() else 0


def _unreadable(path: str, error: OSError) -> Problem:
    hint = "run as a user who may read it, or change its mode" if isinstance(error, PermissionError) else ""
    return Problem(path, f"cannot be read: {system_text(error)}", hint)


def _journal_problem(path: str) -> Problem:
    return Problem(
        path,
        "the journal of a store is no log, and nothing of it was read",
        f"name logs; a store that is gone is made again by: {command_line('rebuild', 'PATH...', store='FILE')}",
    )


def _nearest(path: str) -> str:
    parent = Path(path).parent
    try:
        names = sorted(entry.name for entry in parent.iterdir())
    except OSError:
        return "check the spelling"
    close = nearest(Path(path).name, names, 1)
    return f"did you mean {str(parent / close[0])!r}?" if close else "check the spelling"


@dataclass(slots=True)
class Stock:
    """The logs of one place."""

    place: LogPlace
    files: int = 0
    bytes: int = 0
    """Bytes on disk, compressed."""
    new_files: int = 0
    """Files that the store has not read to their present end."""
    new_bytes: int = 0
    changed: list[tuple[int, str]] = field(default_factory=list)
    """When each file changed last, in nanoseconds since 1970, and its path."""

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        figures = {name: getattr(self, name) for name in ("files", "bytes", "new_files", "new_bytes")}
        return {"agent": self.place.agent, "formats": list(self.place.formats), "path": self.place.path, **figures}


@dataclass(slots=True)
class Survey:
    """The logs of all places, in the order of the places, the empty ones included."""

    stocks: list[Stock] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def found(self) -> list[Stock]:
        """Return the places that hold logs."""
        return [stock for stock in self.stocks if stock.files]

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON without the store's name."""
        return {
            "sources": [stock.to_dict() for stock in self.stocks],
            "problems": list(map(asdict, self.problems)),
        }


def survey(places: Iterable[LogPlace], sizes: Mapping[str, tuple[int, int]]) -> Survey:
    """Count the logs in the places, and those that are new.

    `sizes` has size and time of change (nanoseconds) of files as they were read last.
    """
    result = Survey()
    counted: set[str] = set()
    for place in places:
        discovery = discover([place])
        result.problems += discovery.problems
        stock, folder = Stock(place), os.path.realpath(place.folder)
        result.stocks.append(stock)
        for path in discovery.files:
            size, changed = _state(path)
            real = folder + path[len(place.folder) :]
            if size < 0 or real in counted:
                continue
            counted.add(real)
            stock.files += 1
            stock.bytes += size
            stock.changed.append((changed, path))
            before = sizes.get(kept(path), (-1, 0))
            if before != (size, changed):
                stock.new_files += 1
                stock.new_bytes += size - before[0] if 0 <= before[0] < size else size
    return result


def sizes_read(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, int]]:
    """Return size and time of change (nanoseconds) of every file as it was when it was read last."""
    rows = connection.execute("select path, size, mtime_ns from internal.source_v1 order by source_id").fetchall()
    return {str(path): (int(size), int(changed)) for path, size, changed in rows}


def _state(path: str) -> tuple[int, int]:
    """Return size and time of change as a checkpoint has them.

    A database's include its write-ahead log.
    """
    size, changed = -1, 0
    for name in (path, f"{path}-wal") if path.endswith(".db") else (path,):
        try:
            status = os.lstat(name)
        except OSError:
            continue
        size, changed = max(size, 0) + status.st_size, max(changed, min(status.st_mtime_ns, 2**63 - 1))
    return size, changed
