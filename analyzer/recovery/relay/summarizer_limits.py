"""What a summarizer may do: nothing but read, at temperature 0 as far as its agent lets that be said.

Invariant: a known agent runs within its preset, is refused, or was taken out of it by name; an unknown one is told of.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from analyzer.errors import AnalyzerError

PRESET, NONE = "preset", "none"
LIMITS = (PRESET, NONE)
"""`preset`: a known agent is held to reading. `none`: a command runs as it is written."""

READING = frozenset({"", "Read", "Glob", "Grep", "LS"})
"""Tools that only read, in the names of Claude Code."""

_WRAPPERS = frozenset({"env", "npx", "bunx"})
_AGENT = "checkpoint-summarizer"
_OPENCODE = {"agent": {_AGENT: {"mode": "primary", "temperature": 0, "permission": {"*": "deny", "read": "allow"}}}}


@dataclass(frozen=True, slots=True)
class SummarizerLimit:
    """One command-line option that limits what an agent may do."""

    words: tuple[str, ...]
    """What is added where a command does not have it."""
    names: tuple[str, ...] = ()
    """How a command may have the option of its own; without a name it is added always."""
    enough: frozenset[str] = frozenset()
    """Values of a command's own option that hold it back as well."""
    values: int = 1
    """Words that stand behind the option: 0 for a flag, -1 for all words up to the next option."""
    key: str = ""
    """Of an option that sets several things, the first word behind it where it is this one."""


@dataclass(frozen=True, slots=True)
class Preset:
    """The options under which one agent can do nothing but read."""

    command: str
    """The command line that asks the agent without a person."""
    limits: tuple[SummarizerLimit, ...]
    model: str = "--model"
    """The option that names the model."""
    temperature: bool = False
    """Whether temperature 0 is among the limits: most agents have no option for it."""
    packages: tuple[str, ...] = ()
    """Other names of the program."""
    behind: tuple[str, ...] = ()
    """Subcommands that its options stand behind."""
    opening: tuple[str, ...] = ()
    """Options that lift all limits."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


# From the agents' own references of 2026. `=` where an option would take a prompt behind it for another value of its.
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "claude": Preset(
            "claude -p",
            (
                SummarizerLimit(("--tools=Read",), ("--tools",), READING, values=-1),
                SummarizerLimit(("--strict-mcp-config",), ("--strict-mcp-config",), values=0),
            ),
            packages=("@anthropic-ai/claude-code",),
            opening=("--dangerously-skip-permissions", "--mcp-config"),
        ),
        "codex": Preset(
            "codex exec",
            (SummarizerLimit(("--sandbox", "read-only"), ("--sandbox", "-s"), frozenset({"read-only"})),),
            packages=("@openai/codex",),
            behind=("exec", "e"),
            opening=("--dangerously-bypass-approvals-and-sandbox", "--yolo", "--full-auto"),
        ),
        "gemini": Preset(
            "gemini",
            (SummarizerLimit(("--approval-mode", "plan"), ("--approval-mode",), frozenset({"plan"})),),
            packages=("@google/gemini-cli",),
            opening=("--yolo", "-y"),
        ),
        "copilot": Preset(
            "copilot -s",
            (SummarizerLimit(("--deny-tool=shell", "--deny-tool=write")),),
            packages=("@github/copilot",),
            opening=("--allow-all", "--yolo"),
        ),
        "opencode": Preset(
            "opencode run",
            (SummarizerLimit(("--agent", _AGENT), ("--agent",), frozenset({_AGENT})),),
            temperature=True,
            packages=("opencode-ai",),
            behind=("run",),
            opening=("--auto", "--dangerously-skip-permissions"),
            environment=MappingProxyType({"OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE)}),
        ),
        "llm": Preset(
            "llm",
            (
                SummarizerLimit(
                    ("-o", "temperature", "0"),
                    ("-o", "--option"),
                    frozenset({"0", "0.0"}),
                    values=2,
                    key="temperature",
                ),
            ),
            model="-m",
            temperature=True,
            behind=("prompt",),
            opening=("-T", "--tool", "--functions"),
        ),
    }
)
"""Agents by the name of their program."""


@dataclass(frozen=True, slots=True)
class Limited:
    """A summarizer's command within its limits."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    note: str | None
    """What to tell of it; nothing where it was taken as it is written."""


