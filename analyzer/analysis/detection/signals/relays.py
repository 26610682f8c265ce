"""Find days with more hand-offs to a fresh context than a caller and step had on days before.

The same tests look at compactions, whose step is empty.

Where too few days lie before, find sessions with many. Hand-offs are compared per exposure: the
sessions (or hours) that the caller was at work.
"""

from __future__ import annotations

from collections import deque

import polars as pl

from analyzer.analysis.detection.detection import BASELINE_DAYS, Detection, frame
from analyzer.analysis.detection.statistics.rates import CountedDay, rate_tail

MIN_RELAYS = 5
MIN_RATIO = 1.5
MANY_RELAYS = 5
"""Hand-offs of one session in a step that are many even if other days have as many."""


def relay_frequency(relays: pl.DataFrame, alpha: float = 0.001) -> pl.DataFrame:
    """Return days with more hand-offs of a caller and step than expected: `relays`, or `compactions`.

    `relays`: one row per day, caller and step: columns `day`, `caller`, `step`, `relays`,
    `sessions` (with a hand-off), `most` (hand-offs of one session), `exposure` (above 0; the same
    unit throughout, such as sessions at work). `observed` and `expected` are hand-offs of the day;
    `scope` is the step.
    """
    unusual = relay_days(relays, alpha, every=False).filter(pl.col("found"))
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
        for row in unusual.iter_rows(named=True)
    )


def many_relays(relays: pl.DataFrame) -> pl.DataFrame:
    """Return the findings `relays` of sessions with many hand-offs on days without history.

    `relays` and the columns are as in `relay_frequency`, but without `expected` and `p_value`.
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
    """Judge each day of a caller and step by the days before; `relays` as in `relay_frequency`.

    Adds the columns `p_value`, `expected` and `high` (all null with too little history; see
    `rate_tail`), and `found`: true if the day is a finding. Without `every`, the three are null for
    days that cannot be a finding.
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
            is_finding = False
            if tail is not None:
                p_value, expected, _ = tail
                is_finding = may_be and p_value <= alpha and count >= MIN_RATIO * expected
            judged.append((*(tail or (None, None, None)), is_finding))
            if not is_finding:  # A day out of the ordinary does not become the ordinary.
                history.append(today)
    columns = {"p_value": pl.Float64, "expected": pl.Float64, "high": pl.Float64, "found": pl.Boolean}
    return daily.hstack(pl.DataFrame(judged, schema=columns, orient="row"))
