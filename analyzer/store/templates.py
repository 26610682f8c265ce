"""The classifier's template of a message as SQL macros: `internal.template(message)`, `internal.fingerprint(template)`.

Invariant: both are made of the classifier's own passes, so that SQL and Python give a message the same id. What they
gave is kept in the store: other passes need a new `SCHEMA_VERSION`.
"""

from __future__ import annotations

from analyzer.classifier.fingerprint import MAX_CHARS, PASSES, VERSION


def macros() -> tuple[str, ...]:
    """The statements that make them."""
    # Single spaces, which are most, stay without being replaced: that is half of the whole time.
    text = f"trim(regexp_replace(left(message, {MAX_CHARS}), '[\\t-\\r ]{{2,}}|[\\t-\\r]', ' ', 'g'), ' ')"
    for pattern, replacement in PASSES:
        text = f"regexp_replace({text}, {_quoted(pattern)}, {_quoted(replacement)}, 'g')"
    said = ", ".join(f"json_extract_string(facts, '$.{name}')" for name in ("message", "stderr", "stdout"))
    return (
        f"create or replace macro internal.message(facts) as (coalesce({said}))",
        f"create or replace macro internal.template(message) as ({text})",
        f"create or replace macro internal.fingerprint(template) as ('{VERSION}-' || left(sha256(template), 12))",
    )


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
