"""The built-in rules as they were read and checked before: what `rules.toml` says, in a form that is read at once.

Invariant: the same ruleset as out of `rules.toml`, whose bytes alone decide whether this one is taken; a test makes it
anew and compares.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from typing import Any

from analyzer.classifier.rules.ruleset import Rule, Ruleset, make

READ_BEFORE = os.path.join(os.path.dirname(__file__), "rules.json")


def read_before(content: bytes) -> Ruleset | None:
    """The ruleset of this text of `rules.toml`; None where it was another text that was read, or nobody has read it."""
    try:
        with open(READ_BEFORE, "rb") as handle:
            kept = json.loads(handle.read())
    except (OSError, ValueError):
        return None
    if kept["toml"] != text_number(content):
        return None
    return make(
        tuple(_rule(entry) for entry in kept["rules"]),
        tuple(kept["status_patterns"]),
        tuple(kept["prose_patterns"]),
        kept["places"],
        kept["digest"],
        kept["words"],
    )


def text_number(content: bytes) -> str:
    """Length and CRC-32 of the text of a file."""
    return f"{len(content)}-{zlib.crc32(content):08x}"


def _rule(entry: Mapping[str, Any]) -> Rule:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    return Rule(**values)
