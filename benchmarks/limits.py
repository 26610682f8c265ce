"""How good the forecasts of `limits-ahead` were: `python -m benchmarks.limits PATH…`, by logs that state limits.

Each window of a limit has a wall: the moment at which its highest share was first stated. What the query said half an
hour before about when that share is reached is held against the wall: by how much it erred, and whether the wall lay in
the range of nine in ten. A pace is that of work: a window in which nothing was stated in the half hour before the
question, or between the question and the wall, tells how long somebody stayed away, and gives no forecast. Few logs
come to 100 percent, so a wall is the highest share that was reached, whatever it is.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from analyzer.store import Store, open_store

_ONE_END = timedelta(minutes=10)
"""Two ends of a window that are nearer than this are one, as in the query."""
_SHORT_MINUTES = 24 * 60
_AHEAD = timedelta(minutes=30)

Account = tuple[str | None, str | None, int]
"""Provider, plan, and the minutes of the window."""


@dataclass(frozen=True, slots=True)
class Wall:
    """The highest share of one window of an account, when it was first stated, and the statements before it."""

    account: Account
    share: float
    reached_at: datetime
    before: tuple[datetime, ...]

    @property
    def asked_at(self) -> datetime:
        """The moment at which the forecast is asked for."""
        return self.reached_at - _AHEAD

    @property
    def at_work(self) -> bool:
        """Whether somebody was at work before the question, and between it and the wall."""
        asked = self.asked_at
        return any(asked - _AHEAD <= at < asked for at in self.before) and any(at >= asked for at in self.before)


def walls(store: Store) -> list[Wall]:
    """The walls of all windows of a store in which a share grew."""
    stated: defaultdict[Account, list[tuple[datetime, datetime, float]]] = defaultdict(list)
    rows = store.sql("select * from limits where reset_at is not null order by occurred_at, used_share")
    for row in rows.iter_rows(named=True):
        account = row["provider"], row["plan"], row["window_minutes"]
        stated[account].append((row["reset_at"], row["occurred_at"], row["used_share"]))
    found = []
    for account, told in stated.items():
        for window in _windows(told):
            share = max(used for _, used in window)
            reached = next(at for at, used in window if used == share)
            before = tuple(at for at, used in window if at < reached and used < share)
            if before:
                found.append(Wall(account, share, reached, before))
    return found


def _windows(told: Iterable[tuple[datetime, datetime, float]]) -> list[list[tuple[datetime, float]]]:
    """Statements by the end that they name."""
    windows: list[list[tuple[datetime, float]]] = []
    end = None
    for reset, at, used in sorted(told):
        if end is None or reset - end >= _ONE_END:
            windows.append([])
        windows[-1].append((at, used))
        end = reset
    return [sorted(window) for window in windows]


def forecast(store: Store, wall: Wall) -> tuple[timedelta | None, bool] | None:
    """By how much the forecast of a wall erred, and whether its range had the wall; None where nothing was said.

    A forecast that the share is not reached before the window ends names no moment: it errs by nothing that can be
    counted, and has the wall only where the late end of its range is open.
    """
    for row in store.query("limits-ahead", until=wall.asked_at, share=wall.share).iter_rows(named=True):
        if (row["provider"], row["plan"], row["window_minutes"]) != wall.account or row["hourly_share"] is None:
            continue
        early, late, said = row["earliest_at"], row["latest_at"], row["reached_at"]
        inside = early is not None and early <= wall.reached_at and (late is None or wall.reached_at <= late)
        return abs(said - wall.reached_at) if said else None, inside
    return None


def main(argv: Sequence[str] | None = None) -> None:
    """Read the logs, and print a line for the windows of up to a day and one for the longer ones."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.limits", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="logs of agents")
    options = parser.parse_args(argv)
    with open_store(":memory:") as store:
        store.ingest(options.paths)
        known = walls(store)
        for name, short in (("up to a day", True), ("more than a day", False)):
            these = [wall for wall in known if (wall.account[2] <= _SHORT_MINUTES) == short]
            said = [told for wall in these if wall.at_work and (told := forecast(store, wall)) is not None]
            errors = [error for error, _ in said if error is not None]
            inside = sum(within for _, within in said)
            middle = f"{median(errors).total_seconds() / 60:.0f} minutes" if errors else "-"
            print(
                f"windows of {name}: {len(these)} walls, {len(said)} forecasts of them, {inside} with the wall in "
                f"the range, {len(said) - len(errors)} said not before the end; median error of the others {middle}"
            )


if __name__ == "__main__":
    main()
