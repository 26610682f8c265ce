"""Findings, and what there is to say about each kind of them: one module a family of kinds, with a row a kind."""

from analyzer.analysis.kinds.causes import CAUSES
from analyzer.analysis.kinds.finding import KINDS
from analyzer.analysis.kinds.messages import BURSTS, MESSAGES
from analyzer.analysis.kinds.recovery import RELAYS, RETRIES
from analyzer.analysis.kinds.rises import RISES, VOLUMES
from analyzer.analysis.kinds.signals import SIGNALS

for _family in (RISES, MESSAGES, VOLUMES, BURSTS, RELAYS, RETRIES, SIGNALS, CAUSES):
    KINDS.update(_family)
