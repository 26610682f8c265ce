"""The kind of a change of the mix of reasons, and its test: a caller's last week against the baseline before it.

Invariant: a day is judged from that day and the days before it alone.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from math import log

import polars as pl

from analyzer.analysis.charts.chart import Axis, Bars, Chart, short
from analyzer.analysis.detection import Detection, jensen_shannon, reason_drift
from analyzer.analysis.detection.detection import BASELINE_DAYS, RECENT_DAYS
from analyzer.analysis.detection.reasons import most_changed, shares, table_test
from analyzer.analysis.detection.statistics.rates import every_day, running, spans_of, stretch
from analyzer.analysis.detection.statistics.tails import wilson_interval
from analyzer.analysis.kinds.daily_charts import MARKED, USUAL
from analyzer.analysis.kinds.finding import Behind, Charted, ChartForm, Finding, Kind, its_week
from analyzer.analysis.kinds.rises import BY_OUTCOME
from analyzer.analysis.observations import Observations, drawn
from analyzer.readable import percent
from analyzer.store import CallerDays

ALPHA = 0.001
MIN_DIVERGENCE = 0.03
"""Least divergence beyond that of chance, in bits: days differ by themselves, and many sessions see all of it."""
MIN_SESSIONS = 10
_NEARLY = 0.999
"""Part of the least divergence from which on it is worked out with care: sums end differently with their order."""
MAX_SESSIONS = (600, 300)
"""Of the baseline and of the week: of more, so many take part, drawn by their names. A shuffle costs by the session."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What a caller's week shows beside its baseline, where that is worth a test."""

    day: date
    sessions: int
    """With an error that counts, added up over the days of the week."""
    before: Counter[str]
    after: Counter[str]
    p_value: float
    divergence: float
    chance: float


def mix_changes(seen: Observations) -> list[Detection]:
    """Findings `reasons`, one a day and caller whose mix of reasons differs.

    Errors that were unknown when they came have no part, whatever the rules of today call them: they are what the tests
    of shares judge. A chi-square test on sessions and a least divergence come first; what passes them opens with
    `reason_drift`'s exact test, for which alone sessions are asked for. While it lasts the chi-square alone goes on.
    """
    sessions = seen.counts.filter(pl.col("known_sessions") > 0).select("caller", "day", "known_sessions")
    # Who had fewer in all of history cannot have had enough of them in a week.
    enough = (
        sessions.group_by("caller").agg(pl.col("known_sessions").sum()).filter(pl.col("known_sessions") >= MIN_SESSIONS)
    )
    mixes = seen.mixes.join(enough, on="caller", how="semi").join(sessions, on=["caller", "day"])
    rows_of = mixes.join(_differing(mixes), on=["caller", "day"], how="left").sort("caller", "day", "reason")
    looks: dict[str, list[_Look]] = {}
    for (caller,), rows in rows_of.group_by(["caller"], maintain_order=True):
        if worth := list(_looks(rows)):
            looks[str(caller)] = worth
    held = seen.holding(
        CallerDays(caller, _spans(one.day)[0][-1], one.day) for caller, own in looks.items() for one in own
    )
    return [found for caller, own in looks.items() for found in _of_caller(caller, own, held)]


def _differing(mixes: pl.DataFrame) -> pl.DataFrame:
    """The days of callers (`caller`, `day`, `differs`: true) whose divergences may be large enough for `_screen`."""
    spans = mixes.select("caller", "reason").unique().join(spans_of(mixes, ["caller"]), on="caller")
    days = every_day(mixes.select("caller", "reason", "day", "sessions"), spans, RECENT_DAYS + BASELINE_DAYS)
    days = days.with_columns(pl.col("sessions").fill_null(0)).with_columns(running("sessions"))
    sides = {"after": stretch("sessions", RECENT_DAYS - 1, 0)}
    sides["before"] = stretch("sessions", RECENT_DAYS + BASELINE_DAYS - 1, RECENT_DAYS)
    days = days.with_columns(**sides).filter((pl.col("after") > 0) | (pl.col("before") > 0))
    # One share after another: a sum within a sum over each group would take long.
    totals = days.group_by("caller", "day").agg(pl.sum(*sides).name.suffix("_total"))
    both = days.join(totals, on=["caller", "day"])
    parts = [pl.col(side) / pl.col(f"{side}_total") for side in sides]
    terms = [pl.when(part > 0).then(part * (2 * part / (parts[0] + parts[1])).log(2)).otherwise(0.0) for part in parts]
    divergence = pl.col("term").sum() / 2
    # As `table_test` has it.
    chance = (pl.len() - 1) / (8 * log(2)) * (1 / pl.col("after").sum() + 1 / pl.col("before").sum())
    told = both.with_columns(term=terms[0] + terms[1]).group_by("caller", "day").agg(beyond=divergence - chance)
    return told.filter(pl.col("beyond") >= _NEARLY * MIN_DIVERGENCE).select("caller", "day", differs=pl.lit(True))


