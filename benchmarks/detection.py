"""How well changes are found: ours beside a z-score, a fixed threshold and ADWIN, on telemetry whose changes are known.

    python -m benchmarks.detection [--seeds 10] [--first-seed 0] [--day-noise 0.25] [--scenarios DIR]

An alarm outside of every change is false; alarms at most two days apart are one. `--scenarios DIR` scores on a
generator of your own instead: a module `scenarios` in DIR with NAMES, FIRST_DAY, WARM_UP, Noise(day_sd=…)
and make(name, seed, noise) that gives counts, templates, truth and neutral as `telemetry.Story` has them.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, NamedTuple

import polars as pl

from analyzer.analysis.detection import detect
from benchmarks import telemetry
from benchmarks.detection_rivals import adwin, fixed_share, z_score

Detector = Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]


class Source(NamedTuple):
    """A generator of labelled telemetry."""

    names: tuple[str, ...]
    first_day: date
    warm_up: int
    make: Callable[[str, int], Any]


class Tally(NamedTuple):
    """What one detector did on one story."""

    found: list[bool]
    delays: list[int]
    false_alarms: int
    caller_days: int
    seconds: float


def tally(detector: Detector, source: Source, story: Any) -> Tally:
    """Runs the detector and holds it against the truth."""
    started = time.perf_counter()
    reported = detector(story.counts, story.templates)
    seconds = time.perf_counter() - started
    alarms: dict[tuple[str, str], set[int]] = {}
    for day, caller, finding in reported.select("day", "caller", "finding").iter_rows():
        index = (day - source.first_day).days
        if index >= source.warm_up:
            what = "template" if finding == "template" else "share"
            alarms.setdefault((caller, what), set()).add(index)
    found, delays = [], []
    for caller, first, last, what in story.truth:
        # A change of the last hours is found the morning after.
        hits = [day for day in alarms.get((caller, what), ()) if first <= day <= last + 1]
        found.append(bool(hits))
        delays += [min(hits) - first] if hits else []
    spans = [(caller, first, last) for caller, first, last, _ in story.truth] + story.neutral
    false_alarms = 0
    for (caller, _), days in alarms.items():
        wrong = sorted(d for d in days if not any(c == caller and a <= d <= b + 1 for c, a, b in spans))
        false_alarms += sum(1 for i, d in enumerate(wrong) if not i or d - wrong[i - 1] > 2)
    days = story.counts["day"].to_list()
    judged = sum((day - source.first_day).days >= source.warm_up for day in days)
    return Tally(found, delays, false_alarms, judged, seconds)


def _source(options: argparse.Namespace) -> Source:
    if options.scenarios is None:
        noise = options.day_noise
        make = lambda name, seed: telemetry.story(name, seed, noise)  # noqa: E731 - one call
        return Source(telemetry.STORIES, telemetry.FIRST_DAY, telemetry.WARM_UP, make)
    sys.path.insert(0, options.scenarios)
    theirs = importlib.import_module("scenarios")
    noise = theirs.Noise(day_sd=options.day_noise)
    return Source(
        tuple(theirs.NAMES), theirs.FIRST_DAY, theirs.WARM_UP, lambda name, seed: theirs.make(name, seed, noise)
    )


def _mean(values: list[Any]) -> float:
    return sum(values) / len(values) if values else float("nan")


def _lines(name: str, tallies: dict[str, list[Tally]], each_story: bool) -> Iterator[str]:
    rates, recalls, delays = [], [], []
    true = false = 0
    for story, of_story in tallies.items():
        hits = [hit for tally in of_story for hit in tally.found]
        late = [delay for tally in of_story for delay in tally.delays]
        wrong = sum(tally.false_alarms for tally in of_story)
        rates.append(1000 * wrong / sum(tally.caller_days for tally in of_story))
        recalls += [_mean(hits)] if hits else []
        delays += late
        true, false = true + sum(hits), false + wrong
        if each_story:
            yield f"  {story:20}{_mean(hits):8.2f}{rates[-1]:12.2f}{'':12}{_mean(late):8.1f}"
    precision = true / (true + false) if true + false else float("nan")
    seconds = sum(tally.seconds for of_story in tallies.values() for tally in of_story)
    yield f"{name:22}{_mean(recalls):8.3f}{_mean(rates):12.2f}{precision:12.3f}{_mean(delays):8.1f}{seconds:10.1f}"


def main() -> None:
    """Prints one table: detectors by recall, false alarms per 1,000 caller-days, precision, delay in days, seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--day-noise", type=float, default=0.25)
    parser.add_argument("--scenarios", metavar="DIR")
    options = parser.parse_args()
    source = _source(options)
    detectors: dict[str, Detector] = {"ours": detect, "z-score > 3": z_score, "fixed share > 15 %": fixed_share}
    try:
        detectors["ADWIN (river)"] = adwin()
    except ImportError:
        print("SKIPPED: ADWIN, because river is not installed (pip install 'agent-error-analyzer[benchmark]')\n")
    results: dict[str, dict[str, list[Tally]]] = {name: {} for name in detectors}
    for story_name in source.names:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            story = source.make(story_name, seed)
            for name, detector in detectors.items():
                results[name].setdefault(story_name, []).append(tally(detector, source, story))
    print(f"{'':22}{'recall':>8}{'false/1,000':>12}{'precision':>12}{'delay d':>8}{'seconds':>10}")
    for name, tallies in results.items():
        for line in _lines(name, tallies, each_story=name == "ours"):
            print(line)


if __name__ == "__main__":
    main()
