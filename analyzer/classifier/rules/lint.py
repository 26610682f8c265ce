"""The lint of a ruleset: rules that miss their examples, rules that another rule hides, and patterns that cost much.

Invariant: it changes nothing; a ruleset that loads can be linted, and the same ruleset and corpus give the same report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import re2

from analyzer.classifier.reading.extract import extract
from analyzer.classifier.rules.deciding import chain, holding, judge
from analyzer.classifier.rules.index import Index, index_of
from analyzer.classifier.rules.ruleset import Rule, Ruleset
from analyzer.frozen import frozen

MAX_RULE_SIZE = 4_000
"""The most RE2 instructions that the patterns of one rule and one kind may take together."""
MAX_TOTAL_SIZE = 62_700
"""The most RE2 instructions of all patterns.

A larger automaton makes more states while it matches, and fits less into the caches of a processor.
"""


@frozen
class LintFinding:
    """A fault of a rule."""

    kind: str
    """`example`, `counter_example`, `shadowed`, `cost` or `never_hit`."""
    rule: str
    """The id of the rule; `*` for the ruleset as a whole."""
    place: str
    """`file:line` of the rule."""
    message: str
    example: object = None


@frozen
class Overlap:
    """Two rules that match one example; their order decides between them, as intended."""

    rule: str
    """The rule that has the example."""
    other: str
    """The later rule that matches it too."""
    examples: int


@frozen
class Lint:
    """The report about one ruleset."""

    ruleset: str
    rules: int
    examples: int
    counter_examples: int
    program_size: int
    """RE2 instructions of all patterns."""
    findings: tuple[LintFinding, ...]
    overlaps: tuple[Overlap, ...]
    corpus_lines: int | None = None


def lint(ruleset: Ruleset, corpus: Iterable[object] | None = None) -> Lint:
    """Return the findings of a ruleset.

    With a corpus of errors, also the rules that none of them hits.
    """
    index = index_of(ruleset)
    sizes = _sizes(ruleset)
    findings: list[LintFinding] = []
    overlaps: Counter[tuple[str, str]] = Counter()
    for number, rule in enumerate(ruleset.rules):
        findings += _examples(index, number, rule, overlaps)
        findings += _counter_examples(index, number, rule)
        findings += _cost(ruleset, rule, sizes)
    total = sum(size for _, _, size in sizes)
    if total > MAX_TOTAL_SIZE:
        message = f"all patterns together take {total:,} instructions of RE2, more than {MAX_TOTAL_SIZE:,}"
        findings.append(LintFinding("cost", "*", "", message))
    lines: int | None = None
    if corpus is not None:
        hits, lines = _hits(index, corpus)
        findings += [
            LintFinding("never_hit", rule.id, _place(ruleset, rule), f"none of {lines:,} lines of the corpus hits it")
            for number, rule in enumerate(ruleset.rules)
            if not hits >> number & 1
        ]
    return Lint(
        ruleset=ruleset.digest,
        rules=len(ruleset.rules),
        examples=sum(len(rule.examples) for rule in ruleset.rules),
        counter_examples=sum(len(rule.counter_examples) for rule in ruleset.rules),
        program_size=total,
        findings=tuple(findings),
        overlaps=tuple(Overlap(rule, other, count) for (rule, other), count in sorted(overlaps.items())),
        corpus_lines=lines,
    )


def matching(index: Index, error: object) -> int:
    """Return the mask of the rules that hold on any level of an error."""
    mask = 0
    for level in chain(extract(error)):
        mask |= holding(level, index)[0]
    return mask


def corpus_inputs(lines: Iterable[object]) -> Iterator[object]:
    """Yield the errors of a corpus: the `input` of a labelled case, else the line itself."""
    for line in lines:
        yield line["input"] if isinstance(line, Mapping) and "input" in line and "reason" in line else line


def _examples(index: Index, number: int, rule: Rule, overlaps: Counter[tuple[str, str]]) -> list[LintFinding]:
    rules, place = index.ruleset.rules, _place(index.ruleset, rule)
    winners: list[str] = []
    for example in rule.examples:
        winners.append(judge(extract(example), index)[0].answer[4])
        others = matching(index, example) & ~(1 << number)
        overlaps.update((rule.id, other.id) for at, other in enumerate(rules) if others >> at & 1)
    missed = [(example, winner) for example, winner in zip(rule.examples, winners, strict=True) if winner != rule.id]
    by = sorted({winner for _, winner in missed})
    if len(missed) == len(rule.examples) and "none" not in by:
        message = f"{_names(by)} above it takes every one of its {len(missed)} examples: it can never win"
        return [LintFinding("shadowed", rule.id, place, message, rule.examples[0])]
    return [
        LintFinding(
            "example",
            rule.id,
            place,
            "no rule matches its example" if winner == "none" else f"its example goes to {winner}",
            example,
        )
        for example, winner in missed
    ]


def _counter_examples(index: Index, number: int, rule: Rule) -> list[LintFinding]:
    place = _place(index.ruleset, rule)
    return [
        LintFinding("counter_example", rule.id, place, "it matches its counter-example", example)
        for example in rule.counter_examples
        if judge(extract(example), index)[0].number == number
    ]


def _cost(ruleset: Ruleset, rule: Rule, sizes: list[tuple[str, str, int]]) -> list[LintFinding]:
    findings = []
    for name, kind, size in sizes:
        if name == rule.id and size > MAX_RULE_SIZE:
            worst, own = _worst(getattr(rule, kind, ()))
            message = f"its {kind} patterns take {size:,} instructions of RE2, more than {MAX_RULE_SIZE:,}"
            if worst:
                message += f"; {worst!r} by itself takes {own:,}: counted gaps cost most"
            findings.append(LintFinding("cost", rule.id, _place(ruleset, rule), message))
    return findings


def _sizes(ruleset: Ruleset) -> list[tuple[str, str, int]]:
    """Return `(rule, kind, instructions)` of each compiled pattern.

    A pattern of several rules belongs to the first, one of no rule to `*`.
    """
    return [
        (ruleset.rules[rule].id if rule >= 0 else "*", kind, pattern.regex.programsize)
        for pattern in ruleset.compiled.patterns
        for kind, rule in pattern.uses[:1]
    ]


def _worst(patterns: Iterable[str]) -> tuple[str, int]:
    options = re2.Options()
    options.case_sensitive = False
    sizes = [(re2.compile(pattern.encode(), options).programsize, pattern) for pattern in patterns]
    size, pattern = max(sizes, default=(0, ""))
    return pattern, size


def _hits(index: Index, corpus: Iterable[object]) -> tuple[int, int]:
    hits = lines = 0
    for error in corpus_inputs(corpus):
        hits |= matching(index, error)
        lines += 1
    return hits, lines


def _place(ruleset: Ruleset, rule: Rule) -> str:
    return ruleset.places.get(rule.id, "")


def _names(ids: list[str]) -> str:
    return " or ".join(ids)