def _looks(rows: pl.DataFrame) -> Iterator[_Look]:
    """The days of a caller that pass the first test, in order. `rows` are those of its mixes; `differs`: see above."""
    if not rows["differs"].any():
        return
    differing = set(rows.filter("differs")["day"])
    daily: dict[date, dict[str, int]] = {}
    sessions: dict[date, int] = {}
    for day, reason, shown, every in rows.select("day", "reason", "sessions", "known_sessions").iter_rows():
        daily.setdefault(day, {})[reason] = shown
        sessions[day] = every
    before, after = _Sum(daily), _Sum(daily)
    for day in daily:
        if day not in differing:
            continue
        after.move(day - timedelta(days=RECENT_DAYS), day)
        before.move(day - timedelta(days=RECENT_DAYS + BASELINE_DAYS), day - timedelta(days=RECENT_DAYS))
        screened = _screen(before.total, after.total)
        if screened is None:
            continue
        week = sum(sessions.get(each, 0) for each in _spans(day)[1])
        if week >= MIN_SESSIONS:
            yield _Look(day, week, before.total.copy(), after.total.copy(), *screened)


class _Sum:
    """The counts of a stretch of days that moves on, without zeros."""

    def __init__(self, daily: Mapping[date, Mapping[str, int]]) -> None:
        self._daily = daily
        self._coming = deque(daily)
        self._held: deque[date] = deque()
        self.total: Counter[str] = Counter()

    def move(self, after: date, last: date) -> None:
        """Go on to the days behind one, up to another."""
        while self._coming and self._coming[0] <= last:
            day = self._coming.popleft()
            self.total.update(self._daily[day])
            self._held.append(day)
        while self._held and self._held[0] <= after:
            gone = self._daily[self._held.popleft()]
            self.total.subtract(gone)
            for reason in gone:
                if not self.total[reason]:
                    del self.total[reason]


def _of_caller(caller: str, looks: Sequence[_Look], seen: Observations) -> Iterator[Detection]:
    last: date | None = None
    for one in looks:
        if last is not None and (one.day - last).days <= RECENT_DAYS:
            found = Detection(
                day=one.day,
                caller=caller,
                finding="reasons",
                observed=one.divergence,
                expected=one.chance,
                p_value=one.p_value,
                q_value=one.p_value,
                note=most_changed(shares(one.before), shares(one.after)),
            )
        else:
            drift = reason_drift(*_samples(caller, one.day, seen), day=one.day, caller=caller, alpha=ALPHA)
            if drift is None:
                continue
            found = drift
        last = one.day
        yield replace(found, sessions=one.sessions)


def _spans(day: date) -> tuple[list[date], list[date]]:
    back = [day - timedelta(days=number) for number in range(RECENT_DAYS + BASELINE_DAYS)]
    return back[RECENT_DAYS:], back[:RECENT_DAYS]


def _screen(before: Counter[str], after: Counter[str]) -> tuple[float, float, float] | None:
    """P-value by chi-square, divergence, and the one of chance; None where there is nothing to look into."""
    if not before or not after:
        return None
    divergence = jensen_shannon(shares(before), shares(after))
    if divergence < MIN_DIVERGENCE:
        return None
    reasons = sorted({*before, *after})
    p_value, _, chance = table_test(*([side[reason] for reason in reasons] for side in (before, after)))
    return (p_value, divergence, chance) if divergence - chance >= MIN_DIVERGENCE and p_value <= ALPHA else None


def _samples(caller: str, day: date, seen: Observations) -> list[list[frozenset[str]]]:
    """The reasons of each session, over all days of its span."""
    samples = []
    for span, most in zip(_spans(day), MAX_SESSIONS, strict=True):
        rows = seen.errors(caller, span[-1], span[0]).filter(~pl.col("was_unknown"))
        merged = {
            session: frozenset(reasons)
            for session, reasons in rows.group_by("session").agg(pl.col("reason").unique()).iter_rows()
        }
        names = sorted(merged) if len(merged) <= most else drawn(merged, most)
        samples.append([merged[name] for name in names])
    return samples


GREAT_DIVERGENCE = 0.1
"""Bits between two mixes of reasons from which on a change of the mix is a warning."""
MAX_REASONS = 8
"""Reasons that a chart shows."""


def severity_of_mix(day: Detection) -> str:
    """A change of the mix is a warning where the two mixes are far apart."""
    return "warning" if (day.observed or 0.0) >= GREAT_DIVERGENCE else "info"


def changed_mix(finding: Finding) -> str:
    """A change of the mix of reasons."""
    return f"under one and the same rules {finding.latest.note}, in the week up to {finding.last_on}"


