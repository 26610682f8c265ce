"""A summarizer that is a command: it reads what to do and the session on stdin, and prints the checkpoint."""

from __future__ import annotations

import os
import stat
import tempfile
import time

from analyzer.errors import AnalyzerError
from analyzer.recovery.process.group import NotStartedError, start
from analyzer.recovery.process.signals import held_back
from analyzer.recovery.process.streams import Tail
from analyzer.recovery.relay.checkpoint import CHARS_PER_TOKEN, SECTIONS, TITLE
from analyzer.recovery.relay.summarizer_limits import PRESET, limited
from analyzer.recovery.relay.transcript import SummarizerLimitError, Transcript
from analyzer.redaction import redact

TIMEOUT_SECONDS = 300.0
_STDOUT_BYTES = 1024 * 1024
"""Of what it prints, the end is kept: a checkpoint and many words before it."""
_SILENT_SECONDS = 1.0
"""Who holds its stdout and says nothing for so long, once it has ended, is not waited for."""
_CLASSIFIED_CHARS = 4_000
PROMPT_BYTES = 64 * 1024
"""The longest prompt file of a summarizer."""


class SummarizerError(AnalyzerError):
    """The summarizer gave no checkpoint."""


class CommandSummarizer:
    """Runs a command for each checkpoint."""

    def __init__(
        self, command: str, *, limits: str = PRESET, prompt: str = "", timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        """`prompt` holds words of the summarizer's own, which it gets before what a checkpoint is."""
        held = limited(command, limits)
        self._command = held.words
        self._environment = held.environment
        self._prompt = f"{prompt.strip()}\n\n" if prompt.strip() else ""
        self._timeout_seconds = timeout_seconds
        self.note = held.note
        """What to tell of what it may do; see `relay_limits`."""

    def __call__(self, transcript: Transcript, max_tokens: int) -> str:
        """Run the command on a transcript; returns what it prints.

        Raises:
            SummarizerLimitError: its own context is too small for the session.
            SummarizerError: it cannot be started, fails otherwise, or takes too long.
        """
        name = self._command[0]
        stdout, stderr = Tail(_STDOUT_BYTES), Tail()
        with tempfile.TemporaryFile() as given:
            given.write((self._prompt + instructions(max_tokens) + transcript.render()).encode("utf-8", "replace"))
            given.seek(0)
            try:
                with held_back():
                    process = start(
                        self._command,
                        stdin=given.fileno(),
                        stdout=None,
                        stderr=None,
                        watches=(stdout.feed, stderr.feed),
                        environment={**self._environment, "ANALYZER_CHECKPOINT_TOKENS": str(max_tokens)},
                    )
            except NotStartedError as error:
                raise SummarizerError(f"the summarizer: {error.message}", "check --summarizer") from None
        deadline = time.monotonic() + self._timeout_seconds
        try:
            in_time = process.wait(self._timeout_seconds) == "exited" and process.drain(_SILENT_SECONDS, deadline)
        finally:
            process.end(0)  # its children with it
            process.close()
        if not in_time:
            raise SummarizerError(
                f"the summarizer {name!r} took more than {self._timeout_seconds:g} s", "use a quicker one"
            )
        if process.exit_code == 0:
            return stdout.text()
        from analyzer.classifier import classify

        said = {"stdout": redact(stdout.text())[-_CLASSIFIED_CHARS:], "stderr": redact(stderr.text())}
        verdict = classify({"exit_code": process.exit_code, **said})
        if verdict.reason == "context_overflow":
            raise SummarizerLimitError("the summarizer's own context is too small for the session")
        last = said["stderr"].strip().splitlines()[-1:] or ["it says nothing"]
        raise SummarizerError(
            f"the summarizer {name!r} failed with exit code {process.exit_code}: {last[0][:200]}", verdict.remediation
        )


def prompt_of(path: str) -> str:
    """The words in a summarizer's prompt file.

    Raises:
        AnalyzerError: it cannot be read, is not a text of at most `PROMPT_BYTES`, or others may write it.
    """
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > PROMPT_BYTES:
                raise AnalyzerError(f"{path}: no prompt", f"name a text of at most {PROMPT_BYTES:,} bytes")
            if found.st_mode & stat.S_IWOTH:
                raise AnalyzerError(f"{path}: others may write it, so it is not used", "take their right to write")
            return file.read().decode("utf-8")
    except OSError as error:
        raise AnalyzerError(
            f"{path}: the summarizer's prompt cannot be read: {error.strerror}", "mend summarizer_prompt_file"
        ) from error
    except UnicodeDecodeError:
        raise AnalyzerError(f"{path}: no prompt: it is not UTF-8", "write it as UTF-8") from None


def instructions(max_tokens: int) -> str:
    """The instructions to a model that summarizes a session."""
    headings = "\n".join(f"## {name}" for name in SECTIONS)
    return (
        "Below is the session of an agent whose context is nearly full. A fresh instance will go on with the work and "
        "will know nothing but the document that you write. Write it now: Markdown, these headings, nothing else.\n\n"
        f"{TITLE}\n\n{headings}\n\n"
        "Completed Work, Current State and Modified Files are bullet lists: facts, paths, names, no narrative. "
        "Remaining Work is a numbered list in the order of doing. Resume Instructions say where to go on, in a few "
        f"sentences. At most {max_tokens:,} tokens, which is about {max_tokens * CHARS_PER_TOKEN:,} characters.\n\n"
        "--- session ---\n\n"
    )
