"""What somebody hostile puts among the logs of the chaos: files that cost much, folders without end, links out of it.

None of it holds an event of a writer. `OUTSIDE` is the id of one that stands where only a followed link leads.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import zstandard

OUTSIDE = "outside-of-all-logs"
_LINE = b'{"v":1,"id":"%s","type":"relay.triggered","timestamp":"2026-11-03T10:00:00.000Z","payload":{}}\n'
_HEAD = _LINE % b"planted"
_DEEP = 1_200
_FLOODS: tuple[Callable[[], bytes], ...] = (
    lambda: _HEAD + b"\n" * 400_000,
    lambda: _HEAD + b" \r\n" * 100_000,
    lambda: _HEAD + b"x\n" * 10_000,
    lambda: _HEAD + b"[\n\xff\n\0\nnull\n" * 2_000,
    lambda: _HEAD + b"[" * 5_000_000 + b"\n" + _HEAD,
    lambda: _HEAD + b'{"type":"a","payload":{"m":[[]' + b",[]" * 600_000 + b"]}}\n",
    lambda: _HEAD + _HEAD * 5_000,
    lambda: gzip.compress(_HEAD) + gzip.compress(b"") * 20_000,
    lambda: zstandard.compress(_HEAD) + zstandard.compress(b"") * 20_000,
    lambda: zstandard.compress(_HEAD) + zstandard.compress(b"\n") * 20_000,
)


class Intruder:
    """Puts hostile things into a folder of logs, and takes away those that make an ingest complain of its paths."""

    def __init__(self, logs: Path, chance: random.Random) -> None:
        self._logs, self._chance = logs, chance
        self._outside = logs.parent / "outside.jsonl"
        self._outside.write_bytes(_LINE % OUTSIDE.encode())
        self._born = 0
        self._leave: list[Path] = []

    def come(self) -> None:
        """One more thing; those that came before and must not stay go."""
        self.leave()
        self._born += 1
        self._chance.choice((self._flood, self._flood, self._bomb, self._burrow, self._swap))()

    def leave(self) -> None:
        """Take away deep folders, links and what is damaged on purpose."""
        for path in self._leave:
            if path.is_dir() and not path.is_symlink():
                _remove_deep(path)
            else:
                path.unlink(missing_ok=True)
        self._leave.clear()

    def _flood(self) -> None:
        """A file that costs more than its size; it stays, and is moved about like any other."""
        (self._logs / f"flood-{self._born}.log").write_bytes(self._chance.choice(_FLOODS)())

    def _bomb(self) -> None:
        path = self._logs / f"bomb-{self._born}.gz"
        path.write_bytes(zstandard.compress(_HEAD + b"\n" * 80_000_000))
        self._leave.append(path)

    def _burrow(self) -> None:
        """A folder in a folder, and so on, deeper than a stack; with a log at the end of it that nobody needs."""
        top = self._logs / f"deep-{self._born}"
        top.mkdir()
        self._leave.append(top)
        here = os.open(top, os.O_RDONLY)
        for _ in range(_DEEP):
            os.mkdir("d", dir_fd=here)
            below = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)

    def _swap(self) -> None:
        """A link that leads out of the folder stands where a log stood a moment ago; the log has another name now."""
        names = sorted(path for path in self._logs.glob("*.jsonl") if not path.is_symlink())
        if names:
            path = self._chance.choice(names)
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                path.rename(path.with_name(f"{path.name}.{self._born}.swapped"))
                path.symlink_to(self._outside)
                self._leave.append(path)


def _remove_deep(top: Path) -> None:
    """`shutil.rmtree` recurses: what is below 300 folders moves up first, again and again."""
    while True:
        here, depth = os.open(top, os.O_RDONLY), 0
        with contextlib.suppress(FileNotFoundError):
            while depth < 300:
                below = os.open("d", os.O_RDONLY, dir_fd=here)
                os.close(here)
                here, depth = below, depth + 1
        rest = top.parent / f"{top.name}.rest"
        with contextlib.suppress(FileNotFoundError):
            os.rename("d", rest, src_dir_fd=here)
        os.close(here)
        shutil.rmtree(top)
        if not rest.exists():
            return
        rest.rename(top)
