"""What an operator is told of a fleet whose changes are known: shares, numbers of errors and messages together.

    python -m benchmarks.alarms [--seeds 6] [--first-seed 0] [--verbose]

A finding of `warning` at least tells of a change if it has evidence of it while that lasts, or on the day after. One
that opens at another time is false, unless that is in the week after a change.

quiet            nothing changes
doubled          a busy fleet whose sessions double from one day to the next, errors a session stay: nothing to report
holiday          a Monday without anybody and a Tuesday with twice the work: nothing to report
refused          every session of one caller is refused for a day
two_outages      a provider fails twice in one week, for a day each
outage_in_drift  a provider fails for a day while the unknown share of one of its callers drifts upwards
shared_message   a new unknown text comes in a twelfth of all sessions of thirty small callers, from one day on
shared_one_offs  every day two unknown texts that any session of any caller may show, and nobody ever again: nothing
weak_message     a new text that a rule knows by its bare status comes in a twelfth of these sessions; its errors are
                 no more than before
weak_one_offs    the same as shared_one_offs, with texts that a rule knows by their bare status: nothing to report
half_seen        only half of the callers have logs of sessions without errors; known errors of one of each half come
                 five times as often for three days
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

import polars as pl

from analyzer.analysis.detection import detect
from analyzer.analysis.detection.detection import Detection, detections_in
from analyzer.analysis.detection.new_messages import shared_templates, weak_templates
from analyzer.analysis.detection.volume_units import exposures
from analyzer.analysis.detection.volumes import volumes
from analyzer.analysis.nightly.incidents import incidents

FIRST_DAY = date(2027, 2, 1)  # a Monday
DAYS, WARM_UP = 60, 30
KNOWN = {
    "north": {"network_transient": 5, "rate_limited": 3, "auth_error": 1, "context_overflow": 1},
    "south": {"network_transient": 4, "rate_limited": 4, "validation": 1},
}
"""Weights of the reasons of each provider's errors."""


@dataclass(slots=True)
class Caller:
    """One caller: how busy it is, what its sessions meet, and how that changes by day."""

    name: str
    provider: str
    busy: float
    seen: bool = True
    work: Callable[[int], float] = lambda _: 1.0
    known: Callable[[int], float] = lambda _: 1.0
    unknown: Callable[[int], float] = lambda _: 0.03
    outages: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    said: Callable[[int, Random], str | None] = lambda _day, _random: None
    """What a session shows beside its usual errors."""
    weak: bool = False
    """Whether a rule knows that by weak evidence; else none does."""


@dataclass(frozen=True, slots=True)
class Story:
    """A fleet, and its changes: first and last day, and the names that a finding of it may have."""

    callers: list[Caller]
    truth: list[tuple[int, int, set[str]]]


def story(name: str, random: Random) -> Story:  # noqa: C901 - one case a story
    """The fleet of a story."""
    many = name in {"shared_message", "weak_message"}
    number, low, high = (10, 20.0, 60.0) if name == "doubled" else (30, 1.0, 2.0) if many else (8, 8.0, 24.0)
    callers = [Caller(f"c{i}", ("north", "south")[i % 2], random.uniform(low, high)) for i in range(number)]
    change = 42 + random.randrange(3)  # a Monday to a Wednesday
    north = [one for one in callers if one.provider == "north"]
    names = {one.name for one in north} | {"north"}
    truth = []
    if name == "doubled":
        for one in callers:
            one.work = lambda day: 2.0 if day >= change else 1.0
    elif name == "holiday":
        for one in callers:
            one.work = lambda day: {42: 0.0, 43: 2.0}.get(day, 1.0)
    elif name == "refused":
        callers[0].busy = 20.0
        callers[0].refused = {change}
        truth = [(change, change, {callers[0].name})]
    elif name == "two_outages":
        for one in north:
            one.outages = {change, change + 4}
        truth = [(day, day, names) for day in (change, change + 4)]
    elif name == "outage_in_drift":
        drifting = callers[0]
        drifting.busy = 24.0
        drifting.unknown = lambda day: 0.03 + 0.02 * min(10, max(0, day - change + 6))
        for one in north:
            one.outages = {change}
        truth = [(change, change, names), (change - 6, change + 9, {drifting.name})]
    elif many:
        for one in callers:
            one.weak = name == "weak_message"
            one.said = lambda day, random: "new" if day >= change and random.random() < 1 / 12 else None
        truth = [(change, change + 9, {"", *(one.name for one in callers)})]
    elif name in {"shared_one_offs", "weak_one_offs"}:
        for one in callers:
            one.weak = name == "weak_one_offs"
            one.said = lambda day, random: f"{day}-{random.randrange(2)}" if random.random() < 0.04 else None
    elif name == "half_seen":
        for one in callers[::2]:
            one.seen = False
        for one in callers[:2]:
            one.known = lambda day: 5.0 if change <= day < change + 3 else 1.0
            truth.append((change, change + 2, {one.name}))
    return Story(callers, truth)


