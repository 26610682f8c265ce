"""What one process hands to another to be read: a request over a pipe, and its answer.

Invariant: the answer is the same wherever the work is done.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import IO, Generic, TypeVar

Answer = TypeVar("Answer")


class Errand(ABC, Generic[Answer]):
    """Something that somebody will read: a helper, or this process."""

    def __init__(self) -> None:
        self.taken = False
        self.answer: Answer | None = None
        self.error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether there is an answer, or an error in its place."""
        return self.answer is not None or self.error is not None

    def do(self) -> None:
        """Do it in this process."""
        try:
            self.answer = self.here()
        except Exception as error:  # noqa: BLE001 - it is raised where the answer is asked for
            self.error = error

    @abstractmethod
    def here(self) -> Answer:
        """The answer, from this process."""

    @abstractmethod
    def ask(self, requests: IO[bytes], answers: IO[bytes]) -> Answer:
        """The answer, from a helper at the other end of two pipes.

        Raises:
            Exception: of any kind, where the helper fails.
        """
