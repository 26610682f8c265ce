"""Rules, explanations and scores become the objects that `analyzer rules --json` prints, without their schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from analyzer.classifier.rules.backtest import Backtest
from analyzer.classifier.rules.explain import Explanation
from analyzer.classifier.rules.ruleset import EVIDENCE, GUARDS, Rule, Ruleset
from analyzer.classifier.rules.stream import HalfYear


def listed(ruleset: Ruleset, chosen: Sequence[Rule]) -> dict[str, Any]:
    """Some rules of a ruleset, in their order, with what they look at and what holds them back."""
    rules = [
        {
            "id": rule.id,
            "reason": rule.reason,
            "detail": rule.detail,
            "position": ruleset.rules.index(rule) + 1,
            "evidence": {key: list(getattr(rule, key)) for key in EVIDENCE if getattr(rule, key)},
            "guards": {key: list(getattr(rule, key)) for key in GUARDS if getattr(rule, key)},
            "symptom": rule.symptom,
            "strict_streams": rule.strict_streams,
            "weak": rule.weak,
            "source": rule.source,
            "dated": rule.dated or None,
            "place": ruleset.places.get(rule.id),
        }
        for rule in chosen
    ]
    return {"ruleset": ruleset.digest, "rules": rules}


def streamed(ruleset: Ruleset, halves: Sequence[HalfYear], skipped: int) -> dict[str, Any]:
    """The half-years of a stream, `all` last; `skipped` lines were no labelled, dated errors."""
    rows = [{"half": each.half, "rows": each.rows, **each.counts, "good_share": each.good_share} for each in halves]
    return {"ruleset": ruleset.digest, "halves": rows, "skipped": skipped}


def explained(found: Explanation) -> dict[str, Any]:
    """The verdict as `analyzer classify` gives it, why, every match, and the facts."""
    verdict = found.classification
    return {
        **verdict.to_dict(),
        "remediation": verdict.remediation,
        "matched": verdict.matched,
        "evidence": verdict.evidence,
        "why": list(found.why),
        "matches": [asdict(match) for match in found.matches],
        "suggestion": suggestion.to_dict() if (suggestion := found.suggestion) else None,
        "facts": verdict.facts.to_dict(),
    }


def scored(result: Backtest, skipped: int) -> dict[str, Any]:
    """Both sides of a backtest and what changed; `skipped` lines were no labelled errors."""
    content = asdict(result)
    for side, score in (("before", result.before), ("after", result.after)):
        content[side]["macro_recall"] = score.macro_recall
    return {**content, "skipped": skipped}
