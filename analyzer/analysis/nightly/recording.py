"""A judged night as decisions in the journal, and back: an event a finding, then a small one for the night.

Invariant: a night is written down as a whole or not at all. Its own event comes last and says how many findings belong
to it; while one of them is missing, the night counts as not judged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

import polars as pl

from analyzer.analysis.kinds.finding import Finding
from analyzer.analysis.nightly.night import Night
from analyzer.analysis.observations import end_of
from analyzer.events.ids import derived_id
from analyzer.events.times import format_time
from analyzer.store import Judging

_SCHEMA = "analyzer.night/1"
"""What the event of a night holds."""


def write_down(store: Judging, night: Night) -> None:
    """Write a night into the journal and the store: the findings that open or end, all that it reports, then the night.

    Raises:
        StoreError: the store or its journal cannot be written.
    """
    name = derived_id("night", night.day, night.timezone, format_time(night.judged_at))
    reported = list(_reported(night.findings))
    whole = {key: value for key, value in night.to_dict().items() if key != "findings"}
    counts = {"findings_count": len(night.findings), "reported_count": len(reported)}
    decisions = [
        *_turns(store, night),
        *(("finding.reported", payload) for payload in reported),
        ("night.judged", {**whole, "schema": _SCHEMA, **counts}),
    ]
    store.decide(((kind, {**payload, "night": name}) for kind, payload in decisions), at=night.judged_at)


def recorded(store: Judging, day: date, timezone: str) -> Night | None:
    """The night as an earlier check wrote it down, with the number of events that came since; None without one."""
    night = _newest(store, store.query("detection-nights", day=day, timezone=timezone))
    if night is None:
        return None
    late = store.query("detection-late", until=end_of(day, timezone), judged_at=night.judged_at)
    return replace(night, recorded=True, late_events=int(late["events"].sum()))


def night_before(store: Judging, day: date, timezone: str) -> Night | None:
    """The last night before this day that was written down."""
    return _newest(store, store.query("detection-nights", before=day, timezone=timezone))


def _newest(store: Judging, nights: pl.DataFrame) -> Night | None:
    """The last night that can be read: another version of this program, or somebody's editor, may have written some."""
    for row in nights.reverse().iter_rows(named=True):
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            result = json.loads(row["result"])
            if "findings" not in result:  # Nights had all their findings in one event once.
                told = store.query("detection-reported", night=row["night"], judged_at=row["judged_at"])
                result["findings"] = _together(told)
            night = Night.from_dict(result)
            return replace(night, findings=tuple(one.in_store(store) for one in night.findings))
    return None


def _turns(store: Judging, night: Night) -> Iterator[tuple[str, dict[str, Any]]]:
    """The decisions on findings that open or end on a night."""
    frame = store.view("findings").select("finding_id", "state", "resolution", "resolved_on")
    state: Callable[[str], str | None] = dict(frame.select("finding_id", "state").iter_rows()).get
    # What this very night took back when it was judged before, and shows now that still more has come.
    taken_back = set(frame.filter(resolution="rejudged", resolved_on=night.day)["finding_id"])
    for one in night.findings:
        if one.is_open and (state(one.id) is None or one.id in taken_back):
            yield "finding.opened", _payload(one)
        elif not one.is_open and state(one.id) == "open":
            yield "finding.resolved", _payload(one)
    former = recorded(store, night.day, night.timezone)
    still = {one.id for one in night.findings}
    for one in former.of("new") if former else ():
        if one.id not in still and state(one.id) == "open":
            gone = replace(one, state="resolved", resolved_on=night.day, resolution="rejudged")
            yield "finding.resolved", _payload(gone)


def _reported(findings: Sequence[Finding], part_of: int | None = None, first: int = 0) -> Iterator[dict[str, Any]]:
    """The payloads of findings in their order, each with its place, followed by those that are parts of it."""
    place = first
    for one in findings:
        head = place
        yield {**_payload(one), "place": head, "part_of": part_of}
        place += 1
        for part in _reported(one.parts, head, place):
            yield part
            place += 1


def _together(reported: pl.DataFrame) -> list[dict[str, Any]]:
    """Findings with their parts, as `Finding.from_dict` reads them: the reverse of `_reported`."""
    found: dict[int, dict[str, Any]] = {}
    alone: list[dict[str, Any]] = []
    for place, part_of, content in reported.select("place", "part_of", "content").iter_rows():
        found[place] = one = _finding(json.loads(content))
        (alone if part_of is None else found[part_of]["parts"]).append(one)
    return alone


def _payload(one: Finding) -> dict[str, Any]:
    known = one.to_dict()
    # What people decide of it is written down by itself.
    own = {name: value for name, value in known.items() if name not in {"id", "parts", "handling", "command"}}
    return {"finding_id": known["id"], **own}


def _finding(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {**payload, "id": payload["finding_id"], "parts": []}
