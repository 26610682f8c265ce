"""What people hand to a command: one error as arguments and JSON describe it, and files of JSON lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any

from analyzer.config_files import opened
from analyzer.errors import AnalyzerError, InputError, system_text


def time_option(at: str | None) -> datetime | None:
    """The moment that `--at` names; None where it is not given.

    Raises:
        AnalyzerError: it is no ISO 8601 time.
    """
    moment = stated_time(at)
    if at is not None and moment is None:
        raise AnalyzerError(f"--at is no ISO 8601 time: {at!r}", "write 2026-11-21T08:15:30Z")
    return moment


def stated_time(value: object) -> datetime | None:
    """The moment that a value of JSON states (naive, UTC); None for what is no time."""
    from analyzer.events.times import parse_time

    try:
        return parse_time(value)
    except ValueError:
        return None


_LONGEST_BYTES = 16 * 1024 * 1024
"""Nobody writes a longer line; a device has one without an end."""


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One line that is not blank."""

    number: int
    """From 1, blank lines counted."""
    text: str
    """As it stands there, without white space around it; empty where it is JSON."""
    value: Any
    """What it says; null where it is no JSON."""
    why: str | None
    """Why it is no JSON; null where it is."""


def read_lines(path: str) -> Iterator[JsonLine]:
    """The lines of a file, or of standard input for `-`.

    Raises:
        InputError: the file cannot be read, or a line of it has no end.
    """
    import jsonlines  # 38 ms, for whoever reads lines alone

    with ExitStack() as stack:
        try:
            handle: IO[bytes] = sys.stdin.buffer if path == "-" else stack.enter_context(opened(path))
            number = 0

            def counted() -> Iterator[bytes]:
                nonlocal number
                while raw := handle.readline(_LONGEST_BYTES + 1):
                    number += 1
                    if len(raw) > _LONGEST_BYTES:
                        said = f"{path}: line {number} is longer than {_LONGEST_BYTES // 1024**2} MiB"
                        raise InputError(said, "give the path of a file of JSON lines")
                    yield raw

            reader = jsonlines.Reader(counted(), loads=_loads)
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
