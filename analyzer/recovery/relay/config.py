"""When and how a step hands off: for all steps, and for one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any

from analyzer.errors import AnalyzerError
from analyzer.recovery.relay.summarizer_limits import LIMITS, PRESET

STRATEGIES = ("summarize_to_checkpoint",)
DEFAULT_CONTEXT_WINDOW = 200_000
_TRIGGER = re.compile(r"(?:token_limit_)?(\d{1,3}(?:\.\d+)?)%?")


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """When and by whom the work of one step is handed off."""

    threshold_percent: float = 70.0
    """How full the context may get, 0..100. Agents that compact by themselves do so at about 95."""
    strategy: str = STRATEGIES[0]
    summarizer: str | None = None
    """A command; None is the one that needs no model."""
    summarizer_limits: str = PRESET
    """`preset`: a known agent is held to reading. `none`: the command runs as it is written."""
    summarizer_prompt_file: str | None = None
    """A file with words of the summarizer's own, which it gets before what a checkpoint is."""
    summarizer_token_cap: int = 160_000
    """A session of more tokens is not summarized: the step halts."""
    checkpoint_token_cap: int = 8_000
    """A longer checkpoint is none: the step halts."""
    context_window: int | None = None
    """Tokens that the model's context holds. None: as the stream says, else a million for a `…[1m]`, else 200,000."""


@dataclass(frozen=True, slots=True)
class RelayConfig:
    """Settings for all steps, and those of steps that have their own."""

    settings: RelaySettings = RelaySettings()
    steps: Mapping[str, RelaySettings] = field(default_factory=lambda: MappingProxyType({}))

    def of_step(self, step_id: str | None) -> RelaySettings:
        """The settings of a step."""
        return self.settings if step_id is None else self.steps.get(step_id, self.settings)


def threshold(value: object) -> float:
    """A threshold in percent: 80, `80`, `80%` or `token_limit_80%`.

    Raises:
        AnalyzerError: it is none, or not above 0 and at most 100.
    """
    match = _TRIGGER.fullmatch(value.strip()) if isinstance(value, str) else None
    number = float(match[1]) if match else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= 100:
        raise AnalyzerError(f"no threshold: {value!r}", "write a percentage such as 70, or token_limit_70%")
    return float(number)


def relay_config(section: Mapping[str, Any], base: RelaySettings | None = None, *, where: str = "relay") -> RelayConfig:
    """The config out of a table such as `[relay]` of analyzer.toml, with tables `steps.NAME` that override it.

    What the table leaves open is as in `base`; errors call it `where`.

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


def _settings(base: RelaySettings, given: Mapping[str, Any], where: str) -> RelaySettings:
    values: dict[str, Any] = {}
    for key, value in given.items():
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


_NAMES = tuple(each.name for each in fields(RelaySettings))
_COUNTS = frozenset({"summarizer_token_cap", "checkpoint_token_cap", "context_window"})
