"""Find days with more hand-offs to a fresh context than a caller and step had on days before.

The same tests look at compactions, whose step is empty.

Where too few days lie before, find sessions with many. Hand-offs are compared per exposure: the
sessions (or hours) that the caller was at work.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import polars as pl

from analyzer.analysis.charts.chart import Chart
from analyzer.analysis.kinds.daily_charts import (
    DAY,
    MARKED,
    OTHER,
    SINCE_BASELINE,
    USUAL,
    band,
    bars,
    counts_axis,
    dashes,
    of_caller_around,
    panels,
)
from analyzer.analysis.kinds.detection import Detection, above, ordered
from analyzer.analysis.kinds.finding import Basis, Charted, ChartForm, Evidence, Finding, Kind, ShownErrors, its_days
from analyzer.analysis.kinds.finding_fields import warning
from analyzer.analysis.kinds.sentences import as_number, in_sessions, on_its_day
from analyzer.analysis.kinds.statistics.rates import (
    CountedDay,
    RateTail,
    rate_tail,
)
from analyzer.analysis.observations import exposed
from analyzer.analysis.periods import (
    BASELINE_DAYS,
)

MIN_RELAYS = 5
MIN_RATIO = 1.5
MANY_RELAYS = 5
"""Hand-offs of one session in a step that are many even if other days have as many."""


def relay_frequency(relays: pl.DataFrame, alpha: float = 0.001) -> list[Detection]:
    """Return days with more hand-offs of a caller and step than expected: `relays`, or `compactions`.

    `relays`: one row per day, caller and step: columns `day`, `caller`, `step`, `relays`,
    `sessions` (with a hand-off), `most` (hand-offs of one session), `exposure` (above 0; the same
    unit throughout, such as sessions at work). `observed` and `expected` are hand-offs of the day;
    `scope` is the step.
    """
    unusual = relay_days(relays, alpha, every=False).filter(pl.col("found"))
    return ordered(
        above(
            row["relays"],
            RateTail(row["p_value"], row["expected"], row["high"]),
            q_value=row["p_value"],
            **_of_day(row, f"normally {row['expected']:.1f}, at most {row['most']} in one session"),
        )
        for row in unusual.iter_rows(named=True)
    )


def many_relays(relays: pl.DataFrame) -> list[Detection]:
    """Return the findings `relays` of sessions with many hand-offs on days without history.

    `relays` and the columns are as in `relay_frequency`, but without `expected` and `p_value`.
    """
    busy = relays.filter(pl.col("most") >= MANY_RELAYS).select("caller", "step").unique()
    days = relay_days(relays.join(busy, on=["caller", "step"], how="semi"))
    rows = days.filter((pl.col("most") >= MANY_RELAYS) & pl.col("expected").is_null())
    return ordered(
        Detection(
            observed=float(row["relays"]),
            statistic=float(row["most"]),
            **_of_day(row, f"{row['most']} of them in one session"),
        )
        for row in rows.iter_rows(named=True)
    )


def _of_day(row: dict[str, Any], rest: str) -> dict[str, Any]:
    """Return the fields of a day's detection beside its figures; `rest` ends its note."""
    # What has an empty step are an agent's own compactions.
    finding = "relays" if row["step"] else "compactions"
    return {
        "day": row["day"],
        "caller": row["caller"],
        "finding": finding,
        "scope": row["step"] or None,
        "onset": row["day"],
        "sessions": row["sessions"],
        "note": f"{row['relays']} {finding}, {rest}",
    }


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


NO_STEP = "(no step)"
"""The step of hand-offs whose log names none, in `detection-relays`."""


def _called(finding: Finding) -> str:
    return "compactions" if finding.finding == "compactions" else "hand-offs"


def many_hand_offs(finding: Finding) -> str:
    """Say that there were more hand-offs or compactions than expected, or many of one session."""
    latest = finding.latest
    step, what = finding.scope.step, _called(finding)
    step = f" in step “{step}”" if step and step != NO_STEP else ""
    if latest.expected is None:
        does = "compacted its context" if what == "compactions" else "handed its work to a fresh context"
        of = f" of {as_number(latest.observed)}" if latest.statistic != latest.observed else ""
        times = f"{as_number(latest.statistic)}{of} times{step}{on_its_day(finding)}"
        return f"one session {does} {times} (too few days before to say what is normal)"
    normal = f"normally {as_number(latest.expected)}, at most {as_number(latest.high)}"
    return f"{as_number(latest.observed)} {what}{step}{on_its_day(finding)} ({normal}), in {in_sessions(finding)}"


