"""A summarizer that is a command: it reads what to do and the session on stdin, and prints the checkpoint."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess

from analyzer.errors import AnalyzerError
from analyzer.recovery.checkpoint import CHARS_PER_TOKEN, SECTIONS, TITLE
from analyzer.recovery.relay_transcript import SummarizerLimitError, Transcript

TIMEOUT_SECONDS = 300.0
_STDERR_CHARS = 4_000


class SummarizerError(AnalyzerError):
    """The summarizer gave no checkpoint."""


class CommandSummarizer:
    """Runs a command for each checkpoint."""

    def __init__(self, command: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise AnalyzerError(f"no command line: {command!r}: {error}", "check its quotes") from None
        if not self._command:
            raise AnalyzerError("the summarizer's command is empty", "name a program")
        self._timeout_seconds = timeout_seconds

    def __call__(self, transcript: Transcript, max_tokens: int) -> str:
        """What the command prints.

        Raises:
            SummarizerLimitError: its own context is too small for the session.
            SummarizerError: it cannot be started, fails otherwise, or takes too long.
        """
        name = self._command[0]
        try:
            process = subprocess.Popen(  # noqa: S603 - running the caller's command is the purpose
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "ANALYZER_CHECKPOINT_TOKENS": str(max_tokens)},
                process_group=0,
            )
        except OSError as error:
            raise SummarizerError(
                f"cannot start the summarizer {name!r}: {error.strerror}", "check --summarizer"
            ) from None
        given = (instructions(max_tokens) + transcript.render()).encode("utf-8", "replace")
        with process:
            try:
                printed = process.communicate(given, self._timeout_seconds)
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # its children with it
                if not isinstance(error, subprocess.TimeoutExpired):
                    raise
                raise SummarizerError(
                    f"the summarizer {name!r} took more than {self._timeout_seconds:g} s", "use a quicker one"
                ) from None
        stdout, stderr = (part.decode("utf-8", "replace") for part in printed)
        if process.returncode == 0:
            return stdout
        from analyzer.classifier import classify

        verdict = classify({"exit_code": process.returncode, "stdout": stdout[-_STDERR_CHARS:], "stderr": stderr})
        if verdict.reason == "context_overflow":
            raise SummarizerLimitError("the summarizer's own context is too small for the session")
        said = stderr.strip().splitlines()[-1:] or ["it says nothing"]
        raise SummarizerError(
            f"the summarizer {name!r} failed with exit code {process.returncode}: {said[0][:200]}", verdict.remediation
        )


def instructions(max_tokens: int) -> str:
    """What a model is to do with the session that follows."""
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
