"""The weight of the package, as `python -m tests.weight`: lines, modules, and how many files a piece of work enters.

A file counts as entered when a function of it is called, told by `sys.setprofile` in all threads of the process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

from tests import REPOSITORY

PACKAGE = REPOSITORY / "analyzer"
LINE = (
    '{"v":1,"id":"01900000-0000-7000-8000-00000000000%d","type":"error.classified","ts":"2026-11-20T10:00:00.000Z",'
    '"payload":{"caller":"planner","reason":"rate_limited","error":{"message":"429 Too Many Requests"}}}\n'
)
FEW = 20
"""Lines of the transcript that is read."""


def main(arguments: list[str]) -> int:
    """Print all figures; a piece of work's name prints the files that it enters."""
    if arguments[:1] == ["--fresh"]:
        print(json.dumps(sorted(entered(lambda: _ingest(Path(arguments[1]))))))
        return 0
    work = works()
    if arguments:
        print(*(path.removeprefix(f"{PACKAGE}/") for path in sorted(work[arguments[0]])), sep="\n")
        return 0
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    print(f"{_lines(PACKAGE):7,}  lines of analyzer/")
    print(f"{len(modules):7,}  modules of it")
    print(f"{_lines(REPOSITORY / 'tests'):7,}  lines of tests/")
    for name, files in work.items():
        print(f"{len(files):7,}  files entered: {name}")
    return 0


def works() -> dict[str, set[str]]:
    """The files that each piece of work enters, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        (here / "logs").mkdir()
        log = here / "logs" / "one.jsonl"
        log.write_text(LINE % 1)
        fresh = subprocess.run(
            [sys.executable, "-m", "tests.weight", "--fresh", folder], cwd=REPOSITORY, capture_output=True, check=True
        )
        found = {"one line of an own log, in a fresh process": set(json.loads(fresh.stdout))}
        for number in (2, 3):
            # The first one loads what every later one finds loaded: rules, and connections' settings.
            with log.open("a") as end:
                end.write(LINE % number)
            known = entered(lambda: _ingest(here))
        found["one more line of an own log"] = known
        transcript = here / "logs" / "transcript.jsonl"
        transcript.write_text("".join(_transcript()))
        found[f"a transcript of {FEW} lines"] = entered(lambda: _ingest(here))
        found["a store to Markdown"] = entered(lambda: _markdown(here))
    return found


def entered(work: Callable[[], object]) -> set[str]:
    """The files of the package of which a function is called while some work is done."""
    files: set[str] = set()

    def look(frame: FrameType, event: str, _argument: object) -> None:
        # Bodies of modules and of classes are no functions.
        if event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:
            files.add(frame.f_code.co_filename)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return {name for name in files if Path(name).is_relative_to(PACKAGE)}


def _ingest(folder: Path) -> None:
    from analyzer import open_store

    with open_store(folder / "store.duckdb", writable=True) as store:
        store.ingest(folder / "logs")


def _markdown(folder: Path) -> None:
    from analyzer import open_store, overview
    from analyzer.report import render_markdown

    with open_store(folder / "store.duckdb") as store:
        render_markdown(overview(store))


def _transcript() -> list[str]:
    common = {"sessionId": "s-1", "version": "2.1.0", "cwd": "/home/somebody/project", "userType": "external"}
    lines = []
    for number in range(FEW):
        record = common | {"uuid": f"u-{number}", "timestamp": f"2026-11-20T10:00:{number:02}.000Z"}
        if number % 5 == 4:
            said = {"role": "assistant", "content": [{"type": "text", "text": "API Error: 529 overloaded_error"}]}
            record |= {"type": "assistant", "isApiErrorMessage": True, "message": said | {"model": "<synthetic>"}}
        else:
            record |= {"type": "user", "message": {"role": "user", "content": f"step {number}"}}
        lines.append(json.dumps(record) + "\n")
    return lines


def _lines(folder: Path) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.rglob("*.py"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
