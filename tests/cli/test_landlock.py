"""A process that has given up writing cannot change a file in any way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFINED = """
import os, shutil, socket, sys, threading
from analyzer.cli.sandbox import forbid_writing
handle = open("open", "wb")
if not forbid_writing():
    sys.exit(77)
handle.write(b"what is open stays open")
handle.close()
attempts = {
    "write": lambda: open("there", "r+b").write(b"x"),
    "truncate while opening": lambda: open("there", "wb"),
    "truncate": lambda: os.truncate("there", 0),
    "append": lambda: open("there", "ab"),
    "make": lambda: open("new", "xb"),
    "rename": lambda: os.rename("there", "elsewhere"),
    "link": lambda: os.link("there", "linked"),
    "symlink": lambda: os.symlink("there", "linked"),
    "remove": lambda: os.unlink("there"),
    "make a folder": lambda: os.mkdir("folder"),
    "remove a folder": lambda: os.rmdir("empty"),
    "pipe": lambda: os.mkfifo("pipe"),
    "connect": lambda: socket.create_connection(("127.0.0.1", 9)),
}
def attempt():
    for name, attempted in attempts.items():
        try:
            attempted()
        except PermissionError:
            continue
        except OSError as error:
            print(name, repr(error))
        else:
            print(name, "worked")
attempt()
thread = threading.Thread(target=attempt)
thread.start()
thread.join()
assert open("there", "rb").read() == b"as it was"
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")
def test_nothing_can_be_changed_from_then_on(tmp_path: Path) -> None:
    """Neither by this thread nor by one that it starts; reading goes on, and what was open stays open."""
    (tmp_path / "there").write_bytes(b"as it was")
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", CONFINED], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode == 77:
        pytest.skip("this kernel has no Landlock")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert sorted(os.listdir(tmp_path)) == ["empty", "open", "there"]
    assert (tmp_path / "open").read_bytes() == b"what is open stays open"
