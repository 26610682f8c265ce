"""Do two processes that append to a log in a folder leave whole lines? Tried for a moment, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import suppress

from analyzer.events import Event
from analyzer.events.codec import decode
from analyzer.events.times import now
from analyzer.interpreter import start
from analyzer.store.ingest.discovery import SELF_TEST_FOLDER

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
