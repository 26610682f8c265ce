"""The error classifier: any error → facts → the first rule that holds → what to do about it.

It runs inside other people's agents: it does not raise, look at a clock, open a connection or load more than RE2.
Names are loaded on first use, so that a fingerprint or the recovery table costs no rules.
"""

from typing import TYPE_CHECKING

from analyzer.lazy import face

if TYPE_CHECKING:
    from analyzer.classifier.engine import Classification, classify, classify_facts
    from analyzer.classifier.reading.extract import extract
    from analyzer.classifier.reading.facts import Facts
    from analyzer.classifier.recovery_table import REASONS, RECOVERY, Recovery
    from analyzer.classifier.rules.loading import Rules, default_ruleset, load_ruleset, ruleset_for
    from analyzer.classifier.rules.ruleset import Codes, Rule, Ruleset

__getattr__, __dir__ = face(
    __name__,
    {
        "engine": "Classification classify classify_facts",
        "reading.extract": "extract",
        "reading.facts": "Facts",
        "recovery_table": "REASONS RECOVERY Recovery",
        "rules.loading": "Rules default_ruleset load_ruleset ruleset_for",
        "rules.ruleset": "Codes Rule Ruleset",
    },
)

__all__ = [
    "REASONS",
    "RECOVERY",
    "Classification",
    "Codes",
    "Facts",
    "Recovery",
    "Rule",
    "Rules",
    "Ruleset",
    "classify",
    "classify_facts",
    "default_ruleset",
    "extract",
    "load_ruleset",
    "ruleset_for",
]
