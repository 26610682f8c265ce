"""The settings of hand-offs, for all steps and for single ones.

A pipeline's manifest, which has its own names for these settings, becomes a config.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import field, fields, replace
from types import MappingProxyType
from typing import Any

from analyzer.errors import AnalyzerError
from analyzer.frozen import frozen
from analyzer.recovery.relay.summarizer_limits import LIMITS, PRESET, PRESETS, READING

STRATEGIES = ("summarize_to_checkpoint",)
DEFAULT_CONTEXT_WINDOW = 200_000
_TRIGGER = re.compile(r"(?:token_limit_)?(\d{1,3}(?:\.\d+)?)%?")


@frozen
class RelaySettings:
    """When one step hands off its work, and which summarizer writes the checkpoint."""

    threshold_percent: float = 70.0
    """The share of the context, in percent, at which the step hands off.
    Agents compact by themselves at about 95.
    """
    strategy: str = STRATEGIES[0]
    summarizer: str | None = None
    """A command; None for the summarizer that needs no model."""
    summarizer_limits: str = PRESET
    """`preset`: a known agent may only read. `none`: the command runs as it is written."""
    summarizer_prompt_file: str | None = None
    """A file with the summarizer's own prompt,
    which it gets before the instructions for a checkpoint.
    """
    summarizer_token_cap: int = 160_000
    """The most tokens of a session that is summarized; for a longer one the step halts."""
    checkpoint_token_cap: int = 8_000
    """The most tokens of a checkpoint; for a longer one the step halts."""
    context_window: int | None = None
    """Tokens that the model's context holds. None: by the stream,
    else a million for a `…[1m]`, else 200,000.
    """


@frozen
class RelayConfig:
    """Settings for all steps, and those of steps that have their own."""

    settings: RelaySettings = RelaySettings()
    steps: Mapping[str, RelaySettings] = field(default_factory=lambda: MappingProxyType({}))

    def of_step(self, step_id: str | None) -> RelaySettings:
        """Return the settings of a step."""
        return self.settings if step_id is None else self.steps.get(step_id, self.settings)


def threshold(value: object) -> float:
    """Read a threshold in percent: 80, `80`, `80%` or `token_limit_80%`.

    Raises:
        AnalyzerError: it is no number, or not above 0 and at most 100.
    """
    match = _TRIGGER.fullmatch(value.strip()) if isinstance(value, str) else None
    number = float(match[1]) if match else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= 100:
        raise AnalyzerError(f"no threshold: {value!r}", "write a percentage such as 70, or token_limit_70%")
    return float(number)


def relay_config(section: Mapping[str, Any], base: RelaySettings | None = None, *, where: str = "relay") -> RelayConfig:
    """Read the config in a table such as `[relay]` of analyzer.toml, with tables `steps.NAME` that override it.

    Keys that the table lacks are as in `base`; errors call the table `where`.

    Raises:
        AnalyzerError: a key or a value that cannot be used.
    """
    rest = dict(section)
    steps = rest.pop("steps", {})
    if not isinstance(steps, Mapping):
        raise AnalyzerError(f"{where}.steps is no table", f"write [{where}.steps.implement]")
    settings = _settings(base or RelaySettings(), rest, where)
    own = {}
    for name, step in steps.items():
        if not isinstance(step, Mapping):
            raise AnalyzerError(f"{where}.steps.{name} is no table", f"write [{where}.steps.{name}]")
        own[name] = _settings(settings, step, f"{where}.steps.{name}")
    return RelayConfig(settings, MappingProxyType(own))


def _settings(base: RelaySettings, table: Mapping[str, Any], where: str) -> RelaySettings:
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _NAMES:
            raise AnalyzerError.unknown_value(f"key in [{where}]", key, _NAMES)
        if key == "threshold_percent":
            value = threshold(value)
        elif key == "strategy" and value not in STRATEGIES:
            raise AnalyzerError.unknown_value("strategy", str(value), STRATEGIES)
        elif key == "summarizer_limits" and value not in LIMITS:
            raise AnalyzerError.unknown_value("summarizer_limits", str(value), LIMITS)
        elif key == "summarizer" and (not isinstance(value, str) or not value.strip()):
            raise AnalyzerError(f"{where}.summarizer is no command", 'write summarizer = "my-summarizer --brief"')
        elif key == "summarizer_prompt_file" and (not isinstance(value, str) or not value.strip()):
            raise AnalyzerError(f"{where}.summarizer_prompt_file is no path", f'write {key} = "summarizer.md"')
        elif key in _COUNTS and (type(value) is not int or value <= 0):
            raise AnalyzerError(f"{where}.{key} is no number of tokens: {value!r}", f"write {key} = 100000")
        values[key] = value
    return replace(base, **values)


_NAMES = tuple(setting.name for setting in fields(RelaySettings))
_COUNTS = frozenset({"summarizer_token_cap", "checkpoint_token_cap", "context_window"})


TABLES = ("relay", "runtime", "steps", "personas")
"""The tables with settings of hand-offs: ours, and those of a manifest."""

SUMMARIZER = "summarizer"
"""The persona that summarizes if none is described: the summarizer of all steps."""

_PERSONA = ("adapter", "permissions", "temperature", "system_prompt_file", "description", "model")
_PERMISSIONS = ("allowed_tools", "deny")
_THRESHOLD = "token_threshold_percent"


@frozen
class Manifest:
    """The relay settings of a manifest, and the keys that were read under other names."""

    config: RelayConfig
    everywhere: bool
    """True if steps that it does not name hand off as well."""
    notes: tuple[str, ...] = ()
    """Sentences about keys that were read under other names."""


def manifest(tables: Mapping[str, Any]) -> Manifest | None:
    """Read the config in the `TABLES` of a file; None if they have no hand-offs. Our own table has priority.

    Raises:
        AnalyzerError: a key or a value that cannot be used.
    """
    notes: list[str] = []
    ours = tables.get("relay")
    theirs = _table(_table(tables, "runtime", "runtime"), "relay", "runtime.relay")
    steps = _steps(tables, notes)
    if ours is None and not theirs and not steps:
        return None
    base = relay_config(_with_our_names(theirs, "runtime.relay", notes), where="runtime.relay").settings
    own = _with_our_names(_table(tables, "relay", "relay"), "relay", notes)
    named = _table(own, "steps", "relay.steps")
    merged = {
        name: {**steps.get(name, {}), **_table(named, name, f"relay.steps.{name}")} for name in {**steps, **named}
    }
    config = relay_config({**own, "steps": merged}, base)
    return Manifest(config, ours is not None or bool(theirs), tuple(notes))


def _with_our_names(table: Mapping[str, Any], where: str, notes: list[str]) -> dict[str, Any]:
    """Rename the manifest's key of the threshold to ours."""
    renamed = dict(table)
    if _THRESHOLD in renamed:
        if "threshold_percent" in renamed:
            raise AnalyzerError(f"[{where}] names its threshold twice", f"leave out {_THRESHOLD}")
        renamed["threshold_percent"] = renamed.pop(_THRESHOLD)
        notes.append(f"[{where}] {_THRESHOLD} is read as [relay] threshold_percent")
    elif where == "runtime.relay" and renamed:
        notes.append("[runtime.relay] is read as [relay]")
    return renamed


