"""Findings: their data and words, the statistics of tests, and a module for each family of kinds."""

from analyzer.analysis.kinds.families.bursts import BURSTS
from analyzer.analysis.kinds.families.causes import CAUSES
from analyzer.analysis.kinds.families.new_messages import MESSAGES
from analyzer.analysis.kinds.families.relays import RELAYS
from analyzer.analysis.kinds.families.retries import RETRIES
from analyzer.analysis.kinds.families.rewordings import REWORDINGS
from analyzer.analysis.kinds.families.shares import SHARES, detect
from analyzer.analysis.kinds.families.signals import KINDS_OF_SIGNALS
from analyzer.analysis.kinds.families.silence import SILENCE
from analyzer.analysis.kinds.families.versions import VERSIONS
from analyzer.analysis.kinds.families.volumes import VOLUMES
from analyzer.analysis.kinds.finding import KINDS

__all__ = ["detect"]

for _family in (
    SHARES,
    MESSAGES,
    REWORDINGS,
    VOLUMES,
    BURSTS,
    RELAYS,
    RETRIES,
    KINDS_OF_SIGNALS,
    VERSIONS,
    SILENCE,
    CAUSES,
):
    KINDS.update(_family)
