"""The error classifier: anything → facts → the first rule that holds → what to do about it.

It runs inside other people's agents: nothing here raises, looks at a clock, opens a connection or loads more than RE2.
Names are loaded on first use: who wants a fingerprint or the table of recovery pays for no rules.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analyzer.classifier.engine import Classification, classify, classify_facts
    from analyzer.classifier.reading.extract import extract
    from analyzer.classifier.reading.facts import Facts
    from analyzer.classifier.recovery_table import REASONS, RECOVERY, Recovery
    from analyzer.classifier.rules.loading import Rules, default_ruleset, load_ruleset, ruleset_for
    from analyzer.classifier.rules.ruleset import Codes, Rule, Ruleset

_HOMES = {
    name: module
    for module, names in {
        "analyzer.classifier.engine": "Classification classify classify_facts",
        "analyzer.classifier.reading.extract": "extract",
        "analyzer.classifier.reading.facts": "Facts",
        "analyzer.classifier.recovery_table": "REASONS RECOVERY Recovery",
        "analyzer.classifier.rules.loading": "Rules default_ruleset load_ruleset ruleset_for",
        "analyzer.classifier.rules.ruleset": "Codes Rule Ruleset",
    }.items()
    for name in names.split()
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Kept: from now on it is found without this function.
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found
