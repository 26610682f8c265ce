"""Check a store, its journal and log folders; every check says what it saw and what to do.

Nothing is changed, except that the self-test of a log folder writes into a folder of its own and
removes it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from analyzer.command_lines import command_line
from analyzer.errors import InputError, StoreBusyError, StoreError, system_text
from analyzer.events import Event
from analyzer.events.appending.places import LOCAL, filesystem_of
from analyzer.events.codec import decode
from analyzer.events.times import now
from analyzer.interpreter import start
from analyzer.readable import counted
from analyzer.store.db.connection import EarlierStoreError, connect, store_errors
from analyzer.store.db.engine import execute
from analyzer.store.db.location import WAL, holder, kept_of, location, lock_of, patiently, replacement_waits, work_of
from analyzer.store.db.tables.schema import setting
from analyzer.store.doctor.checks import (
    AHEAD,
    BACK,
    Check,
    content_checks,
    journalled,
    listed,
    loose_modes,
    megabytes,
    ruleset_check,
    space_check,
    vanished,
)
from analyzer.store.export.slices import slice_sentence
from analyzer.store.ingest.discover import SELF_TEST_FOLDER
from analyzer.store.ingest.read import events_in
from analyzer.store.journal import finished, journal_of, left_behind, part_day, parts_of, rebuild_hint, was_store
from analyzer.store.upkeep.carry_over import unreadable
from analyzer.store.verdicts.rulesets import kept_rules, ruleset_at_hand

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
"""The first line comes before the time starts, as it loads the code that appending needs."""


def appending_works(folder: str) -> tuple[int, str]:
    """Return the number of lines that two processes appended at once, and what was wrong with them.

    Raises:
        OSError: nothing can be made in the folder.
    """
    base = os.path.join(folder, SELF_TEST_FOLDER)
    os.makedirs(base, mode=0o700, exist_ok=True)
    try:
        trial = tempfile.mkdtemp(dir=base)
        written = _append(trial)
        return len(written), _verdict(trial, written)
    except _WriterError as error:
        return 0, str(error)
    finally:
        shutil.rmtree(base, ignore_errors=True)


class _WriterError(Exception):
    """One of the writing processes failed."""


def _append(trial: str) -> list[str]:
    writers = [
        start("-c", _WRITER, trial, str(SECONDS), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    answers: list[str] = []
    # Wait until both run before either begins.
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    for writer in writers:
        with suppress(BrokenPipeError):  # one that has died says so below
            assert writer.stdin is not None
            writer.stdin.write(b"\n")
            writer.stdin.flush()
    for writer in writers:
        out, err = (output.decode("utf-8", "replace") for output in writer.communicate())
        if writer.returncode:
            raise _WriterError(err.strip().splitlines()[-1] if err.strip() else "a writer died")
        answers += out.split()
    return answers


def _verdict(trial: str, written: list[str]) -> str:
    event_ids: list[str] = []
    broken = 0
    for name in sorted(os.listdir(trial)):
        with open(os.path.join(trial, name), "rb") as handle:
            for line in handle.read().split(b"\n"):
                if line.strip():
                    event = decode(line, now())
                    if isinstance(event, Event):
                        event_ids.append(event.id)
                    else:
                        broken += 1
    if broken:
        return f"{broken:,} lines are broken"
    if sorted(event_ids) != sorted(written):
        return f"{len(set(written) - set(event_ids)):,} lines are missing"
    return ""


def folder_checks(folder: str) -> list[Check]:
    """Check one folder that programs append events to."""
    if not os.path.isdir(folder):
        return [Check("folder", "problem", f"{folder} is no folder", "name the folder that events are logged to")]
    try:
        parts = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if part_day(name) is not None]
    except OSError as error:
        return [Check("folder", "problem", f"{folder} cannot be read: {system_text(error)}", "check its permissions")]
    message = f"{folder}: {counted(len(parts), 'part')}, {megabytes(sum(map(os.path.getsize, parts)))}"
    checks = [Check("folder", "ok" if parts else "note", message, "" if parts else "nothing was logged here yet")]
    checks.append(loose_modes("permissions", [folder, *parts]))
    checks.append(_filesystem(folder))
    checks += log_checks("log", parts, "what is before and after the damage is still read")
    checks.append(_self_test(folder))
    return checks


@dataclass(slots=True)
class _LogLines:
    """Totals of the lines of some parts of a log, by part or by writer."""

    damaged: dict[str, int] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    ahead: int = 0
    numbers: dict[str, set[int]] = field(default_factory=dict)
    newest: dict[str, tuple[int, datetime]] = field(default_factory=dict)
    backwards: set[str] = field(default_factory=set)


def log_checks(name: str, parts: Sequence[str], todo: str) -> Iterator[Check]:
    """Yield the checks of the lines of some parts."""
    totals = _LogLines()
    for path in parts:
        try:
            _look(path, totals)
        except (InputError, OSError) as error:
            yield Check(
                f"{name} lines", "problem", f"{path} cannot be read: {system_text(error)}", "check its permissions"
            )
    if totals.damaged:
        message = f"{counted(sum(totals.damaged.values()), 'line')} cannot be read, in {listed(list(totals.damaged))}"
        yield Check(f"{name} lines", "problem", message, todo)
    else:
        yield Check(f"{name} lines", "ok", "all can be read")
    if totals.torn:
        yield Check(f"{name} ends", "note", f"torn last line in {listed(totals.torn)}", "a writer died there; no harm")
    lost = {writer: max(numbers) + 1 - len(numbers) for writer, numbers in totals.numbers.items()}
    lost = {writer: missing for writer, missing in lost.items() if missing}
    if lost:
        most = sorted(lost.items(), key=lambda item: -item[1])
        writers = listed([f"{writer} ({missing:,})" for writer, missing in most])
        message = f"{counted(sum(lost.values()), 'event')} of {counted(len(lost), 'writer')} are not here: {writers}"
        yield Check(f"{name} gaps", "note", message, "lost, or in parts that were moved away")
    if totals.ahead:
        yield Check(f"{name} clock", "problem", f"{counted(totals.ahead, 'event')} from the future", "set the clock")
    if totals.backwards:
        message = f"the clock of {listed(sorted(totals.backwards))} went back"
        yield Check(f"{name} clock", "note", message, "set it by NTP")


def _look(path: str, totals: _LogLines) -> None:
    limit = now() + AHEAD
    for event in events_in(path):
        if event is None:
            with finished(path) as nobody_writes:
                if nobody_writes:
                    totals.torn.append(path)
            continue
        if not isinstance(event, Event):
            totals.damaged[path] = totals.damaged.get(path, 0) + 1
            continue
        totals.ahead += event.occurred_at > limit
        writer, seq = event.writer, event.seq
        if writer is None or seq is None:
            continue
        totals.numbers.setdefault(writer, set()).add(seq)
        if event.origin is not None:
            continue  # a journal's events have the times of other logs
        last_seq, last_at = totals.newest.get(writer, (-1, event.occurred_at))
        if seq > last_seq:
            if last_at - event.occurred_at > BACK:
                totals.backwards.add(writer)
            totals.newest[writer] = seq, event.occurred_at


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
        return Check("appending", "problem", f"it does not work here: {system_text(error)}", "check permissions")
    if why:
        return Check("appending", "problem", f"{why} ({written:,} lines)", "log to a local folder")
    return Check("appending", "ok", f"two processes at once wrote {written:,} lines, all whole")


def examine(store_path: str, folders: Iterable[str] = ()) -> list[Check]:
    """Run all checks of a store, and of log folders."""
    checks = list(_store(store_path))
    for folder in folders:
        checks += folder_checks(folder)
    return checks


def _store(path: str) -> Iterator[Check]:
    kept: int | None = 0
    try:
        real = location(path)
    except StoreError as error:
        yield Check("store", "problem", error.message, error.hint)
        return
    yield from _leftovers(path)
    if not os.path.exists(real):
        if folder := left_behind(path):
            yield Check("store", "problem", f"no store at {path}, but its journal in {folder}", rebuild_hint(path))
            return
        yield Check("store", "note", f"no store at {path}", f"make one: {command_line('ingest', 'PATH', store=path)}")
        return
    writer = holder(path)
    yield _lock(path, writer)
    yield loose_modes("permissions of the store", [name for name in (real, real + WAL) if os.path.exists(name)])
    yield space_check(os.path.dirname(real), os.path.getsize(real))
    try:
        why = unreadable(path)
    except StoreBusyError as error:
        yield Check("store", "note", f"{error.message}: not looked into", "run it again when that has finished")
    except StoreError as error:
        yield Check("store", "problem", error.message, error.hint)
    else:
        try:
            kept = yield from _content(path, why)
        except StoreError as error:
            yield Check("store", "problem", error.message, error.hint)
    yield from _journal(path, kept)


def _content(path: str, why: str | None) -> Generator[Check, None, int | None]:
    """Yield the checks of the rows of a store.

    Returns the number of its events that its journal must hold too; None for a slice.
    """
    if why is not None:
        todo = rebuild_hint(path) if was_store(path) else "name another file with --store; this one is no store"
        yield Check("store", "problem", f"it cannot be read: {why}", todo)
        return 0
    try:
        connection = patiently(lambda: connect(path, read_only=True))
    except StoreError as error:
        expected = isinstance(error, StoreBusyError | EarlierStoreError)
        yield Check("store", "note" if expected else "problem", error.message, error.hint)
        return 0
    with connection, store_errors():
        yield Check("store", "ok", f"it opens, and every block of it can be read ({megabytes(os.path.getsize(path))})")
        if (digest := setting(connection, "active_ruleset")) is not None:
            ruleset = ruleset_at_hand(digest, (kept_rules(path, digest), None))
            yield ruleset_check(digest, at_hand=ruleset is not None)
        yield from content_checks(
            lambda sql, parameters: execute(connection, sql, dict(parameters)),
            command_line("quarantine", "retry", store=path),
        )
        yield vanished(connection)
        if sentence := slice_sentence(connection):
            yield Check("slice", "note", sentence, "read logs into the store that it was cut from")
            return None
        return journalled(connection)


def _lock(path: str, writer: str | None) -> Check:
    if writer is not None:
        return Check("lock", "note", f"{writer} is writing", "wait, or look at that process if it takes too long")
    left = "; the lock file holds nothing by itself" if os.path.exists(lock_of(path)) else ""
    return Check("lock", "ok", f"nobody is writing{left}")


def _leftovers(path: str) -> Iterator[Check]:
    if replacement_waits(path):
        yield Check("rebuild", "note", "a new store waits to take its place", "open the store: it is done by that")
    elif os.path.exists(work_of(path)) and holder(path) is None:
        yield Check("rebuild", "note", "one died half-way", f"run it again, or delete {work_of(path)}")
    if kept := kept_of(path):
        files = [name for former in kept for name in (former, former + WAL) if os.path.exists(name)]
        message = f"{counted(len(kept), 'store')} from before a rebuild: {megabytes(sum(map(os.path.getsize, files)))}"
        yield Check("rebuild", "note", message, f"when all is well, delete {listed(kept)}")
    real = os.path.realpath(path)
    if os.path.exists(real + WAL) and holder(path) is None:
        message = "a write-ahead log is left of a process that died; it belongs to the store"
        yield Check("write-ahead log", "note", message, "never delete or copy one without the other")


def _journal(path: str, kept: int | None) -> Iterator[Check]:
    folder = journal_of(path)
    if folder is None or not os.path.isdir(folder):
        if kept:
            message = f"{folder} is gone: {counted(kept, 'event')} of it are only in this store"
            yield Check("journal", "problem", message, "bring it back from a backup, or back up the store")
        elif kept is None:
            yield Check("journal", "ok", "none: its events are in the journal of the store that it was cut from")
        else:
            yield Check("journal", "ok", "none: nothing was read from other tools' logs yet")
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Check("journal", "problem", f"{folder} may not be written", "check its permissions")
    parts = parts_of(folder)
    yield loose_modes("permissions of the journal", [folder, *parts])
    yield from log_checks("journal", parts, "bring the part back from a backup: no other place has its events")
    yield Check("journal", "ok", f"{counted(len(parts), 'part')}, {megabytes(sum(map(os.path.getsize, parts)))}")
