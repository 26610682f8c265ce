"""The test for a change of the mix of reasons between two periods, on sessions, and the size of the change.

Each session counts a reason once: errors of one session are no independent votes, and chi-square on raw events fires on
nothing. Where counts are small, sessions are shuffled between the two periods instead of trusting the chi-square.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from math import log, log2
from random import Random

from analyzer.analysis.detection.detection import Detection
from analyzer.analysis.detection.statistics.tails import chi_square_tail
from analyzer.readable import percent

MIN_EXPECTED = 5.0
"""Least expected count of a cell for the chi-square distribution to be trusted (Cochran 1954)."""
SHUFFLES = 2_000
RESAMPLES = 400
_SEED = 20_240_229

Session = frozenset[str]
"""The distinct reasons of one session."""


def reason_drift(
    before: Sequence[Session],
    after: Sequence[Session],
    *,
    day: date,
    caller: str | None = None,
    alpha: float = 0.001,
) -> Detection | None:
    """The finding `reasons` if the mix of reasons differs between the two periods, else None.

    `observed` is the Jensen-Shannon divergence (bits, 0..1) of the two mixes, `low` to `high` its bootstrap interval
    over sessions (95 %, biased upwards for few sessions), `expected` the one that chance alone would show; `statistic`
    is G (Sokal & Rohlf 1995). The same input gives the same numbers.
    """
    p_value, statistic, chance = reason_test(before, after)
    if p_value > alpha:
        return None
    divergence = jensen_shannon(_mix(before), _mix(after))
    low, high = _interval(before, after)
    return Detection(
        day=day,
        caller=caller,
        finding="reasons",
        observed=divergence,
        expected=chance,
        low=low,
        high=high,
        p_value=p_value,
        q_value=p_value,
        statistic=statistic,
        sessions=len(after),
        groups=sum(map(len, after)),
        note=most_changed(_mix(before), _mix(after)),
    )


def reason_test(before: Sequence[Session], after: Sequence[Session]) -> tuple[float, float, float]:
    """P-value, G, and the divergence that chance alone would show; p = 1 where there is nothing to compare."""
    reasons = sorted({reason for session in (*before, *after) for reason in session})
    counts = _table(before, reasons), _table(after, reasons)
    p_value, observed, chance = table_test(*counts)
    totals = [sum(row) for row in counts]
    columns = [sum(pair) for pair in zip(*counts, strict=True)]
    if chance and min(columns) * min(totals) / sum(totals) < MIN_EXPECTED:
        p_value = _shuffled(before, after, reasons, observed)
    return p_value, observed, chance


def table_test(before: Sequence[int], after: Sequence[int]) -> tuple[float, float, float]:
    """P-value by chi-square, G, and the divergence of chance, of the counts of each reason in two periods.

    p = 1 and zeros where there is nothing to compare. Counts are those of sessions: each counts a reason once.
    """
    totals = sum(before), sum(after)
    if len(before) < 2 or not all(totals):
        return 1.0, 0.0, 0.0
    observed, degrees = _g((before, after)), len(before) - 1
    # E[G] = degrees under the null, and G = 2 ln 2 N times a weighted divergence (Lin 1991).
    chance = degrees / (2 * log(2)) / 4 * (1 / totals[0] + 1 / totals[1])
    return chi_square_tail(observed, degrees), observed, chance


def _shuffled(before: Sequence[Session], after: Sequence[Session], reasons: list[str], observed: float) -> float:
    """Share of shuffles of the sessions with a G as large (Phipson & Smyth 2010: the observed one is a shuffle too)."""
    place = {reason: index for index, reason in enumerate(reasons)}
    sessions = sorted(sorted(place[reason] for reason in session) for session in (*before, *after))
    total = _table([*before, *after], reasons)
    random = Random(_SEED)  # noqa: S311 - no secret
    as_large = 1
    # Most shuffles of few sessions come to counts that another one had.
    large: dict[tuple[int, ...], bool] = {}
    for _ in range(SHUFFLES):
        random.shuffle(sessions)
        first = [0] * len(reasons)
        for session in sessions[: len(before)]:
            for index in session:
                first[index] += 1
        counts = tuple(first)
        if counts not in large:
            rest = [whole - part for whole, part in zip(total, first, strict=True)]
            large[counts] = _g((first, rest)) >= observed - 1e-9
        as_large += large[counts]
    return as_large / (SHUFFLES + 1)


def _g(counts: tuple[Sequence[int], Sequence[int]]) -> float:
    totals = [sum(row) for row in counts]
    everything = sum(totals)
    if not all(totals):
        return 0.0
    columns = [sum(pair) for pair in zip(*counts, strict=True)]
    return 2 * sum(
        count * log(count * everything / (total * column))
        for row, total in zip(counts, totals, strict=True)
        for count, column in zip(row, columns, strict=True)
        if count
    )


def _table(sessions: Sequence[Session], reasons: list[str]) -> list[int]:
    return [sum(reason in session for session in sessions) for reason in reasons]


def counted(sessions: Iterable[Session]) -> dict[str, int]:
    """The number of sessions that show each reason."""
    return dict(Counter(reason for session in sessions for reason in session))


def shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Counts as parts of their sum."""
    total = sum(counts.values())
    return {reason: count / total for reason, count in counts.items()}


def _mix(sessions: Iterable[Session]) -> dict[str, float]:
    return shares(counted(sessions))


def jensen_shannon(one: dict[str, float], other: dict[str, float]) -> float:
    """Jensen-Shannon divergence of two distributions in bits: 0 for alike, 1 for disjoint (Lin 1991)."""
    total = 0.0
    for reason in sorted({*one, *other}):
        p, q = one.get(reason, 0.0), other.get(reason, 0.0)
        total += sum(part * log2(2 * part / (p + q)) for part in (p, q) if part)
    return total / 2


def _interval(before: Sequence[Session], after: Sequence[Session]) -> tuple[float, float]:
    """Percentile bootstrap over sessions (Efron & Tibshirani 1993)."""
    random = Random(_SEED)  # noqa: S311 - no secret
    pools = [sorted(period, key=sorted) for period in (before, after)]
    seen = sorted(
        jensen_shannon(*(_mix(random.choices(pool, k=len(pool))) for pool in pools)) for _ in range(RESAMPLES)
    )
    return seen[int(0.025 * RESAMPLES)], seen[int(0.975 * RESAMPLES) - 1]


def most_changed(old: dict[str, float], new: dict[str, float]) -> str:
    """In words, the reason whose share differs most between two mixes."""
    reason = max(sorted({*old, *new}), key=lambda each: abs(new.get(each, 0.0) - old.get(each, 0.0)))
    return (
        f"{reason} went from {percent(old.get(reason, 0.0))} to {percent(new.get(reason, 0.0))} of what sessions show"
    )
