"""The onset: on which day a share began to be higher."""

from __future__ import annotations

from random import Random

from analyzer.analysis.kinds.statistics.onsets import onset


def test_the_onset_is_within_a_day_of_the_truth_in_three_of_four_histories() -> None:
    """A share of sessions from 6 to 20 per cent, thirty days before and seven after, forty sessions a day."""
    near = 0
    for seed in range(40):
        random = Random(seed)
        days = [(sum(random.random() < (0.2 if day >= 30 else 0.06) for _ in range(40)), 40) for day in range(37)]
        near += abs(onset(days).position - 30) <= 1
        assert onset(days).gain > 0
    assert near >= 30


def test_a_fall_has_no_onset_of_a_rise() -> None:
    """No gain over no change."""
    assert onset([(10, 40)] * 5 + [(0, 40)] * 5).gain == 0
    assert onset([(3, 10)]).gain == 0
    assert onset([(9, 10)], before=0.1).position == 0
