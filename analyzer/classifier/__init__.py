"""The error classifier: any error → facts → the first rule that holds → what to do about it.

It runs inside other people's agents: it does not raise, look at a clock, open a connection or load more than RE2.
Names are loaded on first use, so that a fingerprint or the recovery table costs no rules.
"""

from analyzer.lazy import face

__getattr__, __dir__, __all__ = face(__name__)
