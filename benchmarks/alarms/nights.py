"""The product as an operator runs it: every night the day's logs are ingested and the night is checked."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import analyzer
from benchmarks.alarms.truth import History

LOUD = ("warning", "critical")


class Told(NamedTuple):
    """One finding as one night tells it."""

    day: int
    """The 0-based day that the night judged."""
    id: str
    loud: bool
    """Whether it is open, and a warning at least."""
    kind: str
    scope: Mapping[str, str]
    """The names that it is about, by dimension and further words."""
    sentence: str
    """The first sentence of its explanation."""
    worse: bool = False
    """Whether it is graver than on the night before, which is told as if it were new."""


def told(history: History) -> list[Told]:
    """What each night from `judged_from` on tells, the gravest finding of a night first."""
    found = []
    with tempfile.TemporaryDirectory(prefix="alarms-") as scratch:
        logs, store = Path(scratch, "logs"), Path(scratch, "store.duckdb")
        for day, files in enumerate(history.files):
            for name, lines in files.items():
                path = logs / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("a", encoding="utf-8") as log:
                    log.writelines(f"{line}\n" for line in lines)
            if day < history.judged_from - 1:
                continue  # the first ingest is of all days before the first judged one
            with analyzer.open_store(str(store), writable=True) as opened:
                opened.ingest([str(logs)])
                if day >= history.judged_from:
                    night = analyzer.check(opened, until=f"{history.date(day) + timedelta(days=1)}").to_dict()
                    found += [_told(day, finding) for finding in night["findings"]]
    return found


def _told(day: int, finding: Mapping[str, Any]) -> Told:
    loud = finding["state"] != "resolved" and finding["severity"] in LOUD
    scope = {key: str(name) for key, name in (finding.get("scope") or {}).items() if name}
    sentence = str(finding.get("explanation") or "").split(". ")[0]
    return Told(day, finding["id"], loud, finding["finding"], scope, sentence, bool(finding.get("worse")))
