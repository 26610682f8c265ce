"""A pipeline's manifest, with its own names for how steps hand off, as a relay's config.

Invariant: whatever is read under another name than ours is told of; what cannot be followed is refused, never dropped.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.errors import AnalyzerError
from analyzer.recovery.relay.config import RelayConfig, relay_config
from analyzer.recovery.relay.summarizer_limits import PRESETS, READING

TABLES = ("relay", "runtime", "steps", "personas")
"""The tables that say how steps hand off: ours, and those of a manifest."""

SUMMARIZER = "summarizer"
"""The persona that summarizes where none is described: whatever summarizes for all steps."""

_PERSONA = ("adapter", "permissions", "temperature", "system_prompt_file", "description", "model")
_PERMISSIONS = ("allowed_tools", "deny")
_THRESHOLD = "token_threshold_percent"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The relay settings of a manifest, and what was read under other names than ours."""

    config: RelayConfig
    everywhere: bool
    """Whether steps that it does not name hand off as well."""
    notes: tuple[str, ...] = ()
    """What was read under other names than ours."""


def manifest(tables: Mapping[str, Any]) -> Manifest | None:
    """The config out of the `TABLES` of a file; None where they say nothing of hand-offs. Our own table stands above.

    Raises:
        AnalyzerError: a key or a value that cannot be used.
    """
    notes: list[str] = []
    ours = tables.get("relay")
    theirs = _table(_table(tables, "runtime", "runtime"), "relay", "runtime.relay")
    steps = _steps(tables, notes)
    if ours is None and not theirs and not steps:
        return None
    base = relay_config(_named(theirs, "runtime.relay", notes), where="runtime.relay").settings
    own = _named(_table(tables, "relay", "relay"), "relay", notes)
    named = _table(own, "steps", "relay.steps")
    merged = {
        name: {**steps.get(name, {}), **_table(named, name, f"relay.steps.{name}")} for name in {**steps, **named}
    }
    config = relay_config({**own, "steps": merged}, base)
    return Manifest(config, ours is not None or bool(theirs), tuple(notes))


def _named(table: Mapping[str, Any], where: str, notes: list[str]) -> dict[str, Any]:
    """The table with the manifest's name of the threshold as ours."""
    found = dict(table)
    if _THRESHOLD in found:
        if "threshold_percent" in found:
            raise AnalyzerError(f"[{where}] names its threshold twice", f"leave out {_THRESHOLD}")
        found["threshold_percent"] = found.pop(_THRESHOLD)
        notes.append(f"[{where}] {_THRESHOLD} is read as [relay] threshold_percent")
    elif where == "runtime.relay" and found:
        notes.append("[runtime.relay] is read as [relay]")
    return found


def _steps(tables: Mapping[str, Any], notes: list[str]) -> dict[str, dict[str, Any]]:
    """Settings of the steps of `[[steps]]` that have a compaction of their own, by their ids."""
    found: dict[str, dict[str, Any]] = {}
    steps = tables.get("steps", [])
    if not isinstance(steps, list):
        raise AnalyzerError("steps is no list", 'write [[steps]] with id = "implement", or [relay.steps.implement]')
    for place, step in enumerate(steps, 1):
        if not isinstance(step, Mapping):
            raise AnalyzerError(f"steps holds {step!r}", 'write [[steps]] with id = "implement"')
        name = step.get("id", f"number {place}")
        where = f"steps.{name}.handover.compaction"
        handover = _table(step, "handover", f"steps.{name}.handover")
        if "compaction" not in handover:
            continue
        if not isinstance(step.get("id"), str):
            raise AnalyzerError(f"step {place} hands off and has no id", 'write id = "implement"')
        settings: dict[str, Any] = {}
        for key, value in _table(handover, "compaction", where).items():
            if key == "trigger":
                settings["threshold_percent"] = value
            elif key == "persona":
                settings |= _persona(value, tables, where, notes)
            else:
                raise AnalyzerError.unknown_value(f"key in [{where}]", key, ("trigger", "persona"))
        found[name] = settings
        notes.append(f"[{where}] is read as [relay.steps.{name}]")
    return found


def _persona(name: object, tables: Mapping[str, Any], where: str, notes: list[str]) -> dict[str, Any]:
    """The summarizer that a persona stands for: its adapter's command within our limits, which no persona widens."""
    personas = _table(tables, "personas", "personas")
    if name not in personas:
        if name == SUMMARIZER:
            return {}
        raise AnalyzerError.unknown_value(f"persona in [{where}]", str(name), (*personas, SUMMARIZER))
    place = f"personas.{name}"
    persona = _table(personas, str(name), place)
    unknown = sorted(set(persona) - set(_PERSONA))
    if unknown:
        raise AnalyzerError.unknown_value(f"key in [{place}]", unknown[0], _PERSONA)
    adapter = str(persona.get("adapter"))
    if adapter not in PRESETS:
        raise AnalyzerError.unknown_value(f"adapter in [{place}]", adapter, PRESETS)
    if persona.get("temperature", 0) != 0:
        raise AnalyzerError(f"[{place}] has a temperature of {persona['temperature']!r}", "a summarizer has 0")
    _check_permissions(_table(persona, "permissions", f"{place}.permissions"), place)
    command = PRESETS[adapter].command
    if "model" in persona:
        model = persona["model"]
        if not isinstance(model, str) or not model or model.startswith("-"):
            raise AnalyzerError(f"[{place}] has the model {model!r}", "name it as its agent does, or leave it out")
        command = f"{command} {PRESETS[adapter].model} {shlex.quote(model)}"
    settings = {"summarizer": command}
    if "system_prompt_file" in persona:
        settings["summarizer_prompt_file"] = persona["system_prompt_file"]
        notes.append(f"[{place}] system_prompt_file is read as summarizer_prompt_file")
    return settings


def _check_permissions(permissions: Mapping[str, Any], place: str) -> None:
    """Raises AnalyzerError where a summarizer were to do more than read, or less.

    What else it is denied, it cannot do anyway.
    """
    unknown = sorted(set(permissions) - set(_PERMISSIONS))
    if unknown:
        raise AnalyzerError.unknown_value(f"key in [{place}.permissions]", unknown[0], _PERMISSIONS)
    allowed = permissions.get("allowed_tools", [])
    if not isinstance(allowed, list) or not {str(tool).partition("(")[0] for tool in allowed} <= READING:
        raise AnalyzerError(
            f"[{place}.permissions] allows {allowed!r}",
            'a summarizer reads: leave it at ["Read"], or name a command as summarizer with summarizer_limits = "none"',
        )
    denied = permissions.get("deny", [])
    if not isinstance(denied, list) or {str(tool).partition("(")[0] for tool in denied} & READING:
        raise AnalyzerError(f"[{place}.permissions] denies {denied!r}", "a summarizer may read; deny it what it writes")


def _table(table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, Mapping):
        raise AnalyzerError(f"{where} is no table", f"write [{where}]")
    return found
