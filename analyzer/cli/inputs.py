"""Read what a command gets beside its options: `analyzer.toml`, times, and files of JSON lines.

`analyzer.toml`, in the current folder or the nearest one above, holds settings of the commands run
there. Invariant: only the command line looks for files; an option wins over the environment, the
environment over the file.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any

from analyzer.config_files import content, opened, toml
from analyzer.errors import USAGE, AnalyzerError, InputError, system_text
from analyzer.frozen import frozen

if TYPE_CHECKING:
    from analyzer.analysis.objectives import Objective
    from analyzer.classifier import Ruleset

FILE = "analyzer.toml"
RULES = "ANALYZER_RULES"
_CLASSIFIER = ("rules",)


def rules_in_use(option: str | None) -> str | None:
    """Return the path of `--rules`, else of $ANALYZER_RULES, else of analyzer.toml, else None.

    Raises:
        AnalyzerError: analyzer.toml cannot be understood.
    """
    if option is not None:
        return option
    if os.environ.get(RULES):
        return os.environ[RULES]
    path = _nearest(os.getcwd())
    return None if path is None else _rules_of(path)


def ruleset_in_use(option: str | None) -> Ruleset:
    """Return the rules in use; see `rules_in_use`.

    Raises:
        AnalyzerError: analyzer.toml or the rules cannot be understood.
    """
    from analyzer.classifier.rules.loading import ruleset_for

    return ruleset_for(rules_in_use(option))


def sections(names: Iterable[str]) -> dict[str, Any]:
    """Return the tables of these names in analyzer.toml, which may name commands to run.

    Return no table without a file.

    Raises:
        AnalyzerError: analyzer.toml cannot be understood, or other users can change it.
    """
    path = _nearest(os.getcwd())
    if path is None:
        return {}
    content = _read(path)
    tables = {name: content[name] for name in names if name in content}
    if tables and not _is_ours(path):
        name = next(iter(tables))
        raise _refused(path, f"others may write it, so [{name}] is not used", "own it, and take their right to write")
    return tables


def objectives_in_use() -> tuple[Objective, ...]:
    """Return the objectives of analyzer.toml; none without that file or its table.

    Raises:
        AnalyzerError: analyzer.toml cannot be understood, or other users can change it.
    """
    table = sections(("objective",))
    if not table:
        return ()
    from analyzer.analysis.objectives import objectives_of

    return objectives_of(table["objective"])


def path_in_config(path: str) -> str:
    """Resolve a path of analyzer.toml, which may be relative to that file's folder, or begin with `~`."""
    nearest = _nearest(os.getcwd())
    return os.path.join(os.path.dirname(nearest) if nearest else "", os.path.expanduser(path))


def _nearest(folder: str) -> str | None:
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _is_ours(path: str) -> bool:
    """Tell whether only we and root can change a file, which may lie in a folder open to all."""
    if not hasattr(os, "geteuid"):
        return True
    status = os.stat(path)
    return status.st_uid in {os.geteuid(), 0} and not status.st_mode & stat.S_IWOTH


def _rules_of(path: str) -> str | None:
    section = _read(path).get("classifier", {})
    if not isinstance(section, dict):
        raise _refused(path, "classifier is no table", "write [classifier]")
    unknown = sorted(set(section) - set(_CLASSIFIER))
    if unknown:
        error = AnalyzerError.unknown_value("key in [classifier]", unknown[0], _CLASSIFIER)
        raise _refused(path, error.message, error.hint)
    rules = section.get("rules")
    if rules is None:
        return None
    if not isinstance(rules, str) or not rules:
        raise _refused(path, "rules is no path", 'write rules = "my-rules.toml"')
    return path_in_config(rules)


def _read(path: str) -> dict[str, Any]:
    try:
        return toml(content(path))
    except OSError as error:
        raise _refused(path, f"cannot be read: {system_text(error)}", "mend it, or move it away") from error
    except ValueError as error:
        # Wrong TOML, wrong UTF-8, or a number of more digits than Python reads.
        raise _refused(path, f"no valid TOML: {error}", "mend it, or move it away") from error


def _refused(path: str, message: str, hint: str) -> AnalyzerError:
    return AnalyzerError(f"{path}: {message}", hint, exit_code=USAGE)


def time_option(at: str | None) -> datetime | None:
    """Read the time of `--at`; None without the option.

    Raises:
        AnalyzerError: it is no ISO 8601 time.
    """
    moment = stated_time(at)
    if at is not None and moment is None:
        raise AnalyzerError(f"--at is no ISO 8601 time: {at!r}", "write 2026-11-21T08:15:30Z")
    return moment


def stated_time(value: object) -> datetime | None:
    """Read the time (naive, UTC) that a JSON value states; None if it is no time."""
    from analyzer.events.times import parse_time

    try:
        return parse_time(value)
    except ValueError:
        return None


_LONGEST_BYTES = 16 * 1024 * 1024
"""Nobody writes a longer line; a device such as /dev/zero has one without an end."""


@frozen
class JsonLine:
    """One line that is not blank."""

    number: int
    """Its number in the file from 1; blank lines count."""
    text: str
    """The line without white space around it; empty if the line is JSON."""
    value: Any
    """The decoded JSON; None if the line is no JSON."""
    why: str | None
    """Why the line is no JSON; None if it is JSON."""


def read_lines(path: str) -> Iterator[JsonLine]:
    """Yield the lines of a file, or of standard input for `-`, without blank ones.

    Raises:
        InputError: the file cannot be read, or a line of it has no end.
    """
    import jsonlines  # 38 ms, which only commands that read lines pay

    with ExitStack() as stack:
        try:
            handle: IO[bytes] = sys.stdin.buffer if path == "-" else stack.enter_context(opened(path))
            number = 0

            def raw_lines() -> Iterator[bytes]:
                nonlocal number
                while raw := handle.readline(_LONGEST_BYTES + 1):
                    number += 1
                    if len(raw) > _LONGEST_BYTES:
                        message = f"{path}: line {number} is longer than {_LONGEST_BYTES // 1024**2} MiB"
                        raise InputError(message, "give the path of a file of JSON lines")
                    yield raw

            reader = jsonlines.Reader(raw_lines(), loads=_loads)
            while True:
                try:
                    value = reader.read(allow_none=True, skip_empty=True)
                except EOFError:
                    return
                except jsonlines.InvalidLineError as error:
                    raw = error.line
                    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
                    why = "no UTF-8" if isinstance(raw, bytes) else f"no JSON: {error.__cause__}"
                    yield JsonLine(number, text.strip(), None, why)
                else:
                    yield JsonLine(number, "", value, None)
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read: {system_text(error)}", "give the path of a file of JSON lines"
            ) from None


def _loads(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
