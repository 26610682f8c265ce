"""Made-up telemetry with known changes: agents at work, their errors, and the part of them that no rule knows.

Sessions differ (each has its own log-odds), days differ (with a memory of the day before), volumes are lognormal,
weeks have weekends. `story(name, seed)` gives the two frames that `detect` takes, what there is to find, and where
to be quiet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from math import exp, log
from random import Random

import polars as pl

FIRST_DAY = date(2027, 2, 1)  # a Monday
DAYS = 91
WARM_UP = 35
STORIES = (
    "quiet",
    "growing",
    "weekends",
    "quiet_fleet",
    "rules_changed",
    "step",
    "creeping",
    "bad_day",
    "stuck_session",
    "newcomer",
    "one_of_many",
    "rare_visitor",
    "reworded",
)


@dataclass(frozen=True, slots=True)
class Story:
    """Labelled telemetry."""

    counts: pl.DataFrame
    templates: pl.DataFrame
    truth: list[tuple[str, int, int, str]]
    """(caller, first day, last day, `share` or `template`); days count from the first."""
    neutral: list[tuple[str, int, int]]
    """Spans in which an alarm counts neither way: after a change nobody expects silence."""


def _poisson(random: Random, mean: float) -> int:
    count, left = 0, random.expovariate(1.0)
    while left < mean:
        count += 1
        left += random.expovariate(1.0)
    return count


@dataclass(slots=True)
class _Agent:
    """One caller: how busy it is, how much of what it meets is unknown, and how that changes."""

    name: str
    busy: float
    share: Callable[[int], float]
    growth: Callable[[int], float] = lambda _: 1.0
    born: int = 0
    texts: Callable[[int], list[str]] = lambda _: [f"text-{number}" for number in range(12)]
    ruleset_day: int | None = None
    stuck_day: int | None = None

    def live(self, random: Random, day_noise: float, session_noise: float) -> tuple[list[tuple], list[tuple]]:
        counts, templates = [], []
        mood = 0.0
        for day in range(self.born, DAYS):
            mood = 0.3 * mood + random.gauss(0, day_noise * (1 - 0.3**2) ** 0.5)
            weekend = 0.4 if day % 7 >= 5 else 1.0
            sessions = _poisson(random, self.busy * weekend * self.growth(day) * random.lognormvariate(-0.06, 0.35))
            if not sessions:
                continue
            now, then, texts = [0, 0, 0], [0, 0, 0], self.texts(day)
            groups = events = 0
            shown: dict[str, int] = {}
            for session in range(sessions):
                odds = log(self.share(day) / (1 - self.share(day))) + mood + random.gauss(0, session_noise)
                chance = 1 / (1 + exp(-odds))
                size = 1 + _poisson(random, 1.4)
                groups += size
                hits = old_hits = repeats = old_repeats = 0
                seen: set[str] = set()
                for _ in range(size):
                    often = 1 + _poisson(random, 1.0) if random.random() > 0.003 else random.randint(40, 300)
                    events += often
                    unknown = random.random() < chance
                    # The newer rules no longer know one text in twenty that the older ones knew.
                    newly = self.ruleset_day is not None and random.random() < 0.05
                    if unknown or newly:
                        hits += 1
                        repeats += often
                        weight = [1 / (place + 1) ** 1.1 for place in range(len(texts))]
                        seen.add(
                            f"once-{day}-{session}-{hits}"
                            if random.random() < 0.15
                            else random.choices(texts, weight)[0]
                        )
                    if unknown or (newly and self.ruleset_day is not None and day >= self.ruleset_day):
                        old_hits += 1
                        old_repeats += often
                if day == self.stuck_day and session == 0:
                    hits, old_hits = max(hits, 1), max(old_hits, 1)
                    events, repeats, old_repeats = events + 500, repeats + 500, old_repeats + 500
                for figures, found, said in ((now, hits, repeats), (then, old_hits, old_repeats)):
                    figures[0] += found > 0
                    figures[1] += found
                    figures[2] += said
                for text in seen:
                    shown[text] = shown.get(text, 0) + 1
            counts.append((self.name, FIRST_DAY + timedelta(days=day), sessions, groups, events, *then, *now))
            templates += [(self.name, FIRST_DAY + timedelta(days=day), text, shown[text]) for text in sorted(shown)]
        return counts, templates


def story(name: str, seed: int, day_noise: float = 0.25, session_noise: float = 0.8) -> Story:  # noqa: C901 - one case a story
    """One story; the same arguments give the same telemetry."""
    random = Random(f"{name}/{seed}")  # noqa: S311 - no secret
    turn = random.randint(49, 70)
    truth: list[tuple[str, int, int, str]] = []
    usual = 0.03

    def flat(share: float = usual) -> Callable[[int], float]:
        return lambda _: share

    def from_turn(after: float, before: float = usual, last: int = DAYS) -> Callable[[int], float]:
        return lambda day: after if turn <= day <= last else before

    def fleet(count: int) -> list[_Agent]:
        return [
            _Agent(f"agent-{i:02d}", min(150, random.lognormvariate(2.6, 0.9)), flat(random.uniform(0.01, 0.07)))
            for i in range(count)
        ]

    def expect(caller: str, days: int, what: str = "share") -> None:
        truth.append((caller, turn, min(DAYS - 1, turn + days - 1), what))

    solo = _Agent("agent-00", 35, flat())
    agents = [solo]
    match name:
        case "growing":
            solo.growth = lambda day: 1.03 ** max(0, day - 30)
        case "weekends":
            solo.share = lambda day: 0.1 if day % 7 >= 5 else usual
        case "quiet_fleet":
            agents = fleet(30)
        case "rules_changed":
            solo.ruleset_day = turn
        case "step":
            solo.share = from_turn(0.10)
            expect("agent-00", 14)
        case "creeping":
            solo.share = lambda day: usual + 0.08 * max(0, min(20, day - turn + 1)) / 20
            expect("agent-00", 28)
        case "bad_day":
            turn -= max(0, turn % 7 - 4)
            solo.share = from_turn(0.2, last=turn)
            expect("agent-00", 1)
        case "stuck_session":
            solo.stuck_day = turn
        case "newcomer":
            agents = [*fleet(6), _Agent("newcomer", 25, flat(0.3), born=turn)]
            expect("newcomer", 14)
        case "one_of_many":
            agents = fleet(30)
            bad = next(each for each in agents if each.busy > 8)
            bad.share = from_turn(bad.share(0) + 0.15, bad.share(0))
            expect(bad.name, 14)
        case "rare_visitor":
            solo.busy = 2.5
            solo.share = from_turn(0.45, 0.05)
            expect("agent-00", 14)
        case "reworded":
            solo.texts = lambda day: [*(["fresh"] if day >= turn else ["text-0"]), *(f"text-{i}" for i in range(1, 12))]
            expect("agent-00", 14, "template")
        case "quiet":
            pass
        case _:
            raise ValueError(f"no story {name!r}; there are {', '.join(STORIES)}")
    counts, templates = [], []
    for agent in agents:
        mine, texts = agent.live(random, day_noise, session_noise)
        counts += mine
        templates += texts
    units = ("unknown_sessions", "unknown_groups", "unknown_events")
    columns = ["caller", "day", "sessions", "groups", "events", *units, *(f"{unit}_replayed" for unit in units)]
    return Story(
        pl.DataFrame(counts, schema=columns, orient="row"),
        pl.DataFrame(templates, schema=["caller", "day", "template", "sessions"], orient="row"),
        truth,
        [
            (caller, last + 1, DAYS - 1 if last > first else last + 1)
            for caller, first, last, _ in truth
            if last + 1 < DAYS
        ],
    )
