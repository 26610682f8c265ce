"""How well and how fast messages are grouped: `python -m benchmarks.fingerprint`. See README.md for the figures."""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from time import process_time

from analyzer.analysis.rules.similar_templates import group
from analyzer.classifier.fingerprint import templates
from benchmarks.loglines import Line, corpus


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fingerprint")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of the corpus that are grouped")
    parser.add_argument("--lines", type=int, default=150_000, help="lines for the speed")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args(argv)
    for rounds in sorted({1, options.rounds}):
        sys.stdout.write(quality(rounds) + "\n")
    sys.stdout.write(speed(options.lines, options.runs))


def quality(rounds: int) -> str:
    """A table: grouping accuracy and F1 of the groups, a system a row, for masks alone and for masks and merging."""
    lines = corpus(rounds=rounds)
    by_system: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_system[line.system].append(line)
    rows = []
    for system, own in sorted(by_system.items()):
        truth, texts = [line.label for line in own], [line.text for line in own]
        masked, merged = scores(truth, templates(texts)), scores(truth, group(texts))
        rows.append((system, len(own), len(set(truth)), *masked, *merged))
    means = tuple(statistics.mean(row[place] for row in rows) for place in range(3, 7))
    rows.append(("mean", len(lines), 0, *means))
    everything = group([line.text for line in lines])
    together = scores([line.label for line in lines], everything)
    shuffled = list(range(len(lines)))
    random.Random(7).shuffle(shuffled)  # noqa: S311 - no secret
    again = group([lines[place].text for place in shuffled])
    moved = sum(everything[place] != template for place, template in zip(shuffled, again, strict=True))
    head = f"{'':12} {'lines':>6} {'templates':>9}  {'GA, masks':>9} {'FGA':>6}  {'GA, merged':>10} {'FGA':>6}\n"
    body = "".join(
        f"{name:12} {count:6} {labels or '':>9}  {ga:9.3f} {fga:6.3f}  {ga2:10.3f} {fga2:6.3f}\n"
        for name, count, labels, ga, fga, ga2, fga2 in rows
    )
    return (
        head + body + f"all in one pass: GA {together[0]:.3f}, FGA {together[1]:.3f}; shuffled: {moved} lines moved\n"
    )


def scores(truth: Sequence[Hashable], found: Sequence[Hashable]) -> tuple[float, float]:
    """Grouping accuracy and F1 of the groups (Khan et al., ICSE 2022; Jiang et al., ISSTA 2024).

    A found group counts when it holds exactly the lines of one label; GA is the share of lines in such groups, FGA the
    harmonic mean of their share among the found groups and among the labels.
    """
    pairs, labels, groups = Counter(zip(truth, found, strict=True)), Counter(truth), Counter(found)
    exact = [count for (label, name), count in pairs.items() if count == labels[label] == groups[name]]
    precision, recall = len(exact) / len(groups), len(exact) / len(labels)
    return sum(exact) / len(truth), 2 * precision * recall / (precision + recall) if exact else 0.0


def speed(count: int, runs: int) -> str:
    """Lines a second of processor time, of mixed lines that are mostly distinct; one thread does the work."""
    lines = [line.text for line in corpus(seed=2, rounds=count // 1_000 + 1)][:count]
    text = (
        f"{len(lines):,} lines, {len(set(lines)):,} distinct, {sum(map(len, lines)) / len(lines):.0f} characters each\n"
    )
    for name, call in (("masks", templates), ("masks and merging", group)):
        taken = []
        for _ in range(runs):
            begin = process_time()
            found = call(lines)
            taken.append(process_time() - begin)
        rates = sorted(len(lines) / each for each in taken)
        rate = f"{statistics.median(rates):9,.0f} lines/s (slowest run {rates[0]:,.0f})"
        text += f"{name:18} {rate}, {len(set(found)):,} templates\n"
    return text


if __name__ == "__main__":
    main()
