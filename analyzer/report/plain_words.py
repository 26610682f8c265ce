"""The words of the field in words that a stranger knows, for headings, and what each means, for a reader of the page.

Invariant: the meanings are those of the glossary in the documentation, word for word.
"""

from __future__ import annotations

from analyzer.report.cells import heading

PLAIN = {
    "relays": "handed off or compacted",
    "auto_relays": "by themselves",
    "manual_relays": "by hand",
    "halted": "given up",
    "surfaced": "shown to the user",
    "exhausted": "gave up",
    "escalated": "a person was asked",
    "unresolved": "end not in the log",
    "pre_tokens": "tokens before",
    "post_tokens": "tokens after",
    "mean_pre_tokens": "mean tokens before",
    "quarantined": "unreadable lines",
    "chains": "retried calls",
}
"""Columns and outcomes with a plainer name for people."""

MEANINGS = {
    "caller": "Who made the call that failed: a component, a tool, a project.",
    "chain": "The calls that belong together because each one repeats the one before: a first call and its retries.",
    "compaction": "An agent's conversation made shorter, so that it fits its model's context window again.",
    "exhausted": "Of a chain, an outcome: all calls that its policy allows have failed.",
    "finding": "What a night's check reports: something that changed, where, since when, and the evidence.",
    "quarantine": "The lines that could not be read, each with its file, its place and the cause.",
    "recovered": "An outcome: a later call of the same chain worked.",
    "relay": (
        "Work handed from an agent whose context is filling up to a fresh instance of it, by a checkpoint that says "
        "what is done and what is left."
    ),
    "session": "One run of an agent under one id.",
    "surfaced": "An outcome: nothing more was tried, and the error was shown to whoever had asked for the call.",
    "unknown share": "The unknown errors divided by all errors that count.",
}
"""Words of the page, each with the sentence that the glossary begins with."""


def plain_heading(column: str) -> str:
    """The heading of a column, in plain words where there are some."""
    plain = PLAIN.get(column)
    return heading(column) if plain is None else f"{plain[:1].upper()}{plain[1:]}"
