"""A log folder from outside: torn lines, loss, wrong clocks, who may read it, and whether appending works there.

Whether appending works in a folder is tried for a moment by two processes, in a folder of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from analyzer.errors import InputError
from analyzer.events import Event
from analyzer.events.appending.places import LOCAL, filesystem_of
from analyzer.events.codec import decode
from analyzer.events.times import now
from analyzer.interpreter import start
from analyzer.plurals import counted
from analyzer.store.doctor.checks import AHEAD, BACK, Check, listed, loose_modes, megabytes
from analyzer.store.ingest.discover import SELF_TEST_FOLDER
from analyzer.store.ingest.inputs import Input
from analyzer.store.ingest.read import Blocks
from analyzer.store.journal import finished, part_day

SECONDS = 0.2
_WRITER = """
import sys, time
from analyzer.events import EventLog
with EventLog(sys.argv[1]) as log:
    def append():
        written = log.append("self.test", {"text": "x" * 3000})
        if written is None:
            sys.exit("a line could not be written")
        return written
    first = append()
    print("ready", flush=True)
    sys.stdin.readline()
    end = time.monotonic() + float(sys.argv[2])
    print(first)
    while time.monotonic() < end:
        print(append())
"""
"""The first line is written before the moment begins: it loads what appending needs, which may take as long."""


def appending_works(folder: str) -> tuple[int, str]:
    """How many lines two processes wrote, and what was wrong with them; empty where nothing was.

    Raises:
        OSError: nothing can be made in the folder.
    """
    base = os.path.join(folder, SELF_TEST_FOLDER)
    os.makedirs(base, mode=0o700, exist_ok=True)
    try:
        trial = tempfile.mkdtemp(dir=base)
        written = _append(trial)
        return len(written), _verdict(trial, written)
    except _FailedError as error:
        return 0, str(error)
    finally:
        shutil.rmtree(base, ignore_errors=True)


class _FailedError(Exception):
    """One of the writing processes failed."""


def _append(trial: str) -> list[str]:
    writers = [
        start("-c", _WRITER, trial, str(SECONDS), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    answers: list[str] = []
    # Both are up before one of them begins.
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        with suppress(BrokenPipeError):  # one that has died says so below
            assert writer.stdin is not None
            writer.stdin.write(b"\n")
            writer.stdin.flush()
    for writer in writers:
        out, err = (said.decode("utf-8", "replace") for said in writer.communicate())
        if writer.returncode:
            raise _FailedError(err.strip().splitlines()[-1] if err.strip() else "a writer died")
        answers += out.split()
    return answers


def _verdict(trial: str, written: list[str]) -> str:
    found: list[str] = []
    broken = 0
    for name in sorted(os.listdir(trial)):
        with open(os.path.join(trial, name), "rb") as handle:
            for line in handle.read().split(b"\n"):
                if line.strip():
                    event = decode(line, now())
                    if isinstance(event, Event):
                        found.append(event.id)
                    else:
                        broken += 1
    if broken:
        return f"{broken:,} lines are broken"
    if sorted(found) != sorted(written):
        return f"{len(set(written) - set(found)):,} lines are missing"
    return ""


def folder_checks(folder: str) -> list[Check]:
    """All checks of one folder that programs append events to."""
    if not os.path.isdir(folder):
        return [Check("folder", "problem", f"{folder} is no folder", "name the folder that events are logged to")]
    try:
        parts = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if part_day(name) is not None]
    except OSError as error:
        return [Check("folder", "problem", f"{folder} cannot be read: {error.strerror}", "check its permissions")]
    said = f"{folder}: {counted(len(parts), 'part')}, {megabytes(sum(map(os.path.getsize, parts)))}"
    checks = [Check("folder", "ok" if parts else "note", said, "" if parts else "nothing was logged here yet")]
    checks.append(loose_modes("permissions", [folder, *parts]))
    checks.append(_filesystem(folder))
    checks += log_checks("log", parts, "what stands before and after the damage is read all the same")
    checks.append(_self_test(folder))
    return checks


@dataclass(slots=True)
class _Seen:
    """What the lines of some parts of a log add up to."""

    damaged: dict[str, int] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    ahead: int = 0
    numbers: dict[str, set[int]] = field(default_factory=dict)
    newest: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    backwards: set[str] = field(default_factory=set)


def log_checks(name: str, parts: Sequence[str], todo: str) -> Iterator[Check]:
    """Checks of the lines of some parts."""
    seen = _Seen()
    for path in parts:
        try:
            _look(path, seen)
        except (InputError, OSError) as error:
            yield Check(f"{name} lines", "problem", f"{path} cannot be read: {error}", "check its permissions")
    if seen.damaged:
        said = f"{counted(sum(seen.damaged.values()), 'line')} cannot be read, in {listed(list(seen.damaged))}"
        yield Check(f"{name} lines", "problem", said, todo)
    else:
        yield Check(f"{name} lines", "ok", "all can be read")
    if seen.torn:
        yield Check(f"{name} ends", "note", f"torn last line in {listed(seen.torn)}", "a writer died there; no harm")
    lost = {writer: max(numbers) + 1 - len(numbers) for writer, numbers in seen.numbers.items()}
    lost = {writer: missing for writer, missing in lost.items() if missing}
    if lost:
        most = sorted(lost.items(), key=lambda item: -item[1])
        found = listed([f"{writer} ({missing:,})" for writer, missing in most])
        said = f"{counted(sum(lost.values()), 'event')} of {counted(len(lost), 'writer')} are not here: {found}"
        yield Check(f"{name} gaps", "note", said, "lost, or in parts that were moved away")
    if seen.ahead:
        yield Check(f"{name} clock", "problem", f"{counted(seen.ahead, 'event')} from the future", "set the clock")
    if seen.backwards:
        said = f"the clock of {listed(sorted(seen.backwards))} went back"
        yield Check(f"{name} clock", "note", said, "set it by NTP")


def _look(path: str, seen: _Seen) -> None:
    limit = now() + AHEAD
    with Input(path) as source:
        blocks = Blocks(source, 0)
        for stretch in blocks:
            for line in stretch.data.split(b"\n"):
                if not line.strip():
                    continue
                event = decode(line, source.file_time)
                if not isinstance(event, Event):
                    seen.damaged[path] = seen.damaged.get(path, 0) + 1
                    continue
                seen.ahead += event.occurred_at > limit
                if event.writer is not None and event.seq is not None:
                    _follow(event, event.writer, event.seq, seen)
        if blocks.tail_length:
            with finished(path) as nobody_writes:
                if nobody_writes:
                    seen.torn.append(path)


def _follow(event: Event, writer: str, seq: int, seen: _Seen) -> None:
    seen.numbers.setdefault(writer, set()).add(seq)
    if event.origin is not None:
        return  # a journal's events have the times of other logs
    last_seq, last_at = seen.newest.get(writer, (-1, event.occurred_at))
    if seq > last_seq:
        if last_at - event.occurred_at > BACK:
            seen.backwards.add(writer)
        seen.newest[writer] = seq, event.occurred_at


def _filesystem(folder: str) -> Check:
    kind = filesystem_of(folder)
    if kind is None:
        return Check("file system", "note", "this system does not say what kind it is", "")
    if kind in LOCAL:
        return Check("file system", "ok", f"{kind}, a local one")
    return Check(
        "file system",
        "problem",
        f"{kind}: lines of several machines may overwrite each other there",
        "log to a local folder on each machine, and ingest them all",
    )


def _self_test(folder: str) -> Check:
    try:
        written, why = appending_works(folder)
    except OSError as error:
        return Check("appending", "problem", f"it does not work here: {error.strerror or error}", "check permissions")
    if why:
        return Check("appending", "problem", f"{why} ({written:,} lines)", "log to a local folder")
    return Check("appending", "ok", f"two processes at once wrote {written:,} lines, all whole")
