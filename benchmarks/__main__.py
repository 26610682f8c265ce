"""The benchmarks that have a target, in one table: `python -m benchmarks`, `--quick` for smaller ones, or some by name.

Ours and a peer take turns on the same input, and medians are printed. What is compared, and why that is fair, stands in
the module of each benchmark; README.md has the last table and the machine that it is from.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.starts import as_installed
from benchmarks.table import BENCHES, QUICK, WHOLE, Row

_LIBRARIES = ("duckdb", "polars", "msgspec", "google-re2", "click", "structlog", "orjson")
_TITLES = ("work", "ours", "peer", "ratio", "target", "met")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure what was asked for, and print each row as soon as it is known. Exits with 1 where a target is missed."""
    options = _options(argv)
    size = QUICK if options.quick else WHOLE
    print(machine())
    if options.quick:
        print("quick: a tenth of the sizes and fewer runs, which the targets are not meant for")
    print()
    met = True
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= as_installed(folder)  # of all processes from here on
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        print(_line(_TITLES, markdown=options.markdown))
        if options.markdown:
            print("| --- | --- | --- | ---: | --- | --- |")
        for name in options.names or BENCHES:
            for row in BENCHES[name].rows(size):
                print(_line(_cells(row), markdown=options.markdown), flush=True)
                met &= row.met is not False
    return 0 if met else 1


def machine() -> str:
    """Processors, Python, and the versions of what is measured."""
    known = []
    for name in _LIBRARIES:
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            known.append(f"{name} not installed")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.release()}"
    return f"{os.cpu_count()} cores, {_processor()}, {system}, {python}\n{', '.join(known)}"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines: Iterable[str] = cpuinfo.read_text().splitlines() if cpuinfo.exists() else ()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _cells(row: Row) -> tuple[str, ...]:
    met = {True: "yes", False: "no", None: ""}[row.met]
    return row.work, row.ours, row.peer, row.ratio, row.target, met


def _line(cells: Iterable[str], *, markdown: bool) -> str:
    if markdown:
        return f"| {' | '.join(cells)} |"
    widths = (36, 20, 28, 6, 20, 4)
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    known = "; ".join(f"{name}: {each.about}" for name, each in BENCHES.items())
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, epilog=f"Names: {known}.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these; see below")
    parser.add_argument("--quick", action="store_true", help="a tenth of the sizes and fewer runs")
    parser.add_argument("--markdown", action="store_true", help="the table as in README.md")
    options = parser.parse_args(argv)
    if unknown := [name for name in options.names if name not in BENCHES]:
        parser.error(f"no benchmark is called {unknown[0]!r}; known: {', '.join(BENCHES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
