"""Weigh the package, as `python -m tests.weight`: tokens, modules, names, and the files that a piece of work enters.

A file counts as entered when a function of it is called (`sys.setprofile`, all threads).
Tokens are those of `tokenize` without comments, line ends and indents, so that packed lines weigh what they hold.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType

from tests import REPOSITORY

PACKAGE = REPOSITORY / "analyzer"
LINE = (
    '{"v":1,"id":"01900000-0000-7000-8000-00000000000%d","type":"error.classified","ts":"2026-11-20T10:00:00.000Z",'
    '"payload":{"caller":"planner","reason":"rate_limited","error":{"message":"429 Too Many Requests"}}}\n'
)
NO_WEIGHT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}
VAGUE = {"told", "said", "found", "one"}
"""Names that fit any value and therefore explain none."""

FEW = 20
"""Lines of the transcript that is read."""


def main(arguments: list[str]) -> int:
    """Print all figures; with the name of a piece of work print the files that it enters."""
    if arguments[:1] == ["--fresh"]:
        print(json.dumps(sorted(entered(lambda: _ingest(Path(arguments[1]))))))
        return 0
    work = works()
    if arguments:
        print(*(path.removeprefix(f"{PACKAGE}/") for path in sorted(work[arguments[0]])), sep="\n")
        return 0
    modules = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    trees = [ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")]
    vague = sum(not VAGUE.isdisjoint(bound_names(function)) for tree in trees for function in functions(tree))
    print(f"{tokens(PACKAGE):7,}  tokens of analyzer/")
    print(f"{tokens(REPOSITORY / 'tests'):7,}  tokens of tests/")
    print(f"{len(modules):7,}  modules of analyzer/")
    print(f"{vague:7,}  functions that bind {', '.join(sorted(VAGUE))}")
    print(f"{sum(map(used_once, trees)):7,}  private functions that their module uses once")
    for name, files in work.items():
        print(f"{len(files):7,}  files entered: {name}")
    return 0


def tokens(folder: Path) -> int:
    """Count the tokens of all Python files below a folder."""
    count = 0
    for path in folder.rglob("*.py"):
        with path.open("rb") as file:
            count += sum(token.type not in NO_WEIGHT for token in tokenize.tokenize(file.readline))
    return count


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield all functions and methods of a module, inner ones too."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def bound_names(function: ast.AST) -> set[str]:
    """Return the parameters and variables of a function, without those of functions inside it."""
    names = set()
    for node in ast.iter_child_nodes(function):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                names.add(name)
        names |= bound_names(node)
    return names


def used_once(tree: ast.AST) -> int:
    """Count the private functions of a module that it names once."""
    names = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, (ast.Name, ast.Attribute))
    )
    private = (name for name in (function.name for function in functions(tree)) if name.startswith("_"))
    return sum(names[name] == 1 for name in private if not name.startswith("__"))


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
