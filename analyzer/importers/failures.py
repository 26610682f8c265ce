"""What foreign records say of failures, as events hold it: errors with their facts, and failed calls of tools."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
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


KINDS = (
    "exit_code",
    "not_found",
    "refused",
    "edit_mismatch",
    "timeout",
    "permission",
    "environment",
    "cancelled",
    "other",
)
MOST_TOOLS = 200
"""Tools of a session that are counted one by one; calls of others are left out."""
_LOOKED_AT = 2_000
"""Characters of what a tool says that are looked at."""
_KEPT = 300
"""Characters of its first line that are kept."""
_TAGS = ("<tool_use_error>", "</tool_use_error>", "<error>", "</error>")

_SAYING = (
    ("exit_code", (r"^(?:error: )?(?:exit code|process exited with code|command failed with exit code):? -?\d",)),
    (
        "refused",
        (
            r"doesn't want to (?:proceed|take)|tool use was rejected|^the user (?:chose|provided)|\breject(?:ed)? tool",
            r"(?:rejected|denied|declined|refused) by (?:the )?user|user (?:has )?(?:rejected|denied|declined|refused)",
        ),
    ),
    ("cancelled", (r"interrupted by (?:the )?user|\bcancell?ed\b|\baborted\b|sibling tool call|operation was abort",)),
    (
        "not_found",
        (
            r"\b(?:no such|unknown|unsupported) (?:tool|skill|call|function|command)|agent type .{0,200}not found",
            r"\btool\b.{0,120}\b(?:not found|does not exist|not registered|is not available)|tool_not_registered",
        ),
    ),
    (
        "environment",
        (
            r"command not found|\bnot installed\b|is not recognized as|\bENOSPC\b|no space left|ECONN(?:REFUSED|RESET)",
            r"EAI_AGAIN|getaddrinfo|connection (?:closed|refused|reset|error)|\bEMFILE\b|out of memory|\bspawn \S+ E",
            r"socket hang up|network error",
        ),
    ),
    (
        "edit_mismatch",
        (
            r"string to replace|has not been read|has been (?:unexpectedly )?modified|old_?string|new_?string",
            r"no changes to (?:make|apply)|failed to (?:find|apply)|verification failed|sufficiently similar|\bhunk\b",
            r"\bsearch (?:block|content|text)|search/replace|\b0 occurrences|edit_(?:no_|expected)|invalid patch",
        ),
    ),
    ("timeout", (r"timed[ -]?out|time ?out\b|deadline exceeded",)),
    (
        "permission",
        (
            r"permission|\bnot (?:allowed|permitted)|\bE(?:ACCES|PERM)\b|access denied|\bforbidden\b|\bblocked\b",
            r"\bdenied\b|outside (?:of )?(?:the )?(?:allowed|working|workspace)|\bsandbox",
        ),
    ),
    (
        "not_found",
        (
            r"\bENOENT\b|no such file|does not exist|doesn't exist|\bnot[ _]found\b|no files? found",
            r"(?:cannot|could not|couldn't) find",
        ),
    ),
    ("exit_code", (r"exit(?:ed)?(?: with)?(?: (?:exit )?(?:code|status)):? -?\d|non-zero|shell_execute_error",)),
)
"""What each kind says, in the order in which they are tried."""
_PATTERNS = tuple((kind, re2.compile(f"(?i){'|'.join(said)}".encode())) for kind, said in _SAYING)


def failure(said: object, *, kind: str | None = None, hint: str | None = None) -> dict[str, str | None]:
    """The `kind` and `message` of a failed call, from what the tool said.

    `kind` is what the log itself tells of it; `hint` is a word of the log's that stands for none of them.
    """
    heard = said if isinstance(said, str) else ""
    heard = heard[:_LOOKED_AT]
    for tag in _TAGS:
        heard = heard.replace(tag, "")
    first = next((line.strip() for line in heard.splitlines() if line.strip()), "")
    # Behind a brace stands what the tool was called with, as a rule.
    first = first.partition('{"')[0].rstrip() or first[:1]
    looked = f"{hint}: {first}" if hint else first
    return {"kind": kind or _kind(looked), "message": redact(first)[:_KEPT] or hint}


def _kind(line: str) -> str:
    raw = line.encode("utf-8", "replace")
    return next((kind for kind, pattern in _PATTERNS if pattern.search(raw)), "other")
