"""What `analyzer check --last 1h` tells, hour after hour, of a fleet whose changes are known.

    python -m benchmarks.hours [--seeds 6] [--first-seed 0] [--verbose]

Eight callers have more work by day than by night and less on weekends; their days and hours differ by chance. Each hour
of a quiet week, or of the day of a change, is judged as a job of every hour judges it. A finding of `warning` at least
tells of a change if the hours of the change, or the one after them, have it; at another time it is false. One that goes
on counts once.

quiet    nothing changes
outage   a provider fails for two hours of a working day
refused  every session of one busy caller is refused for three hours of a working day
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random

import polars as pl

from analyzer.analysis.detection import Settings
from analyzer.analysis.nightly.check import COMPARED_DAYS, HourCounts, found_in_hours
from benchmarks.alarms import asked, columns

FIRST_DAY = date(2027, 2, 1)  # a Monday
JUDGED_DAYS = 7
CALLERS = 8
STORIES = ("quiet", "outage", "refused")
KNOWN = {"network_transient": 5, "rate_limited": 3, "auth_error": 1, "validation": 1}
"""Weights of reasons."""
_VOLUMES = {
    "day": pl.Date,
    **dict.fromkeys(("caller", "provider", "model", "reason"), pl.String),
    **dict.fromkeys(("sessions", "groups"), pl.Int64),
}
_ROWS = {"day": pl.Date, "caller": pl.String, **dict.fromkeys(("sessions", "observed"), pl.Int64)}
_COUNTS = {"day": pl.Date, "caller": pl.String, **dict.fromkeys(("sessions", "groups"), pl.Int64)}


@dataclass(slots=True)
class Hour:
    """One hour of the clock, day after day: the rows of the frames that its test looks at."""

    volumes: list[tuple[object, ...]] = field(default_factory=list)
    work: list[tuple[object, ...]] = field(default_factory=list)
    counts: list[tuple[object, ...]] = field(default_factory=list)

    def up_to(self, last: date) -> HourCounts:
        """What is asked of a store: the hour of a day, and of so many days before it."""
        first = last - timedelta(days=COMPARED_DAYS)
        made = ((self.volumes, _VOLUMES), (self.work, _ROWS), (self.counts, _COUNTS))
        volumes, work, counts = (
            pl.DataFrame([row for row in rows if first <= row[0] <= last], schema, orient="row")  # type: ignore[operator]
            for rows, schema in made
        )
        return HourCounts("UTC", None, volumes, work, counts)


@dataclass(frozen=True, slots=True)
class Change:
    """Hours of one day in which something fails."""

    day: int
    hours: range
    names: frozenset[str]
    """Callers that it hits."""
    told: frozenset[str]
    """Whom a finding of it may be about."""


def change(name: str, random: Random) -> Change | None:
    """What happens in a story; none where nothing does."""
    if name == "quiet":
        return None
    day, begin = COMPARED_DAYS + random.choice((1, 2, 3)), random.randrange(8, 16)
    if name == "refused":
        return Change(day, range(begin, begin + 3), frozenset({"c0"}), frozenset({"c0"}))
    north = frozenset(f"c{number}" for number in range(0, CALLERS, 2))
    return Change(day, range(begin, begin + 2), north, north | {"north"})


def lived(name: str, happens: Change | None, random: Random) -> list[Hour]:
    """The 24 hours of a fleet's days."""
    hours = [Hour() for _ in range(24)]
    busy = [random.uniform(20, 120) for _ in range(CALLERS)]
    busy[0] = 150.0 if name == "refused" else busy[0]
    for number in range(COMPARED_DAYS + JUDGED_DAYS):
        day = FIRST_DAY + timedelta(days=number)
        for place, usual in enumerate(busy):
            caller, provider = f"c{place}", ("north", "south")[place % 2]
            today = usual * (0.35 if day.weekday() >= 5 else 1.0) * random.lognormvariate(-0.02, 0.2)
            for clock, hour in enumerate(hours):
                share = (2.0 if 8 <= clock < 18 else 0.4) / 25.6
                sessions = _poisson(random, today * share * random.lognormvariate(-0.02, 0.2))
                hit = happens is not None and number == happens.day and clock in happens.hours
                fails = hit and happens is not None and caller in happens.names
                failing = ("auth_error" if name == "refused" else "network_transient") if fails else None
                _live(hour, day, caller, provider, sessions, failing, random)
    return hours


