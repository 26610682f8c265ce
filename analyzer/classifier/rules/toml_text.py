"""A ruleset as a TOML file that stands by itself: loading it gives the same ruleset, without the built-in rules."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from analyzer.classifier.rules.ruleset import Rule, Ruleset


def ruleset_text(ruleset: Ruleset) -> str:
    """TOML with every rule in order; `ruleset_for` on a file of it gives a ruleset with the same digest."""
    lines = [f"# Ruleset {ruleset.digest}, complete: the built-in rules of its day are among these.", "alone = true"]
    lines += [f"{key} = {_value(list(getattr(ruleset, key)))}" for key in ("status_patterns", "prose_patterns")]
    for rule in ruleset.rules:
        lines += ["", "[[rule]]"]
        for field in dataclasses.fields(Rule):
            value = getattr(rule, field.name)
            if value != field.default:
                lines.append(f"{field.name} = {_value(list(value) if isinstance(value, tuple) else value)}")
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items()) + "}"
    # JSON's texts, numbers and flags are TOML's, but for one control character that JSON leaves bare.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