def limited(command: str, limits: str = PRESET) -> Limited:
    """A summarizer's command line, held to reading where its agent is known.

    Raises:
        AnalyzerError: the command line cannot be read, or asks for more than reading.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise AnalyzerError(f"no command line: {command!r}: {error}", "check its quotes") from None
    if not words:
        raise AnalyzerError("the summarizer's command is empty", "name a program")
    if limits == NONE:
        return Limited(tuple(words), {}, None)
    place, name = _program(words)
    preset = PRESETS.get(name)
    if preset is None:
        note = f"nothing is known of the summarizer {name!r}: what it may do is up to its command"
        return Limited(tuple(words), {}, note)
    missing = _missing(name, preset, words[place + 1 :])
    place = next((at for at in range(place + 1, len(words)) if words[at] in preset.behind), place) + 1
    held = (*words[:place], *missing, *words[place:])
    does = f"runs with {shlex.join(missing)}" if missing else "has its limits"
    cold = "at temperature 0" if preset.temperature else "at its own temperature, for which it has no option"
    return Limited(held, preset.environment, f"the summarizer {name} {does}: it may only read, {cold}")


def _program(words: Sequence[str]) -> tuple[int, str]:
    """Where the agent stands in a command line, and its name."""
    place = 0
    while place + 1 < len(words) and os.path.basename(words[place]) in _WRAPPERS:
        place += 1
        while place + 1 < len(words) and (words[place].startswith("-") or re.match(r"\w+=", words[place])):
            place += 1
    word = words[place]
    for name, preset in PRESETS.items():
        if any(word == package or word.startswith(f"{package}@") for package in preset.packages):
            return place, name
    return place, os.path.basename(word)


def _missing(name: str, preset: Preset, words: Sequence[str]) -> list[str]:
    """The options that a command lacks.

    Raises:
        AnalyzerError: they ask for more than reading.
    """
    options = list(words[: words.index("--")] if "--" in words else words)
    for option in options:
        if option.partition("=")[0] in preset.opening:
            raise _too_much(name, option)
    missing: list[str] = []
    for limit in preset.limits:
        given = _given(limit, options)
        if given is None:
            missing += limit.words
        elif not given <= limit.enough:
            raise _too_much(
                name, " ".join([limit.names[0], limit.key, *sorted(given - limit.enough)]).replace("  ", " ")
            )
    return missing


def _given(limit: SummarizerLimit, options: Sequence[str]) -> set[str] | None:
    """The values that a command's own option names; None where it does not have the option."""
    found: set[str] | None = None
    for place, option in enumerate(options):
        behind = _behind(limit, option, options[place + 1 :])
        if behind is None or (limit.key and behind[:1] != [limit.key]):
            continue
        values = behind[1:] if limit.key else behind
        found = (found or set()) | {each for text in values for each in re.split(r"[,\s]+", text.strip())}
    return found


def _behind(limit: SummarizerLimit, option: str, words: Sequence[str]) -> list[str] | None:
    """The words of a limit's option where this is one: joined to it or behind it; None where it is another option."""
    name, equals, value = option.partition("=")
    if name in limit.names:
        if equals:
            return [value]
        end = next((at for at, word in enumerate(words) if word[:1] == "-"), len(words))
        return list(words[: end if limit.values < 0 else limit.values])
    joined = (short for short in limit.names if len(short) == 2 and option.startswith(short) and option[:2] != "--")
    return next(([option[len(short) :]] for short in joined), None)


def _too_much(name: str, option: str) -> AnalyzerError:
    return AnalyzerError(
        f"the summarizer {name} asks for more than reading: {option}",
        'take it out, or write summarizer_limits = "none" (--summarizer-limits none) to run it as it is written',
    )