def _live(
    hour: Hour, day: date, caller: str, provider: str, sessions: int, failing: str | None, random: Random
) -> None:
    if not sessions:
        return
    met: dict[str, int] = defaultdict(int)
    failed = 0
    for _ in range(sessions):
        own = {failing} if failing else set()
        own.update(random.choices(list(KNOWN), list(KNOWN.values()), k=_poisson(random, 0.4)))
        for reason in own:
            met[reason] += 1
        failed += bool(own)
    hour.work.append((day, caller, sessions, sessions))
    if met:
        hour.counts.append((day, caller, failed, sum(met.values())))
    hour.volumes += [(day, caller, provider, "", reason, count, count) for reason, count in met.items()]


def _poisson(random: Random, mean: float) -> int:
    count, left = 0, random.expovariate(1.0)
    while left < mean:
        count, left = count + 1, left + random.expovariate(1.0)
    return count


@dataclass(slots=True)
class Tally:
    """What is told of the seeds of a story."""

    changes: int = 0
    delays: list[int] = field(default_factory=list)
    """In hours, of the changes that are told of; 0 is the hour in which it began."""
    told: int = 0
    false: list[str] = field(default_factory=list)
    caller_hours: int = 0

    def add(self, name: str, random: Random, clocks: range = range(24)) -> None:
        """Judges every hour of a fleet, or some hours of each day."""
        happens = change(name, random)
        hours = lived(name, happens, random)
        before: set[tuple[str, str]] = set()
        own: list[int] = []
        judged = range(COMPARED_DAYS, COMPARED_DAYS + JUDGED_DAYS) if happens is None else (happens.day,)
        for number in judged:
            day = FIRST_DAY + timedelta(days=number)
            for clock in clocks:
                found = found_in_hours(hours[clock].up_to(day), Settings(), "in that hour")
                now = {(one.finding, one.scope.who) for one in found if one.severity != "info"}
                self.caller_hours += CALLERS
                for kind, who in sorted(now - before):
                    since = clock - happens.hours.start if happens and number == happens.day else -1
                    if happens and who in happens.told and 0 <= since <= len(happens.hours):
                        own.append(since)
                    else:
                        self.false.append(f"{kind} of {who} on day {number} at {clock}")
                before = now
        self.changes += happens is not None
        self.delays += [min(own)] if own else []
        self.told += len(own)

    @property
    def line(self) -> str:
        """Recall, delay in hours, findings a change, and false alarms: by 1,000 caller-hours and by week of a fleet."""
        found = len(self.delays)
        of_changes = ("-", "-", "-")
        if self.changes:
            late, told = (f"{each / max(1, found):.1f}" for each in (sum(self.delays), self.told))
            of_changes = (f"{found / self.changes:.2f}", late, told)
        wrong = len(self.false) / self.caller_hours
        return columns(*of_changes, f"{1000 * wrong:.3f}", f"{CALLERS * 24 * 7 * wrong:.2f}")


def tallies(seeds: range) -> Iterator[tuple[str, Tally]]:
    """Each story with what its seeds come to."""
    for name in STORIES:
        tally = Tally()
        for seed in seeds:
            tally.add(name, Random(f"{name}/{seed}"))  # noqa: S311 - no secret
        yield name, tally


def main() -> None:
    """Prints one line a story."""
    options = asked(__doc__)
    print(f"{'':10}{columns('recall', 'delay h', 'a change', 'false/1,000', 'a week')}")
    for name, tally in tallies(options.chosen):
        print(f"{name:10}{tally.line}")
        for each in tally.false if options.verbose else ():
            print(f"    {each}")


if __name__ == "__main__":
    main()
