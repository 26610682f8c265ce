"""What foreign records say of failures, as events hold it: errors with their facts, and failed calls of tools."""

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
"""Larger numbers are nonsense in a log, and do not fit where they are added up."""


def classify_foreign(
    error: Mapping[str, Any] | str, at: datetime, **known: Unpack[ErrorClassified]
) -> tuple[Classification, dict[str, Any]]:
    """Classify a foreign error; its verdict and its payload. `at` (naive UTC) is the moment of the record."""
    verdict = classify(error, at=at)
    return verdict, dict(error_payload(verdict, **known))


def number(value: object) -> int | None:
    """Return a count as an int where the record holds a number of sane size; booleans and texts are none."""
    amount = quantity(value)
    return None if amount is None else int(amount)


def quantity(value: object) -> float | None:
    """Return a number of sane size where the record holds one; booleans, texts, NaN and the like are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -LARGEST < value < LARGEST else None


def digits(found: str) -> int | None:
    """Read digits of a message as a number of sane size; None for longer ones."""
    return int(found) if len(found) <= 15 else None


def first_digits(found: re.Match[str] | None) -> int | None:
    """The number of the first group that a pattern found; None where it found nothing."""
    return next((digits(part) for part in found.groups() if part), None) if found else None


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
MOST_TOOLS = 200
"""Tools of a session that are counted one by one; calls of others are left out."""
_LOOKED_AT = 2_000
"""Characters at the beginning, and at the end, of what a tool says that are looked at."""
_KEPT = 300
"""Characters of its first line that are kept."""
_TAGS = ("<tool_use_error>", "</tool_use_error>", "<error>", "</error>")


def _rows(table: str) -> list[tuple[str, str]]:
    """Kinds and patterns, a row each; a kind has as many rows one after another as it needs."""
    return [(kind, said) for kind, said in (line.split(None, 1) for line in table.strip().splitlines())]


_SAYING = _rows(
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
edit_mismatch string to replace|has not been read|has been (?:unexpectedly )?modified|old_?string|new_?string
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
"""What each kind says, in the order in which they are tried."""
_BARE = re2.compile(
    r"(?i)^(?:error: )?(?:(?:command|process) )?(?:(?:exited|failed) with )?"
    r"(?:exit )?(?:code|status):? (-?\d{1,10})\.?$"
)
"""A first line that gives the exit code of a command and nothing else."""
_PRINTING = _rows(
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
"""What commands print that failed, by kind, in the order in which they are tried: lines that tell, and no others are
kept of what a command prints."""
_KIND_OF_CODE = {124: "timeout", 126: "permission", 127: "environment"}
"""What shells and `timeout` mean by a code (POSIX.1-2017, 2.8.2; GNU coreutils 9.1, timeout)."""
_MOST_LINES = 200


def _finder(rows: Iterable[tuple[str, str]], flags: str) -> Callable[[str], list[str]]:
    """What gives the kinds whose patterns a text matches, in their order, by one search for all of them."""
    together, kinds = re2.Set.SearchSet(), []
    for kind, said in rows:
        together.Add(f"{flags}(?:{said})")
        kinds.append(kind)
    together.Compile()
    match = together._set.Match  # without a call that looks for texts
    return lambda text: [kinds[place] for place in sorted(match(text.encode("utf-8", "replace")) or ())]


@cache
def _said() -> Callable[[str], list[str]]:
    return _finder(_SAYING, "(?i)")


@cache
def _printed() -> tuple[Callable[[str], list[str]], dict[str, Any]]:
    """What gives the kinds that some lines may tell of, and what says of one line whether it tells of a kind."""
    runs = [(kind, "|".join(f"(?:{said})" for _, said in rows)) for kind, rows in groupby(_PRINTING, itemgetter(0))]
    return _finder(runs, "(?m)"), {kind: re2.compile(said) for kind, said in runs}


def failure(
    said: object, *, kind: str | None = None, hint: str | None = None, command: str | None = None
) -> dict[str, Any]:
    """The `kind`, `message` and, of a command, head and `exit_code` of a failed call, from what the tool said.

    Of what a command printed the message has the first line that tells why it failed, and nothing where none does.
    `kind` is what the log itself tells of it; `hint` is a word of the log's that stands for none of them, and `command`
    the head of the command that was run.
    """
    ran = {} if command is None else {"command": command}
    heard = said if isinstance(said, str) else ""
    if len(heard) > 2 * _LOOKED_AT:
        # Whole lines, of which a first one may be longer: half of a secret is not known as one.
        head, tail = heard[:_LOOKED_AT], heard[-_LOOKED_AT:]
        heard = "\n".join((head.rpartition("\n")[0].strip() or head, tail.partition("\n")[2]))
    for tag in _TAGS:
        heard = heard.replace(tag, "")
    lines = [line.strip() for line in heard.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    if ended := _BARE.match(first):
        code = int(ended[1])
        found, telling = _told_by(lines[1:], code)
        if kind in (None, "exit_code"):
            kind = found
        message = f"{first.rstrip('.')}: {telling}" if telling else first
        return {"kind": kind, "message": _kept(message), "exit_code": code, **ran}
    # Behind a brace stands what the tool was called with, as a rule.
    first = first.partition('{"')[0].rstrip() or first[:1]
    looked = f"{hint}: {first}" if hint else first
    return {"kind": kind or _kind(looked), "message": _kept(first) or hint, **ran}


def _kept(line: str) -> str:
    return redact(line)[:_KEPT]


def _told_by(lines: list[str], code: int) -> tuple[str, str]:
    """The kind of failure that a command's lines tell of, and the line that does; empty where none does."""
    looked = lines[: _MOST_LINES // 2] + lines[-_MOST_LINES // 2 :] if len(lines) > _MOST_LINES else lines
    among, patterns = _printed()
    for kind in among("\n".join(looked)):
        found = [line for line in looked if patterns[kind].search(line)]
        if found:
            # The exception that ends a traceback is its last line, and behind it others begin.
            traced = kind == "exit_code" and any(line.startswith("Traceback (most") for line in looked)
            return kind, found[-1 if traced else 0]
    return _KIND_OF_CODE.get(code, "exit_code"), ""


def _kind(line: str) -> str:
    return next(iter(_said()(line)), "other")
