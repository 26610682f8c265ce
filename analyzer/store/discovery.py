"""Paths as people give them → files to read, and problems to report. One bad path never stops the others."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

STDIN = "-"
_GLOB = frozenset("*?[")
SELF_TEST_FOLDER = ".analyzer-doctor"
_SKIPPED_FOLDERS = frozenset({".git", "node_modules", "__pycache__", ".venv", SELF_TEST_FOLDER})
"""Folders that hold no agent's log and may hold very many files."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A path that could not be read, or only in part."""

    path: str
    message: str
    hint: str = ""


@dataclass(slots=True)
class Found:
    """What a list of paths stands for."""

    files: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def discover(paths: Iterable[str], *, own: Sequence[str] = ()) -> Found:
    """Files in the order given, folders walked in name order, each file once.

    `own` are files and folders that belong to the store itself. The files are never opened, not even by name: closing
    any handle on a database makes its process lose the lock on it. The folders are left out of other folders.
    """
    found = Found()
    seen: set[str] = set()
    excluded = {os.path.realpath(path) for path in own}
    for path in paths:
        if path == STDIN:
            candidates: Iterable[str] = [STDIN]
        elif os.path.isdir(path):
            told = len(found.problems)
            try:
                candidates = list(_walk(path, excluded, found))
            except RecursionError:
                found.problems.append(Problem(path, "folders nested too deeply to walk", "name a folder further down"))
                continue
            if not candidates and len(found.problems) == told:
                found.problems.append(
                    Problem(path, "nothing to read in this folder", "point at a folder with logs in it")
                )
        elif os.path.lexists(path):
            if os.path.realpath(path) in excluded:
                found.problems.append(Problem(path, "this file belongs to the store itself", "name logs"))
                continue
            candidates = [path]
        elif _GLOB & set(path):
            candidates = sorted(
                name
                for name in glob.glob(path, recursive=True)
                if not os.path.isdir(name) and os.path.realpath(name) not in excluded
            )
            if not candidates:
                found.problems.append(Problem(path, "no file matches this pattern"))
        else:
            found.problems.append(Problem(path, "no such file or folder", _nearest(path)))
            continue
        for name in candidates:
            key = name if name == STDIN else os.path.realpath(name)
            if key not in seen:
                seen.add(key)
                found.files.append(name)
    return found


def _walk(folder: str, excluded: set[str], found: Found) -> Iterator[str]:
    def unreadable(error: OSError) -> None:
        hint = "run as a user who may read it, or change its mode" if isinstance(error, PermissionError) else ""
        found.problems.append(Problem(str(error.filename), f"cannot be read: {error.strerror}", hint))

    # Links are not followed: a loop of them has no end, and a planted one leads out of the folder.
    for base, folders, names in os.walk(folder, onerror=unreadable, followlinks=False):
        folders[:] = sorted(
            name
            for name in folders
            if name not in _SKIPPED_FOLDERS and os.path.realpath(os.path.join(base, name)) not in excluded
        )
        for name in sorted(names):
            path = os.path.join(base, name)
            try:
                kind = os.lstat(path).st_mode
            except OSError as error:
                unreadable(error)
                continue
            if stat.S_ISLNK(kind):
                found.problems.append(
                    Problem(path, "a link inside a folder is not followed", "name its target instead")
                )
            elif stat.S_ISREG(kind) and os.path.realpath(path) not in excluded:
                yield path


def _nearest(path: str) -> str:
    from difflib import get_close_matches

    parent = Path(path).parent
    try:
        names = sorted(entry.name for entry in parent.iterdir())
    except OSError:
        return "check the spelling"
    close = get_close_matches(Path(path).name, names, n=1)
    return f"did you mean {str(parent / close[0])!r}?" if close else "check the spelling"
