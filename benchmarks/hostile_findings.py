"""Stores that make their analysis cost much: `python -m benchmarks.hostile_findings [NAME…]`. See README.md.

Every input is a store that was ingested from a log of ours; the command that judges or shows it is what is measured.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from analyzer.events import Event, encode
from benchmarks.measure import ANALYZER, Hostile, print_rows

FIRST = datetime(2026, 9, 7, 8)  # noqa: DTZ001 - naive UTC is the form of events
NIGHT = ("--store", "s.duckdb", "--until", "2026-10-08")
DAYS = 31


def store(name: str, events: Callable[[int], Iterator[Event]], *command: str) -> Hostile:
    """A store with these events, of which twice as many have to cost twice as much."""

    def make(folder: Path, scale: int) -> Sequence[str]:
        with (folder / "log.jsonl").open("wb") as log:
            log.writelines(map(encode, events(scale)))
        subprocess.run(  # noqa: S603 - our own command line
            (*ANALYZER, "ingest", "log.jsonl", "--store", "s.duckdb", "--quiet"),
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return command

    return Hostile(name, make)


def many_callers(scale: int) -> Iterator[Event]:
    """Each error is of another caller, and all are of one day."""
    for number in range(scale * 500_000):
        yield error(number, FIRST + timedelta(days=DAYS - 1), f"caller-{number}", f"gate {number % 7} is closed")


def many_callers_on_all_days(scale: int) -> Iterator[Event]:
    """Each error is of another caller, on every day a share of them."""
    for number in range(scale * 500_000):
        at = FIRST + timedelta(days=number % DAYS)
        yield error(number, at, f"caller-{number}", f"gate {number % 7} is closed")


def many_findings(scale: int) -> Iterator[Event]:
    """Callers that meet the same error every day, and on the last one a new one of their own in some sessions."""
    for caller in range(scale * 600):
        for day in range(DAYS):
            at = FIRST + timedelta(days=day)
            for session in range(8):
                number = (caller * DAYS + day) * 100 + session
                known = {"facts": {"status": 429, "message": "Too Many Requests"}, "reason": "rate_limited"}
                yield error(number, at, f"caller-{caller}", session=session, **known)
                if day == DAYS - 1:
                    yield error(
                        number + 50, at, f"caller-{caller}", f"{words(caller)} is closed " + "by that " * 350, session
                    )


def many_groups(scale: int) -> Iterator[Event]:
    """Unknown messages of one caller, each with words of its own."""
    for number in range(scale * 12_500):
        said = " ".join(words(number * prime % 1_000_003) for prime in (1, 7_919, 104_729, 611_953))
        yield error(number, FIRST + timedelta(days=DAYS - 1), "caller", said)


def many_shapes(scale: int) -> Iterator[Event]:
    """Unknown messages of many words, each with numbers in other places."""
    for number in range(scale * 12_500):
        numbered, first = number % 4_099, number * 7_919
        said = (str(place) if numbered >> place & 1 else words((first + place) % 1_000_003) for place in range(24))
        yield error(number, FIRST + timedelta(days=DAYS - 1), "caller", " ".join(said))


def words(number: int) -> str:
    """A name of letters alone, so that no part of it is masked in a message's template."""
    letters = ""
    while True:
        number, rest = divmod(number, 26)
        letters += chr(97 + rest)
        if not number:
            return f"gate{letters}"


def error(
    number: int, at: datetime, caller: str, message: str = "", session: int | None = None, **payload: object
) -> Event:
    """One error of a session; unknown, unless the payload says more."""
    facts = {"facts": {"message": message}, "reason": "unknown"}
    name = f"{caller}-{at:%m%d}-{number if session is None else session}"
    return Event("error.classified", at, name, {"caller": caller, **facts, **payload}, f"id-{number}")


INPUTS = (
    store("callers of one day: report", many_callers, "report", *NIGHT[:2], "--output", "r.html", "--quiet"),
    store("callers of one day: check", many_callers, "check", *NIGHT),
    store("callers of all days: report", many_callers_on_all_days, "report", *NIGHT[:2], "--output", "r.html"),
    store("callers of all days: check", many_callers_on_all_days, "check", *NIGHT),
    store("findings: check", many_findings, "check", *NIGHT, "--json"),
    store("findings: report", many_findings, "report", *NIGHT[:2], "--output", "r.html", "--quiet"),
    store("groups: unknowns --suggest", many_groups, "unknowns", *NIGHT[:2], "--suggest", "--json"),
    store("shapes: unknowns --suggest", many_shapes, "unknowns", *NIGHT[:2], "--suggest", "--json"),
    store("groups: check", many_groups, "check", *NIGHT, "--json"),
)


def main(names: Sequence[str]) -> int:
    """Print the rows whose name contains one of the words, or all."""
    chosen = [item for item in INPUTS if not names or any(word in item.name for word in names)]
    return 0 if print_rows(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
