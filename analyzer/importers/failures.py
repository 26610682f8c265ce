"""Failures in foreign records: errors with their facts, and failed calls of tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, Unpack

import re2

from analyzer.classifier import Classification, classify
from analyzer.events import error_payload
from analyzer.events.payloads import ErrorClassified
from analyzer.redaction import redact

LARGEST = 10**15
"""Larger numbers are nonsense in a log, and their sums would not fit."""


def classify_foreign(
    error: Mapping[str, Any] | str, at: datetime, **fields: Unpack[ErrorClassified]
) -> tuple[Classification, dict[str, Any]]:
    """Classify a foreign error; return the verdict, and the payload with `fields` added.

    `at` (naive UTC) is the moment of the record.
    """
    verdict = classify(error, at=at)
    return verdict, dict(error_payload(verdict, **fields))


def number(value: object) -> int | None:
    """Return a number of sane size as an int; None for booleans, texts and the like."""
    amount = quantity(value)
    return None if amount is None else int(amount)


def quantity(value: object) -> float | None:
    """Return a number of sane size; None for booleans, texts, NaN and the like."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -LARGEST < value < LARGEST else None


def digits(text: str) -> int | None:
    """Read digits as a number of sane size; None for longer ones."""
    return int(text) if len(text) <= 15 else None


def first_digits(match: re.Match[str] | None) -> int | None:
    """Return the number of the first group with a text; None without a match."""
    return next((digits(part) for part in match.groups() if part), None) if match else None


KINDS = (
    "exit_code",
    "not_found",
    "refused",
    "edit_mismatch",
    "timeout",
    "permission",
    "environment",
    "cancelled",
    "tests",
    "lint",
    "build",
    "other",
)
BENIGN = frozenset({"unread"})
"""Kinds of results that are no failures: a tool asks the agent for a step first, and nothing was tried."""
MOST_TOOLS = 200
"""The most tools of a session whose calls are counted; calls of others are left out."""
_READ = 2_000
"""Characters that are read at the beginning, and at the end, of a tool's words."""
_KEPT = 300
"""Characters of a line that are kept."""
_TAGS = ("<tool_use_error>", "</tool_use_error>", "<error>", "</error>")


def _rows(table: str) -> list[tuple[str, str]]:
    """Return the kinds and patterns of a table's lines; a kind may have several lines in a row."""
    rows = (line.split(None, 1) for line in table.strip().splitlines())
    return [(kind, pattern) for kind, pattern in rows]


_FIRST_LINES = _rows(
    r"""
exit_code     ^(?:error: )?(?:exit code|process exited with code|command failed with exit code):? -?\d
refused       doesn't want to (?:proceed|take)|tool use was rejected|^the user (?:chose|provided)|\breject(?:ed)? tool
refused       (?:rejected|denied|declined|refused) by (?:the )?user|user (?:has )?(?:rejected|denied|declined|refused)
cancelled     interrupted by (?:the )?user|\bcancell?ed\b|\baborted\b|sibling tool call|operation was abort
not_found     \b(?:no such|unknown|unsupported) (?:tool|skill|call|function|command)|agent type .{0,200}not found
not_found     \btool\b.{0,120}\b(?:not found|does not exist|not registered|is not available)|tool_not_registered
environment   command not found|\bnot installed\b|is not recognized as|\bENOSPC\b|no space left|ECONN(?:REFUSED|RESET)
environment   EAI_AGAIN|getaddrinfo|connection (?:closed|refused|reset|error)|\bEMFILE\b|out of memory|\bspawn \S+ E
environment   socket hang up|network error
unread        \bhas not been read\b|\bmust (?:first )?read\b.{0,200}\b(?:before|first)\b
edit_mismatch string to replace|has been (?:unexpectedly )?modified|old_?string|new_?string
edit_mismatch no changes to (?:make|apply)|failed to (?:find|apply)|verification failed|sufficiently similar|\bhunk\b
edit_mismatch \bsearch (?:block|content|text)|search/replace|\b0 occurrences|edit_(?:no_|expected)|invalid patch
timeout       timed[ -]?out|time ?out\b|deadline exceeded
permission    permission|\bnot (?:allowed|permitted)|\bE(?:ACCES|PERM)\b|access denied|\bforbidden\b|\bblocked\b
permission    \bdenied\b|outside (?:of )?(?:the )?(?:allowed|working|workspace)|\bsandbox
not_found     \bENOENT\b|no such file|does not exist|doesn't exist|\bnot[ _]found\b|no files? found
not_found     (?:cannot|could not|couldn't) find
exit_code     exit(?:ed)?(?: with)?(?: (?:exit )?(?:code|status)):? -?\d|non-zero|shell_execute_error
"""
)
"""Patterns of a tool's first line by kind, in the order in which they are tried."""
_EXIT_CODE = re2.compile(
    r"(?i)^(?:error: )?(?:(?:command|process) )?(?:(?:exited|failed) with )?"
    r"(?:exit )?(?:code|status):? (-?\d{1,10})\.?$"
)
"""A first line that has only the exit code of a command."""
_OUTPUT_LINES = _rows(
    r"""
tests         ^FAILED \S+::|^FAIL:? |^--- FAIL|^test .{1,200} \.\.\. FAILED|^\s*[×✕✗] |Failure/Error:|^not ok \d
tests         Tests run: \d+, (?:Failures: [1-9]|Failures: 0, Errors: [1-9])|^\s*[1-9]\d* (?:failing|failed)\b
lint          ^\S+:\d+(?::\d+)?:? [A-Z]{1,4}\d{2,4}\b|^\s*\d+:\d+\s+(?:error|warning)\s|^would reformat |^\[warn\][ ]
lint          ^\S+\.pyi?:\d+(?::\d+)?: error: .{1,200}\[[\w-]+\]$|^Code style issues
lint          ^\S+:\d+:\d+: .{1,200} \([\w-]+\)$
build         \berror (?:TS|CS|LNK|C)\d{3,5}\b|^error\[E\d+\]|^error: could not compile|^CMake Error
build         \.(?:cc?|cpp|hp?p?|java|kt|rs|swift|mm?)(?::\d+){1,2}: (?:fatal )?error: |^(?:\./)?\S+\.go:\d+:\d+:[ ]
build         ^g?make(?:\[\d+\])?: \*\*\*|undefined reference to|^ERROR: Failed building|^Module build failed
build         \] Could not resolve
environment   (?i)command not found|is not recognized as|No module named|cannot find module|could not resolve host
environment   (?i)connection refused|\bECONN|\bENOTFOUND|\bEAI_AGAIN|network is unreachable|no space left
environment   (?i)in name resolution
permission    (?i)permission denied|\bEACCES\b|\bEPERM\b|operation not permitted|access is denied
timeout       (?i)\btimed out\b|deadline exceeded
not_found     (?i)no such file or directory|\bENOENT\b|cannot find the (?:file|path)
exit_code     ^\s*(?:fatal|error|panic|ERROR|Error)\b[:\]]|^(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)\b(?::|$)
exit_code     ^npm (?:ERR!|error)
exit_code     (?i)\berror: |\bfailed to \b|^CONFLICT|^Killed|^Aborted|segmentation fault|: is a directory|\bcannot \w+
"""
)
"""Patterns of lines that failed commands print, by kind, in the order in which they are tried.

Of the output of a command only such a line is kept.
"""
_KIND_OF_CODE = {124: "timeout", 126: "permission", 127: "environment"}
"""Exit codes of shells and of `timeout` (POSIX.1-2017, 2.8.2; GNU coreutils 9.1, timeout)."""
_MOST_LINES = 200
"""Lines of a command's output that are read: half of them at the beginning, half at the end."""


