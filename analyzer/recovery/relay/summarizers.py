"""Two summarizers: a command that reads the session and prints the checkpoint, and one that needs no model."""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace

from analyzer.errors import AnalyzerError, system_text
from analyzer.recovery.process.group import NotStartedError, held_back, start
from analyzer.recovery.process.streams import Tail
from analyzer.recovery.relay.checkpoint import (
    CHARS_PER_TOKEN,
    SECTIONS,
    TITLE,
    Checkpoint,
    SummarizerLimitError,
    Transcript,
    Turn,
)
from analyzer.recovery.relay.summarizer_limits import PRESET, limited
from analyzer.redaction import redact

TIMEOUT_SECONDS = 300.0
_STDOUT_BYTES = 1024 * 1024
"""Bytes at the end of its output that are kept: a checkpoint and many words before it."""
_SILENT_SECONDS = 1.0
"""Seconds of silence after which a process that still holds its stdout is not waited for."""
_CLASSIFIED_CHARS = 4_000
PROMPT_BYTES = 64 * 1024
"""The longest prompt file of a summarizer."""


class SummarizerError(AnalyzerError):
    """A summarizer that returned no checkpoint."""


class CommandSummarizer:
    """A summarizer that runs a command for each checkpoint."""

    def __init__(
        self, command: str, *, limits: str = PRESET, prompt: str = "", timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        """Prepare the command.

        `prompt` is the summarizer's own, before the instructions for a checkpoint.
        """
        held = limited(command, limits)
        self._command = held.words
        self._environment = held.environment
        self._prompt = f"{prompt.strip()}\n\n" if prompt.strip() else ""
        self._timeout_seconds = timeout_seconds
        self.note = held.note
        """A sentence about its limits; see `summarizer_limits`."""

    def __call__(self, transcript: Transcript, max_tokens: int) -> str:
        """Run the command on a transcript, and return its output.

        Raises:
            SummarizerLimitError: its own context is too small for the session.
            SummarizerError: it cannot be started, fails otherwise, or takes too long.
        """
        name = self._command[0]
        stdout, stderr = Tail(_STDOUT_BYTES), Tail()
        with tempfile.TemporaryFile() as stdin:
            stdin.write((self._prompt + instructions(max_tokens) + transcript.render()).encode("utf-8", "replace"))
            stdin.seek(0)
            try:
                with held_back():
                    process = start(
                        self._command,
                        stdin=stdin.fileno(),
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

        output = {"stdout": redact(stdout.text())[-_CLASSIFIED_CHARS:], "stderr": redact(stderr.text())}
        verdict = classify({"exit_code": process.exit_code, **output})
        if verdict.reason == "context_overflow":
            raise SummarizerLimitError("the summarizer's own context is too small for the session")
        last = output["stderr"].strip().splitlines()[-1:] or ["it says nothing"]
        raise SummarizerError(
            f"the summarizer {name!r} failed with exit code {process.exit_code}: {last[0][:200]}", verdict.remediation
        )


def prompt_of(path: str) -> str:
    """Read a summarizer's prompt file.

    Raises:
        AnalyzerError: it cannot be read, is not a text of at most `PROMPT_BYTES`, or others may write it.
    """
    try:
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > PROMPT_BYTES:
                raise AnalyzerError(f"{path}: no prompt", f"name a text of at most {PROMPT_BYTES:,} bytes")
            if status.st_mode & stat.S_IWOTH:
                raise AnalyzerError(f"{path}: others may write it, so it is not used", "take their right to write")
            return file.read().decode("utf-8")
    except OSError as error:
        raise AnalyzerError(
            f"{path}: the summarizer's prompt cannot be read: {system_text(error)}", "mend summarizer_prompt_file"
        ) from error
    except UnicodeDecodeError:
        raise AnalyzerError(f"{path}: no prompt: it is not UTF-8", "write it as UTF-8") from None


def instructions(max_tokens: int) -> str:
    """Return the instructions to a model that summarizes a session."""
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


_LAST_WORDS = 3
_LAST_DECISIONS = 5
_WORDS_CHARS = 400
_EDITS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_OPEN, _DONE = ("[ ]",), ("[x]", "[X]")
# Sessions may be long and hostile: these patterns look at each character once.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|\n")
_DECISION = re.compile(r"\b(?:decided|decision|chose|instead of|we will use|I will use|I'll use)\b")


def summarize(transcript: Transcript, max_tokens: int) -> str:
    """Write a checkpoint of at most `max_tokens`; of long lists, the newest items stay.

    Raises:
        SummarizerLimitError: not even the shortest checkpoint fits.
    """
    checkpoint = _checkpoint(transcript)
    while checkpoint.tokens > max_tokens:
        shorter = replace(
            checkpoint,
            completed_work=_newer_half(checkpoint.completed_work),
            current_state=_newer_half(checkpoint.current_state),
            modified_files=_newer_half(checkpoint.modified_files),
        )
        if shorter == checkpoint:
            raise SummarizerLimitError(f"what remains to be done takes more than {max_tokens:,} tokens")
        checkpoint = shorter
    return checkpoint.render()


def _checkpoint(transcript: Transcript) -> Checkpoint:
    before = transcript.checkpoint
    messages = [turn.text for turn in transcript.turns if turn.role == "assistant"]
    todos = _todos(transcript.turns)
    done = [*(before.completed_work if before else ()), *(item for item, state in todos if state == "completed")]
    done += [*_marked(_DONE, messages), *_actions(transcript.turns)]
    doing = [item for item, state in todos if state == "in_progress"]
    waiting = [item for item, state in todos if state not in ("completed", "in_progress")]
    left = _unique([*doing, *waiting, *_marked(_OPEN, messages[-1:])])
    if not left and before is not None and not todos:
        left = before.remaining_work
    last = [_shortened(words) for words in messages[-_LAST_WORDS:]]
    decisions = [f"Decided: {words}" for words in _decisions(messages)[-_LAST_DECISIONS:]]
    state = [*(f"In progress: {item}" for item in doing), *decisions, *(f"Said: {words}" for words in last)]
    files = [*(before.modified_files if before else ()), *_files(transcript.turns)]
    return Checkpoint(
        _unique(done),
        _unique(state),
        _unique(files),
        left or ("Go on with the task as it was given.",),
        f"Continue from step 1 of remaining work. The last words were: {last[-1] if last else 'none'}",
    )


def _todos(turns: tuple[Turn, ...]) -> list[tuple[str, str]]:
    """Return `(item, state)` of the newest to-do list."""
    for turn in reversed(turns):
        todos = (turn.arguments or {}).get("todos") if turn.tool == "TodoWrite" else None
        if isinstance(todos, list):
            items = (item for item in todos if isinstance(item, dict) and item.get("content"))
            return [(str(item["content"]), str(item.get("status"))) for item in items]
    return []


def _actions(turns: tuple[Turn, ...]) -> Iterator[str]:
    for turn in turns:
        arguments = turn.arguments or {}
        if turn.tool == "Bash" and isinstance(arguments.get("command"), str):
            yield f"Ran `{_shortened(arguments['command'], 120)}`"
        elif turn.tool in _EDITS and isinstance(arguments.get(_EDITS[turn.tool]), str):
            yield f"{'Wrote' if turn.tool == 'Write' else 'Edited'} {arguments[_EDITS[turn.tool]]}"


def _files(turns: tuple[Turn, ...]) -> Iterator[str]:
    for turn in turns:
        path = (turn.arguments or {}).get(_EDITS.get(turn.tool or "", ""))
        if isinstance(path, str) and path:
            yield path


def _marked(boxes: tuple[str, ...], texts: list[str]) -> list[str]:
    """Return the items of a list that follow one of these check boxes."""
    lines = (line.strip() for text in texts for line in text.splitlines())
    items = (line[1:].lstrip() if line[:1] in tuple("-*+") else line for line in lines)
    return [_shortened(item[3:]) for item in items if item.startswith(boxes) and item[3:].strip()]


def _decisions(texts: list[str]) -> list[str]:
    return [_shortened(words) for text in texts for words in _SENTENCE_END.split(text) if _DECISION.search(words)]


def _shortened(words: str, limit: int = _WORDS_CHARS) -> str:
    plain = " ".join(words.split())
    return plain if len(plain) <= limit else f"{plain[: limit - 2]} …"


def _unique(items: list[str]) -> tuple[str, ...]:
    """Return the items without repetitions, in the order of their last mention."""
    return tuple(reversed(dict.fromkeys(reversed(items))))


def _newer_half(items: tuple[str, ...]) -> tuple[str, ...]:
    return items[(len(items) + 1) // 2 :]
