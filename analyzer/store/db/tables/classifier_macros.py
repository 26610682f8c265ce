"""What the classifier knows as SQL macros: a message's template and fingerprint, and which errors count as unknown.

Invariant: they are made of the classifier's own passes and lists, so that SQL and Python agree. Templates that they
gave are kept in the store: other passes need a new `SCHEMA_VERSION`.
"""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.classifier.fingerprint import MAX_CHARS, PASSES, VERSION, Pass
from analyzer.classifier.recovery_table import UNCOUNTED

_SPACES = "\t\n\v\f\r"


def macros() -> tuple[str, ...]:
    """The SQL statements that create the macros."""
    needed = sorted({each.needs for each in PASSES if each.needs})
    always = [each for each in PASSES if not each.needs]
    # Most messages have nothing to tidy and nothing that half of the passes need; to look for that costs little.
    rare = " or ".join(
        (
            f"strlen(message) > {MAX_CHARS} or starts_with(message, ' ') or ends_with(message, ' ')",
            *(f"contains(message, {_quoted(text)})" for text in ("  ", *_SPACES, *needed)),
        )
    )
    line = f"trim(regexp_replace(left(message, {MAX_CHARS}), '[{_SPACES} ]{{2,}}|[{_SPACES}]', ' ', 'g'), ' ')"
    text = f"case when {rare} then {_masked(line, PASSES)} else {_masked('message', always)} end"
    counts = f"coalesce(detail, '') not in ({', '.join(map(_quoted, UNCOUNTED))})"
    return (
        # Of an error's reason and detail: does it count as unknown, and does it take part in the unknown share at all?
        f"create or replace macro is_unknown(reason, detail) as (reason = 'unknown' and {counts})",
        f"create or replace macro is_counted(reason, detail) as (coalesce(reason, 'unknown') <> 'unknown' or {counts})",
        f"create or replace macro internal.template(message) as ({text})",
        f"create or replace macro internal.fingerprint(template) as ('{VERSION}-' || left(sha256(template), 12))",
    )


def _masked(text: str, passes: Iterable[Pass]) -> str:
    for pattern, replacement, _ in passes:
        text = f"regexp_replace({text}, {_quoted(pattern)}, {_quoted(replacement)}, 'g')"
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
