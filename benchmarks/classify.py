"""How many errors a second: `python -m benchmarks.classify`. See README.md for what the rows mean."""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter
from typing import Any, NamedTuple

from analyzer.classifier import classify, classify_facts, default_ruleset
from analyzer.classifier.batch import judge_json
from benchmarks import rivals, workload

RIVAL_SHARE = 10
"""Rivals get a tenth of the facts: they are slow."""


class Row(NamedTuple):
    """One line of the table."""

    name: str
    count: int
    """Errors a run."""
    seconds: list[float]
    """Wall time of each run."""
    note: str = ""

    @property
    def rate(self) -> float:
        """Errors a second, of the median run."""
        return self.count / statistics.median(self.seconds)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    options = _options(argv)
    rows = [*_in_this_process(options.facts, options.runs), _fresh(options.facts, options.runs)]
    rows.append(_replay(options.texts, options.runs))
    sys.stdout.write(table(rows))


def table(rows: list[Row]) -> str:
    """The rows, aligned; ratios are to the first row."""
    lines = [("", "errors", "median s", "errors/s", "ratio", "slowest s", "")]
    lines += [
        (
            row.name,
            f"{row.count:,}",
            f"{statistics.median(row.seconds):.3f}",
            f"{row.rate:,.0f}",
            f"{row.rate / rows[0].rate:.3f}",
            f"{max(row.seconds):.3f}",
            row.note,
        )
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "  ".join(
            cell.ljust(width) if place in (0, 6) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def _in_this_process(count: int, runs: int) -> list[Row]:
    """Each contender once a round, so that a slow moment of the machine hits all of them."""
    few = max(1, count // RIVAL_SHARE)
    ruleset = default_ruleset()
    loop, case = rivals.re_loop(ruleset), rivals.sql_case(ruleset)
    rows = [
        Row("live, distinct facts", count, []),
        Row("live, raw mappings", count, []),
        Row("live, the same facts again", count, []),
        Row("loop of re searches", few, []),
        Row("DuckDB CASE, one thread", few, []),
    ]
    agreed = [0, 0]
    for run in range(runs):
        numbers = range(run * count, (run + 1) * count)
        facts = workload.facts(numbers)
        mappings = [workload.mapping(number + runs * count) for number in numbers]
        same = (facts[: len(workload.TEMPLATES)] * (count // len(workload.TEMPLATES) + 1))[:count]
        connection = rivals.sql_table(facts[:few])
        rows[0].seconds.append(_each_seconds(classify_facts, facts))
        rows[1].seconds.append(_each_seconds(classify, mappings))
        rows[2].seconds.append(_each_seconds(classify_facts, same))
        expected = [classify_facts(each).reason for each in facts[:few]]
        answers: list[str] = []
        rows[3].seconds.append(_seconds(lambda given=facts, out=answers: out.extend(map(loop, given[:few]))))
        agreed[0] += sum(map(str.__eq__, answers, expected))
        answers = []
        rows[4].seconds.append(
            _seconds(lambda given=connection, out=answers: out.extend(rivals.sql_reasons(given, case)))
        )
        agreed[1] += sum(map(str.__eq__, answers, expected))
        connection.close()
    for place, hits in zip((3, 4), agreed, strict=True):
        rows[place] = rows[place]._replace(note=f"same reason as ours: {hits / (few * runs):.1%}")
    return rows


def _fresh(count: int, runs: int) -> Row:
    """The first facts of a process, with everything that is made on the way: rules, automata, caches."""
    context = get_context("spawn")
    seconds = []
    for run in range(runs):
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            seconds.append(pool.submit(_first_seconds, run * count, count).result())
    return Row("live, first of a process", count, seconds, "rules are loaded before")


def _first_seconds(start: int, count: int) -> float:
    facts = workload.facts(range(start, start + count))
    default_ruleset()
    return _each_seconds(classify_facts, facts)


def _replay(count: int, runs: int) -> Row:
    """Stored facts as JSON text."""
    texts = [workload.stored(number) for number in range(count)]
    seconds = [_seconds(lambda: judge_json(texts, default_ruleset())) for _ in range(runs)]
    return Row("replay", count, seconds, "JSON text in, answers out")


def _each_seconds(work: Callable[[Any], object], given: Iterable[object]) -> float:
    # Answers are dropped, as a live caller drops them: kept ones would be walked by the garbage collector.
    return _seconds(lambda: deque(map(work, given), maxlen=0))


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = perf_counter()
    work()
    return perf_counter() - start


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.classify", description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000, help="live errors a run (default: %(default)s)")
    parser.add_argument("--texts", type=int, default=850_000, help="stored errors a replay (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="runs a row; the median counts (default: %(default)s)")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
