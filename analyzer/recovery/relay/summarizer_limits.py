"""Limits of a summarizer: it may only read, at temperature 0 if its agent has an option for it.

Invariant: a known agent runs within its preset, is refused, or is exempted by the settings; an unknown one gets a note.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from analyzer.errors import AnalyzerError
from analyzer.frozen import frozen

PRESET, NONE = "preset", "none"
LIMITS = (PRESET, NONE)
"""`preset`: a known agent may only read. `none`: a command runs as it is written."""

READING = frozenset({"", "Read", "Glob", "Grep", "LS"})
"""Tools that only read, in the names of Claude Code."""

_WRAPPERS = frozenset({"env", "npx", "bunx"})
_AGENT = "checkpoint-summarizer"
_OPENCODE = {"agent": {_AGENT: {"mode": "primary", "temperature": 0, "permission": {"*": "deny", "read": "allow"}}}}


@frozen
class SummarizerLimit:
    """One command-line option that limits what an agent may do."""

    words: tuple[str, ...]
    """The words that are added if a command does not have the option."""
    names: tuple[str, ...] = ()
    """Names of the option in a command; without a name it is always added."""
    enough: frozenset[str] = frozenset()
    """Values of a command's own option that limit it as well."""
    values: int = 1
    """Words after the option: 0 for a flag, -1 for all words up to the next option."""
    key: str = ""
    """For an option that sets several things, the first word after it that means this one."""


@frozen
class Preset:
    """The options under which one agent can only read."""

    command: str
    """The command line that asks the agent without a person."""
    limits: tuple[SummarizerLimit, ...]
    model: str = "--model"
    """The option that names the model."""
    temperature: bool = False
    """True if temperature 0 is among the limits: most agents have no option for it."""
    packages: tuple[str, ...] = ()
    """Other names of the program."""
    subcommands: tuple[str, ...] = ()
    """Subcommands that its options come after."""
    opening: tuple[str, ...] = ()
    """Options that lift all limits."""
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


# From the agents' own references of 2026. `=` if an option would take the prompt after it for another value.
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
            subcommands=("exec", "e"),
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
            subcommands=("run",),
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
            subcommands=("prompt",),
            opening=("-T", "--tool", "--functions"),
        ),
    }
)
"""Agents by the name of their program."""


@frozen
class Limited:
    """A summarizer's command within its limits."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    note: str | None
    """A sentence about the limits; None if the command is used as it is written."""


def limited(command: str, limits: str = PRESET) -> Limited:
    """Limit a summarizer's command line to reading, if its agent is known.

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
    position, name = _program(words)
    preset = PRESETS.get(name)
    if preset is None:
        note = f"nothing is known of the summarizer {name!r}: what it may do is up to its command"
        return Limited(tuple(words), {}, note)
    missing = _missing(name, preset, words[position + 1 :])
    position = next((at for at in range(position + 1, len(words)) if words[at] in preset.subcommands), position) + 1
    limited_words = (*words[:position], *missing, *words[position:])
    does = f"runs with {shlex.join(missing)}" if missing else "has its limits"
    cold = "at temperature 0" if preset.temperature else "at its own temperature, for which it has no option"
    return Limited(limited_words, preset.environment, f"the summarizer {name} {does}: it may only read, {cold}")


def _program(words: Sequence[str]) -> tuple[int, str]:
    """Return the position of the agent in a command line, and its name."""
    position = 0
    while position + 1 < len(words) and os.path.basename(words[position]) in _WRAPPERS:
        position += 1
        while position + 1 < len(words) and (words[position].startswith("-") or re.match(r"\w+=", words[position])):
            position += 1
    word = words[position]
    for name, preset in PRESETS.items():
        if any(word == package or word.startswith(f"{package}@") for package in preset.packages):
            return position, name
    return position, os.path.basename(word)


def _missing(name: str, preset: Preset, words: Sequence[str]) -> list[str]:
    """Return the options that a command lacks.

    Raises:
        AnalyzerError: its options allow more than reading.
    """
    options = list(words[: words.index("--")] if "--" in words else words)
    for option in options:
        if option.partition("=")[0] in preset.opening:
            raise _too_much(name, option)
    missing: list[str] = []
    for limit in preset.limits:
        values = _own_values(limit, options)
        if values is None:
            missing += limit.words
        elif not values <= limit.enough:
            raise _too_much(
                name, " ".join([limit.names[0], limit.key, *sorted(values - limit.enough)]).replace("  ", " ")
            )
    return missing


def _own_values(limit: SummarizerLimit, options: Sequence[str]) -> set[str] | None:
    """Return the values of a command's own option; None if it does not have the option."""
    values: set[str] | None = None
    for position, option in enumerate(options):
        words = _words_of_option(limit, option, options[position + 1 :])
        if words is None or (limit.key and words[:1] != [limit.key]):
            continue
        texts = words[1:] if limit.key else words
        values = (values or set()) | {value for text in texts for value in re.split(r"[,\s]+", text.strip())}
    return values


def _words_of_option(limit: SummarizerLimit, option: str, words: Sequence[str]) -> list[str] | None:
    """Return the words of a limit's option, joined to it or after it; None for another option."""
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