def mix_rows(finding: Finding, seen: Observations) -> pl.DataFrame:
    """The rows of `MIX`, a reason each, the one that changed most first; intervals are of 95 % (Wilson)."""
    begin = finding.last_on - timedelta(days=RECENT_DAYS - 1)
    first = begin - timedelta(days=BASELINE_DAYS)
    rows = seen.errors(finding.scope.caller, first, finding.last_on).filter(~pl.col("was_unknown"))
    sides = {"before": pl.col("day") < begin, "after": pl.col("day") >= begin}
    found = rows.group_by("reason").agg(
        pl.col("session").filter(side).n_unique().cast(pl.Int64).alias(f"{name}_sessions")
        for name, side in sides.items()
    )
    for name in sides:
        total = int(found[f"{name}_sessions"].sum())
        shown = [count / total if total else 0.0 for count in found[f"{name}_sessions"]]
        ends = [wilson_interval(share, total) for share in shown]
        found = found.with_columns(
            pl.Series(f"{name}_share", shown, pl.Float64),
            pl.Series(f"{name}_low_share", [low for low, _ in ends], pl.Float64),
            pl.Series(f"{name}_high_share", [high for _, high in ends], pl.Float64),
        )
    return found.sort((pl.col("after_share") - pl.col("before_share")).abs(), "reason", descending=[True, False])


def mix_chart(case: Charted) -> Chart:
    """Shares of what sessions show, by reason, of the last week and of the baseline before it; with 95 % intervals."""
    rows = list(case.numbers.head(MAX_REASONS).iter_rows(named=True))
    begin = case.finding.last_on - timedelta(days=RECENT_DAYS - 1)
    first, end = begin - timedelta(days=BASELINE_DAYS), begin - timedelta(days=1)
    reasons = tuple(short(row["reason"]) for row in rows)
    bars = []
    for side, name, style in (
        ("after", f"{begin} to {case.finding.last_on}", MARKED),
        ("before", f"the {BASELINE_DAYS} days before: {first} to {end}", USUAL),
    ):
        shares = tuple(row[f"{side}_share"] for row in rows)
        told = zip(reasons, shares, rows, strict=True)
        tips = tuple(f"{reason}: {percent(share)}, {row[f'{side}_sessions']:,} sessions" for reason, share, row in told)
        intervals = tuple((row[f"{side}_low_share"], row[f"{side}_high_share"]) for row in rows)
        bars.append(Bars(name, style, reasons, shares, tips, intervals=intervals))
    notes = ["whiskers: 95% intervals"]
    if case.numbers.height > len(rows):
        notes.append(f"the {len(rows)} of {case.numbers.height} reasons that changed most")
    return Chart(
        f"What sessions show, by reason: the last {RECENT_DAYS} days against the {BASELINE_DAYS} before",
        "; ".join(notes),
        Axis("share (%)", form=".0%", from_zero=True, most_ticks=5),
        Axis(kind="category", grid=False, standoff=6),
        tuple(bars),
        stacked=False,
        gap=0.3,
        height=170 + 46 * len(rows),
    )


def _grown(finding: Finding, seen: Observations) -> pl.Expr:
    """The reason whose share grew most, of the errors that the test of mixes looks at."""
    grown = mix_rows(finding, seen).sort(pl.col("after_share") - pl.col("before_share"))["reason"].tail(1)
    return ~pl.col("was_unknown") & pl.col("reason").is_in(grown.to_list())


MIX = ChartForm(
    "The two mixes",
    "Each session counts once for each reason that it shows. Errors that were unknown when they came have no part.",
    {
        "reason": "reason under the rules in force",
        "before_share": f"of all pairs of session and reason in the {BASELINE_DAYS} days before, 0..1",
        "before_low_share": "lower end of its 95 % interval (Wilson)",
        "before_high_share": "upper end of it",
        "before_sessions": "distinct sessions with the reason in these days",
        "after_share": f"of all pairs of session and reason in the last {RECENT_DAYS} days, 0..1",
        "after_low_share": "lower end of its 95 % interval (Wilson)",
        "after_high_share": "upper end of it",
        "after_sessions": "distinct sessions with the reason in these days",
    },
    lambda one, basis: mix_rows(one, basis.seen),
    mix_chart,
)


REASON_MIXES = {
    "reasons": Kind(
        title="The mix of reasons changed",
        metric="divergence of the two mixes (Jensen-Shannon), in bits",
        severity=severity_of_mix,
        sentence=changed_mix,
        advice="see which errors they are",
        asks=BY_OUTCOME,
        asked=True,
        part_of_rise=True,
        behind=Behind("of the last week with the reason that grew most", _grown, its_week),
        chart=MIX,
    )
}
