"""The house in figures, as `python -m tests.house`: modules a folder, names that explain nothing, and unused code."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict

from vulture import Vulture

from tests import REPOSITORY
from tests.weight import VAGUE, bound_names, functions

MOST_MODULES = 14
"""Modules that a folder may have, so that a listing of it explains itself. `cli/commands` may have more."""
USED = (
    # Python's own hooks; what click, urllib, sqlite3, shlex and RE2 read or call.
    *("__getattr__", "__dir__", "__call__", "list_commands", "get_command", "format_commands", "redirect_request"),
    *("case_sensitive", "encoding", "log_errors", "longest_match", "max_mem", "text_factory", "whitespace_split"),
    # What http.server calls or reads of a server and its handler.
    *("do_POST", "handle_error", "log_message", "address_family", "close_connection", "daemon_threads"),
    *("service_actions", "verify_request"),
    *("protocol_version", "request_queue_size", "server_version", "sys_version"),
    # Fields that leave in a dictionary, or are read by name.
    *("before_rule", "crc", "priority", "program_size", "recovered_chains", "source_format"),
    # Entered by `python -c`, in a process of their own.
    "serve",
    # Named in the table of formats.
    "*Reader",
    # Of several in a module, each by its name.
    "*_command",
    # One method a type of event, called by name in the tests.
    *(f"relay_{what}" for what in ("triggered", "checkpointed", "resumed", "halted", "skipped")),
    *("session_observed", "truncated_sizes"),
)


def main() -> int:
    """Print them; return 1 if a folder is too full, a name is vague or shared, or something is unused."""
    counts = Counter(path.parent for path in (REPOSITORY / "analyzer").rglob("*.py"))
    crowded = []
    for folder, count in sorted(counts.items()):
        name = folder.relative_to(REPOSITORY).as_posix()
        print(f"{count:3}  {name}")
        if count > MOST_MODULES and name != "analyzer/cli/commands":
            crowded.append(name)
    unused = [*vague_names(), *shared_names(), *unused_code()]
    print(*(f"{name}: more than {MOST_MODULES} modules" for name in crowded), *unused, sep="\n")
    return bool(crowded or unused)


def vague_names() -> list[str]:
    """Return a line for each function of the package that binds a name which fits any value."""
    return [
        f"{path.relative_to(REPOSITORY)}:{function.lineno}: {function.name} binds {', '.join(sorted(vague))}"
        for path in sorted((REPOSITORY / "analyzer").rglob("*.py"))
        for function in functions(ast.parse(path.read_text("utf-8")))
        if (vague := {*VAGUE, "each"} & bound_names(function))
    ]


def shared_names() -> list[str]:
    """One line for each public name that two classes of the package have: who imports one may get the other."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted((REPOSITORY / "analyzer").rglob("*.py")):
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text("utf-8"), re.MULTILINE):
            homes[name].append(path.relative_to(REPOSITORY).as_posix())
    return [f"{name}: a class of {' and of '.join(found)}" for name, found in sorted(homes.items()) if len(found) > 1]


def unused_code() -> list[str]:
    """One line for each function, class, attribute or variable of the package that no code, test or benchmark uses."""
    scan = Vulture(ignore_names=USED, ignore_decorators=["@command.command*"])
    scan.scavenge([str(REPOSITORY / name) for name in ("analyzer", "tests", "benchmarks")])
    # The keys of payloads are a list for type checkers.
    return [
        item.get_report().removeprefix(f"{REPOSITORY}/")
        for item in scan.get_unused_code(min_confidence=60)
        if item.filename.is_relative_to(REPOSITORY / "analyzer") and item.filename.name != "payloads.py"
    ]


if __name__ == "__main__":
    sys.exit(main())
