"""Backoff and iteration budget."""

from __future__ import annotations

import copy
import pickle
import random
import threading

import pytest

from analyzer.errors import AnalyzerError
from analyzer.recovery import Backoff, IterationBudget, IterationBudgetExhaustedError


def test_delays_are_spread_over_the_band() -> None:
    """A thousand callers that wait after the same attempt fill the band, beyond the cap too."""
    rng = random.Random(7)
    for attempt, middle in ((0, 0.1), (3, 0.8), (60, 30.0)):
        delays = [Backoff().delay_seconds(attempt, rng) / middle for _ in range(1_000)]
        assert min(delays) < 0.82
        assert max(delays) > 1.18
        assert abs(sum(delays) / 1_000 - 1) < 0.02


def test_every_figure_of_a_backoff_can_be_set() -> None:
    """Base, factor, cap and jitter; no jitter means exactly so long."""
    backoff = Backoff(base_seconds=1, factor=3, cap_seconds=10, jitter=0)
    assert [backoff.delay_seconds(attempt) for attempt in range(4)] == [1, 3, 9, 10]
    with pytest.raises(AnalyzerError, match="no such backoff"):
        Backoff(jitter=1.5)


def test_a_budget_pays_for_work_and_takes_back_what_a_cache_saved() -> None:
    """Consumed and refunded iterations add up to what remains."""
    budget = IterationBudget(2)
    assert budget.consume() == 1
    assert budget.refund() == 2
    assert budget.consume(2) == 0
    assert (budget.consumed, budget.refunded, budget.remaining) == (3, 1, 0)


def test_an_empty_budget_says_so() -> None:
    """At zero nothing is taken, and the error knows the figures, also as a copy."""
    budget = IterationBudget(1)
    budget.consume()
    with pytest.raises(IterationBudgetExhaustedError, match="budget of 1 is used up: 1 consumed, 0 refunded") as caught:
        budget.consume()
    assert budget.consumed == 1
    for twin in (copy.copy(caught.value), pickle.loads(pickle.dumps(caught.value))):
        assert (twin.limit, twin.consumed, twin.refunded, str(twin)) == (1, 1, 0, str(caught.value))


def test_a_budget_never_gives_back_more_than_was_taken() -> None:
    """A refund without a consumption changes nothing."""
    budget = IterationBudget(3)
    assert budget.refund(5) == 3


def test_threads_never_overdraw_a_budget() -> None:
    """Of four threads that take until they may not, exactly the limit comes out."""
    budget, taken = IterationBudget(1_000), []

    def take() -> None:
        try:
            while True:
                budget.consume()
                taken.append(1)
        except IterationBudgetExhaustedError:
            pass

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1_000
