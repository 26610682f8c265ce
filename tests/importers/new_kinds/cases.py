"""Made-up logs in the shape of each agent, and a line for each event that is to be read of them.

Each is a file below `logs/`: its format, its path and where its shape is known from, the lines of the log, and what is
to be read of it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

MS = 1_772_704_800_000
"""2026-03-05 10:00 UTC, around which the logs are written, in milliseconds."""


@dataclass(frozen=True)
class Case:
    """A log, and what is to be read of it."""

    format: str
    records: tuple[object, ...]
    told: tuple[str, ...]
    path: str


def _cases(group: str) -> tuple[Case, ...]:
    files = sorted((Path(__file__).parent / "logs" / group).iterdir(), key=lambda file: file.stem)
    return tuple(_case(file.read_text("utf-8")) for file in files)


def _case(text: str) -> Case:
    about, log, told = (part.splitlines() for part in text.split("---\n"))
    head = dict(line.split(": ", 1) for line in about)
    records = tuple(json.loads(line) if line[:1] == "{" else line for line in log)
    return Case(head["format"], records, tuple(told), head["path"])


CASES, AGENTS, CHAINS = _cases("transcripts"), _cases("agents"), _cases("chains")
PLATFORMS, SPANS, CHATS = _cases("platforms"), _cases("spans"), _cases("chats")
