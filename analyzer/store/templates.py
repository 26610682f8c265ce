"""The classifier's template of a message as SQL: macros `internal.template(message)`, `internal.fingerprint(template)`.

Invariant: both are made of the classifier's own passes, so that SQL and Python give a message the same id. What they gave
is kept in the store: other passes need a new `SCHEMA_VERSION`.
"""

from __future__ import annotations

from analyzer.classifier.fingerprint import MAX_CHARS, PASSES, VERSION


def macros() -> tuple[str, ...]:
    """The statements that make them."""
    text = f"trim(regexp_replace(left(message, {MAX_CHARS}), '[\\t-\\r ]+', ' ', 'g'), ' ')"
    for pattern, replacement in PASSES:
        text = f"regexp_replace({text}, {_quoted(pattern)}, {_quoted(replacement)}, 'g')"
    return (
        "create or replace macro internal.message(facts) as (coalesce(json_extract_string(facts, '$.message'),"
        " json_extract_string(facts, '$.stderr'), json_extract_string(facts, '$.stdout')))",
        f"create or replace macro internal.template(message) as ({text})",
        "create or replace macro internal.fingerprint(template) as"
        f" ('{VERSION}-' || left(sha256(template), 12))",
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
