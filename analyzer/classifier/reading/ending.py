"""Finds what a stream ends with, and tells the command's own words from words that it quotes.

Invariant: what an agent reads, echoes or writes about is followed by more of its work; only what ended it stands last.
"""

from __future__ import annotations

from analyzer.redaction.automata import Late

_LOOKED_AT_CHARS = 300
"""Of a line; a longer one is nobody's farewell."""
_BORDER = frozenset("─━═-=_*╭╮╰╯│┃┄┈ \t")
_FENCES = ("```", "~~~")
_QUOTING = (">", "|", "│", "┃", "+", "`", '"', "'")
"""What stands before quoted lines: of a mail, a table, a box, a diff, code."""

_FAREWELL = Late(
    r"(?ai)(?:[•·∙*-] )?(?:"
    r"/(?:upgrade|extra-usage|login|usage|rate-limit-options)\b.*"
    r"|(?:please )?upgrade (?:to|your)\b.*"
    r"|(?:good)?bye[.!]*"
    r"|total (?:cost|duration|code changes|tokens)\b.*|tokens used\b.*|usage by model:|[\d.,]+"
    r"|session(?: id)?: \S+"
    r"|(?:to )?(?:resume|continue) this (?:session|conversation)\b.*|claude (?:--resume|--continue|-r|-c)\b.*"
    r"|(?:[\w.:/ -]{1,60} )?exit(?:ed|ing)?(?: with)?(?: code| status)?[: ]\d{1,3}[.)]?"
    r")"
)
"""What command lines of agents, and those who start them, print behind their last words."""

_INTRODUCTION = Late(
    r"(?ai)(?:user|human|system|prompt|input|instructions?|user instructions|task|tool(?: result| output)?|output)\s*:?"
    r"|[$%#❯+>] \S.*"
    r"|[⏺●•] ?\w{1,40}\(.*"
)
"""A line behind which somebody else speaks: a role, a shell's prompt, a call of a tool."""
_LABEL = Late(r"(?ai)[\w. -]{0,40}(?:error|exception|fatal|failed|failure)\b.*")


def last_line(text: str) -> str:
    """The last line of a stream, blank lines, borders and farewells left out; empty where there is none."""
    lines = text.splitlines()
    place = _place(lines)
    return lines[place].strip() if place >= 0 else ""


def last_words(text: str) -> str:
    """The last line of a stream where it is the command's own; empty where the command quotes it.

    Quoted is what stands in a block of code, behind a mark of quoting or far to the right, and what a line before it
    introduces: a sentence that ends in a colon, a role, a shell's prompt, a call of a tool.
    """
    lines = text.splitlines()
    place = _place(lines)
    if place < 0:
        return ""
    line = lines[place]
    if line.lstrip().startswith(_QUOTING) or line.startswith(("    ", "\t")):
        return ""
    if sum(each.lstrip().startswith(_FENCES) for each in lines[:place]) % 2:
        return ""
    before = next((each.strip() for each in reversed(lines[:place]) if each.strip()), "")[-_LOOKED_AT_CHARS:]
    if _INTRODUCTION.fullmatch(before):
        return ""
    if before.endswith(":") and before.count(" ") >= 2 and not _LABEL.fullmatch(before):
        return ""
    return line.strip()


def _place(lines: list[str]) -> int:
    for place in range(len(lines) - 1, -1, -1):
        line = lines[place].strip()
        if line and not _BORDER.issuperset(line) and not _FAREWELL.fullmatch(line[:_LOOKED_AT_CHARS]):
            return place
    return -1