def found(callers: list[Caller], random: Random) -> Iterator[Detection]:
    """What the tests see of a fleet whose days are drawn by chance."""
    rows: dict[str, list[tuple[object, ...]]] = defaultdict(list)
    for number in range(DAYS):
        day = FIRST_DAY + timedelta(days=number)
        for one in callers:
            _live(one, number, day, random, rows)
    counts = _frame(rows["counts"], "sessions", "groups", "unknown_sessions_replayed", "unknown_groups_replayed")
    work = exposures(_frame(rows["work"], "sessions", "observed"), counts)
    volume = _frame(rows["volume"], "sessions", "groups", names=("provider", "model", "reason"))
    templates = _frame(rows["templates"], "sessions", names=("template",))
    known = _frame(rows["known"], "sessions", "weak_sessions", names=("template", "reason"))
    yield from detections_in(detect(counts, templates))
    yield from detections_in(volumes(volume, work))
    yield from detections_in(shared_templates(templates, work))
    yield from detections_in(weak_templates(known, templates, counts, work))


def _live(one: Caller, number: int, day: date, random: Random, rows: dict[str, list[tuple[object, ...]]]) -> None:
    """Adds a caller's day to the rows of each frame."""
    weekend = 0.35 if day.weekday() >= 5 else 1.0
    sessions = _poisson(random, one.busy * weekend * one.work(number) * random.lognormvariate(-0.02, 0.2))
    reasons, weights = list(KNOWN[one.provider]), list(KNOWN[one.provider].values())
    met: dict[str, int] = defaultdict(int)
    texts: dict[str, int] = defaultdict(int)
    weak: dict[str, int] = defaultdict(int)
    failed = unknown = 0
    mood = random.lognormvariate(-0.03, 0.25)
    for _ in range(sessions):
        own: set[str] = {"auth_error"} if number in one.refused else set()
        for _ in range(_poisson(random, 0.4 * one.known(number))):
            own.add(random.choices(reasons, weights)[0])
        if random.random() < 0.4 * one.unknown(number) * mood:
            own.add("unknown")
            texts[f"{one.name}-{random.randrange(5)}"] += 1
        if number in one.outages:
            own.add("network_transient")
        said = one.said(number, random)
        if said is not None:
            own.add("network_transient" if one.weak else "unknown")
            (weak if one.weak else texts)[said] += 1
        for reason in own:
            met[reason] += 1
        failed, unknown = failed + bool(own), unknown + ("unknown" in own)
    groups = sum(met.values())
    if groups:
        rows["counts"].append((day, one.name, failed, groups, unknown, met["unknown"]))
    shown = sessions if one.seen else failed
    if shown:
        rows["work"].append((day, one.name, shown, shown if one.seen else 0))
    for reason, count in met.items():
        if count:
            rows["volume"].append((day, one.name, one.provider, "", reason, count, count))
    rows["known"] += [(day, one.name, text, "network_transient", count, count) for text, count in weak.items()]
    rows["known"] += [(day, one.name, f"usual {why}", why, count, 0) for why, count in met.items() if why != "unknown"]
    rows["templates"] += [(day, one.name, text, count) for text, count in texts.items()]


def _frame(rows: list[tuple[object, ...]], *figures: str, names: tuple[str, ...] = ()) -> pl.DataFrame:
    words = dict.fromkeys(("caller", *names), pl.String)
    schema = {"day": pl.Date, **words, **dict.fromkeys(figures, pl.Int64)}
    return pl.DataFrame(rows, schema, orient="row").sort("day", "caller")