def hand_off_rows(finding: Finding, basis: Basis) -> pl.DataFrame:
    """Return the rows of `HAND_OFFS`, a day each.

    `expected` and `high` are null where history is too short.
    """
    own, seen = pl.col("caller") == finding.scope.caller, basis.seen
    # Sessions that handed off in other steps were at work as well.
    at_work = exposed(replace(seen, relays=seen.relays.filter(own), counts=seen.counts.filter(own)))
    step = at_work.filter(pl.col("step") == (finding.scope.step or ""))
    return of_caller_around(relay_days(step), finding, basis.last).select(
        "day",
        pl.col("relays").alias("hand_offs"),
        "expected",
        "high",
        (pl.col("found") | (pl.col("expected").is_null() & (pl.col("most") >= MANY_RELAYS))).alias("unusual"),
        pl.col("sessions").alias("relay_sessions"),
        pl.col("exposure").cast(pl.Int64).alias("sessions"),
    )


def hand_off_chart(case: Charted) -> Chart:
    """Draw hand-offs or compactions by day, what was expected of the day, and its sessions.

    What was expected follows from the day's sessions and weekday.
    """
    rows, what = case.numbers, _called(case.finding)
    judged = rows.drop_nulls("expected")
    within = "normal range"
    marks = (
        band(within, judged["day"], [0.0] * judged.height, judged["high"], stepped=True),
        dashes("expected", judged["day"], judged["expected"], stepped=True),
        bars(rows.filter("unusual"), "hand_offs", f"{what}, unusual days", MARKED),
        bars(rows.filter(~pl.col("unusual")), "hand_offs", f"{what}, other days", OTHER),
        bars(rows, "sessions", "sessions at work", USUAL, lower=True),
    )
    title = f"{what.capitalize()} by day with what was expected, and the sessions at work"
    upper = counts_axis(what, max([*rows["hand_offs"], *rows["high"].drop_nulls()], default=0))
    note = "The first days have no history to expect from." if rows["high"].has_nulls() else ""
    return panels(case, title, marks, upper, "sessions", note=note)


HAND_OFFS = ChartForm(
    "Days of the caller and step",
    f"{SINCE_BASELINE} What is expected follows the sessions at work and the rates of weekdays and weekends.",
    {
        **DAY,
        "hand_offs": "hand-offs to a fresh context in the step",
        "expected": "hand-offs expected; none where there is too little history",
        "high": "the count that such a day stays within in 39 of 40 cases",
        "unusual": "whether the day would be a finding by itself; what is expected of others leaves such days out",
        "relay_sessions": "distinct sessions with a hand-off in the step",
        "sessions": "distinct sessions at work: with an error or any hand-off",
    },
    hand_off_rows,
    hand_off_chart,
)


RELAYS = {
    "relays": Kind(
        by_day=True,
        title="Many hand-offs",
        metric="hand-offs of the day",
        severity=warning,
        sentence=many_hand_offs,
        advice="split steps that hand off often",
        asks=("query", "relays-by-step"),
        scope="step",
        evidence=Evidence({"hand_off": 0}),
        behind=ShownErrors("Hand-offs", lambda _finding, _seen: pl.lit(False), its_days, hand_offs="Hand-offs"),
        chart=HAND_OFFS,
    )
}
RELAYS["compactions"] = replace(
    RELAYS["relays"],
    title="Many compactions",
    metric="compactions of the day",
    advice="give its sessions less to read, or begin a new one for each task",
    scope=None,
    evidence=Evidence({"compaction": 0}),
    behind=replace(RELAYS["relays"].behind, said="Compactions", hand_offs="Compactions"),
    chart=replace(
        HAND_OFFS,
        title="Days of the caller",
        columns={name: text.replace("hand-off", "compaction") for name, text in HAND_OFFS.columns.items()}
        | {"hand_offs": "compactions: the agent shortened its own context"},
    ),
)
"""An agent that shortens its own context goes on in the same session: it hands nothing off."""