def _steps(tables: Mapping[str, Any], notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return the settings of the `[[steps]]` with a compaction of their own, by their ids."""
    settings_of: dict[str, dict[str, Any]] = {}
    steps = tables.get("steps", [])
    if not isinstance(steps, list):
        raise AnalyzerError("steps is no list", 'write [[steps]] with id = "implement", or [relay.steps.implement]')
    for number, step in enumerate(steps, 1):
        if not isinstance(step, Mapping):
            raise AnalyzerError(f"steps holds {step!r}", 'write [[steps]] with id = "implement"')
        name = step.get("id", f"number {number}")
        where = f"steps.{name}.handover.compaction"
        handover = _table(step, "handover", f"steps.{name}.handover")
        if "compaction" not in handover:
            continue
        if not isinstance(step.get("id"), str):
            raise AnalyzerError(f"step {number} hands off and has no id", 'write id = "implement"')
        settings: dict[str, Any] = {}
        for key, value in _table(handover, "compaction", where).items():
            if key == "trigger":
                settings["threshold_percent"] = value
            elif key == "persona":
                settings |= _persona(value, tables, where, notes)
            else:
                raise AnalyzerError.unknown_value(f"key in [{where}]", key, ("trigger", "persona"))
        settings_of[name] = settings
        notes.append(f"[{where}] is read as [relay.steps.{name}]")
    return settings_of


def _persona(name: object, tables: Mapping[str, Any], where: str, notes: list[str]) -> dict[str, Any]:
    """Return the settings of a persona's summarizer:
    its adapter's command within our limits, which no persona widens.
    """
    personas = _table(tables, "personas", "personas")
    if name not in personas:
        if name == SUMMARIZER:
            return {}
        raise AnalyzerError.unknown_value(f"persona in [{where}]", str(name), (*personas, SUMMARIZER))
    label = f"personas.{name}"
    persona = _table(personas, str(name), label)
    unknown = sorted(set(persona) - set(_PERSONA))
    if unknown:
        raise AnalyzerError.unknown_value(f"key in [{label}]", unknown[0], _PERSONA)
    adapter = str(persona.get("adapter"))
    if adapter not in PRESETS:
        raise AnalyzerError.unknown_value(f"adapter in [{label}]", adapter, PRESETS)
    if persona.get("temperature", 0) != 0:
        raise AnalyzerError(f"[{label}] has a temperature of {persona['temperature']!r}", "a summarizer has 0")
    _check_permissions(_table(persona, "permissions", f"{label}.permissions"), label)
    command = PRESETS[adapter].command
    if "model" in persona:
        model = persona["model"]
        if not isinstance(model, str) or not model or model.startswith("-"):
            raise AnalyzerError(f"[{label}] has the model {model!r}", "name it as its agent does, or leave it out")
        command = f"{command} {PRESETS[adapter].model} {shlex.quote(model)}"
    settings = {"summarizer": command}
    if "system_prompt_file" in persona:
        settings["summarizer_prompt_file"] = persona["system_prompt_file"]
        notes.append(f"[{label}] system_prompt_file is read as summarizer_prompt_file")
    return settings


def _check_permissions(permissions: Mapping[str, Any], label: str) -> None:
    """Raise AnalyzerError if a summarizer would be allowed more than reading, or less.

    Other tools may be denied, because it cannot use them anyway.
    """
    unknown = sorted(set(permissions) - set(_PERMISSIONS))
    if unknown:
        raise AnalyzerError.unknown_value(f"key in [{label}.permissions]", unknown[0], _PERMISSIONS)
    allowed = permissions.get("allowed_tools", [])
    if not isinstance(allowed, list) or not {str(tool).partition("(")[0] for tool in allowed} <= READING:
        raise AnalyzerError(
            f"[{label}.permissions] allows {allowed!r}",
            'a summarizer reads: leave it at ["Read"], or name a command as summarizer with summarizer_limits = "none"',
        )
    denied = permissions.get("deny", [])
    if not isinstance(denied, list) or {str(tool).partition("(")[0] for tool in denied} & READING:
        raise AnalyzerError(f"[{label}.permissions] denies {denied!r}", "a summarizer may read; deny it what it writes")


def _table(table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    inner = table.get(key, {})
    if not isinstance(inner, Mapping):
        raise AnalyzerError(f"{where} is no table", f"write [{where}]")
    return inner
