"""Other Python processes of this package: they find the same modules, but none in the working directory.

A file there that is named like a library would be run in its place. A pool of `multiprocessing` is no alternative: it
imports the main module of its host again, and runs a script without a guard twice.

A `Pool` shares work between this process and its helpers, because Python computes on one core. A helper that fails
costs time, but no result.
"""

from __future__ import annotations

import os
import subprocess
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Condition, Thread
from typing import IO, Any, Generic, Self, TypeVar

Answer = TypeVar("Answer")
_Work = TypeVar("_Work", bound="Errand[Any]")


def start(*arguments: str, environment: Mapping[str, str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
    """Start `python ARGUMENTS…` and return its process.

    `environment` holds the child's variables, by default those of this process; `PYTHONPATH` is always set here.
    `options` are those of `subprocess.Popen`.

    Raises:
        OSError: no process can be started.
    """
    variables = os.environ if environment is None else environment
    # -P: the interpreter itself would put the working directory before all else.
    command = [path(), "-P", *arguments]
    return subprocess.Popen(command, env={**variables, "PYTHONPATH": os.pathsep.join(_module_folders())}, **options)  # noqa: S603


def path() -> str:
    """Return the path of this interpreter, for those who start it later:
    the unit of the nightly job, workers of Spark.
    """
    return os.path.abspath(sys.executable)


def _module_folders() -> list[str]:
    """Return the folders with modules: absolute ones,
    without the working directory unless this package lies in it.
    """
    working = None
    with suppress(OSError):  # it may have been removed
        working = os.path.realpath(os.getcwd())
    folders = [entry for entry in sys.path if os.path.isabs(entry) and os.path.realpath(entry) != working]
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return folders if home in folders else [home, *folders]


class Errand(ABC, Generic[Answer]):
    """A piece of work that a helper or this process does."""

    def __init__(self) -> None:
        self.taken = False
        self.answer: Answer | None = None
        self.error: Exception | None = None

    @property
    def done(self) -> bool:
        """Return true if there is an answer or an error."""
        return self.answer is not None or self.error is not None

    def do(self) -> None:
        """Do the work in this process, and keep its answer or error."""
        try:
            self.answer = self.here()
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is asked for
            self.error = error

    @abstractmethod
    def here(self) -> Answer:
        """Compute the answer in this process."""

    @abstractmethod
    def ask(self, requests: IO[bytes], answers: IO[bytes]) -> Answer:
        """Get the answer from a helper at the other end of two pipes.

        Raises:
            Exception: of any kind, where the helper fails.
        """


class Helper:
    """A process that does pieces of work; it is started at the first one."""

    def __init__(self, started: Callable[[], subprocess.Popen[bytes]]) -> None:
        self._started = started
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, work: Errand[Answer]) -> Answer | None:
        """Return the answer of the process; None if it fails, and from then on always."""
        try:
            process = self._process = self._process or self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            return work.ask(process.stdin, process.stdout)
        except Exception:  # noqa: BLE001 - however it fails, the work is done here, and so is all other
            return None

    def kill(self) -> None:
        """Kill the process: nobody waits for the work that it may be doing."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Kill the process, wait for its end and close its pipes."""
        self.kill()  # it may have started after the first time
        if self._process is not None:
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


class Pool:
    """This process and some helpers, as a context manager.

    Whoever is free takes the next piece of work; this process does so while it waits for one that a
    helper has.

    Whoever is free takes the next piece of work; this process does while it waits for one that a helper has.
    """

    def __init__(self, started: Callable[[], subprocess.Popen[bytes]], helpers: int) -> None:
        """Prepare helpers without starting them.

        `started` starts the process of a helper, which answers the requests of `Errand.ask` until
        its stdin ends.
        """
        self._helpers = [Helper(started) for _ in range(helpers)]
        self._threads: list[Thread] = []
        """One thread for each helper that has begun."""
        self._left = 0
        """The helpers with a thread that have not failed."""
        self._queue: deque[Errand[Any]] = deque()
        self._changed = Condition()
        self._closed = False

    def begin(self, most: int) -> None:
        """Set at most `most` helpers to work."""
        for helper in self._helpers[len(self._threads) : most]:
            thread = Thread(target=self._work, args=(helper,), name="helper")
            self._threads.append(thread)
            self._left += 1
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for helper in self._helpers:
            helper.kill()
        for thread in self._threads:
            thread.join()
        for helper in self._helpers:
            helper.close()

    def submit(self, work: _Work) -> _Work:
        """Queue a piece of work for whoever is free first; `settle` waits for it."""
        with self._changed:
            self._queue.append(work)
            self._changed.notify()
        return work

    def _work(self, helper: Helper) -> None:
        """Hand work to a helper until it fails or the pool closes."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    return
                work = self._queue.popleft()
                work.taken = True
            answer = helper.ask(work)
            with self._changed:
                work.answer = answer
                if answer is None:
                    work.taken = False
                    self._left -= 1
                self._changed.notify_all()
            if answer is None:
                return

    def settle(self, work: Errand[Any]) -> None:
        """Wait until a piece of work is done.

        This process does it itself unless a helper has it; meanwhile it does other pieces.
        """
        while not work.done:
            with self._changed:
                if work.taken and not self._queue:
                    self._changed.wait_for(lambda: work.done or not work.taken)
                    continue
                mine = self._queue.popleft() if work.taken else work
                if mine in self._queue:
                    self._queue.remove(mine)
                mine.taken = True
            mine.do()

    def settled(self, work: Errand[Answer]) -> Answer:
        """Return the answer of a piece of work once it is done, or raise its error."""
        self.settle(work)
        if work.error is not None:
            raise work.error
        assert work.answer is not None
        return work.answer
