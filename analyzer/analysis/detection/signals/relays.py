"""The tests of hand-offs to a fresh context: more of them than the same caller and step had on similar days before,
and, where no days tell, a session with many. The same tests look at compactions, whose step is empty.

Hand-offs are counted against exposure, the sessions (or hours) that the caller was at work, given with the counts.
"""

from __future__ import annotations

from collections import deque

import polars as pl

from analyzer.analysis.detection.detection import BASELINE_DAYS, Detection, frame
from analyzer.analysis.detection.statistics.rates import CountedDay, rate_tail

MIN_RELAYS = 5
MIN_RATIO = 1.5
MANY_RELAYS = 5
"""Hand-offs of one session in a step that are many, whatever other days had."""


def relay_frequency(relays: pl.DataFrame, alpha: float = 0.001) -> pl.DataFrame:
    """Findings `relays`: a day of a caller and step with more hand-offs than its history allows; or `compactions`.

    `relays`: one row a day, caller and step: columns `day`, `caller`, `step`, `relays`, `sessions` (with a hand-off),
    `most` (hand-offs of one session), `exposure` (above 0; the same unit throughout, such as sessions at work).
    `observed` and `expected` are hand-offs of the day; `scope` is the step.
    """
    found = relay_days(relays, alpha, every=False).filter(pl.col("found"))
    return frame(
        Detection(
            day=row["day"],
            caller=row["caller"],
            finding=_finding(row["step"]),
            scope=row["step"] or None,
            onset=row["day"],
            observed=float(row["relays"]),
            expected=row["expected"],
            low=0.0,
            high=row["high"],
            p_value=row["p_value"],
            q_value=row["p_value"],
            statistic=row["relays"] / row["expected"],
            sessions=row["sessions"],
            note=f"{row['relays']} {_finding(row['step'])}, {row['expected']:.1f} expected, "
            f"at most {row['most']} in one session",
        )
        for row in found.iter_rows(named=True)
    )


def many_relays(relays: pl.DataFrame) -> pl.DataFrame:
    """Findings `relays` of days with too little history: those on which one session handed off many times in a step.

    `relays` and the columns are as in `relay_frequency`; they have no expectation and no probability.
    """
    busy = relays.filter(pl.col("most") >= MANY_RELAYS).select("caller", "step").unique()
    days = relay_days(relays.join(busy, on=["caller", "step"], how="semi"))
    rows = days.filter((pl.col("most") >= MANY_RELAYS) & pl.col("expected").is_null())
    return frame(
        Detection(
            day=row["day"],
            caller=row["caller"],
            finding=_finding(row["step"]),
            scope=row["step"] or None,
            onset=row["day"],
            observed=float(row["relays"]),
            statistic=float(row["most"]),
            sessions=row["sessions"],
            note=f"{row['relays']} {_finding(row['step'])}, {row['most']} of them in one session",
        )
        for row in rows.iter_rows(named=True)
    )


def _finding(step: str) -> str:
    """Name the finding: what has an empty step are an agent's own compactions."""
    return "relays" if step else "compactions"


def relay_days(relays: pl.DataFrame, alpha: float = 0.001, *, every: bool = True) -> pl.DataFrame:
    """Every day of each caller and step, with what the days before it lead one to expect; columns as `relay_frequency`.

    Beside them `p_value`, `expected` and `high` (all three null with too little history; see `rate_tail`), and `found`:
    whether the day is a finding. Without `every`, days that cannot be one have none of the three.
    """
    judged: list[tuple[float | None, float | None, float | None, bool]] = []
    daily = relays.sort("caller", "step", "day")
    for _, rows in daily.group_by(["caller", "step"], maintain_order=True):
        history: deque[CountedDay] = deque()
        for day, count, exposure, sessions in rows.select("day", "relays", "exposure", "sessions").iter_rows():
            today = CountedDay(day.toordinal(), count, exposure)
            while history and history[0].day < today.day - BASELINE_DAYS:
                history.popleft()
            may_be = count >= MIN_RELAYS and sessions >= 2
            tail = rate_tail(history, [today], ratio=0.0 if every else MIN_RATIO) if every or may_be else None
            found = False
            if tail is not None:
                p_value, expected, _ = tail
                found = may_be and p_value <= alpha and count >= MIN_RATIO * expected
            judged.append((*(tail or (None, None, None)), found))
            if not found:  # A day out of the ordinary does not become the ordinary.
                history.append(today)
    return daily.hstack(pl.DataFrame(judged, schema=_JUDGED, orient="row"))


_JUDGED = {"p_value": pl.Float64, "expected": pl.Float64, "high": pl.Float64, "found": pl.Boolean}
