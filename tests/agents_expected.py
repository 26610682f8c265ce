"""Compares what importers read of real logs with independent counts, as `python -m tests.agents_expected FOLDER`.

The folder holds `EXPECTED.json`: counts a file under `files`. One line is printed for each file with figures that
differ, with the reason where there is one; the exit code says whether a difference has none.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import analyzer

COMPARED = (
    "records",
    "bad",
    "api_errors",
    "retries",
    "delay_s",
    "compactions",
    "pre",
    "pre_known",
    "post",
    "post_known",
)
"""Figures of both sides; `sessions` and `aborted` are compared where a log says anything of a session."""

EXPLAINED = {
    ("otlp", "records"): "a line of a request, or of a resource, holds several events and spans",
    ("opencode_db", "records"): "the line that names a database and the rows of sessions are lines, too",
    ("crush_db", "records"): "the same",
    ("goose_db", "records"): "the same",
    ("opencode", "sessions"): "only a reply says anything of its session, and each file is a log of its own",
    ("crush", "sessions"): "the log names a session where the user stops it",
    ("codex", "sessions"): "the first line names the session; a fork goes on with its parent's",
    ("aider", "records"): "blank lines are no records",
    ("pi", "post"): "the next reply tells the tokens after a compaction",
    ("pi", "post_known"): "the same",
    ("json", "records"): "prompts only: no log",
    ("json", "sessions"): "the same",
    ("jsonl", "sessions"): "a log of another agent, of no known kind",
}
"""Why a figure differs that is right on both sides, by format and figure."""


def main(folder: str) -> int:
    """Print the differences, and return 1 where there are any."""
    root = Path(folder)
    expected = json.loads((root / "EXPECTED.json").read_text("utf-8"))["files"]
    wrong = 0
    for name, figures in expected.items():
        found, kind = read(root / name)
        if "tool failure" in figures["not_counted"]:
            figures["tool_failures"] = figures["not_counted"]["tool failure"]
        differences = {
            key: (figures[key], found.get(key, 0))
            for key in (*COMPARED, "sessions", "aborted", *(["tool_failures"] if "tool_failures" in figures else []))
            if abs(figures[key] - found.get(key, 0)) > 0.05
        }
        wrong += any((kind, key) not in EXPLAINED for key in differences)
        if differences:
            told = ", ".join(
                f"{key} {theirs} expected, {ours} read ({EXPLAINED.get((kind, key), 'unexplained')})"
                for key, (theirs, ours) in differences.items()
            )
            print(f"{kind:16} {name[:60]:60} {told}")
    print(f"{len(expected)} files, {wrong} with differences that nothing explains")
    return int(wrong > 0)


def read(path: Path) -> tuple[Mapping[str, Any], str]:
    """The figures of one log as the importers read it, and its format."""
    with analyzer.open_store(":memory:") as store:
        (source,) = store.ingest([str(path)]).sources
        again = store.ingest([str(path)])
        assert again.total.events == 0, path
        rows = store.sql("select type, session_id, payload from events").rows()
    found: Counter[str] = Counter(records=source.tally.lines - source.tally.blank, bad=source.tally.quarantined)
    sessions: dict[str, int] = {}
    for kind, session, said in rows:
        payload = json.loads(said)
        if kind == "error.classified":
            found["api_errors"] += 1
        elif kind == "retry.scheduled":
            found["retries"] += 1
            found["delay_s"] += payload.get("delay_seconds", 0)
        elif kind.startswith("relay."):
            found["compactions"] += kind == "relay.triggered"
            for key in ("pre", "post"):
                tokens = payload.get(f"{key}_tokens")
                found[key] += tokens or 0
                found[f"{key}_known"] += tokens is not None
        elif kind == "tool.failed":
            found["tool_failures"] += payload["kind"] != "cancelled"
        elif kind == "session.observed":
            sessions[session] = payload.get("aborted", 0)
    found["sessions"], found["aborted"] = len(sessions), sum(sessions.values())
    return found, source.checkpoint.format


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
