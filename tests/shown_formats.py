"""A small log of each format with everything that such a log can show, and what the importers read of it.

The table of docs/reference/formats.md is made of this. Values are made up; logs are in `tests/shown_logs/`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from analyzer.events import Event
from analyzer.importers import BY_NAME, FORMATS, HEAD_BYTES, Source, block_of, detect, head_of
from analyzer.importers.places import HOMES
from analyzer.importers.programs import FORKS, Author
from analyzer.importers.shapes.files import SQLITE, rows_as_lines
from tests import REPOSITORY
from tests.importers.new_kinds.cases import AGENTS, CASES, CHATS, PLATFORMS

FILES = {
    "claude_code": "claude-transcript.jsonl",
    "claude_print": "claude-print.jsonl",
    "gdd": "gdd-events.jsonl",
    "wave": "wave-run.ndjson",
}
"""Formats with a sample among the sample logs; `LOGS` has what that lacks."""

PATHS = {
    "crush": "/x/.crush/logs/crush.log",
    "crush_db": "/x/.crush/crush.db",
    "aider": "/x/.aider.chat.history.md",
    "kimi_cli": "/home/me/.kimi/sessions/x/k-1/wire.jsonl",
    "kimi": "/home/me/.kimi-code/sessions/wd_x/s/agents/main/wire.jsonl",
    "gemini_chat": "/home/me/.gemini/tmp/x/chats/session-1.jsonl",
}
"""Where logs lie whose path tells the project."""


def _own_logs() -> dict[str, list[object]]:
    """Read the logs beside this module, one a format: lines of JSON as records, others as texts."""
    return {
        path.stem: [json.loads(line) if line[:1] == "{" else line for line in path.read_text("utf-8").splitlines()]
        for path in sorted((REPOSITORY / "tests" / "shown_logs").iterdir())
    }


LOGS: dict[str, list[object]] = {
    **{case.format: [*case.records] for case in reversed((*CASES, *PLATFORMS, *CHATS))},
    **_own_logs(),
}
for _case in AGENTS:
    LOGS.setdefault(_case.format, []).extend(_case.records)
    PATHS.setdefault(_case.format, _case.path)


def events_of(name: str) -> list[Event]:
    """What is read of the log of a format."""
    sample = (REPOSITORY / "sample_events" / FILES[name]).read_bytes() if name in FILES else b""
    data = sample + b"".join(line_of(item) + b"\n" for item in LOGS.get(name, ()))
    kind = detect(head_of(data[:HEAD_BYTES]))
    assert kind.name == name, (name, kind.name)
    assert kind.reader is not None
    reader = kind.reader(Source(PATHS.get(name, "task/log"), datetime(2026, 3, 5)), {})
    found = [event for hit in reader.read(block_of(data)) for event in hit.events]
    return [*found, *reader.finish()]


def line_of(item: object) -> bytes:
    """Return the line of a record, or of a text that is a line."""
    return item.encode() if isinstance(item, str) else json.dumps(item).encode()


KINDS = ("errors", "retries", "ends of retries", "compaction", "limits", "stops", "failed tools", "tokens")
"""What may be read of a log."""
MOST_MISSING = 3
"""An agent of whose logs all but so few kinds are read has these named instead."""


PRINTED = {
    "claude_print": "Claude Code",
    "codex_exec": "Codex",
    "droid_stream": "Droid",
    "gemini_stream": "Gemini CLI",
    "hermes": "Hermes",
    "langfuse": "Langfuse",
    "langsmith": "LangSmith",
    "mlflow": "MLflow",
    "weave": "Weave",
    "openai_agents": "OpenAI Agents SDK",
}
"""Formats that an agent prints or exports, wherever somebody sends them."""


def agents() -> list[str]:
    """A line for each program that leaves logs: the formats that it writes, and what is read of them together."""
    lines = []
    for agent, names in written().items():
        kinds = set().union(*(_kinds(events_of(name)) for name in names))
        missing = [kind for kind in KINDS if kind not in kinds]
        read = ", ".join(kind for kind in KINDS if kind in kinds) or "requests only"
        if len(missing) <= MOST_MISSING:
            read = "all" + (f" but {', '.join(missing)}" if missing else "")
        lines.append(f"- {agent} ({', '.join(f'`{name}`' for name in names)}): {read}")
    return lines


def written() -> dict[str, list[str]]:
    """The formats that each program writes."""
    left = [kind.name for kind in FORMATS if kind.reader and not kind.native]
    known: dict[str, list[str]] = {}
    for agent, formats in (*((row.agent, row.formats) for row in HOMES), *((row.title, row.formats) for row in FORKS)):
        known[agent] = list(dict.fromkeys([*known.get(agent, ()), *(name for name in formats if name in left)]))
    for name in (name for name in left if not any(name in formats for formats in known.values())):
        known.setdefault(PRINTED.get(name, BY_NAME[name].title), []).append(name)
    for name, agent in PRINTED.items():
        if name not in known[agent]:
            known[agent].append(name)
    return {agent: names for agent, names in known.items() if names}


def _kinds(events: Iterable[Event]) -> set[str]:
    """What the events of a log tell, as in `KINDS`."""
    types = {event.type for event in events}
    kinds = {
        "errors": "error.classified" in types,
        "retries": "retry.scheduled" in types,
        "ends of retries": "retry.settled" in types,
        "compaction": "relay.triggered" in types,
        "limits": bool({"agent.exhausted", "call.short_circuited"} & types),
        "stops": any("aborted" in event.payload for event in events if event.type == "session.observed"),
        "failed tools": "tool.failed" in types,
        "tokens": "usage.recorded" in types,
    }
    return {kind for kind, is_read in kinds.items() if is_read}


def tried(folders: Iterable[str]) -> list[str]:
    """The lines of `agents`, each with how many files of these folders are its own."""
    counts: dict[tuple[str, str | None], int] = {}
    for path in (path for folder in folders for path in sorted(Path(folder).rglob("*")) if path.is_file()):
        with path.open("rb") as handle:
            head = head_of(first_line(handle.read(HEAD_BYTES), path))
        name = detect(head).name
        author = Author(name, str(path), None)
        for record in head.elements or head.objects:
            author.recognise(record)
        fork = next((row.title for row in FORKS if name in row.formats and row.agent == author.fork), None)
        counts[name, fork] = counts.get((name, fork), 0) + 1
    lines = []
    for line, (title, names) in zip(agents(), written().items(), strict=True):
        forked = {name for fork in FORKS if fork.title == title for name in fork.formats}
        own = sum(counts.get((name, title if name in forked else None), 0) for name in names)
        lines.append(f"{line}; files: {own}")
    return lines


def first_line(data: bytes, path: Path) -> bytes:
    """The beginning of a log; of a database the line that names its tables."""
    return next(rows_as_lines(str(path), {})) if data.startswith(SQLITE) else data


if __name__ == "__main__":
    print("\n".join(tried(sys.argv[1:])))
