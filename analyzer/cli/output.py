"""Write results to stdout or to a file, which appears whole or not at all, and narration to stderr.

A bar on stderr shows the progress of long work, after its first second and only at a terminal.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

import click

from analyzer.errors import UNREADABLE, AnalyzerError, system_text
from analyzer.frozen import frozen

_AT_ONCE = 1024 * 1024
"""Bytes of lines that are printed at once."""

if TYPE_CHECKING:
    import polars as pl
    import rich.progress

    from analyzer.report.document import Document
    from analyzer.store import Problem
    from analyzer.store.db.frames import PlainRows


def write(content: str | bytes | Mapping[str, Any], output: str | None, *, option: str = "--output") -> None:
    """Write to the file, or to stdout for None and `-`; an object is written as JSON. `option` named the file.

    Raises:
        AnalyzerError: the file cannot be written.
    """
    if isinstance(content, Mapping):
        from analyzer.report.escape import json_text

        content = json_text(content)
    data = content.encode("utf-8") if isinstance(content, str) else content
    if data and not data.endswith(b"\n") and isinstance(content, str):
        data += b"\n"
    copy(io.BytesIO(data), output, is_text=not isinstance(content, bytes), option=option)


def copy(content: IO[bytes], output: str | None, *, is_text: bool, option: str = "--output") -> None:
    """Copy the rest of a file to another one, or to stdout for None and `-`.

    It is never in memory as a whole.

    The runner of a CI job takes no line of a text on stdout for a command.

    Raises:
        AnalyzerError: the file cannot be written, or another user decides where it would be.
    """
    if output is None or output == "-":
        if sys.stdout is None:
            return  # our parent closed it
        try:
            sys.stdout.flush()
            _print(content, sys.stdout.buffer, is_text=is_text)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            # The reader has gone, as `head` does, with what it wanted. Python would complain at
            # exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    import shutil
    import tempfile

    _refuse_planted(output)
    target = os.path.realpath(output)
    try:
        former = os.stat(target) if os.path.exists(target) else None
        if former is not None and not stat.S_ISREG(former.st_mode):
            # A device or a pipe is written to, never replaced by a file of the same name.
            with open(target, "wb") as handle:
                _print(content, handle, is_text=is_text)
            return
        descriptor, temporary = tempfile.mkstemp(prefix=".analyzer-", dir=os.path.dirname(target))
        try:
            with os.fdopen(descriptor, "wb") as handle:
                shutil.copyfileobj(content, handle)
            if former is not None and former.st_uid == os.geteuid():
                # A file of ours keeps its mode; that of another user lends no rights.
                os.chmod(temporary, stat.S_IMODE(former.st_mode))
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise _unwritable(f"{output}: cannot be written: {system_text(error)}", option) from None


def _print(content: IO[bytes], handle: IO[bytes], *, is_text: bool) -> None:
    from analyzer.report.escape import runner_safe

    while data := b"".join(content.readlines(_AT_ONCE)):
        if is_text:
            data = runner_safe(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        handle.write(data)


def append(content: str, output: str) -> None:
    """Append to a file; a new one is only its owner's (0600), an existing one keeps its mode.

    Raises:
        AnalyzerError: the file cannot be written, or another user decides where it would be.
    """
    _refuse_planted(output)
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "ab") as handle:
            handle.write(content.encode("utf-8"))
    except OSError as error:
        raise _unwritable(f"{output}: cannot be written: {system_text(error)}") from None


def add_to_job_summary(markdown: Callable[[], str]) -> None:
    """In a job of GitHub Actions, add Markdown to its summary; a failure is only told on stderr."""
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            append(markdown(), path)
        except AnalyzerError as error:
            narrate(f"the job summary is not written: {error.message}")


def write_new(files: dict[str, str]) -> list[str]:
    """Write texts into new files, make their folders, and return the paths that were written.

    A file that holds the same text already is left as it is.

    Raises:
        AnalyzerError: a file holds another text, and nothing is written; or a file cannot be
            written.
    """
    missing = []
    try:
        for path, text in files.items():
            if not os.path.lexists(path):
                missing.append(path)
                continue
            with open(path, encoding="utf-8", errors="replace") as handle:
                if handle.read() != text:
                    raise AnalyzerError(f"{path} is there and says something else", "move it away, or edit it yourself")
        for path in missing:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "x", encoding="utf-8") as handle:
                handle.write(files[path])
    except OSError as error:
        raise _unwritable(f"{error.filename}: cannot be written: {system_text(error)}") from None
    return missing


def _refuse_planted(output: str) -> None:
    """Refuse a link or pipe of another user in a folder where everyone may write, such as /tmp.

    The kernel has the same rule (protected_symlinks), but we resolve the link ourselves.
    """
    try:
        link, folder = os.lstat(output), os.stat(os.path.dirname(os.path.abspath(output)))
    except OSError:
        return
    open_to_all = folder.st_mode & stat.S_IWOTH
    if not stat.S_ISREG(link.st_mode) and open_to_all and link.st_uid not in {os.geteuid(), folder.st_uid}:
        raise _unwritable(f"{output}: another user's link or pipe, in a folder open to all")


def _unwritable(message: str, option: str = "--output") -> AnalyzerError:
    return AnalyzerError(message, f"name another file with {option}", exit_code=UNREADABLE)


@frozen
class Out:
    """The form of an answer, and where it goes."""

    form: str = "table"
    path: str | None = None
    """The file; None for stdout."""
    quiet: bool = False
    """True if stderr gets nothing but errors."""

    def answer(
        self,
        result: Any,
        make: Callable[[], str | Document],
        default: Callable[[Any], Any] | None = None,
        width: int | None = 80,
    ) -> None:
        """Write a result, a mapping or an object with `to_dict`: as JSON if that is the form, else as a text.

        `make` returns the text or the document, which is written as Markdown if that is the form. `default` turns
        values into JSON that the encoder does not know. `width` is that of text where there is no terminal.

        Raises:
            AnalyzerError: the file cannot be written.
        """
        if self.form != "json":
            content = make()
            write(content if isinstance(content, str) else self.written(content, width), self.path)
            return
        from analyzer.report.escape import json_text

        write(json_text(result if isinstance(result, Mapping) else result.to_dict(), default=default), self.path)

    def written(self, document: Document, width: int | None = 80) -> str:
        """Write a document as Markdown if that is the form, else as text; `width` holds without a terminal."""
        if self.form == "markdown":
            from analyzer.report.writers.markdown import to_markdown

            return to_markdown(document)
        from analyzer.report.writers.text import to_text

        cells, colour = text_layout(self.path, width)
        return to_text(document, cells, colour=colour)

    def rows(self, frame: pl.DataFrame | PlainRows) -> None:
        """Write rows in one of the row formats.

        Raises:
            AnalyzerError: Parquet onto a terminal, or a file that cannot be written.
        """
        from analyzer.report import render_rows

        width = rows_width(self.form, self.path)
        write(render_rows(frame, self.form, name="analyzer.query/1", width=width), self.path)

    def narrate(self, message: str) -> None:
        """Write a line to stderr as `narrate` does, unless `quiet`."""
        narrate(message, quiet=self.quiet)


def rows_width(row_format: str, output: str | None) -> int | None:
    """Return the cells that rows should fit into.

    Return None without a terminal, or for another form than a table.

    Raises:
        AnalyzerError: Parquet onto a terminal.
    """
    if output is not None or not is_terminal(sys.stdout):
        return None
    if row_format == "parquet":
        raise AnalyzerError("parquet is no text for a terminal", "add --output FILE")
    return terminal_width() if row_format == "table" else None


def echo(text: str, *, err: bool = False) -> None:
    """Print a text; the runner of a CI job takes no line of it for a command."""
    from analyzer.report.escape import runner_safe

    click.echo(runner_safe(text), err=err)


def narrate(message: str, *, quiet: bool = False) -> None:
    """Write one line to stderr, without secrets."""
    from analyzer.redaction import redact
    from analyzer.report.escape import terminal_safe

    if not quiet:
        if sys.stdout is not None:
            sys.stdout.flush()
        echo(terminal_safe(redact(message)), err=True)


def complain(message: str, hint: str = "") -> None:
    """Write one line to stderr, and the hint below it. Log text cannot move the cursor, and secrets are taken out.

    If stderr cannot be written, the message is lost: it changes neither exit code nor output.
    """
    from analyzer.redaction import redact
    from analyzer.report.escape import terminal_safe

    lines = " ".join(redact(message).split("\n"))
    try:
        echo(terminal_safe(f"analyzer: {lines}"), err=True)
        if hint:
            echo(terminal_safe(f"  hint: {redact(hint)}"), err=True)
    except OSError:
        # What stays in the buffer would change the exit code at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def report_problems(problems: list[Problem]) -> None:
    """Write a line to stderr for every input that could not be read, with a hint."""
    for problem in problems:
        complain(f"{problem.path}: {problem.message}", problem.hint)


def terminal_width() -> int:
    """Return the columns of the terminal; 80 if there is none."""
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def is_terminal(stream: IO[str] | None) -> bool:
    """Tell whether a stream of this process is a terminal; one that is closed is None."""
    return stream is not None and stream.isatty()


def text_layout(output: str | None, width: int | None = 80) -> tuple[int | None, bool]:
    """Return the cells of a line of text, and whether it may have colour (not under $NO_COLOR).

    Without a terminal it is the given `width`; None folds nothing.
    """
    terminal = output is None and is_terminal(sys.stdout)
    return terminal_width() if terminal else width, terminal and not os.environ.get("NO_COLOR")


@contextlib.contextmanager
def counting(thing: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress line as `progress` does, for a number of equal things, such as facts."""
    with progress(quiet=quiet) as shown:
        yield None if shown is None else lambda done, total: shown(thing, done, total)


@contextlib.contextmanager
def progress(*, quiet: bool) -> Iterator[_Progress | None]:
    """Show a progress line on stderr where that is a terminal and the work takes longer than a second."""
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    shown = _Progress()
    try:
        yield shown
    finally:
        shown.clear()


class _Progress:
    """A bar with the time that is left; called with a path, its index and the total."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._bar: rich.progress.Progress | None = None

    def __call__(self, path: str, index: int, total: int) -> None:
        from analyzer.report.escape import terminal_safe

        if self._bar is None:
            if time.monotonic() - self._began < 1:
                return
            self._bar = _bar()
            self._bar.add_task("")
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=terminal_safe(path), completed=index, total=total)

    def clear(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


def _bar() -> rich.progress.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    # Texts of logs are no markup, and a long path must not push the figures out of the line.
    name = TextColumn(
        "{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1, overflow="ellipsis")
    )
    columns = (BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(), name)
    return Progress(*columns, console=Console(stderr=True), transient=True, expand=True)
