"""How well drafts outlive a rewording: `python -m benchmarks.rewordings PAIRS.jsonl --against LABELLED.jsonl`.

The draft of the text before is asked for the text after, with the reason that both have, as somebody chooses who reads
it. Known to the drafter are the examples of the rules and the errors of `--history`, as those of a store are; asked for
texts of other reasons are those of `--against`. A row of PAIRS has `before`, `after` and the `want`ed reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from analyzer.analysis.rules.drafts import pattern_for
from analyzer.analysis.rules.word_patterns import WordIndex, compiled, has, shortest
from analyzer.classifier import default_ruleset, extract
from analyzer.classifier.fingerprint import template


class Drafted(NamedTuple):
    """A pair with what its draft does."""

    row: dict[str, Any]
    patterns: tuple[str, ...]
    whole: bool
    """Whether the pattern of the whole text before catches the text after."""
    caught: bool
    """Whether one of the patterns does."""
    taken: tuple[str, ...]
    """Texts of other reasons that it takes."""


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rewordings")
    parser.add_argument("pairs", type=Path, metavar="PAIRS.jsonl")
    parser.add_argument("--against", nargs="*", default=[], type=Path, metavar="LABELLED.jsonl")
    parser.add_argument("--history", nargs="*", default=[], type=Path, metavar="LABELLED.jsonl")
    parser.add_argument("--show", action="store_true", help="list the pairs with their patterns")
    options = parser.parse_args(argv)
    rows = [json.loads(line) for line in options.pairs.read_text("utf-8").splitlines()]
    history = [pair for path in options.history for pair in _read(path)]
    against = [pair for path in options.against for pair in _read(path)]
    found = list(drafted(rows, history, against))
    halves = (("even rows", found[::2]), ("odd rows", found[1::2]), ("all rows", found))
    sys.stdout.write("".join(f"{title:9}  {line(half)}\n" for title, half in halves if half))
    for each in found if options.show else ():
        mark = "caught" if each.caught else "missed"
        sys.stdout.write(f"\n{mark}: {each.row['before']!r} → {each.row['after']!r}\n")
        sys.stdout.write("".join(f"  {pattern}\n" for pattern in each.patterns))
        sys.stdout.write("".join(f"  TAKES {text[:120]!r}\n" for text in each.taken))


def line(found: Sequence[Drafted]) -> str:
    """Return the counts of some pairs in one line."""
    return (
        f"whole texts catch {sum(each.whole for each in found)} of {len(found)} new wordings,"
        f" with shortest wordings {sum(each.caught for each in found)};"
        f" texts of another reason taken: {len({text for each in found for text in each.taken})}"
    )


def drafted(
    rows: Sequence[dict[str, Any]],
    history: Sequence[tuple[str, frozenset[str]]],
    against: Sequence[tuple[str, frozenset[str]]],
) -> Iterator[Drafted]:
    """Yield what the draft of each pair catches and takes."""
    examples = [
        (extract(text).message or "", frozenset({rule.reason}))
        for rule in default_ruleset().rules
        for text in rule.examples
    ]
    for row in rows:
        reason = row["want"]
        before, after = (extract(row[name]).message or "" for name in ("before", "after"))
        # A text that may have the reason as well speaks for none of the others.
        known = [(text, reason if reason in right else min(right)) for text, right in (*examples, *history)]
        said = WordIndex([text] for text, _ in known)
        whole = pattern_for(template(before), [before])
        # A draft that would take known errors of another reason is not ready: somebody has to mend it.
        if whole and any(meant != reason and has(compiled(whole), text) for text, meant in known):
            whole = None
        short = [each.pattern for each in shortest([before], reason, said, [each for _, each in known])]
        patterns = tuple(filter(None, (whole, *short)))
        regexes = [compiled(pattern) for pattern in patterns]
        yield Drafted(
            row,
            patterns,
            whole is not None and has(compiled(whole), after),
            any(has(regex, after) for regex in regexes),
            tuple(text for text, right in against if reason not in right and any(has(one, text) for one in regexes)),
        )


def _read(path: Path) -> Iterator[tuple[str, frozenset[str]]]:
    for text in path.read_text("utf-8").splitlines():
        row = json.loads(text)
        right = frozenset({row.get("reason") or row["expected"], *row.get("acceptable", ())})
        if message := extract(row["input"] if "input" in row else row["message"]).message:
            yield message, right


if __name__ == "__main__":
    main()
