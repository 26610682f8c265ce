"""The rows of `python -m benchmarks`: each is measured by the module of its subject, and compared with its target."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from time import process_time
from typing import NamedTuple

from benchmarks import append, ingest, nights, replay, rivals, scale, starts, transcripts, workload
from benchmarks.measure import Cost


class Size(NamedTuple):
    """How much is measured."""

    events: int
    """Of a log that is read."""
    appended: int
    """Events a run."""
    classified: int
    """Errors a run."""
    judged: int
    """Errors of the store that is judged again."""
    runs: int
    processes: int
    """Runs of what a whole process costs."""
    stores: tuple[int, ...]
    """Events of each store that is reported on and checked."""


WHOLE = Size(1_000_000, 50_000, 50_000, 2_000_000, 5, 15, (1_000_000, 10_000_000))
QUICK = Size(100_000, 10_000, 10_000, 200_000, 3, 7, (100_000,))


class Row(NamedTuple):
    """One line of the table."""

    work: str
    ours: str
    peer: str
    ratio: str
    target: str
    met: bool | None
    """None where there is no target."""


class Bench(NamedTuple):
    """What can be asked for by name."""

    rows: Callable[[Size], Iterator[Row]]
    about: str


def reading(size: Size) -> Iterator[Row]:
    """Logs into a store, beside `read_json` of DuckDB, and what finds nothing to do."""
    targets = {"with crc": 0.6, "without crc": 0.5}
    with tempfile.TemporaryDirectory() as folder:
        found = list(ingest.rows(Path(folder), size.events, size.runs))
        for own, peer in zip(found[::2], found[1::2], strict=True):
            least = targets.get(own.log)
            yield Row(
                f"ingest {own.log}",
                f"{own.seconds:.2f} s, {own.megabytes:.0f} MB",
                f"{peer.reader} {peer.seconds:.2f} s",
                f"{own.ratio:.2f}",
                f">= {least}, <= 800 MB" if least else "",
                own.ratio >= least and own.megabytes <= 800 if least else None,
            )


def repairing(size: Size) -> Iterator[Row]:
    """Lines that all need repair."""
    with tempfile.TemporaryDirectory() as folder:
        rate = ingest.hostile(Path(folder), size.runs, size.events // 5)
    yield Row("ingest of hostile lines", f"{rate:,.0f} a CPU s", "", "", ">= 40,000", rate >= 40_000)


def repeating(size: Size) -> Iterator[Row]:
    """A second ingest of many files."""
    with tempfile.TemporaryDirectory() as folder:
        ingest.write_log(Path(folder, "crc.jsonl"), 20_000)
        files, seconds = ingest.repeat(Path(folder), size.runs)
    yield Row(f"ingest of {files:,} unchanged files", f"{seconds:.2f} s", "", "", "<= 0.25 s", seconds <= 0.25)


def transcribing(size: Size) -> Iterator[Row]:
    """Transcripts of agents, beside ccusage on the same files; a row says so where npm cannot fetch it."""
    megabytes = max(1, 540 * size.events // WHOLE.events)
    taken, without = transcripts.measured(megabytes, size.runs)
    own, peer = taken[transcripts.OURS], taken.get(transcripts.CCUSAGE)
    read = f"on {transcripts.cores()} cores: {{:.2f}} s, {{:.1f}} CPU"
    yield Row(
        f"{megabytes} MB of transcripts",
        read.format(*own),
        f"{transcripts.CCUSAGE} {peer.wall:.2f} s, {peer.cpu:.1f} CPU" if peer else without,
        *(_at_most(own.wall / peer.wall, 1.0) if peer else ("", "", None)),
    )
    again, codex = taken[transcripts.AGAIN], taken[transcripts.CODEX]
    yield Row("transcripts with nothing new", f"{again.wall:.2f} s", "", "", "<= 0.4 s", again.wall <= 0.4)
    most = 4 * megabytes / 1_000
    yield Row(f"{megabytes} MB of Codex rollouts", read.format(*codex), "", "", f"<= {most:.1f} s", codex.wall <= most)


def appending(size: Size) -> Iterator[Row]:
    """An event onto a log, beside structlog with orjson."""
    ours, peer = (each for each in append.RIVALS if each.name in (append.OURS, append.PEER))
    events = append.events(2_000)
    taken: dict[str, list[float]] = {ours.name: [], peer.name: []}
    try:
        for turn in range(size.runs):
            for each in (ours, peer)[:: 1 if turn % 2 == 0 else -1]:
                taken[each.name].append(append.run(each, events, size.appended, None).processor)
    except ImportError as error:
        yield Row("append", "", f"not installed: {error.name}", "", "", None)
        return
    own, other = (statistics.median(found) for found in taken.values())
    yield Row("append", f"{own:.1f} us", f"structlog, orjson {other:.1f} us", *_at_most(own / other, 1.2))


def starting(size: Size) -> Iterator[Row]:
    """Whole processes, beside `import json, logging`."""
    found = starts.starts(size.processes)
    peer = found[starts.PEER]
    said = f"import {starts.PEER} {peer.over_bare:.1f} ms"
    own = found[starts.IMPORT].over_bare
    yield Row("import EventLog, over bare Python", f"{own:.1f} ms", said, *_at_most(own / peer.over_bare, 1.5))
    own = found[starts.EVENT].over_bare
    yield Row("first event, over bare Python", f"{own:.1f} ms", said, f"{own / peer.over_bare:.2f}", "", None)
    own = found[starts.CLASSIFY].inside
    ratio = f"{own / peer.inside:.2f}"
    said = f"import {starts.PEER} {peer.inside:.1f} ms"
    yield Row("import and first classify", f"{own:.1f} ms", said, ratio, "<= 60 ms", own <= 60)
    own = found[starts.HELP].whole
    ratio = f"{own / peer.whole:.2f}"
    yield Row("analyzer --help, whole", f"{own:.1f} ms", f"{peer.whole:.1f} ms", ratio, "<= 150 ms", own <= 150)


def classifying(size: Size) -> Iterator[Row]:
    """Errors that were never seen before, on one core, beside a loop of `re` over the same rules.

    The first round is not counted: in it the automaton of the rules is made.
    """
    from analyzer.classifier import classify_facts, default_ruleset

    loop = rivals.re_loop(default_ruleset())
    few = max(1, size.classified // 10)
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(size.runs + 1):
        facts = workload.facts(range(turn * size.classified, (turn + 1) * size.classified))
        for place, (judge, given) in enumerate(((classify_facts, facts), (loop, facts[:few]))):
            began = process_time()
            deque(map(judge, given), maxlen=0)
            taken[place].append(len(given) / (process_time() - began))
    own, peer = (statistics.median(rates[1:]) for rates in taken)
    yield Row(
        "classify, distinct facts",
        f"{own:,.0f} a CPU s",
        f"loop of re {peer:,.0f} a CPU s",
        f"{own / peer:.0f}",
        ">= 100,000",
        own >= 100_000,
    )


def replaying(size: Size) -> Iterator[Row]:
    """All errors of a store judged again."""
    distinct = size.judged * 17 // 40
    for name, seconds, judged in replay.measured(size.judged, distinct):
        yield Row(f"reclassify, {name}", f"{judged / seconds:,.0f} facts/s", "", "", "", None)


def scaling(size: Size) -> Iterator[Row]:
    """Reports and checks of stores, each command once: `benchmarks.scale` has more of them, and their curves."""
    for events in size.stores:
        with tempfile.TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
            costs = scale.measured(events, Path(folder))
        report = (5, 500) if events <= 1_000_000 else (25, 1_500)
        for name, target in {"report": report, "check, next night": _NIGHT}.items():
            yield _within(f"{name}, {events:,} events", costs[name], target)
        yield _within(f"report of a week, {events:,} events", costs["report of a week"])


def growing(size: Size) -> Iterator[Row]:
    """The check of a night with ever more nights before it; the report of its week must not follow the history."""
    with tempfile.TemporaryDirectory() as folder:
        for night, check, week in nights.measured(Path(folder), size.events):
            yield _within(f"check, night {night} of {nights.DAYS}", check, _NIGHT)
            yield _within(f"report of its week, night {night}", week)


_NIGHT = (2, 400)
"""CPU seconds and megabytes that the check of a night may take, whatever the history."""


def _within(work: str, cost: Cost, target: tuple[int, int] | None = None) -> Row:
    """A row of what a command took, beside the CPU seconds and megabytes that it may take."""
    ours = f"{cost.seconds:.1f} CPU s, {cost.megabytes:,.0f} MB"
    if target is None:
        return Row(work, ours, "", "", "", None)
    seconds, megabytes = target
    met = cost.seconds <= seconds and cost.megabytes <= megabytes
    return Row(work, ours, "", "", f"<= {seconds} CPU s, {megabytes:,} MB", met)


def _at_most(ratio: float, most: float) -> tuple[str, str, bool]:
    return f"{ratio:.2f}", f"<= {most}", ratio <= most


BENCHES: dict[str, Bench] = {
    "start": Bench(starting, "whole processes: import, first event, first classify, --help"),
    "append": Bench(appending, "an event onto a log"),
    "classify": Bench(classifying, "errors a second and core"),
    "ingest": Bench(reading, "logs into a store"),
    "hostile": Bench(repairing, "lines that all need repair"),
    "unchanged": Bench(repeating, "a thousand files with nothing new"),
    "transcripts": Bench(transcribing, "transcripts of agents into a store, beside ccusage"),
    "replay": Bench(replaying, "all errors of a store judged again"),
    "nights": Bench(growing, "checks of a night as history grows"),
    "scale": Bench(scaling, "reports and checks of large stores"),
}
"""In the order of the table, the quick ones first."""
