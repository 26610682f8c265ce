"""A small log of each format with everything that such a log can show, and what the importers read of it.

The table of docs/reference/formats.md is made of this. Values are made up; logs are in `tests/shown_logs/`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

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


def table() -> list[str]:
    """The rows of the table, in the order of the formats that are read; what such a log cannot show stays empty."""
    names = "format", "errors", "retries", "ends of chains", "hand-offs, with tokens", "usage limits", "stops"
    columns = *names, "missing tools", "failed tools", "project", "`retry_visibility`", "tokens"
    read = [kind.name for kind in FORMATS if kind.reader is not None and not kind.native]
    rows = [columns, ["---"] * len(columns), *([f"`{name}`", *_cells(events_of(name))] for name in read)]
    return [f"| {' | '.join(row)} |".replace("|  |", "| |").replace("|  |", "| |") for row in rows]


PRINTED = {
    "claude_print": "Claude Code",
    "codex_exec": "Codex",
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
    """A row for each program that leaves logs: what is read of the formats that it writes, all together."""
    cells = {
        name: _cells(events_of(name)) for name in (kind.name for kind in FORMATS if kind.reader and not kind.native)
    }
    written: dict[str, list[str]] = {}
    for agent, formats in (*((row.agent, row.formats) for row in HOMES), *((row.title, row.formats) for row in FORKS)):
        written[agent] = list(dict.fromkeys([*written.get(agent, ()), *(name for name in formats if name in cells)]))
    for name in (name for name in cells if not any(name in formats for formats in written.values())):
        written.setdefault(PRINTED.get(name, BY_NAME[name].title), []).append(name)
    written = {
        agent: [*names, *(n for n in PRINTED if PRINTED[n] == agent and n not in names)]
        for agent, names in written.items()
    }
    columns = (
        "agent",
        "formats",
        "errors",
        "retries",
        "their ends",
        "compaction",
        "limits",
        "stops",
        "failed tools",
        "tokens",
    )
    lines = [f"| {' | '.join(columns)} |", f"| {' | '.join('---' for _ in columns)} |"]
    for agent, names in written.items():
        if names:
            shown = zip(*(cells[name][:6] + cells[name][7:8] + cells[name][-1:] for name in names), strict=True)
            marks = [max((cell.partition(",")[0] for cell in cell_of_each), default="") for cell_of_each in shown]
            lines.append(f"| {agent} | {', '.join(f'`{name}`' for name in names)} | {' | '.join(marks)} |")
    return [line.replace("|  |", "| |").replace("|  |", "| |") for line in lines]


def _cells(events: Iterable[Event]) -> list[str]:
    payloads: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        payloads.setdefault(event.type, []).append(event.payload)
    errors, relays = payloads.get("error.classified", ()), payloads.get("relay.triggered", ())
    known = [
        word
        for word, key in (("before", "pre_tokens"), ("after", "post_tokens"))
        if any(key in payload for name in payloads if name.startswith("relay.") for payload in payloads[name])
    ]
    sessions = payloads.get("session.observed", ())
    return [
        "yes" if errors else "",
        "yes" if "retry.scheduled" in payloads else "",
        "yes" if "retry.settled" in payloads else "",
        ("yes, " + " and ".join(known) if known else "yes") if relays else "",
        "yes" if "agent.exhausted" in payloads or "call.short_circuited" in payloads else "",
        "yes" if any("aborted" in seen for seen in sessions) else "",
        "yes" if any(error.get("reason") == "tool_not_found" for error in errors) else "",
        ("yes, and calls" if any("tools" in seen for seen in sessions) else "yes") if "tool.failed" in payloads else "",
        "yes" if any("project" in payload for found in payloads.values() for payload in found) else "",
        next((f"`{seen['retry_visibility']}`" for seen in sessions), ""),
        "yes" if "usage.recorded" in payloads else "",
    ]


def tried(folders: Iterable[str]) -> list[str]:
    """The rows of the table of agents, each with how many files of these folders were told to be its own."""
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
    header, dashes, *rows = agents()
    lines = [f"{header} files |", f"{dashes} ---: |"]
    for row in rows:
        title, names = row.split("|")[1].strip(), re.findall(r"`(\w+)`", row)
        forked = {name for fork in FORKS if fork.title == title for name in fork.formats}
        own = sum(counts.get((name, title if name in forked else None), 0) for name in names)
        lines.append(f"{row} {own} |")
    return lines


def first_line(data: bytes, path: Path) -> bytes:
    """The beginning of a log; of a database the line that names its tables."""
    return next(rows_as_lines(str(path), {})) if data.startswith(SQLITE) else data


if __name__ == "__main__":
    print("\n".join(tried(sys.argv[1:])))
