"""Day noise: what it does to a tail, and how it is learned."""

from __future__ import annotations

from math import exp, log
from random import Random

import pytest

from analyzer.analysis.detection.share import session_tail, span
from analyzer.analysis.detection.statistics.baseline import (
    DAY_NOISES,
    Counts,
    History,
    Level,
    Noise,
    day_evidence,
    day_noise,
)
from analyzer.analysis.detection.statistics.tails import beta_binomial_tail

SURE = Level(0.05, 0.05, 1e-9, 1e-9, 1.0, 4_000, 100.0)


def _only(index: int) -> Noise:
    return Noise(tuple(float(each == index) for each in range(len(DAY_NOISES))))


def _draw(random: Random, sessions: int, noise: float) -> int:
    odds = 0.05 / 0.95 * exp(random.gauss(-noise * noise / 2, noise))
    return sum(random.random() < odds / (1 + odds) for _ in range(sessions))


@pytest.mark.parametrize("evenness", [1.0, 0.25])
@pytest.mark.parametrize("index", range(len(DAY_NOISES)))
def test_noise_moves_the_odds_but_not_their_mean(index: int, evenness: float) -> None:
    """The cells hold all of the probability, and on average the odds are those of the level."""
    cells = _only(index).cells(evenness)
    assert sum(mass for _, mass in cells) == pytest.approx(1, abs=1e-5)
    assert sum(factor * mass for factor, mass in cells) == pytest.approx(1, abs=0.05)


def test_the_tail_of_a_noisy_day_is_that_of_drawn_days() -> None:
    """300 sessions, log-odds of 0.5: the share of drawn days beyond a limit is what is said of it."""
    random = Random(5)
    draws = [_draw(random, 300, 0.5) for _ in range(8_000)]
    for limit in (25, 35, 45):
        said = session_tail(span([Counts(600, limit, 300, limit)]), SURE, _only(2))
        seen = sum(draw >= limit for draw in draws)
        assert abs(seen - 8_000 * said) <= 4 * (8_000 * said) ** 0.5


def test_a_noisy_day_of_many_sessions_is_less_surprising_than_a_beta_distribution_has_it() -> None:
    """Of the same variance: lognormal odds have the heavier tail."""
    said = session_tail(span([Counts(2_000, 200, 1_000, 200)]), SURE, _only(2))
    assert said > 5 * beta_binomial_tail(200, 1_000, 0.05, Noise.day_correlation(_only(2), 0.05 * 0.95))


def test_many_days_tell_what_noise_there_is() -> None:
    """Sixty days of log-odds 0.5 are believed to be 0.3 to 0.75, the noise that drew them first."""
    random = Random(6)
    evidence = [0.0] * len(DAY_NOISES)
    for _ in range(60):
        day = day_evidence(_draw(random, 100, 0.5), 100, 0.05, 1e-6)
        evidence = [total + part for total, part in zip(evidence, day, strict=True)]
    weights = day_noise(evidence, [0.0] * len(DAY_NOISES), 0).weights
    assert sum(weights) == pytest.approx(1)
    assert max(range(len(weights)), key=weights.__getitem__) == 2
    assert weights[0] + weights[-1] < 0.01


def test_a_day_of_very_many_sessions_is_no_limit() -> None:
    """Likelihoods far below the least float are compared by their logarithms."""
    evidence = day_evidence(90_000, 100_000, 0.01, 1e-9)
    assert all(each > log(1e-8) for each in evidence)
    assert max(evidence) <= 0


def test_young_days_teach_nothing_and_days_of_an_incident_are_forgotten() -> None:
    """A day is heard two weeks later, and what it said is taken back when it turns out to be one of a drift."""
    history = History()
    for day in (100, 101):
        history.add(day, Counts(80, 12, 40, 12))
        history.learn_noise(day, SURE)
    history.count_noise(113)
    assert not any(history.noise_total)
    history.count_noise(114)
    assert history.noise_total == list(history.noise_evidence[100])
    history.exclude(100)
    history.exclude(101)
    history.count_noise(120)
    assert history.noise_total == pytest.approx([0.0] * len(DAY_NOISES))
