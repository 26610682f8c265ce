"""The words that people read, as `python -m tests.words`: spelling, turns to avoid, and reading ease."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pyphen

from analyzer.cli import COMMANDS, cli, command_named
from tests import REPOSITORY

DOCS = REPOSITORY / "docs"
GUIDES = (REPOSITORY / "README.md", *sorted(DOCS.glob("tutorial/*.md")), *sorted(DOCS.glob("how-to/*.md")))
"""Pages for people who want something done."""
PAGES = (
    *GUIDES,
    DOCS / "README.md",
    *(page for page in sorted(DOCS.glob("reference/*.md")) if page.name != "views.md"),
)
"""Pages without the turns of `BANNED`."""
SPELLED = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs",
    "queries",
    "contrib",
    "analyzer/cli",
    "analyzer/report",
)
NO_MISSPELLINGS = "doubleclick,mot,passord"
LEAST_EASE = 60
"""The least Flesch reading ease of a guide; 60 to 70 is plain English."""
BANNED = {
    r"\b(?:that|those) of\b": "name the thing again, or say whose it is",
    r"\balone\b(?! = true)": "only",
    r"\bbehind\b": "after",
    r", of which\b": "write two sentences",
    r"\bin vain\b": "without success",
    r"\bbut for\b": "except",
    r"\b(?:is|are|was|were|be|been) told\b": "is reported, is shown, is known by",
    r"\bhas no say\b": "is not used",
    r"\bspeaks? (?:for|against|of)\b": "is evidence for, is about",
    r"\bin the place of\b": "instead of",
    r"\bone and the same\b": "the same",
    r"\bheld against\b": "compared with",
    r"\b(?:gravest?|graver)\b": "worst, more severe",
    r"\bnobody tells\b": "nobody reports",
    r"\bcarr(?:y|ies) nothing\b": "is irrelevant",
    r"\bof no known\b": "unknown",
    r"\ball the same\b": "anyway",
    r"\bstands? (?:in|on|above|below|beside|for)\b": "is in, comes before, means",
}
"""Turns that readers stumbled over, and what to write instead."""
NO_PROSE = re.compile(r"^```.*?^```$|<!--.*?-->|^\|[^\n]*$|^#[^\n]*$|!\[[^\]]*\]\([^)]*\)", re.MULTILINE | re.DOTALL)
_SYLLABLES = pyphen.Pyphen(lang="en_US")
NO_WORDS = re.compile(r"^```.*?^```$|<!--.*?-->|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def main() -> int:
    """Print what is wrong; return 1 if there is anything."""
    problems = [*misspellings(), *banned_turns(), *hard_pages()]
    print(*problems, sep="\n", end="\n" if problems else "")
    return bool(problems)


def misspellings() -> list[str]:
    """Return the lines of codespell."""
    command = [str(Path(sys.executable).parent / "codespell"), "-L", NO_MISSPELLINGS, *SPELLED]
    return subprocess.run(command, cwd=REPOSITORY, text=True, capture_output=True, check=False).stdout.splitlines()


def banned_turns() -> list[str]:
    """Return a line for each turn of `BANNED` in the pages, the help of commands, and what the program prints."""
    texts = {page.relative_to(REPOSITORY).as_posix(): page.read_text("utf-8") for page in PAGES}
    texts |= dict(_helps(cli, "analyzer"))
    for module in sorted((REPOSITORY / "analyzer").rglob("*.py")):
        texts[module.relative_to(REPOSITORY).as_posix()] = "\n".join(printed(module.read_text("utf-8")))
    return [
        f"{where}: {match[0]!r}: write {instead}"
        for where, text in texts.items()
        for turn, instead in BANNED.items()
        for match in re.finditer(turn, NO_WORDS.sub("", text), re.IGNORECASE)
    ]


def printed(source: str) -> Iterator[str]:
    """Yield the texts with a space in a module, without its docstrings."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        if is_text and " " in node.value.strip():
            yield node.value


def hard_pages() -> list[str]:
    """Return a line for each guide that is harder to read than `LEAST_EASE`."""
    eases = {page: reading_ease(page.read_text("utf-8")) for page in GUIDES}
    return [
        f"{page.relative_to(REPOSITORY)}: reading ease {ease:.0f}, {LEAST_EASE} at least: write shorter sentences"
        for page, ease in eases.items()
        if ease < LEAST_EASE
    ]


def reading_ease(text: str) -> float:
    """Return the reading ease (Flesch 1948) of a page without tables, blocks and headings; code is one plain word."""
    prose = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", NO_PROSE.sub("", text))
    prose = re.sub(r"`[^`\n]*`", "number", prose).replace("*", "")
    words = re.findall(r"[A-Za-z][A-Za-z'’]*", prose)
    sentences = len(re.findall(r"[.!?:](?=\s|$)", prose)) or 1
    syllables = sum(len(_SYLLABLES.positions(word)) + 1 for word in words)
    return 206.835 - 1.015 * len(words) / sentences - 84.6 * syllables / len(words)


def _helps(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Return the help of a command, of its options and of its commands, each with its name."""
    options = (option.help or "" for option in command.params if isinstance(option, click.Option))
    yield f"{name} --help", "\n".join([command.help or "", *options])
    if command is cli:
        for inner in COMMANDS:
            yield from _helps(command_named(inner), f"analyzer {inner}")
    elif isinstance(command, click.Group):
        for key, sub in command.commands.items():
            yield from _helps(sub, f"{name} {key}")


if __name__ == "__main__":
    sys.exit(main())
