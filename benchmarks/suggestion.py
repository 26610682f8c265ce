"""How good the second opinion is: `python -m benchmarks.suggestion LABELLED.jsonl ...`.

Each rule is withheld in turn, and its examples from the training; asked are the texts of the labelled files that so
become unknown. That is kind, as probes of the rule's family stay in the training: the second table withholds these too,
as for an error of a family that nobody has seen. Before them stands what becomes of all texts by the rules alone, with
weak verdicts set apart, and with the second opinion. A row of a file is an `input` with its `reason`, or a `message`
with a `status`, its `provider` and the `expected` reason; `acceptable` lists reasons that are right as well.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from analyzer.classifier import Facts, classify_facts, default_ruleset, extract
from analyzer.classifier.rules.ruleset import make
from analyzer.classifier.suggestion import suggest
from analyzer.classifier.suggestion.model import LEAST_PROBABILITY, NONE, probability
from analyzer.classifier.suggestion.training import FeatureCounts, Labelled, fitted, scored_apart
from tests.labelled_texts import labelled_texts

BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class Asked(NamedTuple):
    """A text that became unknown, and what was proposed for it."""

    right: frozenset[str]
    reason: str
    probability: float


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suggestion")
    parser.add_argument("files", nargs="+", type=Path, metavar="LABELLED.jsonl")
    texts = [pair for path in parser.parse_args(argv).files for pair in _read(path)]
    own = labelled_texts()
    sys.stdout.write(f"{ablation(texts)}\n")
    unknown = _become_unknown(texts)
    sys.stdout.write(
        f"{len(unknown):,} of {len(texts):,} texts become unknown when the rule that decides them is withheld\n"
    )
    slope, intercept = fitted(scored_apart(FeatureCounts(own)))
    for title, family in (("rule and its examples withheld", False), ("its whole family withheld", True)):
        answers = list(_asked(unknown, own, slope, intercept, family=family))
        sys.stdout.write(f"\n{title}\n{table(answers)}")


def table(answers: Sequence[Asked]) -> str:
    """Return the share proposed and right at the built-in bound, then stated against found probability."""
    proposed = [each for each in answers if each.reason != NONE and each.probability >= LEAST_PROBABILITY]
    right = sum(each.reason in each.right for each in proposed)
    lines = [
        f"proposed for {len(proposed) / len(answers):.1%}, of these right or acceptable {right / len(proposed):.1%}",
        "stated probability     texts   right",
    ]
    for low, high in pairwise(BINS):
        within = [each for each in answers if each.reason != NONE and low <= each.probability < high]
        if within:
            share = sum(each.reason in each.right for each in within) / len(within)
            lines.append(f"{low:.1f} to {high:.1f}           {len(within):9,}  {share:6.1%}")
    lines.append(f"expected calibration error {calibration_error(answers):.1%}")
    return "\n".join(lines) + "\n"


def calibration_error(answers: Sequence[Asked]) -> float:
    """Return how far stated probabilities are from the share that is right, 0..1, in the mean of all answers by bin."""
    said = [each for each in answers if each.reason != NONE]
    apart = 0.0
    for low, high in pairwise(BINS):
        within = [each for each in said if low <= each.probability < high]
        apart += abs(sum(each.probability - (each.reason in each.right) for each in within))
    return apart / len(said) if said else 0.0


def ablation(texts: Sequence[tuple[Facts, frozenset[str]]]) -> str:
    """Return what becomes of texts by the rules alone, with weak verdicts set apart, and with the second opinion."""
    rows = [("rules alone", _counts(texts)), ("with confidence", _counts(texts, weak=True))]
    rows.append(("with the second opinion", _counts(texts, weak=True, opinion=True)))
    lines = [f"{'':24}  right  unknown   weak and wrong  wrong  proposed right  proposed wrong"]
    for title, count in rows:
        right, unknown, weak, wrong, helped, misled = (
            count[name] for name in ("right", "unknown", "weak", "wrong", "helped", "misled")
        )
        lines.append(f"{title:24}  {right:5,}  {unknown:7,}  {weak:15,}  {wrong:5,}  {helped:14,}  {misled:14,}")
    return "\n".join(lines) + "\n"


def _counts(
    texts: Iterable[tuple[Facts, frozenset[str]]], *, weak: bool = False, opinion: bool = False
) -> Counter[str]:
    """What each text is counted as; a proposal for one that no rule knows is none of the verdicts."""
    count = Counter[str]()
    for facts, right in texts:
        found = classify_facts(facts)
        if found.reason in right:
            count["right"] += 1
        elif found.reason == NONE:
            proposal = suggest(facts) if opinion else None
            name = "unknown" if proposal is None else "helped" if proposal.reason in right else "misled"
            count[name] += 1
        else:
            count["weak" if weak and found.confidence == "weak" else "wrong"] += 1
    return count


def _read(path: Path) -> Iterator[tuple[Facts, frozenset[str]]]:
    for line in path.read_text("utf-8").splitlines():
        row: Mapping[str, Any] = json.loads(line)
        shown = row["input"] if "input" in row else {key: row.get(key) for key in ("status", "message", "provider")}
        yield extract(shown), frozenset({row.get("reason") or row["expected"], *row.get("acceptable", ())})


def _become_unknown(texts: Iterable[tuple[Facts, frozenset[str]]]) -> list[tuple[Facts, frozenset[str], str]]:
    """The texts that one rule alone knows, with its id."""
    every = default_ruleset()
    decided = [(facts, right, classify_facts(facts).rule) for facts, right in texts]
    found = []
    for rule in every.rules:
        own = [(facts, right, rule.id) for facts, right, by in decided if by == rule.id and rule.reason != NONE]
        if own:
            less = make(
                tuple(each for each in every.rules if each is not rule), every.status_patterns, every.prose_patterns
            )
            found += [each for each in own if classify_facts(each[0], rules=less).reason == NONE]
    return found


def _asked(
    unknown: Iterable[tuple[Facts, frozenset[str], str]],
    own: Sequence[Labelled],
    slope: float,
    intercept: float,
    *,
    family: bool,
) -> Iterator[Asked]:
    kept = [each if family or each.example else each._replace(group=f"kept: {each.group}") for each in own]
    counts = FeatureCounts(kept)
    for facts, right, rule in unknown:
        [scored] = counts.scored(rule, [Labelled(facts, NONE, rule)])
        yield Asked(right, scored.reason, probability(scored.lead, slope, intercept))


if __name__ == "__main__":
    main()