def _poisson(random: Random, mean: float) -> int:
    count, left = 0, random.expovariate(1.0)
    while left < mean:
        count, left = count + 1, left + random.expovariate(1.0)
    return count


@dataclass(slots=True)
class Tally:
    """What the findings of a story's seeds come to."""

    hits: list[bool] = field(default_factory=list)
    delays: list[int] = field(default_factory=list)
    told: int = 0
    false: list[str] = field(default_factory=list)
    caller_days: int = 0

    def add(self, made: Story, random: Random) -> None:
        """Judges one fleet, and holds what opened against what there was."""
        seen = list(found(made.callers, random))
        every = {one.name: tuple(FIRST_DAY + timedelta(days=day) for day in range(DAYS)) for one in made.callers}
        traffic = {**every, "": next(iter(every.values()))}
        opened: dict[str, tuple[int, str, str]] = {}
        told: set[tuple[int, str]] = set()
        for day in range(WARM_UP, DAYS):
            for one in incidents(seen, traffic, FIRST_DAY + timedelta(days=day)):
                whom = one.scope.caller or one.scope.provider or ""
                if one.is_open and one.severity != "info" and (one.opened_on - FIRST_DAY).days >= WARM_UP:
                    opened.setdefault(one.id, (day, whom, one.finding))
                    told.add(((one.last_on - FIRST_DAY).days, whom))
        for first, end, names in made.truth:
            mine = [day for day, whom in told if first <= day <= end + 1 and whom in names]
            self.hits.append(bool(mine))
            self.delays += [min(mine) - first] if mine else []
        for day, whom, kind in opened.values():
            if any(first <= day <= end + 1 and whom in names for first, end, names in made.truth):
                self.told += 1
            elif not any(first <= day <= end + 7 for first, end, _ in made.truth):
                self.false.append(f"{kind} of {whom or 'the fleet'} on day {day}")
        self.caller_days += len(made.callers) * (DAYS - WARM_UP)

    @classmethod
    def of(cls, tallies: Iterable[Tally]) -> Tally:
        """All stories together."""
        whole = cls()
        for one in tallies:
            whole.hits += one.hits
            whole.delays += one.delays
            whole.told += one.told
            whole.false += one.false
            whole.caller_days += one.caller_days
        return whole

    @property
    def line(self) -> str:
        """Recall, delay in days, findings a change, and false alarms per 1,000 caller-days; `-` without a change."""
        changes = sum(self.hits)
        rate = f"{1000 * len(self.false) / self.caller_days:.2f}"
        if not changes:
            return columns(f"{0:.2f}" if self.hits else "-", "-", "-", rate)
        late, told = sum(self.delays) / changes, self.told / changes
        return columns(f"{changes / len(self.hits):.2f}", f"{late:.1f}", f"{told:.1f}", rate)


def asked(description: str | None) -> argparse.Namespace:
    """The options of a command that tells stories: `chosen`, a range of seeds, and `verbose`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="name the false alarms")
    options = parser.parse_args()
    options.chosen = range(options.first_seed, options.first_seed + options.seeds)
    return options


def columns(*cells: str) -> str:
    """Cells of one line of the table, each as wide as the others."""
    return "".join(f"{each:>12}" for each in cells)


STORIES = (
    *("quiet", "doubled", "holiday", "refused", "two_outages", "outage_in_drift", "half_seen"),
    *("shared_message", "shared_one_offs", "weak_message", "weak_one_offs"),
)


def tallies(seeds: range) -> Iterator[tuple[str, Tally]]:
    """Each story with what its seeds come to."""
    for name in STORIES:
        tally = Tally()
        for seed in seeds:
            random = Random(f"{name}/{seed}")  # noqa: S311 - no secret
            tally.add(story(name, random), random)
        yield name, tally


def main() -> None:
    """Prints one line a story, and one for all of them."""
    options = asked(__doc__)
    print(f"{'':16}{columns('recall', 'delay d', 'a change', 'false/1,000')}")
    every = []
    for name, tally in tallies(options.chosen):
        every.append(tally)
        print(f"{name:16}{tally.line}")
        for each in tally.false if options.verbose else ():
            print(f"    {each}")
    print(f"{'all':16}{Tally.of(every).line}")


if __name__ == "__main__":
    main()
