"""The classifier's template of a message as SQL macros: `internal.template(message)`, `internal.fingerprint(template)`.

Invariant: both are made of the classifier's own passes, so that SQL and Python give a message the same id. What they
gave is kept in the store: other passes need a new `SCHEMA_VERSION`.
"""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.classifier.fingerprint import MAX_CHARS, PASSES, VERSION, Pass

_SPACES = "\t\n\v\f\r"


def macros() -> tuple[str, ...]:
    """The statements that make them."""
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
    said = ", ".join(f"json_extract_string(facts, '$.{name}')" for name in ("message", "stderr", "stdout"))
    return (
        f"create or replace macro internal.message(facts) as (coalesce({said}))",
        f"create or replace macro internal.template(message) as ({text})",
        f"create or replace macro internal.fingerprint(template) as ('{VERSION}-' || left(sha256(template), 12))",
    )


def _masked(text: str, passes: Iterable[Pass]) -> str:
    for pattern, replacement, _ in passes:
        text = f"regexp_replace({text}, {_quoted(pattern)}, {_quoted(replacement)}, 'g')"
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
