"""Secrets out of texts and values, before anything is taken out of them, cut, stored or shown.

What is known to be a secret stands in tables: `families` (by its shape), `keys` (by the name that it stands under),
`commands` (by the flag before it). Text is searched by `engine` in all forms that `unfolding` reads it in, values are
walked by `walk`.
"""

from analyzer.redaction.engine import may_hold_secret, prefilter_with, redact
from analyzer.redaction.walk import (
    command_in,
    is_secret_name,
    item_name,
    member_names,
    redact_argument,
    redact_member,
    redact_number,
    redact_value,
    typed,
)

__all__ = [
    "command_in",
    "is_secret_name",
    "item_name",
    "may_hold_secret",
    "member_names",
    "prefilter_with",
    "redact",
    "redact_argument",
    "redact_member",
    "redact_number",
    "redact_value",
    "typed",
]