def _finder(rows: Iterable[tuple[str, str]], flags: str) -> Callable[[str], list[str]]:
    """Return a function that finds the kinds of a text by one search for all patterns.

    The kinds come in the order of their rows.
    """
    patterns, kinds = re2.Set.SearchSet(), []
    for kind, pattern in rows:
        patterns.Add(f"{flags}(?:{pattern})")
        kinds.append(kind)
    patterns.Compile()
    match = patterns._set.Match  # takes bytes; the public method encodes texts
    return lambda text: [kinds[row] for row in sorted(match(text.encode("utf-8", "replace")) or ())]


@cache
def _first_line_finder() -> Callable[[str], list[str]]:
    return _finder(_FIRST_LINES, "(?i)")


@cache
def _output_finder() -> tuple[Callable[[str], list[str]], dict[str, Any]]:
    """Return a function that finds the kinds of some lines, and the pattern of a line by kind."""
    joined = []
    for kind, rows in groupby(_OUTPUT_LINES, itemgetter(0)):
        joined.append((kind, "|".join(f"(?:{pattern})" for _, pattern in rows)))
    return _finder(joined, "(?m)"), {kind: re2.compile(pattern) for kind, pattern in joined}


def failure(
    output: object,
    *,
    kind: str | None = None,
    hint: str | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Return the fields of a failed call of a tool from the words of the tool (`output`).

    They are `kind`, `message`, and of a command its head (`command`) and its `exit_code`. The
    message of a command that only prints and exits is the first line that shows why it failed, if
    there is one.

    `kind` is the log's own, `hint` is a word of the log that is none of `KINDS`, `command` is a
    head.
    """
    ran = {} if command is None else {"command": command}
    words = output if isinstance(output, str) else ""
    if len(words) > 2 * _READ:
        # Whole lines, unless the first is longer: half of a secret is not recognised as a secret.
        head, tail = words[:_READ], words[-_READ:]
        words = "\n".join((head.rpartition("\n")[0].strip() or head, tail.partition("\n")[2]))
    for tag in _TAGS:
        words = words.replace(tag, "")
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    if match := _EXIT_CODE.match(first):
        code = int(match[1])
        printed_kind, line = _kind_and_line(lines[1:], code)
        if kind in (None, "exit_code"):
            kind = printed_kind
        message = f"{first.rstrip('.')}: {line}" if line else first
        return {"kind": kind, "message": _shortened(message), "exit_code": code, **ran}
    # A brace mostly begins the arguments of the call.
    first = first.partition('{"')[0].rstrip() or first[:1]
    if not kind:
        kinds = _first_line_finder()(f"{hint}: {first}" if hint else first)
        kind = next(iter(kinds), "other")
    return {"kind": kind, "message": _shortened(first) or hint, **ran}


def _shortened(line: str) -> str:
    return redact(line)[:_KEPT]


def _kind_and_line(lines: list[str], code: int) -> tuple[str, str]:
    """Return the kind of failure that a command printed, and the line that shows it, else ""."""
    if len(lines) > _MOST_LINES:
        lines = lines[: _MOST_LINES // 2] + lines[-_MOST_LINES // 2 :]
    kinds_of, patterns = _output_finder()
    for kind in kinds_of("\n".join(lines)):
        matching = [line for line in lines if patterns[kind].search(line)]
        if matching:
            # A traceback ends with its exception, so the last matching line counts.
            has_traceback = any(line.startswith("Traceback (most") for line in lines)
            return kind, matching[-1 if kind == "exit_code" and has_traceback else 0]
    return _KIND_OF_CODE.get(code, "exit_code"), ""
