"""The settings of the tests, and the ladder of stricter ones for noisier histories."""

from __future__ import annotations

from dataclasses import dataclass, replace

BASELINE_DAYS = 42
"""Days that make a baseline: six of each weekday."""
RECENT_DAYS = 7
"""Days, the judged one the last of them, that are held against the baseline before them where one day says too little:
mixes of reasons, retries, the fleet."""
DRIFT_SPANS = (2, 4, 7, 14)
"""Lengths in days of the spans over which a slow change adds up."""
DRIFT_GAP = 3
"""Least days between the judged day and the baseline of a span: the first days of a drift must not hide the next."""
ACCEPT_DAYS = 28
"""Days after which a level that lasts is the new baseline."""
QUIET_DAYS = 3
"""Days at work and without evidence that end a rise, and an incident: one good day is no end."""
TEMPLATE_MEMORY_DAYS = 84
"""Days without a template after which it is new again; shorter, and rare ones would be."""
TEMPLATE_DAYS = 14
"""Days from its first sight on in which a template can be found to be new."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What it takes to be a finding. The alphas are budgets: false alarms a caller-day."""

    spike_alpha: float = 0.002
    drift_alpha: float = 0.0015
    """Of the longest span; a shorter one has its part of it by its length."""
    template_alpha: float = 0.0005
    volume_alpha: float = 0.0003
    """Of a single day's count of errors; a span of several has its part of it."""
    hour_alpha: float = 0.00001
    """Of the count of errors of some hours: who looks every hour looks 24 times a day."""
    wording_alpha: float = 0.01
    """Of the silence of a rule, over all rules that matched at the callers of a new text."""
    witness_alpha: float = 0.02
    """Sessions and groups must each be so improbable at least; the alphas hold for the geometric mean of the two."""
    false_discovery_rate: float = 0.003
    """Over the callers judged on the same night."""
    min_ratio: float = 1.5
    """Least observed share, in expected ones."""
    min_rise: float = 0.02
    """Least rise of the share, in shares."""
    min_sessions: int = 3
    """Fewer sessions are no change of the world."""


def widened(settings: Settings, times: int) -> Settings:
    """The rung of the ladder so many steps up: each divides the budgets by three and asks for a little more effect."""
    divisor = 3.0**times
    return replace(
        settings,
        spike_alpha=settings.spike_alpha / divisor,
        drift_alpha=settings.drift_alpha / divisor,
        template_alpha=settings.template_alpha / divisor,
        volume_alpha=settings.volume_alpha / divisor,
        hour_alpha=settings.hour_alpha / divisor,
        wording_alpha=settings.wording_alpha / divisor,
        min_ratio=settings.min_ratio + 0.25 * times,
    )


RUNGS = 4
"""Rungs above the settings as they are; the last asks of a spike p <= 2.5e-5 and 2.5 times the expected share."""
